"""Keeping what comes: pages go to the archive at once; the rest is gathered, and now and then saved and verified.

A round is a checkpoint, and a cycle of the repository if one is due. It runs beside the visits, in a thread of its own,
one at a time.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from tarrafa.agent.folder import CrawlFolder
from tarrafa.agent.gathering import Gathering
from tarrafa.agent.keeper import Keeper
from tarrafa.agent.memory import HostMemory
from tarrafa.agent.pauses import Pauses
from tarrafa.agent.supply import Supply
from tarrafa.agent.totals import Totals
from tarrafa.clock import Clock
from tarrafa.errors import WorkError
from tarrafa.keep import Archive
from tarrafa.verify import Scheduled

T = TypeVar("T")

# A checkpoint is due when so much was gathered; a cycle is due when so much was saved.
PAGES_DUE, URLS_DUE, BYTES_DUE = 1_000, 200_000, 64_000_000
VERIFY_DUE = 400_000
# More is not gathered while a round runs: visits wait.
PAGES_LIMIT, URLS_LIMIT, BYTES_LIMIT = 5 * PAGES_DUE, 5 * URLS_DUE, 5 * BYTES_DUE
# When visits run short, the work of rounds takes a tenth of the time at most, and they are no closer than this.
SHORT_SECONDS = 0.2
# While hosts that wait for their turn have more URLs, there is less hurry.
SUPPLIED_SECONDS = 2.0
SHARE = 10
LOOK_SECONDS = 10.0  # between two looks at the size of the folder


class Rounds:
    def __init__(
        self,
        folder: CrawlFolder,
        keeper: Keeper,
        archive: Archive,
        supply: Supply,
        memory: HostMemory,
        clock: Clock,
        every_seconds: float,
    ) -> None:
        self._folder = folder
        self._keeper = keeper
        self._archive = archive
        self._supply = supply
        self._memory = memory
        self._clock = clock
        self._every_seconds = every_seconds
        self._thread = ThreadPoolExecutor(1, "keeper")
        # Filled with every page, and by whoever learns something; emptied by each checkpoint.
        self.gathering = Gathering()
        self.pauses = Pauses(folder.pauses)
        # Of all that was handed over to be saved.
        self._totals = keeper.checkpoint.totals
        # URLs whose end was saved but is not in the repository. Filled by checkpoints, emptied by cycles.
        self._told: list[str] = []
        self._task: asyncio.Task[list[Scheduled]] | None = None
        self._ended_at = clock.monotonic()
        self._worked_seconds = 0.0  # by the processor, for the last round
        self.is_torn = False  # a page stands in the archive, and not all of it was gathered
        self.disk_bytes, self._looked_at = 0, float("-inf")

    @property
    def is_running(self) -> bool:
        return self._task is not None

    @property
    def is_full(self) -> bool:
        """Whether visits must wait for the disk."""
        return self._is_beyond(PAGES_LIMIT, URLS_LIMIT, BYTES_LIMIT)

    @property
    def totals(self) -> Totals:
        """As they will be when everything is saved."""
        return Totals(self._totals + self.gathering.counts)

    def count(self, name: str) -> int:
        """One of the totals."""
        return self._totals[name] + self.gathering.counts[name]

    @property
    def has_news(self) -> bool:
        """Whether there is anything that the repository does not know."""
        return bool(self.gathering) or not self._keeper.is_settled

    def is_due(self, now: float, is_short: bool) -> bool:
        """Whether a round should begin. Visits that run short may find new ones in what was gathered."""
        if self._task is not None:
            return False
        if is_short and self.has_news and now >= self.next_at():
            return True
        is_time = bool(self.gathering) and now >= self._ended_at + self._every_seconds
        return is_time or self._is_beyond(PAGES_DUE, URLS_DUE, BYTES_DUE)

    def next_at(self) -> float:
        """When a round may begin for visits that run short."""
        least_seconds = SUPPLIED_SECONDS if len(self._supply) else SHORT_SECONDS
        return self._ended_at + max(least_seconds, SHARE * self._worked_seconds)

    def due_at(self) -> float:
        """When a round is due if nothing more happens."""
        return self._ended_at + self._every_seconds

    def _is_beyond(self, pages: int, urls: int, size_bytes: int) -> bool:
        gathered = self.gathering
        return len(gathered.ended) >= pages or gathered.found_count >= urls or gathered.size_bytes >= size_bytes

    def begin(self, is_short: bool, done: Callable[[], None]) -> None:
        """Start a round; `done` is called when `take` has something."""
        self._task = asyncio.create_task(self._round(is_short))
        self._task.add_done_callback(lambda _: done())

    def take(self) -> list[Scheduled]:
        """What the last round found to be visited; nothing while it runs. An error in it is raised here."""
        if self._task is None or not self._task.done():
            return []
        task, self._task = self._task, None
        return task.result()

    async def once(self) -> list[Scheduled]:
        """A round here and now: save everything, verify what was saved."""
        return await self._round(is_verifying=True)

    async def finish(self) -> None:
        """The last round."""
        if self._task is not None:
            await self._task
            self._task = None
        self._looked_at = float("-inf")
        await self.once()

    async def _round(self, is_verifying: bool) -> list[Scheduled]:
        self._worked_seconds = 0.0
        if self.gathering:
            await self._save()
        supplied: list[Scheduled] = []
        if not self._keeper.is_settled and (is_verifying or self._keeper.pending_count >= VERIFY_DUE):
            supplied = await self._verify()
        self._ended_at = self._clock.monotonic()
        if self._ended_at >= self._looked_at + LOOK_SECONDS:
            self._looked_at = self._ended_at
            self.disk_bytes = await self._in_thread(self._folder.disk_bytes)
        return supplied

    def check_whole(self) -> None:
        """Nothing is kept or saved any more when a page stands in the archive and not in the gathering."""
        if self.is_torn:
            raise WorkError("a page could not be gathered, so nothing is saved; the archive has it for the next start")

    async def _save(self) -> None:
        self.check_whole()
        gathered, self.gathering = self.gathering, Gathering()
        # The loop goes on changing the facts about hosts.
        gathered.hosts = {name: host.copy() for name, host in gathered.hosts.items()}
        self._totals = Totals(self._totals + gathered.counts)
        end, make_durable = self._archive.begin_sync()
        pauses = self.pauses.turn()
        await self._in_thread(lambda: self._keeper.save(gathered, end, make_durable))
        self.pauses.remove(pauses)
        self._told += [each[0] for each in gathered.ended]
        self._memory.trim(self.gathering.hosts)

    async def _verify(self) -> list[Scheduled]:
        told, self._told = self._told, []
        supplied = await self._in_thread(self._keeper.verify)
        self._supply.forget(told)
        return supplied

    async def all_blocks(self) -> AsyncIterator[list[Scheduled]]:
        """What each block has to be visited. Only while nothing waits to be verified: else ended URLs come again."""
        for block in self._keeper.blocks():
            yield await self._in_thread(partial(self._keeper.supply, [block]))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        def timed() -> T:
            began = time.thread_time()
            try:
                return work()
            finally:
                self._worked_seconds += time.thread_time() - began

        return await asyncio.get_running_loop().run_in_executor(self._thread, timed)

    async def close(self) -> None:
        """Wait for the thread; what it has not committed by then is found again."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._thread.shutdown()
        self.pauses.close()
