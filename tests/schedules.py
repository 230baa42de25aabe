"""A random crawl on a workbench, beside a naive account of it that checks every guarantee of the workbench at once.

The message of an assertion that fails begins with the number of the guarantee. Guarantee 9, about clocks that stand
still, jump or go back, has no assertion of its own: the clock does all of that, and the others must hold.
"""

import math
import random
from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tarrafa.records import FailureKind
from tarrafa.schedule.delays import (
    ConstantDelay,
    DeadlineDelay,
    DelayPolicy,
    Delays,
    DensityDelay,
    HostTraits,
    TenTimesDelay,
)
from tarrafa.schedule.hosts import WorkbenchHost
from tarrafa.schedule.messages import Fate, FollowUp, HostGivenUp, HostHistory, HostSuspended, Visit, VisitResult
from tarrafa.schedule.retry_policy import HOST_FAILURES, WHOLE_HOST_FAILURES, RetryPolicy
from tarrafa.schedule.workbench import Workbench

HOSTS = [f"http://{letter}.test" for letter in "abcdefg"]
ADDRESSES = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
HOSTS_LIMIT = 3
# Three hosts share a site, and two do; the others are alone.
SITES = dict(zip(HOSTS, ["abc", "abc", "abc", "de", "de", "f", "g"], strict=True))
RETRY_POLICY = RetryPolicy(
    tries_limit=2,
    failures_limit=3,
    suspensions_limit=2,
    first_seconds=7.0,
    ceiling_seconds=100.0,
    first_suspension_seconds=300.0,
)
FAILING = [
    *(FailureKind.NAME, FailureKind.TIMEOUT, FailureKind.REFUSED, FailureKind.RESET, FailureKind.TLS),
    FailureKind.HEADER,
]
GOOD = [VisitResult(status, None, took) for status in (200, 404, 500) for took in (0.0, 0.2, 9.0)]
BAD = [
    *(VisitResult(status, None, 0.1, asked) for status in (429, 503) for asked in (0.0, 20.0, 1e9)),
    *(VisitResult(0, failure, 30.0) for failure in FAILING),
    VisitResult(0, FailureKind.TIMEOUT, 30.0, is_doubtful=True),
]
TRAITS = st.builds(
    HostTraits,
    pages_count=st.sampled_from([0, 1, 50, 10**9]),
    crawl_delay_seconds=st.sampled_from([0.0, 0.0, 12.0, 1e9]),
    is_own=st.booleans(),
    largest_count=st.sampled_from([0, 1, 1_000]),
    has_answered=st.booleans(),
    delay_seconds=st.sampled_from([None, None, 0.0, 7.0]),
    connections=st.sampled_from([1, 1, 2, 4]),
)
POLICIES: list[DelayPolicy] = [
    ConstantDelay(5.0),
    ConstantDelay(0.0),
    TenTimesDelay(2.0, 40.0),
    TenTimesDelay(),
    DensityDelay(15.0, 1_000),
    DensityDelay(15.0),
    DeadlineDelay(15.0),
]
HOST = st.sampled_from(HOSTS)
WHICH = st.integers(0, 7)
SEED = st.integers(0, 2**32)


def is_failing(answer: VisitResult) -> bool:
    return answer.failure in FAILING or answer.status in (429, 503)


def counts_as_try(answer: VisitResult) -> bool:
    """Return True if the failure may be the URL's."""
    return is_failing(answer) and (not answer.failure or HOST_FAILURES[answer.failure] not in WHOLE_HOST_FAILURES)


class Crawl(RuleBasedStateMachine):
    """Uses only what any caller sees of the workbench; guarantees 4 and 10 also look at each host inside."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.latest = 1_000.0
        self.host_free_at: dict[str, float] = {}
        self.address_free_at: dict[str, float] = {}
        self.site_free_at: dict[str, float] = {}
        self.is_by_site = False
        self.in_flight: list[Visit] = []
        self.failing: set[str] = set()  # hosts whose last answer was a failure
        self.draining: set[str] = set()  # hosts that failed while other visits to them were in flight, which still are
        # By host, if several visits to it may be in flight: the last visit, and what it changed.
        self.started: dict[str, tuple[Visit, float, float, float]] = {}
        self.last_start: dict[str, float] = {}
        self.downloads: dict[str, float] = {}  # how long the last answer of a host took
        self.unanswered: list[str] = []  # names that were asked for
        self.held: dict[str, list[str]] = {host: [] for host in HOSTS}  # URLs that wait on the workbench
        self.firsts: dict[str, set[str]] = {host: set() for host in HOSTS}  # of those, the ones that go before others
        self.suspensions: Counter[str] = Counter()
        self.away: set[str] = set()  # hosts that were handed over, and are held back until their time
        self.url_count = 0
        # By host and since when it waits: the hosts visited meanwhile, while its address was due or at its address.
        self.overtaken: dict[tuple[str, float | None], set[str]] = {}
        self.overtaken_at: dict[tuple[str, float | None], set[str]] = {}

    @initialize(
        policy=st.sampled_from(POLICIES),
        traits=st.lists(TRAITS, min_size=len(HOSTS), max_size=len(HOSTS)),
        restarted=st.booleans(),
        address_hosts_limit=st.sampled_from([2, 10]),
        is_by_site=st.booleans(),
        seed=SEED,
    )
    def begin(
        self,
        policy: DelayPolicy,
        traits: list[HostTraits],
        restarted: bool,
        address_hosts_limit: int,
        is_by_site: bool,
        seed: int,
    ) -> None:
        self.is_by_site = is_by_site
        self.delays = Delays(policy, address_seconds=3.0)
        self.traits = dict(zip(HOSTS, traits, strict=True))
        self.restarted_at = self.now if restarted else None
        self.bench = Workbench(
            self.delays,
            RETRY_POLICY,
            hosts_limit=HOSTS_LIMIT,
            address_hosts_limit=address_hosts_limit,
            restarted_at=self.restarted_at,
            site_of=SITES.__getitem__ if is_by_site else None,
        )
        self.go_on_for_a_while(seed, good_share=0.8, is_still=False)

    @rule(seed=SEED, good_share=st.sampled_from([0.0, 0.5, 0.9, 1.0]), is_still=st.booleans())
    def go_on_for_a_while(self, seed: int, good_share: float, is_still: bool) -> None:
        """Crawl, with events in random order. Single rules alone seldom get as far as a visit."""
        chance = random.Random(seed)
        steps = [self.visit_next, self.visit_next, self.ask_for_a_name]
        for _ in range(120):
            chance.choice(steps)()
            if self.unanswered and chance.random() < 0.9:
                self.name_is_answered(chance.choices(ADDRESSES, k=2), chance.choice([0.0, 20.0, 1e5]))
            if self.in_flight and chance.random() < 0.5:
                answers = GOOD if chance.random() < good_share else BAD
                self.end(chance.randrange(8), chance.choice(answers), chance.choice([None] * 9 + [45.0]))
            if chance.random() < 0.3:
                self.add(chance.choice(HOSTS), chance.randrange(6))
                self.feed_the_hungry(4)
            if chance.random() < 0.1:
                self.leave(chance.choice(HOSTS))
            if chance.random() < 0.2:
                self.evict_suspended(set(HOSTS[1:]))
            if not is_still and chance.random() < 0.3:
                self.time_passes(chance.choice([0.4, 1.0, 5.0, 60.0]))
                self.time_passes_until_the_next_turn()

    @rule(seconds=st.sampled_from([0.0, 0.4, 1.0, 3.0, 5.0, 12.0, 60.0, 4_000.0, 1e6]))
    def time_passes(self, seconds: float) -> None:
        self.now = self.latest + seconds
        self.latest = self.now

    @rule(seconds=st.sampled_from([0.5, 100.0]))
    def clock_goes_back(self, seconds: float) -> None:
        self.now -= seconds

    @rule()
    def time_passes_until_the_next_turn(self) -> None:
        self.latest = self.now = max(self.latest, self.bench.wake_at() or 0.0)

    @rule(host=HOST, count=st.integers(0, 13))
    def add(self, host: str, count: int) -> None:
        if self.is_held_back(host):
            return
        self.failing &= {each.name for each in self.bench.hosts()}  # another has been forgotten
        urls = [self.new_url(host) for _ in range(count)]
        back = self.bench.add(host, urls, self.now, HostHistory(self.suspensions[host]))
        assert list(back) == urls[len(urls) - len(back) :], "5: a URL was dropped"
        self.held[host] += urls[: len(urls) - len(back)]
        self.bench.update_traits(host, self.traits[host], self.now)
        self.few_urls_wait(host)

    @rule(host=HOST)
    def add_first(self, host: str) -> None:
        if self.is_held_back(host):
            return
        self.failing &= {each.name for each in self.bench.hosts()}
        url = self.new_url(host)
        if self.bench.add_first(host, url, self.now):
            self.held[host].insert(0, url)
            self.firsts[host].add(url)
        self.bench.update_traits(host, self.traits[host], self.now)
        self.few_urls_wait(host)

    def few_urls_wait(self, host: str) -> None:
        """Ten, and those that are tried again."""
        assert len(self.held[host]) <= 14, "5: too many URLs of a host wait"

    def is_held_back(self, host: str) -> bool:
        if self.latest >= self.host_free_at.get(host, 0.0):
            self.away.discard(host)
        return host in self.away

    @rule(which=st.sets(HOST))
    def evict_suspended(self, which: set[str]) -> None:
        """Hold back the hosts that were evicted. Suspended hosts are evicted only if there is no room."""
        had_room, before = self.bench.has_room(self.now), self.bench.counts(self.now)
        gone = self.bench.evict_suspended(self.now, which.__contains__)
        assert not gone or not had_room
        assert which >= set(gone)
        assert self.bench.counts(self.now) == before._replace(suspended=before.suspended - len(gone))
        assert not any(self.held[host] or self.flights(host) for host in gone)
        self.away |= set(gone)

    def new_url(self, host: str) -> str:
        self.url_count += 1
        return f"{host}/{self.url_count}"

    @rule()
    def ask_for_a_name(self) -> None:
        host = self.bench.next_unresolved(self.now)
        if host is not None:
            self.unanswered.append(host)

    @precondition(lambda self: self.unanswered)
    @rule(
        addresses=st.lists(st.sampled_from(ADDRESSES), min_size=1, max_size=2),
        lasts_seconds=st.sampled_from([0.0, 1e5]),
    )
    def name_is_answered(self, addresses: list[str], lasts_seconds: float) -> None:
        host = self.unanswered.pop(0)
        self.told(host, self.bench.resolved(host, addresses, self.now, self.latest + lasts_seconds))

    @precondition(lambda self: self.unanswered)
    @rule(kind=st.sampled_from([FailureKind.NAME, FailureKind.NAME_SERVER, FailureKind.PRIVATE]))
    def name_has_no_address(self, kind: FailureKind) -> None:
        host = self.unanswered.pop(0)
        is_doubtful = kind is FailureKind.NAME_SERVER
        self.told(host, self.bench.resolve_failed(host, self.now, kind, is_doubtful=is_doubtful))

    @rule(at_most=st.sampled_from([1, len(HOSTS)]))
    def visit(self, at_most: int) -> None:
        for _ in range(at_most):
            self.visit_next()

    def visit_next(self) -> None:
        allowed = self.allowed()
        visit = self.bench.next(self.now)
        assert visit is not None or not allowed, "10: a host may be visited, and is not"
        if visit is not None:
            self.begun(visit, allowed)

    def allowed(self) -> list[WorkbenchHost]:
        """Return the hosts that may be visited, by a look at every host. An expired address is resolved again first."""
        return [
            host
            for host in self.bench.hosts()
            if host.is_queued
            and host.address is not None
            and max(host.ready_at, host.address.ready_at) <= self.latest
            and self.has_room_at(host, host.address.name)
            and (host.has_fresh_address or host.expires_at > self.latest)
            and self.is_site_open(host.name)
        ]

    def flights(self, host: str) -> int:
        return sum(visit.host == host for visit in self.in_flight)

    def has_room_at(self, host: WorkbenchHost, address: str) -> bool:
        """Return True if the host may be visited beside the visits in flight, and overtakes none that may not."""
        flights = sum(visit.address == address for visit in self.in_flight)
        before = [
            other
            for other in self.bench.hosts()
            if other.is_queued and other.address is host.address and (other.turn_at or 0.0) <= (host.turn_at or 0.0)
        ]
        return all(flights < self.connections_of(other) for other in (host, *before)) or not flights

    def connections_of(self, host: WorkbenchHost) -> int:
        """Return how many visits a host may have at once: the name of one that has some is resolved when they end."""
        is_resolved = host.has_fresh_address or host.expires_at > self.latest
        return host.connections() if is_resolved or not host.visits else 1

    def is_site_open(self, host: str) -> bool:
        """Return True if the site of the host may be visited; always, if sites do not rest."""
        return self.site_opens_at(host) <= self.latest

    def site_opens_at(self, host: str) -> float:
        if not self.is_by_site:
            return 0.0
        if SITES[host] in {SITES[visit.host] for visit in self.in_flight}:
            return math.inf
        full = self.delays.host_seconds(HostTraits(), None)
        return self.site_free_at.get(SITES[host], 0.0 if self.restarted_at is None else self.restarted_at + full)

    def begun(self, visit: Visit, allowed: list[WorkbenchHost]) -> None:
        host, address = visit.host, visit.address
        assert self.held[host].pop(0) == visit.url, "5: a URL was dropped, or moved"
        assert self.latest >= self.host_free_at.get(host, 0.0), "1: the delay of a host is broken"
        assert self.latest >= self.address_free_at.get(address, 0.0), "2: the delay of an address is broken"
        is_alone = self.is_by_site or host in self.failing | self.draining or self.firsts[host]
        most = 1 if is_alone else self.traits[host].connections
        assert self.flights(host) < most, "3: too many visits to a host at once"
        assert sum(other.address == address for other in self.in_flight) < most, (
            "3: too many visits to an address at once"
        )
        assert self.is_site_open(host), "12: a site is visited while it rests, or twice at once"
        assert visit.tries < RETRY_POLICY.tries_limit, "7: a URL is tried without end"
        if self.restarted_at is not None:
            full = self.delays.host_seconds(self.traits[host], None) if host not in self.host_free_at else 0.0
            assert self.latest >= self.restarted_at + max(3.0, full), "8: a delay is cut short by a restart"
        self.no_host_starves(visit, allowed)
        self.wait_is_over(host)
        if self.is_parallel(host):
            free_at, address_free_at = self.host_free_at.get(host, 0.0), self.address_free_at.get(address, 0.0)
            self.started[host] = (visit, free_at, address_free_at, self.last_start.get(host, 0.0))
            # The workbench may have forgotten how long the last answer took.
            delay = min(self.delays.host_seconds(self.traits[host], took) for took in (None, self.downloads.get(host)))
            self.host_free_at[host] = self.latest + delay
            self.address_free_at[address] = max(address_free_at, self.latest + min(delay, 3.0))
            self.last_start[host] = self.latest
        self.in_flight.append(visit)

    def is_parallel(self, host: str) -> bool:
        return self.traits[host].connections > 1 and not self.is_by_site

    def no_host_starves(self, visit: Visit, allowed: list[WorkbenchHost]) -> None:
        """No host is visited twice while another waits. A host that left, or must wait longer, begins a new wait."""
        first: dict[str, WorkbenchHost] = {}
        for host in sorted(allowed, key=lambda host: host.turn_at or 0.0, reverse=True):
            first[host.address.name if host.address else ""] = host
        due = [(host.name, host.turn_at) for address, host in first.items() if address != visit.address]
        self.overtaken = {wait: self.overtaken.get(wait, set()) for wait in due}
        same = [host for host in self.bench.hosts() if self.waits_at(host, visit.address)]
        beside = [self.overtaken_at.setdefault((host.name, host.turn_at), set()) for host in same]
        for seen in (*self.overtaken.values(), *beside):
            assert visit.host not in seen, "4: a ready host starves"
            seen.add(visit.host)

    def wait_is_over(self, host: str) -> None:
        """Forget the wait of a host that was visited or has left: without a delay the next one begins at once."""
        self.overtaken = {wait: seen for wait, seen in self.overtaken.items() if wait[0] != host}
        self.overtaken_at = {wait: seen for wait, seen in self.overtaken_at.items() if wait[0] != host}

    def waits_at(self, host: WorkbenchHost, address: str) -> bool:
        is_there = host.address is not None and host.address.name == address
        is_ready = host.ready_at <= self.latest and self.is_site_open(host.name)
        return is_there and host.is_queued and is_ready

    @precondition(lambda self: self.in_flight)
    @rule(which=WHICH, answer=st.sampled_from(GOOD + BAD), crawl_delay_seconds=st.sampled_from([None, None, 45.0]))
    def end(self, which: int, answer: VisitResult, crawl_delay_seconds: float | None) -> None:
        visit = self.landed(which)
        host, traits = visit.host, self.traits[visit.host]
        delay = self.delays.host_seconds(traits, answer.download_seconds)
        is_parallel = self.is_parallel(host)
        if not is_parallel:
            self.address_free_at[visit.address] = self.latest + min(delay, 3.0)
        self.site_free_at[SITES[host]] = self.latest + delay
        ended = self.bench.ended(visit, self.now, answer)
        if crawl_delay_seconds and delay > 0:
            self.traits[host] = HostTraits(crawl_delay_seconds=crawl_delay_seconds, connections=traits.connections)
            self.bench.update_traits(host, self.traits[host], self.now)
            delay = max(delay, self.delays.host_seconds(self.traits[host], answer.download_seconds))
        wait = max(min(answer.retry_after_seconds, 86_400.0), 7.0 if is_failing(answer) else 0.0)
        free_at = self.latest + max(delay, wait)
        if is_parallel:
            free_at = max(self.host_free_at[host], self.last_start[host] + delay, self.latest + wait)
        self.host_free_at[host], self.downloads[host] = free_at, answer.download_seconds
        self.note_failures(host, is_failing(answer))
        if not is_failing(answer):
            if visit.url not in self.firsts[host]:
                self.suspensions[host] = 0
            assert ended.fate is Fate.FINAL
        if ended.fate is Fate.FINAL:
            self.firsts[host].discard(visit.url)
        if answer.is_doubtful:
            assert not isinstance(ended.event, HostGivenUp), "7: a host is given up for a doubtful failure"
        self.told(host, ended, visit._replace(tries=visit.tries + counts_as_try(answer)), traits)

    def note_failures(self, host: str, is_failing: bool) -> None:
        """A host that fails gets one visit at a time, and none while others are in flight that began before."""
        if is_failing:
            (self.draining if self.flights(host) else self.failing).add(host)
        else:
            self.failing.discard(host)
        if not self.flights(host):
            self.draining.discard(host)

    @precondition(lambda self: self.in_flight)
    @rule(which=WHICH, again=st.booleans())
    def give_a_visit_up(self, which: int, again: bool) -> None:
        visit = self.landed(which)
        host = visit.host
        if not self.flights(host):
            self.draining.discard(host)
        started, *before = self.started.get(host, (None, 0.0, 0.0, 0.0))
        if started is visit:
            self.host_free_at[host], self.address_free_at[visit.address], self.last_start[host] = before
        if not again:
            self.firsts[host].discard(visit.url)
        self.told(host, self.bench.skip(visit, self.now, again=again), visit)

    def landed(self, which: int) -> Visit:
        visit = sorted(self.in_flight)[which % len(self.in_flight)]
        self.in_flight.remove(visit)
        return visit

    def told(
        self, host: str, ended: FollowUp, visit: Visit | None = None, traits_before: HostTraits | None = None
    ) -> None:
        if visit is not None and ended.fate is not Fate.FINAL:
            is_behind = visit.tries > 0 and visit.url not in self.firsts[host]
            self.held[host].insert(len(self.held[host]) if is_behind else 0, visit.url)
        if ended.urls:
            assert list(ended.urls) == self.held[host], "5: a URL was dropped"
        if ended.urls or ended.event:
            self.held[host] = []
            self.firsts[host].clear()
        if ended.event:
            self.failing.discard(host)  # it may be forgotten
        if isinstance(ended.event, HostSuspended):
            self.host_free_at[host] = max(self.host_free_at.get(host, 0.0), ended.event.until)
            if ended.event.is_counted:
                # Only a host that gave a page before is suspended ten times as often.
                has_answered = (traits_before or self.traits[host]).has_answered
                most = (10 if has_answered else 1) * RETRY_POLICY.suspensions_limit
                assert self.suspensions[host] < most, "7: a host is suspended without end"
                self.suspensions[host] += 1
        elif isinstance(ended.event, HostGivenUp):
            self.suspensions[host] = 0

    @rule(host=HOST)
    def leave(self, host: str) -> None:
        assert list(self.bench.remove(host, self.now)) == self.held[host], "5: a URL was dropped"
        self.held[host] = []
        self.firsts[host].clear()
        self.suspensions[host] = 0
        self.failing.discard(host)
        self.wait_is_over(host)

    @rule(n=st.integers(0, 4))
    def feed_the_hungry(self, n: int) -> None:
        needs_urls = self.bench.needs_urls(self.now, n)
        assert len(set(needs_urls)) == len(needs_urls) <= n
        for host in needs_urls:
            self.add(host, 4)

    @precondition(lambda self: hasattr(self, "bench"))
    @invariant()
    def look_inside(self) -> None:
        counts = self.bench.counts(self.now)
        assert counts.in_flight == len(self.in_flight)
        self.bench.check()
        hosts_count = sum(counts[1:]) - counts.in_flight + len({visit.host for visit in self.in_flight})
        assert hosts_count < 2 * HOSTS_LIMIT, "6: too many hosts in memory"
        assert hosts_count - counts.suspended - counts.left <= HOSTS_LIMIT, "6: too many active hosts in memory"
        turns = [
            max(host.ready_at, host.address.ready_at, self.site_opens_at(host.name))
            for host in self.bench.hosts()
            if host.is_queued and host.address and self.has_room_at(host, host.address.name)
        ]
        turns = [when for when in turns if when < math.inf]
        is_awake = not turns or (self.bench.wake_at() or 0.0) <= max(min(turns), self.latest)
        assert is_awake, "10: the caller is told to sleep past a host's turn"

    def teardown(self) -> None:
        """Every URL that was taken and has not ended is returned."""
        for host in HOSTS if hasattr(self, "bench") else []:
            self.leave(host)
