"""Checkpoints and cycles: when they are due, and the thread that runs them.

Pages go to the archive at once. Everything else gathers in `unsaved` until a checkpoint saves it. Now and then a
checkpoint is followed by a cycle of the repository, which verifies the saved URLs and schedules new ones. Both run
beside the visits, in a thread of their own, one at a time.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from tarrafa.agent import events
from tarrafa.agent.host_table import HostTable
from tarrafa.agent.ingest import check_whole
from tarrafa.agent.refresh_looks import ChosenPages, QueueLoad, RefreshLooks
from tarrafa.agent.step_times import CrawlStep, StepTimes
from tarrafa.agent.store import Store
from tarrafa.agent.unsaved import Totals, Unsaved
from tarrafa.clock import Clock, Instant
from tarrafa.keep import Archive, StoredPage
from tarrafa.verify import RepositoryCounts, Scheduled

T = TypeVar("T")

# A checkpoint is due when so much is unsaved; a cycle is due when so many URLs are saved and not verified.
PAGES_DUE, URLS_DUE, BYTES_DUE = 1_000, 100_000, 32_000_000
VERIFY_DUE = 200_000
# While a checkpoint runs, visits pause when so much is unsaved. This bounds the memory of a crawl on a slow disk.
PAGES_LIMIT, URLS_LIMIT, BYTES_LIMIT = 2 * PAGES_DUE, 2 * URLS_DUE, 2 * BYTES_DUE
# When visits run short, checkpoints take a tenth of the time at most, and have at least this interval.
SHORT_SECONDS = 0.2
# The interval while hosts that wait for their turn have more URLs buffered.
BUFFERED_SECONDS = 2.0
SHARE = 10
DISK_SECONDS = 10.0  # between two measurements of the folder's size


class Checkpoints:
    def __init__(self, store: Store, archive: Archive, hosts: HostTable, clock: Clock, every_seconds: float) -> None:
        self._store = store
        self._archive = archive
        self._hosts = hosts
        self._clock = clock
        self._every_seconds = every_seconds
        self._thread = ThreadPoolExecutor(1, "checkpoints")
        # Filled with every page; replaced by each checkpoint.
        self.unsaved = Unsaved()
        # Filled by all that take time, emptied by each checkpoint. Time alone is no reason for a checkpoint.
        self.steps = StepTimes()
        self._totals = store.checkpoint.totals  # of all that was handed to checkpoints
        # URLs whose outcome is saved and not yet in the repository. Filled by checkpoints, emptied by cycles.
        self._unverified: list[str] = []
        # URLs whose outcome the repository knows since the last call. Filled by cycles, emptied by take_finished.
        self._finished: list[str] = []
        self._task: asyncio.Task[list[Scheduled]] | None = None
        self._ended_at = clock.monotonic()
        self._cpu_seconds = 0.0  # of the thread, for the last checkpoint
        self.disk_bytes, self._measured_at = 0, float("-inf")

    @property
    def is_running(self) -> bool:
        return self._task is not None

    @property
    def is_full(self) -> bool:
        """True if visits must wait for the disk."""
        return self._exceeds(PAGES_LIMIT, URLS_LIMIT, BYTES_LIMIT)

    @property
    def totals(self) -> Totals:
        """The totals, with all that is unsaved."""
        return self._totals.plus(self.unsaved.counts, self._hosts.unsaved_counts, self.steps.counts)

    @property
    def counts(self) -> RepositoryCounts:
        """The counts of the repository as of its last cycle."""
        return self._store.counts

    @property
    def pages(self) -> int:
        return self._totals["pages"] + self.unsaved.counts["pages"]

    @property
    def has_news(self) -> bool:
        """True if there is anything that the repository does not know."""
        return bool(self.unsaved) or self._hosts.has_changes or not self._store.is_settled

    def unsaved_pages(self) -> Iterator[StoredPage]:
        """Yield the pages in the archive after the last checkpoint, as a killed process leaves them."""
        return self._store.pages_after_checkpoint(self._archive.end)

    def is_due(self, now: float, *, is_short: bool, is_buffered: bool) -> bool:
        """Return True if a checkpoint should begin. If visits run short, a cycle may find new ones."""
        if self._task is not None:
            return False
        if is_short and self.has_news and now >= self.next_at(is_buffered):
            return True
        is_time = self._has_unsaved and now >= self.due_at()
        return is_time or self._exceeds(PAGES_DUE, URLS_DUE, BYTES_DUE)

    def next_at(self, is_buffered: bool) -> float:
        """Return when a checkpoint may begin because visits run short."""
        least_seconds = BUFFERED_SECONDS if is_buffered else SHORT_SECONDS
        return self._ended_at + max(least_seconds, SHARE * self._cpu_seconds)

    def due_at(self) -> float:
        """Return when the next checkpoint is due by time."""
        return self._ended_at + self._every_seconds

    @property
    def _has_unsaved(self) -> bool:
        return bool(self.unsaved) or self._hosts.has_changes

    def wake_at(self, *, is_short: bool, is_buffered: bool) -> float | None:
        """Return when `is_due` may become true by itself; None if only more pages can make it so."""
        if self._task is not None:
            return None
        times = [self.due_at()] if self._has_unsaved else []
        if is_short and self.has_news:
            times.append(self.next_at(is_buffered))
        return min(times, default=None)

    def _exceeds(self, pages: int, urls: int, size_bytes: int) -> bool:
        unsaved = self.unsaved
        unsaved_bytes = unsaved.size_bytes + self._hosts.unsaved_bytes
        return len(unsaved.ended) >= pages or unsaved.found_count >= urls or unsaved_bytes >= size_bytes

    def begin(self, *, is_verifying: bool, done: Callable[[], None]) -> None:
        """Start a checkpoint; `done` is called when `take` has its result."""
        self._task = asyncio.create_task(self._run(is_verifying))
        self._task.add_done_callback(lambda _: done())

    def take(self) -> list[Scheduled]:
        """Return what the last cycle scheduled; nothing while it runs. An error of the thread is raised here."""
        if self._task is None or not self._task.done():
            return []
        task, self._task = self._task, None
        return task.result()

    def take_finished(self) -> list[str]:
        """Return the URLs whose outcome the repository has learnt since the last call."""
        finished, self._finished = self._finished, []
        return finished

    async def run_now(self) -> list[Scheduled]:
        """Save everything and run a cycle over what was saved."""
        return await self._run(is_verifying=True)

    async def finish(self) -> None:
        """Run the last checkpoint."""
        if self._task is not None:
            await self._task
            self._task = None
        self._measured_at = float("-inf")
        await self.run_now()
        if self._has_unsaved:  # what that cycle has counted
            await self._save()
        await self._save_steps()

    async def _run(self, is_verifying: bool) -> list[Scheduled]:
        self._cpu_seconds = 0.0
        if self._has_unsaved:
            await self._save()
        scheduled: list[Scheduled] = []
        if not self._store.is_settled and (is_verifying or self._store.pending_count >= VERIFY_DUE):
            scheduled = await self._verify()
        self._ended_at = self._clock.monotonic()
        if self._ended_at >= self._measured_at + DISK_SECONDS:
            self._measured_at = self._ended_at
            self.disk_bytes = await self._in_thread(self._store.disk_bytes)
        return scheduled

    async def _save(self) -> None:
        check_whole(self.unsaved)
        unsaved, self.unsaved = self.unsaved, Unsaved()
        unsaved.counts.update(self.steps.take())
        changes, journal_files = self._hosts.take_changes()
        self._totals = self._totals.plus(unsaved.counts, changes.counts)
        end, make_durable = self._archive.begin_sync()
        began = self._clock.monotonic()
        await self._in_thread(lambda: self._store.save(unsaved, changes, end, make_durable), CrawlStep.CHECKPOINT)
        seconds = self._clock.monotonic() - began
        events.checkpoint_saved(self._store.checkpoint.number, len(unsaved.ended), unsaved.found_count, seconds)
        self._hosts.saved(journal_files)
        self._unverified += [each[0] for each in unsaved.ended]

    async def _save_steps(self) -> None:
        """Save the time of the last checkpoint and cycle, which no other checkpoint follows."""
        counts = self.steps.take()
        self._totals = self._totals.plus(counts)
        await self._in_thread(lambda: self._store.add_totals(counts))

    async def _verify(self) -> list[Scheduled]:
        unverified, self._unverified = self._unverified, []
        began = self._clock.monotonic()
        scheduled = await self._in_thread(self._store.verify, CrawlStep.VERIFY)
        counts, seconds = self._store.counts, self._clock.monotonic() - began
        events.cycle_done(counts.known, counts.waiting, len(scheduled), seconds)
        for host, other, urls_count in self._store.take_collisions():
            events.host_collision(host, other, urls_count)
            self.unsaved.counts["refusal host hash"] += urls_count
        self._finished += unverified
        return scheduled

    def blocks(self) -> list[int]:
        return self._store.blocks()

    async def scheduled_of(self, block: int) -> list[Scheduled]:
        """Return what a block schedules. Only while no batch waits: else ended URLs would be scheduled again."""
        return await self._in_thread(partial(self._store.scheduled, [block]), CrawlStep.SCHEDULE)

    async def look(self, looks: RefreshLooks, load: QueueLoad, at: Instant) -> ChosenPages | None:
        """Look at the next block of the collection."""
        return await self._in_thread(partial(looks.look, self._store, load, at), CrawlStep.REFRESH)

    def host_statuses(self) -> dict[str, dict[str, int]]:
        """Return how many hosts are suspended or given up, by reason, as of the last checkpoint."""
        return self._store.host_statuses()

    async def _in_thread(self, work: Callable[[], T], step: CrawlStep | None = None) -> T:
        def timed() -> tuple[T, float]:
            began, began_cpu = time.perf_counter(), time.thread_time()
            try:
                return work(), time.perf_counter() - began
            finally:
                self._cpu_seconds += time.thread_time() - began_cpu

        result, seconds = await asyncio.get_running_loop().run_in_executor(self._thread, timed)
        if step is not None:
            self.steps.add(step, seconds)
        return result

    async def close(self) -> None:
        """Wait for the thread. What it has not committed by then is recovered at the next start."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._thread.shutdown()
        self._store.close()
