"""Visits, from the workbench's word to the answer."""

import asyncio
from collections.abc import Callable, Coroutine

from tarrafa.agent.feeding import Feeding
from tarrafa.agent.landing import Landing
from tarrafa.agent.outcomes import NO_FILE, outcome_of, status_of
from tarrafa.agent.parts import Parts
from tarrafa.agent.robots import Settled
from tarrafa.errors import WorkError
from tarrafa.keep import Place
from tarrafa.obey import ROBOTS_MAX_BYTES, Basis, Permission, RobotsRequest, first_request
from tarrafa.records import Failure, Page, Request
from tarrafa.schedule import SITEMAP_HINT, Fate, Visit, depth_of
from tarrafa.urls import host_name, host_of

_NO_PLACE = Place(NO_FILE, 0)
_NAME_SECONDS = 300.0  # for which an address is believed


class Visiting:
    def __init__(self, parts: Parts, feeding: Feeding, landing: Landing, wake: Callable[[], None]) -> None:
        self._parts = parts
        self._feeding = feeding
        self._landing = landing
        self._wake = wake
        # Under way. Each enters when it begins and leaves when it ends.
        self.flying: set[asyncio.Task[None]] = set()
        self.resolving: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None
        self._is_closing = False

    @property
    def is_idle(self) -> bool:
        return not self.flying and not self.resolving

    def step(self, now: float, room: int) -> bool:
        """Begin what may begin, up to `room` visits; whether there could have been more."""
        self.check()
        limit, bench = self._parts.manners.in_flight, self._parts.bench
        while len(self.resolving) < limit and (name := bench.resolve_next(now)) is not None:
            self._start(self.resolving, self._find_address(name))
        room = min(room, limit - len(self.flying))
        while room > 0:
            visit = bench.next(now)
            if visit is None:
                return True
            room -= self._begin(visit, now)
        return False

    def check(self) -> None:
        """One failed visit stops the agent, loudly."""
        if self._failed is not None:
            raise self._failed

    def close(self) -> list[asyncio.Task[None]]:
        """End whatever is under way."""
        self._is_closing = True
        tasks = [*self.flying, *self.resolving]
        for task in tasks:
            task.cancel()
        return tasks

    def _start(self, group: set[asyncio.Task[None]], work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        group.add(task)
        task.add_done_callback(lambda done: self._landed(group, done))

    def _landed(self, group: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
        group.discard(task)
        if not task.cancelled():
            failed = task.exception()  # asked of each, for what is never asked for is told by asyncio
            self._failed = self._failed or failed
        elif not self._is_closing:
            self._failed = WorkError("a visit was cancelled; start again, nothing is lost")
        self._wake()

    async def _find_address(self, host: str) -> None:
        name = host_name(host)
        found = await self._parts.web.resolve(name)
        now, bench = self._parts.clock.monotonic(), self._parts.bench
        if isinstance(found, Failure):
            self._feeding.after(host, bench.unresolved(host, now, found.kind), now)
            return
        bench.describe(host, self._feeding.traits(host, found), now)
        # Where only a proxy knows the address, each host counts as its own.
        self._feeding.after(host, bench.resolved(host, found or (name,), now, now + _NAME_SECONDS), now)

    def _begin(self, visit: Visit, now: float) -> bool:
        """Whether a visit was made."""
        robots, bench = self._parts.robots, self._parts.bench
        if robots.is_asked(visit.url):
            self._start(self.flying, self._ask(visit))
            return True
        if not self._parts.supply.has(visit.url):
            # Somebody else asked for the same robots.txt, and has the answer.
            bench.not_made(visit, now, again=False)
            return False
        permission = robots.permission(visit.host, self._parts.clock.now())
        if permission is None:
            bench.not_made(visit, now, again=True)
            self._ask_first(first_request(visit.host), now)
            return False
        if self._is_refused(visit, permission, now):
            return False
        self._start(self.flying, self._visit(visit))
        return True

    def _ask_first(self, request: RobotsRequest, now: float) -> bool:
        """Whether it will be asked for. Before its own pages a host asks also for what others wait for already."""
        bench, robots, host = self._parts.bench, self._parts.robots, host_of(request.url)
        is_there = robots.is_asked(request.url) and host != request.host
        if not is_there and not bench.add_first(host, request.url, now):
            # The host may have as many URLs as it can hold.
            self._feeding.recall(host, now)
            if not bench.add_first(host, request.url, now):
                return False
        robots.ask(request)
        return True

    def _is_refused(self, visit: Visit, permission: Permission, now: float) -> bool:
        bench, robots, host = self._parts.bench, self._parts.robots, self._feeding.meet(visit.host)
        refusal = permission.refusal(visit.url)
        if self._feeding.is_full(host):
            bench.not_made(visit, now, again=True)
            self._feeding.recall(visit.host, now)
            self._feeding.refuse(host)
        elif refusal is None:
            return False
        elif permission.basis is Basis.UNREACHABLE:
            bench.not_made(visit, now, again=True)
            self._feeding.recall(visit.host, now)
            self._feeding.set_aside(visit.host, robots.reason(visit.host), permission.expires_at)
            self._feeding.sleep(visit.host, permission.expires_at)
        else:
            bench.not_made(visit, now, again=False)
            self._end(visit.url, None)
        return True

    async def _visit(self, visit: Visit) -> None:
        hint = self._parts.supply.hint(visit.url)
        is_sitemap = hint == SITEMAP_HINT
        got = await self._parts.web.fetch(Request(visit.url, address=visit.address, any_type=is_sitemap))
        if isinstance(got, Page):
            await self._landing.land(visit, got, depth_of(hint))
            return
        now = self._parts.clock.monotonic()
        ended = self._parts.bench.ended(visit, now, self._landing.answer(got))
        if ended.fate is Fate.FINAL:
            self._end(visit.url, got)
        self._feeding.after(visit.host, ended, now)

    def _end(self, url: str, outcome: Failure | None) -> None:
        """Done with a URL of which there is no page: it failed, or robots.txt forbids it."""
        status, gathering = status_of(outcome), self._parts.rounds.gathering
        gathering.end(url, self._parts.clock.now(), status, _NO_PLACE)
        gathering.counts[f"outcome {outcome_of(status)}"] += 1
        if outcome is None:
            gathering.counts["refusal robots"] += 1
            return
        gathering.counts[f"failure {outcome.kind}"] += 1
        host = self._feeding.meet(host_of(url))
        host.failures += 1
        self._feeding.note(host)

    async def _ask(self, visit: Visit) -> None:
        """For robots.txt, of the host itself or of one that leads here."""
        request = Request(visit.url, address=visit.address, any_type=True, body_limit_bytes=ROBOTS_MAX_BYTES)
        got = await self._parts.web.fetch(request)
        self._landing.note_connection(visit.host, got)
        robots = self._parts.robots
        opened = await robots.opened(got)
        now = self._parts.clock.monotonic()
        ended = self._parts.bench.ended(visit, now, self._landing.answer(got))
        if ended.fate is Fate.FINAL:
            for follows in robots.answered(visit.url, opened, self._parts.clock.now()):
                self._follow(follows, now)
        self._feeding.after(visit.host, ended, now)

    def _follow(self, follows: Settled | RobotsRequest, now: float) -> None:
        if isinstance(follows, RobotsRequest):
            other = host_of(follows.url)
            if other != follows.host:
                self._feeding.hold(follows.host, now)
            may_ask = other == follows.host or self._feeding.may_ask(other)
            if may_ask and self._ask_first(follows, now):
                return
            follows = self._parts.robots.unreached(follows, self._parts.clock.now())
        host, permission = follows
        self._parts.bench.describe_delay(host, permission.rules.crawl_delay_seconds or 0.0, now)
        for url in permission.rules.sitemaps:
            self._parts.reading.offer(self._parts.rounds.gathering, url, 0, f"{host}/", is_sitemap=True)
        self._feeding.free(host)
