"""The loop: feed the workbench, begin visits, save and verify, until there is nothing left or a limit is reached."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tarrafa.agent.feeding import Feeding
from tarrafa.agent.folder import CrawlFolder
from tarrafa.agent.keeper import Keeper
from tarrafa.agent.landing import Landing
from tarrafa.agent.parts import Parts
from tarrafa.agent.progress import Ending, Progress, Rates, cpu_seconds, memory_bytes
from tarrafa.agent.visiting import Visiting
from tarrafa.errors import WorkError
from tarrafa.keep import StoredAt, read_whole_pages
from tarrafa.verify import Scheduled

REPORT_SECONDS = 1.0
_PAUSE_SECONDS = 0.001  # at least, so that whoever else is ready has its turn
_TAKE_COUNT = 500  # hosts at a time, so that what comes meanwhile is received


class Limits(NamedTuple):
    pages: int | None = None  # of the whole crawl
    hosts: int | None = None  # of the whole crawl
    seconds: float | None = None  # of this run


class Agent:
    def __init__(
        self, folder: CrawlFolder, parts: Parts, keeper: Keeper, limits: Limits, report: Callable[[Progress], None]
    ) -> None:
        self._folder = folder
        self._parts = parts
        self._keeper = keeper
        self._limits = limits
        self._report = report
        self._feeding = Feeding(parts)
        self._landing = Landing(parts, self._feeding)
        self._visiting = Visiting(parts, self._feeding, self._landing, self._wake)
        self._woken = asyncio.Event()
        self._ending = Ending.RUNNING
        self._rates = Rates()
        self._began_at = parts.clock.monotonic()
        self._began_cpu = cpu_seconds()
        self._reported_at = float("-inf")
        self._began_pages = parts.rounds.count("pages")

    def stop(self) -> None:
        """Begin no more visits; what is in flight is finished and kept."""
        if self._ending is Ending.RUNNING:
            self._ending = Ending.STOPPED
        self._wake()

    async def run(self, seeds: Sequence[str]) -> Progress:
        await self._recover(seeds)
        while not (self._ending is not Ending.RUNNING and not self._visiting.flying):
            is_short = self._step(self._parts.clock.monotonic())
            if is_short and self._is_exhausted() and not await self._look_elsewhere():
                self._ending = Ending.DONE
                break
            await self._pause(is_short)
        self._visiting.check()
        await self._parts.rounds.finish()
        return self._tell(self._parts.clock.monotonic())._replace(standings=self._keeper.standings())

    async def _recover(self, seeds: Sequence[str]) -> None:
        """What was kept after the last checkpoint is gathered again, and the repository brought up to it."""
        reading, rounds = self._parts.reading, self._parts.rounds
        for stored in read_whole_pages(self._folder.archive, self._parts.archive.end, self._keeper.checkpoint.end):
            await self._landing.regain(stored.page, StoredAt(stored.place, stored.digest), stored.fields)
        self._feeding.regain()
        for url in seeds:
            reading.offer(rounds.gathering, url, 0)
        while rounds.has_news and self._ending is Ending.RUNNING:
            await self._take(await rounds.once())

    def _step(self, now: float) -> bool:
        """Whether visits run short: more could be in flight if there were any."""
        self._check_limits(now)
        self._feeding.step(now)
        is_short = self._visiting.step(now, self._room())
        rounds = self._parts.rounds
        self._parts.archive.flush()
        if rounds.is_due(now, is_short):
            self._parts.robots.save()
            rounds.begin(is_short, self._wake)
        if now >= self._reported_at + REPORT_SECONDS:
            self._reported_at = now
            self._report(self._tell(now))
        return is_short

    def _check_limits(self, now: float) -> None:
        limits = self._limits
        if self._ending is not Ending.RUNNING:
            return
        if limits.pages is not None and self._pages() >= limits.pages:
            self._ending = Ending.PAGES
        elif limits.seconds is not None and now >= self._began_at + limits.seconds:
            self._ending = Ending.TIME

    def _pages(self) -> int:
        return self._parts.rounds.count("pages")

    def _room(self) -> int:
        """How many more visits may begin."""
        if self._ending is not Ending.RUNNING or self._parts.rounds.is_full:
            return 0
        if self._limits.pages is None:
            return self._parts.manners.in_flight
        return self._limits.pages - self._pages() - len(self._visiting.flying)

    def _is_exhausted(self) -> bool:
        rounds = self._parts.rounds
        if not (self._visiting.is_idle and self._feeding.is_idle and not rounds.is_running):
            return False
        counts = self._parts.bench.counts(self._parts.clock.monotonic())
        return not rounds.has_news and not counts.waiting and not counts.nameless

    async def _look_elsewhere(self) -> bool:
        """Whether another block has something to be visited."""
        async for supplied in self._parts.rounds.all_blocks():
            if await self._take(supplied):
                return True
        return False

    async def _take(self, supplied: list[Scheduled]) -> bool:
        """Whether anything of it is new."""
        has_new = False
        for number, scheduled in enumerate(supplied):
            has_new |= self._feeding.take(scheduled)
            if number % _TAKE_COUNT == _TAKE_COUNT - 1:
                await asyncio.sleep(0)
        return has_new

    def _wake(self) -> None:
        self._woken.set()

    async def _pause(self, is_short: bool) -> None:
        """Until something has ended, or something is due."""
        now = self._parts.clock.monotonic()
        timer = asyncio.get_running_loop().call_later(max(_PAUSE_SECONDS, self._due_at(is_short) - now), self._wake)
        await self._woken.wait()
        timer.cancel()
        self._woken.clear()
        await self._take(self._parts.rounds.take())

    def _due_at(self, is_short: bool) -> float:
        parts = self._parts
        due = [self._reported_at + REPORT_SECONDS]
        if parts.rounds.gathering and not parts.rounds.is_running:
            due.append(parts.rounds.due_at())
        if parts.bench.is_hungry:
            return 0.0
        if is_short:
            wake_at = parts.bench.wake_at()
            due += [] if wake_at is None else [wake_at]
            if parts.rounds.has_news and not parts.rounds.is_running:
                due.append(parts.rounds.next_at())
        return min(due)

    def _tell(self, now: float) -> Progress:
        totals, counts = self._parts.rounds.totals, self._keeper.counts
        bench = self._parts.bench.counts(now)
        pages_rate, bytes_rate = self._rates.note(now, totals["pages"], totals["bytes"])
        left = None
        if self._limits.pages is not None and pages_rate > 0:
            left = max(0, self._limits.pages - totals["pages"]) / pages_rate
        return Progress(
            ending=self._ending,
            pages=totals["pages"],
            run_pages=totals["pages"] - self._began_pages,
            bytes=totals["bytes"],
            hosts=totals["hosts"],
            known=counts.known,
            fresh=counts.known - counts.collected,
            seconds=now - self._began_at,
            pages_per_second=pages_rate,
            bytes_per_second=bytes_rate,
            in_flight=len(self._visiting.flying),
            ready=bench.ready,
            waiting=bench.waiting,
            set_aside=bench.set_aside + self._feeding.asleep_count,
            given_up=totals["given up"],
            memory_bytes=memory_bytes(),
            disk_bytes=self._parts.rounds.disk_bytes,
            cpu_seconds=cpu_seconds() - self._began_cpu,
            left_seconds=left,
            outcomes=totals.named("outcome"),
            refusals=totals.named("refusal"),
            failures=totals.named("failure"),
        )

    async def close(self) -> None:
        await asyncio.gather(*self._visiting.close(), return_exceptions=True)
        await self._parts.rounds.close()
        self._parts.web.close()
        self._parts.reading.close()
        with contextlib.suppress(WorkError):  # it was told already, or what is not flushed is fetched again
            self._parts.archive.flush()
        self._parts.archive.close()
        with contextlib.suppress(WorkError):  # what is not saved is asked for again
            self._parts.robots.close()
        self._parts.memory.close()
        self._keeper.close()
