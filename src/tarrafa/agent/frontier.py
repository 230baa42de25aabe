"""The frontier: which URLs of which hosts come next. A pure state machine: events and the time in, instructions out.

Scheduled URLs of the repository enter by `scheduled` and wait in the `UrlBuffer`. `tick` moves hosts with buffered URLs
to the workbench as room permits, and refills hosts that run low. A host that must not be visited for now leaves most of
its URLs to the repository and is held back here until its time has come. What is known of hosts stands in the
`HostTable`.

Collected pages that a look has chosen enter by `refresh_pages` and wait in the `RefreshQueue`. A host that has both
kinds gives each its share of turns.

`visits` takes over from there: it decides what to do with each visit that the workbench names.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tarrafa.agent.budgets import PAGE_LIMIT, REFUSALS, Budgets, CrawlLimits
from tarrafa.agent.host_table import HostRecord, HostStatus, HostTable
from tarrafa.agent.instructions import CountRefused, EndUrl, Instruction, TellGivenUp, TellSuspended
from tarrafa.agent.outcomes import NO_FILE, PAGE_ROOM
from tarrafa.agent.refresh_queue import RefreshQueue
from tarrafa.agent.url_buffer import BUFFER_LIMIT, UrlBuffer
from tarrafa.clock import Instant
from tarrafa.configuration import is_public_host
from tarrafa.schedule import (
    NO_HISTORY,
    QUEUED_URLS_LIMIT,
    WAIT_MAX_SECONDS,
    FollowUp,
    HostFailure,
    HostGivenUp,
    HostHistory,
    HostQueue,
    HostSuspended,
    HostTraits,
    Order,
    QueuedHost,
    Scope,
    UrlKind,
    Visit,
    Workbench,
)
from tarrafa.urls import host_of
from tarrafa.verify import KnownPage, Scheduled

# Hosts that one tick wakes, refills and lets enter, each. More wait for the next tick, so that a step stays short.
TICK_HOSTS_COUNT = 500
# Suspended hosts that keep a URL here, by which they come back. Other suspended hosts come back from the repository.
_SUSPENDED_LIMIT = 20_000
# A host that was given up for its failures has one attempt a week, and later one a month.
_RETRY_FIRST_SECONDS, _RETRY_SECONDS, _RETRIES_FIRST = 7 * 86_400.0, 30 * 86_400.0, 4
_AT_ONCE = float("-inf")  # the key of a host that comes back: its turn among those of its priority had come before


class SuspendedHosts(NamedTuple):
    """Hosts that are suspended and have URLs in the repository."""

    hosts_count: int = 0
    until: float | None = None  # wall-clock time at which the first comes back

    def plus(self, until: float) -> "SuspendedHosts":
        return SuspendedHosts(self.hosts_count + 1, until if self.until is None else min(until, self.until))


class Frontier:
    def __init__(
        self,
        workbench: Workbench,
        hosts: HostTable,
        scope: Scope,
        order: Order,
        limits: CrawlLimits,
        buffer_limit: int = BUFFER_LIMIT,
    ) -> None:
        self._workbench = workbench
        self._order = order
        self._hosts = hosts
        self._scope = scope
        self._limits = limits
        self.budgets = Budgets(limits, hosts, scope.admits)
        self.urls = UrlBuffer(buffer_limit)
        self.refresh = RefreshQueue(limits.refresh_share)
        # Filled by the frontier and by `Visits`, emptied by the caller that carries them out.
        self.instructions: list[Instruction] = []
        # Hosts with buffered URLs that are to enter the workbench. Filled by scheduled, release, _wake and _refill,
        # emptied by tick.
        self._entering = HostQueue(limits.longest_share)
        # Suspended hosts that keep a URL here: a heap by wall-clock time. Filled by hold_back, emptied by _wake.
        self._suspended: list[tuple[float, str]] = []
        self._suspended_names: set[str] = set()
        # Suspended hosts that the repository has scheduled since the caller last reset this.
        self.suspended = SuspendedHosts()
        # When suspended hosts come back of which a look has chosen pages. Filled by refresh_pages, reset by the caller.
        self.suspended_refresh: dict[str, float] = {}
        # Hosts that wait for a robots.txt of another host. Filled by hold, emptied by release.
        self._held: set[str] = set()
        # Mirrors come last: their URLs stay in the repository until nothing else is left. Set by admit_mirrors.
        self._admits_mirrors = False
        self._has_deferred = False  # a mirror was left out since the last admit_mirrors

    def admit_mirrors(self, *, is_admitted: bool) -> bool:
        """Let mirrors be visited, or leave them out; return True if any was left out before."""
        had_deferred, self._has_deferred = self._has_deferred, False
        self._admits_mirrors = is_admitted
        return had_deferred

    def defers(self, name: str) -> bool:
        """Return True if a host is a mirror that must wait until nothing else is left."""
        host = self._hosts.find(name)
        is_deferred = host is not None and bool(host.mirror_of) and not self._admits_mirrors
        self._has_deferred |= is_deferred
        return is_deferred

    @property
    def is_idle(self) -> bool:
        """True if no host is about to enter the workbench."""
        return not self._entering and not self._held

    @property
    def suspended_count(self) -> int:
        return len(self._suspended_names)

    def count_suspended(self) -> int:
        """Return how many hosts of the crawl are suspended, here or on the workbench, each once."""
        find = self._hosts.find
        # A host that was only asked for the robots.txt of another is not one of the crawl.
        on_workbench = {name for name in self._workbench.suspended_names() if find(name) is not None}
        return len(on_workbench | self._suspended_names)

    def scheduled(self, scheduled: Scheduled, at: Instant) -> bool:
        """Take the URLs of a host that the repository schedules; return True if any of them is new here."""
        name, left_count = scheduled.host, scheduled.left_count
        if not self._is_admissible(name, at):
            return False
        host = self._hosts.meet(name)
        self.budgets.update_sizes(host, left_count)
        if name in self._suspended_names:
            self.suspended = self.suspended.plus(host.until)
            return False
        if self.is_full(host):
            self.refuse(host, scheduled)
            return False
        if self.defers(name):
            return False
        self._welcome(host)
        return self._take(host, scheduled, at)

    def _welcome(self, host: HostRecord) -> None:
        """Visit a host again that was given up. One that failed has a single attempt."""
        if host.status != HostStatus.GIVEN_UP:
            return
        if host.reason not in REFUSALS and host.reason != HostFailure.PRIVATE:
            self._hosts.give_last_chance(host)
        self._hosts.welcome(host)

    def refresh_pages(self, pages: Sequence[KnownPage], block: int, at: Instant) -> int:
        """Queue pages that a look at a block has chosen, the best first; return how many are new here."""
        by_host: dict[str, list[KnownPage]] = {}
        for page in pages:
            if page.url not in self.urls:
                by_host.setdefault(host_of(page.url), []).append(page)
        count = 0
        for name, chosen in by_host.items():
            if self._may_refresh(name, at):
                count += self.refresh.add(name, chosen, block)
                self._enter(name)
        return count

    def drop_pages(self, pages: Sequence[KnownPage]) -> None:
        """End pages that make room for more important ones, but for those that are about to be visited."""
        leaving = [EndUrl(page.url, None, PAGE_ROOM, page) for page in pages if page.url not in self.refresh]
        self.instructions += leaving

    def _may_refresh(self, name: str, at: Instant) -> bool:
        """Return True if collected pages of a host may be visited now. Limits of its pages do not count for that."""
        host = self._hosts.find(name)
        if host is None or not self._scope.admits(name):
            return False
        if host.status == HostStatus.GIVEN_UP:
            if not (host.reason in REFUSALS or self._is_forgiven(host, at)):
                return False
            if host.reason not in REFUSALS:
                self._welcome(host)
        if host.status == HostStatus.SUSPENDED and (self._workbench.is_suspended(name) or self._wait_seconds(host, at)):
            self.suspended_refresh[name] = host.until
            return False
        return name not in self._suspended_names

    def _enter(self, name: str) -> None:
        """Let a host enter the workbench when its turn comes, for the pages of it that are queued."""
        host = self._hosts.find(name)
        if host is not None and name not in self._held and self.refresh.has_host(name):
            facts = QueuedHost(name, host.available, host.pages, host.total_seconds, 0.0)
            self._let_enter(name, self._order.host_key(facts))

    def _take(self, host: HostRecord, scheduled: Scheduled, at: Instant) -> bool:
        name, urls, depths, kinds, left_count, *_ = scheduled
        # The workbench keeps its own time: it may be about to let the host come back.
        is_here = self._workbench.is_suspended(name)
        if host.status == HostStatus.SUSPENDED and (is_here or self._wait_seconds(host, at)):
            self.suspended = self.suspended.plus(host.until)
            self.urls.add(name, urls[:1], depths[:1], kinds[:1])
            if not is_here:
                self.hold_back(name, host.until)
            return False
        has_new = self.urls.add(name, urls, depths, kinds) > 0
        if scheduled.weights:
            self.urls.set_cash(urls, scheduled.weights)
        if (has_new and name not in self._held) or name in self._entering:
            facts = QueuedHost(name, left_count, host.pages, host.total_seconds, scheduled.key)
            self._let_enter(name, self._order.host_key(facts))
        return has_new

    def _is_admissible(self, name: str, at: Instant) -> bool:
        if not self._scope.admits(name):
            return False
        limits, host = self._limits, self._hosts.find(name)
        if host is None:
            return limits.hosts is None or self._hosts.met_count < limits.hosts
        # A host given up for what was only forbidden then may be allowed by now.
        is_limited = host.reason in REFUSALS
        return host.status != HostStatus.GIVEN_UP or is_limited or self._is_forgiven(host, at)

    def _is_forgiven(self, host: HostRecord, at: Instant) -> bool:
        """Return True if a host that was given up for its failures may be visited again."""
        if host.reason == HostFailure.PRIVATE:
            return self._limits.allows_private(host.name)
        return self._limits.retries_given_up and at.wall >= host.until

    def is_full(self, host: HostRecord) -> bool:
        """Return True if the host, its site or its address has reached a limit."""
        return self.budgets.limit_of(host) is not None

    def refusal(self, visit: Visit) -> str | None:
        """Return why the scope refuses a URL whose turn has come. Rules may have changed, or ask for the address."""
        if not self._scope.judges_visits:
            return None
        return self._scope.judge_visit(visit.url, self.distance(visit.url), visit.address)

    def type_filter(self, visit: Visit) -> Callable[[str], bool] | None:
        """Return a test of the media types that the scope wants of a URL; None if it wants all."""
        scope, url, address = self._scope, visit.url, visit.address
        if not scope.judges_types or self.is_sitemap(url):
            return None
        distance = self.distance(url)
        return lambda media_type: scope.judge_page(url, distance, address, media_type, None) is None

    def tick(self, at: Instant) -> None:
        """Wake hosts whose suspension is over, refill hosts that run low, and let new hosts enter: a bounded number."""
        self._wake(at)
        for name in self._workbench.needs_urls(at.monotonic, TICK_HOSTS_COUNT):
            self._refill(name, at)
        for _ in range(TICK_HOSTS_COUNT):
            if not self._entering or not self._has_room(at):
                return
            self._refill(self._entering.pop(), at)

    def _let_enter(self, name: str, key: float) -> None:
        self._entering.push(name, key, self._limits.priority_of(name))

    def _has_room(self, at: Instant) -> bool:
        """Make room on the workbench by evicting suspended hosts if needed; return True if a host can enter."""
        workbench, find = self._workbench, self._hosts.find
        if workbench.has_room(at.monotonic):
            return True
        # A host outside the table was only asked for the robots.txt of another: the workbench must remember it.
        for name in workbench.evict_suspended(at.monotonic, lambda name: find(name) is not None):
            host = find(name)
            assert host is not None
            self.hold_back(name, host.until)
        return workbench.has_room(at.monotonic)

    def _refill(self, name: str, at: Instant) -> None:
        host = self._hosts.find(name)
        urls = self._next_urls(name)
        rejected = self._workbench.add(name, urls, at.monotonic, self._history(host, at) if host else NO_HISTORY)
        self.put_back(name, rejected)
        if host is not None:
            self._workbench.update_sizes(name, host.available, self._hosts.largest_count, at.monotonic)
        if not urls:
            self._workbench.remove_if_idle(name, at.monotonic)
        elif len(rejected) == len(urls) and not self._workbench.has_room(at.monotonic):
            self._let_enter(name, _AT_ONCE)

    def _next_urls(self, name: str) -> list[str]:
        """Hand out the next URLs of a host, of both kinds if it has both."""
        fresh = self.urls.pop(name, QUEUED_URLS_LIMIT)
        again = self.refresh.pop(name, QUEUED_URLS_LIMIT)
        if not (fresh and again):
            return fresh or again
        urls = self.refresh.in_turns(name, fresh, again)
        room = self._workbench.room_count(name)
        self.refresh.count_turns(name, urls[:room])
        self.put_back(name, urls[room:])
        return urls[:room]

    def put_back(self, name: str, urls: Sequence[str]) -> None:
        """Buffer URLs of a host again that were handed out and not visited."""
        again = [url for url in urls if url in self.refresh]
        self.refresh.put_back(name, again)
        self.urls.put_back(name, [url for url in urls if url not in self.refresh] if again else urls)

    def finish(self, urls: Iterable[str]) -> None:
        """Forget URLs whose outcome the repository knows."""
        self.urls.finish(urls)

    def has(self, url: str) -> bool:
        """Return True if a URL is buffered or handed out."""
        return url in self.urls or url in self.refresh

    @property
    def has_buffered(self) -> bool:
        """True if URLs of either kind wait for the turn of their host."""
        return bool(len(self.urls) or len(self.refresh))

    def has_content(self, url: str) -> bool:
        """Return True if a URL is to be visited again and brought something before: budgets do not count it."""
        known = self.refresh.page(url)
        return known is not None and known.file != NO_FILE

    def distance(self, url: str) -> int:
        known = self.refresh.page(url)
        return self.urls.distance(url) if known is None else known.depth

    def is_sitemap(self, url: str) -> bool:
        known = self.refresh.page(url)
        return self.urls.is_sitemap(url) if known is None else known.kind == UrlKind.SITEMAP

    def _history(self, host: HostRecord, at: Instant) -> HostHistory:
        if not host.answers and not (host.until or host.suspensions or host.consecutive_failures):
            return NO_HISTORY
        wait_seconds = self._wait_seconds(host, at)
        until = at.monotonic + wait_seconds if wait_seconds else NO_HISTORY.until
        download_seconds = host.download_seconds if host.answers else None
        return HostHistory(host.suspensions, host.consecutive_failures, until, download_seconds)

    def _wait_seconds(self, host: HostRecord, at: Instant) -> float:
        return _bounded_wait_seconds(host.until, at) if host.until else 0.0

    def _wake(self, at: Instant) -> None:
        for _ in range(TICK_HOSTS_COUNT):
            if not self._suspended or _bounded_wait_seconds(self._suspended[0][0], at):
                return
            name = heapq.heappop(self._suspended)[1]
            self._suspended_names.remove(name)
            self._let_enter(name, _AT_ONCE)

    def wake_at(self, at: Instant) -> float | None:
        """Return the monotonic time at which `tick` may let a host enter; None if only events can tell."""
        # A visit that was refused after the last tick has made room, or a host was released since.
        if self._entering and self._workbench.has_room(at.monotonic):
            return at.monotonic
        if not self._suspended:
            return None
        return at.monotonic + _bounded_wait_seconds(self._suspended[0][0], at)

    def hold_back(self, name: str, until: float) -> None:
        """Keep a host off the workbench until a wall-clock time."""
        if name in self._suspended_names:
            return
        is_kept = len(self._suspended) < _SUSPENDED_LIMIT and not self.urls.is_crowded
        self.urls.drop(name, keep=1 if is_kept else 0)
        self.refresh.drop(name)
        if is_kept:
            self._suspended_names.add(name)
            heapq.heappush(self._suspended, (until, name))

    def hold(self, name: str) -> None:
        """Keep a host off the workbench until `release`. Its URLs stay buffered."""
        self._held.add(name)

    def release(self, name: str) -> None:
        if name in self._held:
            self._held.remove(name)
            self._let_enter(name, _AT_ONCE)

    def may_contact(self, name: str, at: Instant) -> bool:
        """Return True if a host may be asked for the robots.txt of another."""
        if is_public_host(name, self._limits.tables) and not self._limits.has_contact:
            return False
        host = self._hosts.find(name)
        return host is None or (host.status != HostStatus.GIVEN_UP and not self._wait_seconds(host, at))

    def follow_up(self, name: str, follow_up: FollowUp, at: Instant) -> None:
        """Take note of what the workbench decided about a host."""
        match follow_up.event:
            case HostSuspended(_, reason, until, is_counted):
                wall_until = at.wall + until - at.monotonic
                self.suspend(name, reason, wall_until, is_failing=is_counted)
            case HostGivenUp(_, reason):
                host = self._hosts.find(name)
                is_later = host is not None and host.give_ups >= _RETRIES_FIRST
                self.give_up(name, reason, at.wall + (_RETRY_SECONDS if is_later else _RETRY_FIRST_SECONDS))
        back_off, host = follow_up.back_off, self._hosts.find(name)
        if back_off is not None and host is not None and host.status != HostStatus.GIVEN_UP:
            # The workbench waits by itself; the record is for the next start.
            self._hosts.back_off(host, at.wall + back_off.until - at.monotonic, back_off.failures)

    def suspend(self, name: str, reason: str, until: float, *, is_failing: bool) -> None:
        """Suspend a host until a wall-clock time. One only asked for the robots.txt of another has no record."""
        host = self._hosts.find(name)
        if host is not None:
            self._hosts.suspend(host, reason, until, is_failing=is_failing)
            self.instructions.append(TellSuspended(name, reason, until))
        self.urls.drop(name, keep=0 if self.urls.is_crowded else 1)
        self.refresh.drop(name)

    def refuse(self, host: HostRecord, scheduled: Scheduled | None = None) -> None:
        """Give up a host that has reached a limit, and count its URLs as refused, each once.

        More URLs of such a host may be found later and none is visited, so all beyond the last count are new.
        """
        limit = self.budgets.limit_of(host) or PAGE_LIMIT
        count = self.give_up(host.name, limit)
        if scheduled is not None:
            # URLs still here were visited without the repository knowing yet, or the workbench has them.
            count = scheduled.left_count - sum(url in self.urls for url in scheduled.urls)
        if count > host.refused:
            self.instructions.append(CountRefused(REFUSALS[limit], count - host.refused))
            host.refused = count
            self._hosts.changed(host)

    def give_up(self, name: str, reason: str, retry_at: float = 0.0) -> int:
        """Give a host up; return how many of its buffered URLs were dropped.

        `retry_at` is the wall-clock time from which a crawl that goes on for ever tries it again.
        """
        host = self._hosts.find(name)
        if host is not None and host.status != HostStatus.GIVEN_UP:
            self._hosts.give_up(host, reason, retry_at)
            self.instructions.append(TellGivenUp(name, reason))
        if reason in REFUSALS:
            self._enter(name)  # collected pages may still be visited again
        else:
            self.refresh.drop(name)
        return self.urls.drop(name)

    def traits(self, name: str, addresses: tuple[str, ...]) -> HostTraits:
        """Return what a host's delay depends on."""
        host = self._hosts.find(name)
        largest_count = 0 if host is None else self._hosts.largest_count
        return self._limits.traits(host or HostRecord(name), addresses, largest_count)


def _bounded_wait_seconds(until: float, at: Instant) -> float:
    """Return how long it is until a wall-clock time. One later than any allowed wait was written by a wrong clock."""
    wait_seconds = until - at.wall
    return wait_seconds if 0.0 < wait_seconds <= WAIT_MAX_SECONDS else 0.0
