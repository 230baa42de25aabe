"""What a crawl stores beside its pages, and the two steps that change it: a checkpoint and a cycle.

1. A checkpoint has happened when hosts and its number are committed, and not before. Whatever else was written is
   ignored after a kill, or written again.
2. Batches up to the checkpoint are in the repository, or in files. A cycle takes all files at once, under the number
   of the last of them, so a kill between the cycle and the removal of the files changes nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Protocol

from tarrafa.agent.folder import CrawlFolder
from tarrafa.agent.host_database import Checkpoint, HostDatabase
from tarrafa.agent.host_table import HostChanges
from tarrafa.agent.refresher import Refresher, RefreshSettings, make_refresher
from tarrafa.agent.unsaved import Unsaved
from tarrafa.agent.url_batches import UrlBatches, batch_of, count_urls
from tarrafa.clock import Instant
from tarrafa.errors import DamagedError
from tarrafa.keep import (
    DOCUMENTS,
    LINKS,
    DocumentWriter,
    LinkWriter,
    Place,
    StoredPage,
    join_segments,
    read_whole_pages,
)
from tarrafa.memory import return_freed_memory
from tarrafa.verify import (
    HostCollision,
    Repository,
    RepositoryBounds,
    RepositoryCounts,
    Scheduled,
    UrlOrder,
    Veuniq,
    Weigh,
    by_priority,
)

_DEFAULT_BOUNDS = RepositoryBounds()
_JOIN_EVERY = 8  # checkpoints
# URLs read from one block at a time, roughly; and from one of its hosts.
_SUPPLY_URLS = 100_000
_SUPPLY_HOST_MIN, _SUPPLY_HOST_MAX = 2, 1_000


def _nothing() -> None:
    """Do nothing: all is durable already."""


class Weighing(Protocol):
    """Weights of URLs that are computed beside the crawl, again and again as it grows."""

    def current(self, collected_count: int) -> tuple[int, Weigh] | None:
        """Return the number of the newest weights, and what returns them; None if there are none yet."""
        ...

    def close(self) -> None: ...


class Store:
    """Used by one thread at a time."""

    def __init__(
        self,
        folder: CrawlFolder,
        bounds: RepositoryBounds = _DEFAULT_BOUNDS,
        order: UrlOrder = by_priority,
        weighing: Weighing | None = None,
        rating: Weighing | None = None,
    ) -> None:
        """`weighing` is for the order of URLs, `rating` for the importance of collected pages."""
        self._folder = folder
        self._weighing, self._rating = weighing, rating
        # The number of the weights, and of the importance, that each block has.
        self._weighed: dict[int, int] = {}
        self._rated: dict[int, int] = {}
        self._repository = Veuniq(folder.repository, bounds=bounds, order=order)
        try:
            self._hosts = HostDatabase(folder.hosts)
            self.checkpoint = self._hosts.checkpoint()
            self._check()
            self._documents = DocumentWriter(folder.documents, self.checkpoint.number)
            self._links = LinkWriter(folder.links, self.checkpoint.number)
            self._batches = UrlBatches(folder.batches)
            self._batches.remove(self._repository.last_batch)
        except BaseException:
            self._repository.close()
            raise
        self.counts = self._repository.counts()
        # Hosts that cannot be known. Filled by verify, emptied by take_collisions.
        self._collisions: list[HostCollision] = []
        # URLs in batch files. Filled by save, emptied by verify.
        self.pending_count = count_urls(self._batches.read(self._repository.last_batch, self.checkpoint.number))

    def _check(self) -> None:
        """Raise if the repository knows a batch that no checkpoint has made."""
        if self._repository.last_batch > self.checkpoint.number:
            problem = f"is older than {self._folder.repository}; restore the whole folder from one copy"
            raise DamagedError(f"{self._folder.hosts} {problem}")

    def save(
        self, unsaved: Unsaved, changes: HostChanges, end: Place, make_durable: Callable[[], None] = _nothing
    ) -> None:
        """Make a checkpoint of all that was found, and of the archive up to `end`."""
        number = self.checkpoint.number + 1
        make_durable()
        for row in unsaved.documents:
            self._documents.add(row)
        for source, fetched_at, links in unsaved.links:
            self._links.add_columns(source, fetched_at, links.columns)
        self._documents.sync(number)
        self._links.sync(number)
        batch = batch_of(number, unsaved)
        self._batches.write(batch)
        self.pending_count += count_urls(batch)
        checkpoint = Checkpoint(number, end, self.checkpoint.totals.plus(unsaved.counts, changes.counts))
        self._hosts.commit(checkpoint, changes)
        self.checkpoint = checkpoint
        self._join(number)

    def _join(self, number: int) -> None:
        """Join documents after some checkpoints and links after others: what is unsaved grows meanwhile."""
        if number % _JOIN_EVERY == 0:
            join_segments(self._folder.documents, DOCUMENTS, number)
        elif number % _JOIN_EVERY == _JOIN_EVERY // 2:
            join_segments(self._folder.links, LINKS, number)
        else:
            return
        return_freed_memory()

    def add_totals(self, counts: Mapping[str, int]) -> None:
        """Add to the totals of the last checkpoint."""
        self.checkpoint = self.checkpoint._replace(totals=self.checkpoint.totals.plus(counts))
        self._hosts.commit(self.checkpoint)

    def pages_after_checkpoint(self, end: Place) -> Iterator[StoredPage]:
        """Yield the pages of the archive between the last checkpoint and `end`."""
        return read_whole_pages(self._folder.archive, end, self.checkpoint.end)

    def verify(self) -> list[Scheduled]:
        """Run a cycle over all batches that are saved; return what the verified block schedules."""
        if self._repository.last_batch == self.checkpoint.number:
            self.save(Unsaved(), HostChanges(), self.checkpoint.end)
        number = self.checkpoint.number
        cycle = self._repository.cycle(self._batches.read(self._repository.last_batch, number))
        self._collisions += cycle.collisions
        self._batches.remove(number)
        return_freed_memory()
        self.pending_count = 0
        self.counts, blocks = self._repository.counts(), self._repository.blocks_verified()
        self._weigh(blocks)
        return self.scheduled(blocks)

    def _weigh(self, blocks: list[int]) -> None:
        """Give the URLs of some blocks the newest weights, if they have older ones."""
        found = None if self._weighing is None else self._weighing.current(self.counts.collected)
        if found is None:
            return
        number, weigh = found
        for block in blocks:
            if self._weighed.get(block) != number:
                self._repository.weigh(block, weigh)
                self._weighed[block] = number

    def rate(self, block: int) -> None:
        """Give the collected pages of a block the newest importance, if they have an older one."""
        found = None if self._rating is None else self._rating.current(self.counts.collected)
        if found is not None and self._rated.get(block) != found[0]:
            self._repository.rate(block, found[1])
            self._rated[block] = found[0]

    def refresher(self, settings: RefreshSettings, began_at: float, at: Instant) -> Refresher:
        """Return what chooses collected pages that are visited again. Only the thread of the store may use it."""
        return make_refresher(self._repository, settings, began_at, at)

    def take_collisions(self) -> list[HostCollision]:
        """Return the hosts that the cycles since the last call could not admit."""
        found, self._collisions = self._collisions, []
        return found

    def scheduled(self, blocks: list[int]) -> list[Scheduled]:
        """Return what to visit next, of blocks for which no batch waits."""
        return scheduled_urls(self._repository, self.counts, blocks)

    def blocks(self) -> list[int]:
        return self._repository.blocks()

    @property
    def is_settled(self) -> bool:
        """True if the repository knows everything: no URL waits in a file, or for its block."""
        return not self.pending_count and not self.counts.waiting

    def host_statuses(self) -> dict[str, dict[str, int]]:
        """Return how many hosts are suspended or given up, by reason."""
        return self._hosts.host_statuses()

    def disk_bytes(self) -> int:
        return self._folder.disk_bytes()

    def close(self) -> None:
        """Close both, also if one of them fails."""
        with ExitStack() as parts:
            for each in (self._weighing, self._rating):
                if each is not None:
                    parts.callback(each.close)
            parts.callback(self._repository.close)
            parts.callback(self._hosts.close)


def scheduled_urls(repository: Repository, counts: RepositoryCounts, blocks: list[int]) -> list[Scheduled]:
    """Return the scheduled URLs of some blocks, with fewer of each host the more hosts there are."""
    hosts_count = max(1, counts.hosts // max(1, counts.blocks))
    per_host = min(max(_SUPPLY_URLS // hosts_count, _SUPPLY_HOST_MIN), _SUPPLY_HOST_MAX)
    return [each for block in blocks for each in repository.scheduled(block, per_host)]
