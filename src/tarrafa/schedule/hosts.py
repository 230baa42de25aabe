"""The hosts and addresses that the workbench holds in memory, and their sites if sites rest too.

A host is active, or it rests: it is suspended, or it has left and is remembered only until its delay has passed, so
that a host that comes back early still waits. An address is in memory while a host refers to it. That suffices: the
host that was visited last at an address is remembered while the address must wait. So is it for sites.
"""

from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum
from heapq import heapify
from itertools import count
from typing import NamedTuple

from tarrafa.schedule.calendar_queue import CalendarQueue, Entry
from tarrafa.schedule.delays import Delays, HostTraits
from tarrafa.schedule.messages import NO_HISTORY, HostHistory, Visit

QUEUED_URLS_LIMIT = 10  # of one host, besides the one in flight
CALL_HOSTS_COUNT = 1_000  # hosts whose time has come that one call handles
LOW_URLS_COUNT = 3  # a host with so few URLs left needs more
NEVER = float("-inf")
_NO_TRAITS = HostTraits()


class HostState(IntEnum):
    """Where a host is. From `SUSPENDED` on it rests: it has no URLs and is only remembered."""

    UNRESOLVED = 0  # its name is to be resolved, or is being resolved
    RETRY_NAME = 1  # its name did not resolve, and is tried again when its delay has passed
    IDLE = 2  # has no URLs
    WAITING = 3  # in the queue of its address
    IN_FLIGHT = 4
    SUSPENDED = 5
    LEFT = 6


class VisitStart(NamedTuple):
    """When a host and its address were ready before a visit began; kept until something else changes that."""

    visit: Visit
    visited_at: float
    ready_at: float
    address_ready_at: float


class WorkbenchHost:
    __slots__ = (
        *("address", "doubtful_count", "download_seconds", "expires_at", "failures", "firsts", "has_fresh_address"),
        *("is_draining", "is_leaving", "is_queued", "is_timed", "name", "ready_at", "site", "start", "state"),
        *("suspensions", "traits", "tries", "turn_at", "turn_order", "urls", "visited_at", "visits"),
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = HostState.UNRESOLVED
        self.traits = _NO_TRAITS
        # Filled by add, add_first and retries; emptied by next, remove and suspension.
        self.urls: list[str] = []
        self.tries: dict[str, int] = {}  # failed attempts at those URLs that wait for a retry
        # Those that go before all others, also when they are tried again. Filled by add_first, emptied as they end.
        self.firsts: set[str] = set()
        self.address: WorkbenchAddress | None = None
        self.site: WorkbenchSite | None = None  # None if sites do not rest
        self.expires_at = NEVER  # of the resolved address
        self.has_fresh_address = False  # resolved since the last visit: valid for one turn, however old
        self.visited_at = NEVER  # end of the last answer; start of the last visit, if several may be in flight
        self.download_seconds: float | None = None  # of the last answer
        self.ready_at = NEVER  # when every delay of the host has passed
        self.turn_at: float | None = None  # since when it could be visited; kept until it is
        self.turn_order = 0  # its place among the hosts with the same turn_at
        self.failures = 0  # consecutive
        self.suspensions = 0  # consecutive, that count
        self.doubtful_count = 0  # consecutive suspensions that do not count
        self.visits: list[Visit] = []  # those in flight
        self.start: VisitStart | None = None  # of the last visit, if several may be in flight
        self.is_draining = False  # begins no visit while others are in flight; cleared when they have ended
        self.is_queued = False  # stands in the queue of its address
        self.is_timed = False  # has an entry in the timer queue
        self.is_leaving = False  # leaves when the visits in flight have ended

    @property
    def is_parallel(self) -> bool:
        """True if several visits may be in flight at once: delays then count from the start of a visit."""
        return self.traits.connections > 1 and self.site is None

    def connections(self) -> int:
        """Return how many visits may be in flight now. What goes first, such as robots.txt, is visited alone."""
        limit = self.traits.connections
        if limit > 1 and (self.failures or self.firsts or self.is_draining or self.site is not None):
            return 1
        return limit

    def room_count(self) -> int:
        """Return how many more URLs the host can take."""
        return QUEUED_URLS_LIMIT - len(self.urls) - bool(self.visits)

    def empty(self) -> tuple[str, ...]:
        urls = tuple(self.urls)
        self.urls.clear()
        self.tries.clear()
        self.firsts.clear()
        return urls

    def put_back(self, url: str, tries: int) -> None:
        """Queue a URL again, before all others. One that failed goes behind all others, except for a first one."""
        if tries and url not in self.firsts:
            self.urls.append(url)
        else:
            self.urls.insert(0, url)
        if tries:
            self.tries[url] = tries


class WorkbenchAddress:
    __slots__ = ("entry", "hosts_count", "in_flight", "name", "ready_at", "start", "waiting")

    def __init__(self, name: str, ready_at: float) -> None:
        self.name = name
        self.ready_at = ready_at
        self.in_flight = 0  # visits
        self.start: VisitStart | None = None  # as of `WorkbenchHost`
        self.hosts_count = 0  # hosts that refer to this address, the resting ones included
        # A heap of the waiting hosts, by since when. Filled when a host has URLs, emptied by next and remove.
        self.waiting: list[Entry[WorkbenchHost]] = []
        self.entry: Entry[WorkbenchAddress] | None = None  # the calendar entry that counts

    def __lt__(self, other: "WorkbenchAddress") -> bool:
        """Order calendar entries of the same moment for the same host, which may have moved from one address."""
        return self.name < other.name

    def has_room(self) -> bool:
        """Return True if the first host that waits may be visited beside the visits in flight."""
        return not self.in_flight or self.in_flight < self.waiting[0][2].connections()

    def remove(self, host: WorkbenchHost) -> None:
        """Remove a host out of turn. Rare, so a linear scan will do."""
        self.waiting = [entry for entry in self.waiting if entry[2] is not host]
        heapify(self.waiting)


class WorkbenchSite:
    """Hosts of which one is visited at a time."""

    __slots__ = ("hosts_count", "is_in_flight", "is_timed", "name", "parked", "ready_at")

    def __init__(self, name: str, ready_at: float) -> None:
        self.name = name
        self.ready_at = ready_at
        self.is_in_flight = False
        self.hosts_count = 0  # hosts that refer to this site, the resting ones included
        # Waiting hosts whose turn at their address came while the site rested, with their place in the queue of their
        # address. Filled and emptied by `AddressQueues`.
        self.parked: OrderedDict[WorkbenchHost, Entry[WorkbenchHost]] = OrderedDict()
        self.is_timed = False  # has an entry in the calendar of sites

    def is_open(self, now: float) -> bool:
        return not self.is_in_flight and self.ready_at <= now


class WorkbenchHosts:
    def __init__(
        self,
        delays: Delays,
        hosts_limit: int,
        address_hosts_limit: int,
        restarted_at: float | None = None,
        site_of: Callable[[str], str] | None = None,
    ) -> None:
        self._delays = delays
        self._site_of = site_of
        self._sites: dict[str, WorkbenchSite] = {}
        self.hosts_limit = hosts_limit
        self._address_hosts_limit = address_hosts_limit
        self._restarted_at = NEVER if restarted_at is None else restarted_at
        self._addresses: dict[str, WorkbenchAddress] = {}
        self.by_name: dict[str, WorkbenchHost] = {}
        self.counts = [0] * len(HostState)  # hosts in each state; those in flight count as waiting
        # Both filled as hosts run low or lose their address, emptied by the caller that asks for them.
        self.needs_urls: OrderedDict[WorkbenchHost, None] = OrderedDict()
        self.unresolved: OrderedDict[WorkbenchHost, None] = OrderedDict()
        # Hosts to look at when their delay has passed, each at most once. Filled by set_timer, emptied by expire.
        self.timers: CalendarQueue[WorkbenchHost] = CalendarQueue()
        self._order = count()

    def enter(self, name: str, now: float, history: HostHistory = NO_HISTORY) -> WorkbenchHost | None:
        """Return the host, made active if it was not; None if there is no room, or if it is still suspended."""
        host = self.by_name.get(name)
        if host is None:
            return self._new(name, history) if self.has_room(now) else None
        if host.state < HostState.SUSPENDED:
            host.is_leaving = False
        elif (host.state is HostState.SUSPENDED and host.ready_at > now) or not self._has_room():
            return None
        elif host.address is None:
            self.request_name(host)
        else:
            self.move(host, HostState.IDLE)
        return host

    def has_room(self, now: float) -> bool:
        """Return True if an unknown host could enter."""
        self.expire(now)
        return self._has_room() and self._resting_count() < self.hosts_limit

    def is_full_of_resting(self, now: float) -> bool:
        """Return True if an unknown host could enter, were there fewer resting ones."""
        self.expire(now)
        return self._has_room() and self._resting_count() >= self.hosts_limit

    def _new(self, name: str, history: HostHistory) -> WorkbenchHost:
        host = self.by_name[name] = WorkbenchHost(name)
        host.suspensions, host.failures = history.suspensions, history.failures
        host.visited_at, host.download_seconds = self._restarted_at, history.download_seconds
        delay = self._delays.host_seconds(host.traits, host.download_seconds)
        host.ready_at = max(host.visited_at + delay, history.until)
        self.counts[HostState.UNRESOLVED] += 1
        self.unresolved[host] = None
        if self._site_of is not None:
            host.site = self._join_site(self._site_of(name))
        return host

    def _join_site(self, name: str) -> WorkbenchSite:
        site = self._sites.get(name)
        if site is None:
            ready_at = self._restarted_at + self._delays.host_seconds(_NO_TRAITS, None)
            site = self._sites[name] = WorkbenchSite(name, ready_at)
        site.hosts_count += 1
        return site

    def _resting_count(self) -> int:
        return self.counts[HostState.SUSPENDED] + self.counts[HostState.LEFT]

    def _has_room(self) -> bool:
        return len(self.by_name) - self._resting_count() < self.hosts_limit

    def move(self, host: WorkbenchHost, state: HostState) -> None:
        self.counts[host.state] -= 1
        self.counts[state] += 1
        host.state = state

    def request_name(self, host: WorkbenchHost) -> None:
        self.move(host, HostState.UNRESOLVED)
        self.unresolved[host] = None

    def bind(self, host: WorkbenchHost, name: str) -> bool:
        """Assign an address to a host. Return False if too many other hosts have it."""
        if host.address is not None and host.address.name == name:
            return True
        address = self._addresses.get(name)
        if address is None:
            ready_at = self._restarted_at + self._delays.address_seconds
            address = self._addresses[name] = WorkbenchAddress(name, ready_at)
        elif address.hosts_count >= self._address_hosts_limit:
            return False
        self._release(host)
        address.hosts_count += 1
        host.address = address
        return True

    def _release(self, host: WorkbenchHost) -> None:
        if host.address is not None:
            host.address.hosts_count -= 1
            if not host.address.hosts_count:
                del self._addresses[host.address.name]
            host.address = None

    def rest(self, host: WorkbenchHost, state: HostState, now: float) -> None:
        """Let a host without URLs rest. It is remembered until its delay has passed, or until it enters again."""
        self.move(host, state)
        host.is_leaving, host.turn_at = False, None
        self.needs_urls.pop(host, None)
        self.unresolved.pop(host, None)
        if state is HostState.LEFT and host.ready_at <= now:
            self._forget(host)
        else:
            self.set_timer(host)

    def set_timer(self, host: WorkbenchHost) -> None:
        if not host.is_timed:
            host.is_timed = True
            self.timers.push((host.ready_at, next(self._order), host))

    def expire(self, now: float) -> None:
        """Handle the hosts whose delay has passed: forget them, resolve them again, or ask for URLs."""
        for _ in range(CALL_HOSTS_COUNT):
            entry = self.timers.pop(now)
            if entry is None:
                return
            host = entry[2]
            host.is_timed = False
            if self.by_name.get(host.name) is not host:
                continue
            if host.state in (HostState.RETRY_NAME, HostState.SUSPENDED, HostState.LEFT):
                self._expire_host(host, now)

    def _expire_host(self, host: WorkbenchHost, now: float) -> None:
        if host.ready_at > now:
            self.set_timer(host)
        elif host.state is HostState.RETRY_NAME:
            self.request_name(host)
        elif host.state is HostState.SUSPENDED:
            self.needs_urls[host] = None
        else:
            self._forget(host)

    def evict_suspended(self, now: float, may_go: Callable[[str], bool]) -> tuple[str, ...]:
        """Forget up to half of the suspended hosts, except those whose address or site must still wait for them."""
        suspended = [
            host for host in self.by_name.values() if host.state is HostState.SUSPENDED and host.ready_at > now
        ]
        free = [host for host in suspended if host.address is None or host.address.ready_at <= now]
        free = [host for host in free if host.site is None or host.site.ready_at <= now]
        free.sort(key=lambda host: host.ready_at)
        evicted = [host for host in free[len(free) // 2 :] if may_go(host.name)]
        for host in evicted:
            self._forget(host)
        self.timers.keep(lambda entry: self.by_name.get(entry[2].name) is entry[2])
        return tuple(host.name for host in evicted)

    def _forget(self, host: WorkbenchHost) -> None:
        self.counts[host.state] -= 1
        self._release(host)
        if host.site is not None:
            host.site.hosts_count -= 1
            if not host.site.hosts_count:
                del self._sites[host.site.name]
        del self.by_name[host.name]

    def check(self) -> None:
        """Assert the invariants; for tests."""
        states = [HostState.WAITING if host.visits else host.state for host in self.by_name.values()]
        assert self.counts == [states.count(state) for state in HostState]
        assert len(self.by_name) - self._resting_count() <= self.hosts_limit
        assert len(self.by_name) < 2 * self.hosts_limit
        held = [host.address for host in self.by_name.values() if host.address]
        assert {address.name: address.hosts_count for address in held} == {
            name: held.count(address) for name, address in self._addresses.items()
        }
        assert max(map(held.count, held), default=0) <= self._address_hosts_limit
        assert {*self.needs_urls, *self.unresolved} <= {*self.by_name.values()}
        sites = [host.site for host in self.by_name.values() if host.site]
        assert {site.name: site.hosts_count for site in sites} == {
            name: sites.count(site) for name, site in self._sites.items()
        }
        parked = {host for site in sites for host in site.parked}
        assert all(host.state is HostState.WAITING and self.by_name[host.name] is host for host in parked)
