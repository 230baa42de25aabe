"""What a crawl keeps on disk beside its pages, and the two steps that change it: a checkpoint and a cycle.

1. A checkpoint has happened when hosts and its number are committed, and not before: whatever else was written is
   ignored after a kill, or written again.
2. Batches up to the checkpoint are in the repository, or in files. A cycle takes all files in at once, under the number
   of the last of them; so a kill between the cycle and the removal of the files changes nothing.
"""

from collections.abc import Callable

from tarrafa.agent.batches import Batches
from tarrafa.agent.folder import CrawlFolder
from tarrafa.agent.gathering import Gathering
from tarrafa.agent.hosts import Checkpoint, HostBook
from tarrafa.agent.totals import Totals
from tarrafa.errors import DamagedError
from tarrafa.keep import DOCUMENTS, LINKS, DocumentWriter, LinkWriter, Place, join_segments
from tarrafa.verify import RepositoryBounds, Scheduled, Veuniq

_DEFAULT_BOUNDS = RepositoryBounds()
_JOIN_EVERY = 8  # checkpoints
# Of one block at a time, roughly; and of one of its hosts.
_SUPPLY_URLS = 200_000
_SUPPLY_HOST_MIN, _SUPPLY_HOST_MAX = 2, 1_000


def _nothing() -> None:
    """All is durable already."""


class Keeper:
    """Used by one thread at a time."""

    def __init__(self, folder: CrawlFolder, bounds: RepositoryBounds = _DEFAULT_BOUNDS) -> None:
        self._folder = folder
        self._repository = Veuniq(folder.repository, bounds=bounds)
        try:
            self._book = HostBook(folder.hosts)
            self.checkpoint = self._book.checkpoint()
            self._check()
            self._documents = DocumentWriter(folder.documents, self.checkpoint.number)
            self._links = LinkWriter(folder.links, self.checkpoint.number)
            self._batches = Batches(folder.batches)
            self._batches.remove(self._repository.last_batch)
        except BaseException:
            self._repository.close()
            raise
        self.counts = self._repository.counts()
        # URLs in files. Filled by save, emptied by verify.
        batch = self._batches.read(self._repository.last_batch, self.checkpoint.number)
        self.pending_count = len(batch.collected.urls) + len(batch.extracted.urls)

    def _check(self) -> None:
        """The repository cannot know a batch that no checkpoint has made."""
        if self._repository.last_batch > self.checkpoint.number:
            told = f"is older than {self._folder.repository}; restore the whole folder from one copy"
            raise DamagedError(f"{self._folder.hosts} {told}")

    def save(self, gathered: Gathering, end: Place, make_durable: Callable[[], None] = _nothing) -> None:
        """A checkpoint: all that was gathered, and the archive up to `end`."""
        number = self.checkpoint.number + 1
        make_durable()
        for row in gathered.documents:
            self._documents.add(row)
        for source, fetched_at, links in gathered.links:
            self._links.add_columns(source, fetched_at, links.columns)
        self._documents.sync(number)
        self._links.sync(number)
        self.pending_count += self._batches.write(number, gathered)
        totals = Totals(self.checkpoint.totals + gathered.counts)
        checkpoint = Checkpoint(number, end, totals)
        self._book.commit(checkpoint, gathered.hosts.values())
        self.checkpoint = checkpoint
        if number % _JOIN_EVERY == 0:
            join_segments(self._folder.documents, DOCUMENTS, number)
            join_segments(self._folder.links, LINKS, number)

    def verify(self) -> list[Scheduled]:
        """A cycle, with all batches that are saved; then what the verified block has to be visited."""
        if self._repository.last_batch == self.checkpoint.number:
            self.save(Gathering(), self.checkpoint.end)
        number = self.checkpoint.number
        self._repository.cycle(self._batches.read(self._repository.last_batch, number))
        self._batches.remove(number)
        self.pending_count = 0
        self.counts = self._repository.counts()
        return self.supply(self._repository.blocks_verified())

    def supply(self, blocks: list[int]) -> list[Scheduled]:
        """What is to be visited next, of blocks for which nothing waits."""
        hosts_count = max(1, self.counts.hosts // self.counts.blocks)
        per_host = min(max(_SUPPLY_URLS // hosts_count, _SUPPLY_HOST_MIN), _SUPPLY_HOST_MAX)
        return [each for block in blocks for each in self._repository.scheduled(block, per_host)]

    def blocks(self) -> list[int]:
        return self._repository.blocks()

    @property
    def is_settled(self) -> bool:
        """Whether the repository knows everything: no URL waits in a file, or for its block."""
        return not self.pending_count and not self.counts.waiting

    def standings(self) -> dict[str, dict[str, int]]:
        return self._book.standings()

    def close(self) -> None:
        self._book.close()
        self._repository.close()
