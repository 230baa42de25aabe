"""The agent's event loop: carries out what `Visits` decides, ingests pages, and runs checkpoints, until it is done.

It decides nothing about URLs or hosts. What it holds, tasks and timers, can be thrown away at any moment.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from time import perf_counter

from tarrafa.agent import events
from tarrafa.agent.brain import Brain
from tarrafa.agent.checkpoints import Checkpoints
from tarrafa.agent.discovery import SLICE_URLS
from tarrafa.agent.frontier import SuspendedHosts
from tarrafa.agent.ingest import NO_PLACE, Annotations, Ingest, end_lost
from tarrafa.agent.instructions import (
    CountRefused,
    EndUrl,
    Fetch,
    OfferSitemaps,
    Purpose,
    Resolve,
    Tell,
    TellGivenUp,
    TellMirror,
    TellOutageBegun,
    TellOutageEnded,
    TellPatternSlowed,
    TellRobotsUnreachable,
    TellSuspended,
)
from tarrafa.agent.outcomes import outcome_of, status_of
from tarrafa.agent.progress import Ending, Progress, RunLimits
from tarrafa.agent.progress_meter import ProgressMeter
from tarrafa.agent.recent_visits import RecentVisits
from tarrafa.agent.refresh_looks import ChosenPages, RefreshLooks
from tarrafa.agent.refresher import RefreshMode
from tarrafa.agent.step_times import CrawlStep
from tarrafa.agent.unsaved import REFRESHES
from tarrafa.clock import Clock, Instant, instant_of
from tarrafa.errors import WorkError
from tarrafa.fetch import decode
from tarrafa.keep import Archive, StoredAt
from tarrafa.obey import LONG_BYTES, ROBOTS_MAX_BYTES, read_ahead
from tarrafa.records import Failure, Page, Transport
from tarrafa.schedule import WAIT_MAX_SECONDS
from tarrafa.verify import Scheduled

REPORT_SECONDS = 1.0
_PAUSE_SECONDS = 0.001  # at least, so that other callbacks get their turn
_UNLIMITED = 2**31
_TAKE_COUNT = 5_000  # hosts and URLs at a time, for the same reason
_SEEDS = "seeds"  # the total of seeds that were accepted
_SEEDS_OFFERED = "seeds offered"  # the total of seeds that were accepted or refused: the first ones of the list


class Agent:
    def __init__(
        self,
        brain: Brain,
        transport: Transport,
        archive: Archive,
        ingest: Ingest,
        checkpoints: Checkpoints,
        clock: Clock,
        limits: RunLimits,
        looks: RefreshLooks | None = None,  # None if no page is visited again
    ) -> None:
        self._hosts, self._robots = brain.hosts, brain.robots
        self._frontier, self._visits, self._discovery = brain.frontier, brain.visits, brain.discovery
        self._transport = transport
        self._archive = archive
        self._ingest = ingest
        self._checkpoints = checkpoints
        self._clock = clock
        self._limits = limits
        self._looks = looks
        # The look under way. Filled by _begin_look, emptied by _take_look.
        self._look: asyncio.Task[ChosenPages | None] | None = None
        # Requests and look-ups under way. Filled by _start, emptied as they end.
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._is_closing = False
        self._woken = asyncio.Event()
        self._ending = Ending.RUNNING
        self._recent = RecentVisits()
        self._meter = ProgressMeter(brain, checkpoints, self._recent, clock, limits)
        self._began_at = clock.monotonic()
        self._reported_at = float("-inf")
        self._search_at = float("-inf")  # no block has anything to visit before

    def stop(self) -> None:
        """Begin no more visits; those in flight are finished and their pages kept."""
        if self._ending is Ending.RUNNING:
            self._ending = Ending.STOPPED
            events.stop_requested(self._visits.in_flight)
        self._woken.set()

    async def run(self, seeds: Sequence[str], report: Callable[[Progress], None]) -> Progress:
        """Crawl to the end; `report` is called about once a second."""
        events.crawl_begun(self._checkpoints.pages, self._checkpoints.counts.known, len(seeds))
        await self._recover(seeds)
        while self._ending is Ending.RUNNING or self._visits.in_flight:
            is_short = self._step(report)
            if is_short and self._is_exhausted() and not await self._search_blocks() and self._ends():
                break
            await self._pause(is_short)
        self._raise_error()
        await self._checkpoints.finish()
        progress = self.progress()._replace(host_statuses=self._checkpoints.host_statuses())
        left = self._left_suspended()
        if left.hosts_count:
            progress = progress._replace(suspended=left.hosts_count, suspended_until=left.until)
        events.crawl_ended(progress.ending, progress.pages, progress.seconds)
        return progress

    def _ends(self) -> bool:
        """End the crawl, because nothing is left to visit now; return False to wait for suspended hosts or a look."""
        if self._ending is not Ending.RUNNING:
            return True
        left, at = self._left_suspended(), instant_of(self._clock)
        # A clock that was set meanwhile must not make it wait for years.
        back_at = None if left.until is None else at.monotonic + min(left.until - at.wall, WAIT_MAX_SECONDS)
        if self._looks is not None and not self._looks.is_over:
            self._frontier.suspended_refresh = {}
            self._looks.look_again(at.monotonic)
            self._search_at = min(when for when in (self._looks.due_at, back_at) if when is not None)
            return False
        if back_at is not None and self._limits.is_waiting:
            self._search_at = back_at
            if self._looks is not None:
                self._looks.look_again(back_at)
            return False
        self._ending = self._done(is_suspended=left.hosts_count > 0)
        return True

    def _done(self, *, is_suspended: bool) -> Ending:
        if not self._checkpoints.pages:
            return Ending.NOTHING
        if is_suspended:
            return Ending.SUSPENDED
        return Ending.ROUND if self._limits.mode is RefreshMode.ROUND else Ending.DONE

    def _left_suspended(self) -> SuspendedHosts:
        """Return the suspended hosts that have URLs or pages to visit; one that has both is counted once at least."""
        fresh, again = self._frontier.suspended, self._frontier.suspended_refresh
        times = [*again.values(), *([] if fresh.until is None else [fresh.until])]
        return SuspendedHosts(max(fresh.hosts_count, len(again)), min(times, default=None))

    async def _recover(self, seeds: Sequence[str]) -> None:
        """Collect the pages again that a kill left unsaved, offer new seeds, and run one cycle, so that visits begin.

        Other blocks are verified as visits run short.
        """
        for stored in self._checkpoints.unsaved_pages():
            at, is_reference = StoredAt(stored.place, stored.digest), stored.original is not None
            await self._ingest.recover(stored.page, at, stored.fields, is_reference=is_reference)
            await asyncio.sleep(0)
        self._hosts.recover()
        await self._offer_seeds(seeds)
        if self._checkpoints.has_news:
            await self._take(await self._checkpoints.run_now())
        while self._limits.mode in (RefreshMode.ROUND, RefreshMode.AGAIN) and self._checkpoints.has_news:
            # Visits that the last run made must not be made again.
            await self._take(await self._checkpoints.run_now())

    async def _offer_seeds(self, seeds: Sequence[str]) -> None:
        """Offer the seeds, unless all of them were accepted before. A wider scope may accept what was refused."""
        unsaved, totals = self._checkpoints.unsaved, self._checkpoints.totals
        accepted, offered = totals[_SEEDS], totals[_SEEDS_OFFERED]
        if accepted == len(seeds):
            return
        count = 0
        for place, url in enumerate(seeds):
            count += self._discovery.offer_seed(unsaved, url, is_new=place >= offered)
            if place % SLICE_URLS == 0:
                await asyncio.sleep(0)
        unsaved.counts[_SEEDS] += count - accepted
        unsaved.counts[_SEEDS_OFFERED] += max(0, len(seeds) - offered)

    def _step(self, report: Callable[[Progress], None]) -> bool:
        """Begin visits and a checkpoint if one is due; return True if visits run short."""
        self._raise_error()
        at = instant_of(self._clock)
        self._check_limits(at.monotonic)
        began = perf_counter()
        is_short = self._visits.step(at, self._room())
        self._checkpoints.steps.add(CrawlStep.SCHEDULE, perf_counter() - began)
        self._carry_out()
        self._archive.flush()
        is_buffered = self._frontier.has_buffered
        if self._checkpoints.is_due(at.monotonic, is_short=is_short, is_buffered=is_buffered):
            self._checkpoints.begin(is_verifying=is_short, done=self._woken.set)
        self._begin_look(at)
        if at.monotonic >= self._reported_at + REPORT_SECONDS:
            self._reported_at = at.monotonic
            report(self.progress())
        return is_short

    def _begin_look(self, at: Instant) -> None:
        """Begin a look at the collection if one is due."""
        looks, checkpoints = self._looks, self._checkpoints
        if looks is None or looks.is_over or self._look is not None or checkpoints.is_running:
            return
        if self._ending is Ending.RUNNING and at.monotonic >= looks.due_at:
            load = looks.load(checkpoints.totals[REFRESHES], is_settled=not checkpoints.has_news)
            self._look = asyncio.create_task(checkpoints.look(looks, load, at))
            self._look.add_done_callback(lambda _: self._woken.set())

    def _take_look(self) -> None:
        """Hand what a look has chosen to the frontier. An error of its thread is raised here."""
        if self._look is not None and self._look.done():
            chosen, self._look = self._look.result(), None
            if self._looks is not None and self._ending is Ending.RUNNING:
                self._looks.take(chosen, instant_of(self._clock))
                self._carry_out()

    def _check_limits(self, now: float) -> None:
        limits = self._limits
        if self._ending is not Ending.RUNNING:
            return
        if limits.pages is not None and self._checkpoints.pages >= limits.pages:
            self._ending = Ending.PAGES
            events.limit_reached("pages", limits.pages)
        elif limits.seconds is not None and now >= self._began_at + limits.seconds:
            self._ending = Ending.TIME
            events.limit_reached("seconds", limits.seconds)

    def _room(self) -> int:
        """Return how many more visits may begin."""
        if self._ending is not Ending.RUNNING or self._checkpoints.is_full:
            return 0
        if self._limits.pages is None:
            return _UNLIMITED
        return self._limits.pages - self._checkpoints.pages - self._visits.in_flight

    def _is_exhausted(self) -> bool:
        checkpoints = self._checkpoints
        at = instant_of(self._clock)
        is_saved = not checkpoints.is_running and not checkpoints.has_news and self._look is None
        return is_saved and at.monotonic >= self._search_at and self._visits.is_exhausted(at)

    async def _search_blocks(self) -> bool:
        """Return True if another block of the repository has something to visit."""
        self._frontier.suspended = SuspendedHosts()
        if self._limits.mode is RefreshMode.ROUND:
            return False
        self._frontier.admit_mirrors(is_admitted=False)
        if await self._take_blocks():
            return True
        return self._frontier.admit_mirrors(is_admitted=True) and await self._take_blocks()

    async def _take_blocks(self) -> bool:
        """Hand the scheduled URLs of block after block to the frontier, until any is new there."""
        for block in self._checkpoints.blocks():
            if await self._take(await self._checkpoints.scheduled_of(block)):
                return True
        return False

    async def _take(self, scheduled: list[Scheduled]) -> bool:
        """Hand scheduled URLs to the frontier; return True if any of them is new there."""
        self._frontier.finish(self._checkpoints.take_finished())
        has_new, count = False, 0
        for each in scheduled if self._limits.mode is not RefreshMode.ROUND else ():
            has_new |= self._frontier.scheduled(each, instant_of(self._clock))
            count += 1 + len(each.urls)
            if count >= _TAKE_COUNT:
                count = 0
                await asyncio.sleep(0)
        self._carry_out()
        return has_new

    async def _pause(self, is_short: bool) -> None:
        """Wait until something has ended, or something is due."""
        at = instant_of(self._clock)
        times = [
            self._reported_at + REPORT_SECONDS,
            self._checkpoints.wake_at(is_short=is_short, is_buffered=self._frontier.has_buffered),
            self._visits.wake_at(at) if is_short else None,
            None if self._looks is None or self._looks.is_over or self._look is not None else self._looks.due_at,
        ]
        due_at = min(when for when in times if when is not None)
        timer = asyncio.get_running_loop().call_later(max(_PAUSE_SECONDS, due_at - at.monotonic), self._woken.set)
        await self._woken.wait()
        timer.cancel()
        self._woken.clear()
        await self._take(self._checkpoints.take())
        self._take_look()

    def _carry_out(self) -> None:
        """Carry out what was decided since the last call."""
        instructions, self._frontier.instructions = self._frontier.instructions, []
        unsaved = self._checkpoints.unsaved
        for instruction in instructions:
            match instruction:
                case Fetch():
                    self._start(self._fetch(instruction))
                case Resolve():
                    self._start(self._resolve(instruction))
                case EndUrl():
                    self._end(instruction)
                case CountRefused(reason, count):
                    unsaved.counts[f"refusal {reason}"] += count
                case OfferSitemaps(host, urls):
                    self._discovery.offer_sitemaps(unsaved, host, urls)
                case _:
                    _tell(instruction)

    def _end(self, end: EndUrl) -> None:
        """Note the outcome of a URL without a page. What is known of a page that was collected before stays."""
        status, unsaved, now = status_of(end.failure, end.refusal), self._checkpoints.unsaved, self._clock.now()
        if end.known is not None:
            end_lost(unsaved, end.url, now, self._ingest.refreshes.lose(end.known, status, now))
            return
        unsaved.end(end.url, now, status, NO_PLACE)
        unsaved.counts[f"outcome {outcome_of(status)}"] += 1
        if end.failure is None:
            unsaved.counts[f"refusal {end.refusal}"] += 1

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._error = self._error or task.exception()
        elif not self._is_closing:
            self._error = WorkError("a visit was cancelled; start again, nothing is lost")
        self._woken.set()

    def _raise_error(self) -> None:
        """Raise the error of the first task that failed: it stops the agent."""
        if self._error is not None:
            raise self._error

    async def _resolve(self, resolve: Resolve) -> None:
        began = self._clock.monotonic()
        found = await self._transport.resolve(resolve.name)
        self._checkpoints.steps.add(CrawlStep.NAMES, self._clock.monotonic() - began)
        self._visits.resolved(resolve.host, found, instant_of(self._clock))
        self._carry_out()

    async def _fetch(self, fetch: Fetch) -> None:
        visit, request, purpose, distance, cash, known = fetch
        refresh = None if known is None else await self._ingest.refreshes.begin(known)
        if refresh is not None:
            request = request._replace(headers=(*request.headers, *refresh.conditions))
        self._recent.begin(visit.host, request.url, self._clock.monotonic())
        got = await self._transport.fetch(request)
        seconds = self._recent.end(request.url, got, self._clock.monotonic())
        self._checkpoints.steps.add_visit(got, seconds)
        if purpose is Purpose.ROBOTS:
            got = await self._decoded_robots(got)
            self._visits.robots_fetched(visit, got, instant_of(self._clock))
        elif isinstance(got, Failure):
            self._visits.page_failed(visit, got, instant_of(self._clock))
        else:
            usage = self._robots.usage(visit.host, visit.url)
            await self._ingest.add(visit, got, Annotations(distance, usage, cash), refresh)
        self._carry_out()

    async def _decoded_robots(self, got: Page | Failure) -> Page | Failure:
        """Undo the content coding of a robots.txt. A long one is parsed in a thread, so that visits do not wait."""
        if isinstance(got, Failure):
            return got
        decoded = decode(got, ROBOTS_MAX_BYTES + 1)
        page = got._replace(body=decoded.body, truncated=decoded.truncated)
        if len(page.body) >= LONG_BYTES and 200 <= page.status < 300:
            await asyncio.to_thread(read_ahead, page, self._robots.token)
        return page

    def progress(self) -> Progress:
        return self._meter.read(self._ending, self._ingest.apart_count)

    async def close(self) -> None:
        """Close every part, also if one of them fails; the last failure is raised."""
        self._is_closing = True
        if self._look is not None:
            await asyncio.gather(self._look, return_exceptions=True)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        async with contextlib.AsyncExitStack() as parts:  # the last one first
            parts.callback(self._hosts.close)
            parts.callback(self._archive.close)
            parts.callback(self._flush_archive)
            parts.callback(self._ingest.close)
            parts.callback(self._transport.close)
            parts.push_async_callback(self._checkpoints.close)

    def _flush_archive(self) -> None:
        with contextlib.suppress(WorkError):  # reported already, or what is not flushed is fetched again
            self._archive.flush()


def _tell(instruction: Tell) -> None:
    match instruction:
        case TellSuspended(host, reason, until):
            events.host_suspended(host, reason, until)
        case TellGivenUp(host, reason):
            events.host_given_up(host, reason)
        case TellRobotsUnreachable(host, reason, until):
            events.robots_unreachable(host, reason, until)
        case TellOutageBegun(host, reason):
            events.outage_begun(host, reason)
        case TellOutageEnded(seconds, is_answered):
            events.outage_ended(seconds, is_answered=is_answered)
        case TellPatternSlowed(host, pattern):
            events.pattern_slowed(host, pattern)
        case TellMirror(news):
            events.mirror_found(news)
