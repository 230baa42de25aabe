"""The workbench: the hosts in memory that may be visited, ordered by when. Events in, instructions out, no I/O.

`now` is monotonic seconds and only compared with earlier values of it. Guarantees, after any sequence of events:

1. A host is visited again only when its delay has passed since the end of its last answer: the longest of policy,
   Crawl-delay, Retry-After and back-off. Leaving and coming back in between changes nothing. The policy's delay is
   that of the sizes known at the answer, or a longer one by `update_sizes`. At a host that may have several visits in
   flight, the delay of policy and Crawl-delay lies between the starts of visits.
2. An address is visited again only when the delay of addresses has passed since the end of the last answer from it
   (or the delay of the host that was visited there, when that is shorter), or since the start of a visit to a host
   that may have several in flight.
3. At most one visit is in flight to a host, and at most one to an address. The user may allow more to a host
   (`HostTraits.connections`): a visit to it begins while fewer are in flight to its address. Such a host gets one at
   a time too while it fails, for URLs of `add_first`, and if sites rest.
4. No ready host starves. While an address is due, no other host is visited twice before it; and while a host waits,
   no other host of its address is visited twice before it.
5. At most 10 URLs of a host are queued besides those in flight. None is dropped: every URL that was added is queued,
   in flight, ended, or handed back.
6. At most 2 × `hosts_limit` hosts are in memory, half of them active, with at most as many addresses. When suspended
   hosts keep new ones out, `evict_suspended` forgets some of them: the caller then holds these back until their time,
   and passes their history when it adds them again.
7. A URL is tried a bounded number of times. A failing host is suspended a bounded number of times, then given up,
   each with a reason. An answer for a URL that was added by `add_first` ends no such series. Failures that the caller
   calls doubtful count for nothing here: the host is suspended, and never given up. Of visits that are in flight
   together, the last one to end decides.
8. After a restart a host waits its full delay before its first visit, and so does an address. A host that is added
   with a history waits until the time given there besides, and its failures go on counting.
9. A clock that stands still, jumps forward or goes back breaks none of these.
10. No lost wake-ups: when a visit is allowed, `next` returns one, and `wake_at` is never later than the next one.
11. Each call looks at a bounded number of hosts whose time has come (`CALL_HOSTS_COUNT`), so that a hundred thousand
    that become due together do not block the caller. `wake_at` then says that there is more, and 10 holds for the
    calls after.
12. If sites rest too (`site_of`), at most one visit is in flight to a site, and a site is visited again only when the
    delay of the host that was visited there has passed since the end of its answer. A host whose site rests is not
    ready: 4 and 10 hold for the others.

A visit costs O(log n): see `calendar_queue`.
"""

from collections.abc import Callable, Sequence

from tarrafa.records import FailureKind
from tarrafa.schedule.address_queues import AddressQueues
from tarrafa.schedule.delays import Delays, HostTraits, bounded_wait_seconds
from tarrafa.schedule.hosts import (
    CALL_HOSTS_COUNT,
    LOW_URLS_COUNT,
    NEVER,
    QUEUED_URLS_LIMIT,
    HostState,
    VisitStart,
    WorkbenchAddress,
    WorkbenchHost,
    WorkbenchHosts,
)
from tarrafa.schedule.messages import (
    NO_HISTORY,
    BackOff,
    Fate,
    FollowUp,
    HostGivenUp,
    HostHistory,
    HostSuspended,
    Visit,
    VisitResult,
    WorkbenchCounts,
)
from tarrafa.schedule.retry_policy import (
    BUSY_STATUSES,
    HOST_FAILURES,
    WHOLE_HOST_FAILURES,
    HostFailure,
    RetryPolicy,
    RetryStep,
)

_LONGER = 1.1  # times the wait of a host, at which it is moved in its queue because its size is known better
_FINAL = FollowUp()
_WAITING, _IN_FLIGHT = HostState.WAITING, HostState.IN_FLIGHT


class Workbench:
    """Used by one thread. Hosts are named as `urls.host_of` does."""

    def __init__(
        self,
        delays: Delays,
        retry_policy: RetryPolicy,
        *,
        hosts_limit: int = 100_000,
        address_hosts_limit: int = 5_000,  # keeps one hosting provider from filling the workbench
        restarted_at: float | None = None,  # None if no host was visited before
        site_of: Callable[[str], str] | None = None,  # the site of a host; None if sites do not rest
    ) -> None:
        self._delays = delays
        self._retry_policy = retry_policy
        self._hosts = WorkbenchHosts(delays, hosts_limit, address_hosts_limit, restarted_at, site_of)
        self._now = NEVER
        self._in_flight_count = 0
        self._hosts_in_flight_count = 0
        self._queues = AddressQueues(hosts_limit)

    def add(self, name: str, urls: Sequence[str], now: float, history: HostHistory = NO_HISTORY) -> tuple[str, ...]:
        """Queue URLs of a host, first one first. Return those that find no room; the caller keeps them.

        `history` counts for a host that is not on the workbench.
        """
        now = self._tick(now)
        host = self._hosts.enter(name, now, history) if urls else None
        room = max(0, host.room_count()) if host else 0
        if host and room:
            host.urls += urls[:room]
            self._update_queues(host, now)
        return tuple(urls[room:])

    def room_count(self, name: str) -> int:
        """Return how many URLs of a host `add` would take, if the host can enter."""
        host = self._hosts.by_name.get(name)
        if host is None or host.state in (HostState.SUSPENDED, HostState.LEFT):
            return QUEUED_URLS_LIMIT
        return max(0, host.room_count())

    def add_first(self, name: str, url: str, now: float) -> bool:
        """Queue a URL before all others, such as robots.txt. One such URL always finds room; else return False."""
        now = self._tick(now)
        host = self._hosts.enter(name, now)
        if host is None or len(host.urls) + bool(host.visits) > QUEUED_URLS_LIMIT:
            return False
        host.urls.insert(0, url)
        host.firsts.add(url)
        self._update_queues(host, now)
        return True

    def update_traits(self, name: str, traits: HostTraits, now: float) -> None:
        """Set what the delay depends on. A longer delay counts from the last answer, a shorter one from the next."""
        now = self._tick(now)
        host = self._hosts.by_name.get(name)
        if host is None:
            return
        host.traits = traits
        ready_at = host.visited_at + self._delays.host_seconds(traits, host.download_seconds)
        if ready_at <= host.ready_at:
            return
        host.ready_at, host.start = ready_at, None
        if host.is_queued and host.address:
            self._queues.remove(host, host.address)
            self._queues.push(host, host.address, now)

    def update_crawl_delay(self, name: str, crawl_delay_seconds: float, now: float) -> None:
        """Set the Crawl-delay from the robots.txt of a host."""
        host = self._hosts.by_name.get(name)
        if host is not None:
            self.update_traits(name, host.traits._replace(crawl_delay_seconds=crawl_delay_seconds), now)

    def update_sizes(self, name: str, pages_count: int, largest_count: int, now: float) -> None:
        """Set the pages available at a host, and at the largest host, as more URLs become known.

        A delay that is longer by a tenth or less counts from the next answer: to move a host takes time that grows
        with the hosts at its address, and sizes change all the time.
        """
        host = self._hosts.by_name.get(name)
        if host is None or (host.traits.pages_count, host.traits.largest_count) == (pages_count, largest_count):
            return
        traits = host.traits._replace(pages_count=pages_count, largest_count=largest_count)
        delay = self._delays.host_seconds(traits, host.download_seconds)
        if host.visited_at + delay / _LONGER > host.ready_at:
            self.update_traits(name, traits, now)
        else:
            host.traits = traits

    def next_unresolved(self, now: float) -> str | None:
        """Return a host to resolve. The answer goes to `resolved` or `resolve_failed`."""
        self._hosts.expire(self._tick(now))
        unresolved = self._hosts.unresolved
        return unresolved.popitem(last=False)[0].name if unresolved else None

    def resolved(self, name: str, addresses: Sequence[str], now: float, expires_at: float) -> FollowUp:
        """Set the addresses of a host: at least one. After a failure the next one of several is used."""
        now = self._tick(now)
        host = self._take_unresolved(name)
        if host is None:
            return _FINAL
        if not self._hosts.bind(host, addresses[host.failures % len(addresses)]):
            host.ready_at = max(host.ready_at, now + self._retry_policy.ceiling_seconds)
            event = HostSuspended(name, HostFailure.CROWDED, host.ready_at, is_counted=False)
            return self._put_away(host, HostState.SUSPENDED, event, now)
        host.expires_at, host.has_fresh_address = expires_at, True
        self._hosts.move(host, HostState.IDLE)
        self._update_queues(host, now)
        return _FINAL

    def resolve_failed(self, name: str, now: float, kind: FailureKind, *, is_doubtful: bool = False) -> FollowUp:
        """Note why a host has no address: `NAME`, `NAME_SERVER` (unknown for now), or `PRIVATE` (none is allowed).

        It is doubtful if the network of this machine may have failed, not the name server.
        """
        now = self._tick(now)
        host = self._take_unresolved(name)
        if host is None:
            return _FINAL
        follow_up = self._failed(host, HOST_FAILURES[kind], 0.0, now, is_doubtful=is_doubtful)
        if follow_up is _FINAL:
            self._hosts.move(host, HostState.RETRY_NAME)
            self._hosts.set_timer(host)
        return follow_up

    def postpone_resolving(self, name: str, now: float) -> None:
        """Note that a host could not be resolved for no fault of its own: try again later; nothing counts."""
        now = self._tick(now)
        host = self._take_unresolved(name)
        if host is not None:
            host.ready_at = max(host.ready_at, now + self._retry_policy.first_seconds)
            self._hosts.move(host, HostState.RETRY_NAME)
            self._hosts.set_timer(host)

    def _take_unresolved(self, name: str) -> WorkbenchHost | None:
        """Return None if the answer is no longer awaited: the host has left or was resolved already."""
        host = self._hosts.by_name.get(name)
        if host is None or host.state is not HostState.UNRESOLVED:
            return None
        self._hosts.unresolved.pop(host, None)
        return host

    def next(self, now: float) -> Visit | None:
        """Return the next visit. The caller makes it and reports by `ended`, or by `skip`."""
        now = self._tick(now)
        for _ in range(CALL_HOSTS_COUNT):
            host = self._queues.pop(now)
            if host is None:
                return None
            address = host.address
            assert address is not None
            if host.expires_at > now or host.has_fresh_address:
                return self._begin(host, address, now)
            if host.visits:
                host.is_draining = True  # it stays at its address until they have ended
                self._queues.push(host, address, now)
                continue
            self._hosts.request_name(host)
            if address.waiting:
                self._queues.call(address)
        return None

    def _begin(self, host: WorkbenchHost, address: WorkbenchAddress, now: float) -> Visit:
        url = host.urls.pop(0)
        tries = host.tries.pop(url, 0) if host.tries else 0
        visit = Visit(host.name, url, address.name, tries)
        self._hosts_in_flight_count += not host.visits
        host.visits.append(visit)
        host.state = _IN_FLIGHT
        host.has_fresh_address, host.turn_at = False, None
        address.in_flight += 1
        if host.site is not None:
            host.site.is_in_flight = True
        self._in_flight_count += 1
        if len(host.urls) <= LOW_URLS_COUNT:
            self._hosts.needs_urls[host] = None
        if host.is_parallel:
            self._rest_from_start(host, address, visit, now)
        if address.waiting:
            self._queues.call(address)
        return visit

    def _rest_from_start(self, host: WorkbenchHost, address: WorkbenchAddress, visit: Visit, now: float) -> None:
        """Let a host rest from the start of a visit, and queue it for the next one beside it."""
        delay = self._delays.host_seconds(host.traits, host.download_seconds)
        host.start = address.start = VisitStart(visit, host.visited_at, host.ready_at, address.ready_at)
        host.visited_at, host.ready_at = now, now + delay
        address.ready_at = max(address.ready_at, now + min(self._delays.address_seconds, delay))
        if host.urls:
            self._queues.push(host, address, now)

    def ended(self, visit: Visit, now: float, result: VisitResult) -> FollowUp:
        """End a visit at `now`. Every delay counts from here, unless several visits to the host may be in flight."""
        now = self._tick(now)
        host, address = self._land(visit)
        status, failure, download_seconds, retry_after_seconds, is_unreached, is_doubtful = result
        delay = self._delays.host_seconds(host.traits, download_seconds)
        host.download_seconds, host.start = download_seconds, None
        if host.is_parallel:
            host.ready_at = max(host.ready_at, host.visited_at + delay)
        else:
            self._rest(host, address, delay, now)
            host.ready_at = now + delay
        if retry_after_seconds:
            delay = max(delay, bounded_wait_seconds(retry_after_seconds))
            host.ready_at = max(host.ready_at, now + delay)
        reason = HostFailure.BUSY if status in BUSY_STATUSES else None
        if failure is not None:
            reason = HOST_FAILURES.get(failure)
        if reason is not None:
            # A failure to connect is never the URL's, so it does not count as a try.
            tries = visit.tries + (not is_unreached and reason not in WHOLE_HOST_FAILURES)
            again = visit._replace(tries=tries)
            follow_up = self._failed(host, reason, delay, now, again, is_doubtful=is_doubtful)
            if follow_up.fate is Fate.FINAL:
                host.firsts.discard(visit.url)
            follow_up = self._continue(host, address, now, follow_up)
            return follow_up if follow_up.event else follow_up._replace(back_off=BackOff(host.ready_at, host.failures))
        host.failures = host.doubtful_count = 0
        if visit.url in host.firsts:
            host.firsts.remove(visit.url)
        else:
            host.suspensions = 0
        follow_up = self._continue(host, address, now, _FINAL)
        return follow_up._replace(back_off=BackOff(host.ready_at, 0)) if retry_after_seconds else follow_up

    def skip(self, visit: Visit, now: float, *, again: bool) -> FollowUp:
        """End a visit that was not made, so no delay begins. The URL is queued again, or left to the caller."""
        now = self._tick(now)
        host, address = self._land(visit)
        self._forget_start(host, address, visit)
        if again:
            host.put_back(visit.url, visit.tries)
        else:
            host.firsts.discard(visit.url)
        return self._continue(host, address, now, FollowUp(Fate.AGAIN) if again else _FINAL)

    def _forget_start(self, host: WorkbenchHost, address: WorkbenchAddress, visit: Visit) -> None:
        """Undo the delays that began with the start of a visit, unless other events have changed them since."""
        start = host.start
        if start is None or start.visit is not visit:
            return
        if address.start is start:
            address.ready_at = start.address_ready_at
        host.visited_at, host.ready_at = start.visited_at, start.ready_at
        host.start = None
        if host.is_queued:
            self._queues.remove(host, address)
            host.turn_at = None

    def postpone(self, visit: Visit, now: float) -> FollowUp:
        """End a visit that failed for no fault of the host. The host rests, the URL is queued again; nothing counts."""
        now = self._tick(now)
        host, address = self._land(visit)
        delay = self._delays.host_seconds(host.traits, host.download_seconds)
        self._rest(host, address, delay, now)
        host.ready_at = max(host.ready_at, now + delay)
        host.put_back(visit.url, visit.tries)
        return self._continue(host, address, now, FollowUp(Fate.AGAIN))

    def _rest(self, host: WorkbenchHost, address: WorkbenchAddress, delay: float, now: float) -> None:
        """Let address and site of a host rest from the end of a visit."""
        address.ready_at, address.start = now + min(self._delays.address_seconds, delay), None
        if host.site is not None:
            host.site.ready_at = now + delay
        host.visited_at, host.start = now, None

    def forgive(self, name: str) -> None:
        """Forget the failures of a host and of its URLs: they were not its own."""
        host = self._hosts.by_name.get(name)
        if host is not None:
            host.failures = 0
            host.tries.clear()

    def _land(self, visit: Visit) -> tuple[WorkbenchHost, WorkbenchAddress]:
        host = self._hosts.by_name.get(visit.host)
        if host is None or visit not in host.visits or host.address is None:
            raise ValueError(f"this visit is not in flight: {visit.url}")
        host.visits.remove(visit)
        if not host.visits:
            host.state, host.is_draining = _WAITING, False
            self._hosts_in_flight_count -= 1
        host.address.in_flight -= 1
        if host.site is not None:
            host.site.is_in_flight = False
        self._in_flight_count -= 1
        return host, host.address

    def _continue(self, host: WorkbenchHost, address: WorkbenchAddress, now: float, follow_up: FollowUp) -> FollowUp:
        """Queue a host again after a visit, or leave it idle, or remove it; then queue address and site again."""
        if host.site is not None:
            self._queues.call_site(host.site)
        if host.is_leaving:
            follow_up = self._leave(host, now, follow_up)
        elif host.urls:
            if not host.is_queued or self._queues.take_early(host, address):
                self._queues.push(host, address, now)
                return follow_up
        elif host.state is _WAITING:
            self._hosts.move(host, HostState.IDLE)
            self._hosts.needs_urls[host] = None
        if address.waiting:
            self._queues.call(address)
        return follow_up

    def _leave(self, host: WorkbenchHost, now: float, follow_up: FollowUp) -> FollowUp:
        """Hand back what is queued of a host that leaves, and remove the host if no visit to it is in flight."""
        fate = Fate.RETURNED if follow_up.fate is Fate.AGAIN else follow_up.fate
        if host.visits:
            return FollowUp(fate, host.empty())
        return self._put_away(host, HostState.LEFT, None, now, fate)

    def _failed(
        self,
        host: WorkbenchHost,
        reason: HostFailure,
        wait: float,
        now: float,
        visit: Visit | None = None,
        *,
        is_doubtful: bool = False,
    ) -> FollowUp:
        policy = self._retry_policy
        host.failures += not host.visits
        wait = max(wait, policy.back_off_seconds(max(1, host.failures)))
        host.ready_at = max(host.ready_at, now + wait)
        if reason is not HostFailure.BUSY:
            host.expires_at = NEVER  # it may have moved, or another of its addresses may answer
        is_retried = visit is not None and visit.tries < policy.tries_limit
        has_answered = host.traits.has_answered
        step = RetryStep.WAIT
        if host.visits:
            host.is_draining = True  # the last of them to end decides
        elif not host.is_leaving:
            step = policy.step(
                *(reason, host.failures, host.suspensions, wait), has_answered=has_answered, is_doubtful=is_doubtful
            )
        if visit is not None and (is_retried or step is RetryStep.SUSPEND):
            host.put_back(visit.url, visit.tries)
            fate = Fate.AGAIN if step is RetryStep.WAIT else Fate.RETURNED
        else:
            fate = Fate.FINAL
        if step is RetryStep.WAIT:
            return FollowUp(fate) if fate is Fate.AGAIN else _FINAL
        if step is RetryStep.GIVE_UP:
            return self._put_away(host, HostState.LEFT, HostGivenUp(host.name, reason), now, fate)
        seconds = policy.suspension_seconds(host.suspensions + host.doubtful_count)
        host.ready_at = max(host.ready_at, now + seconds)
        host.suspensions += not is_doubtful
        host.doubtful_count += is_doubtful
        event = HostSuspended(host.name, reason, host.ready_at, is_counted=not is_doubtful)
        return self._put_away(host, HostState.SUSPENDED, event, now, fate)

    def _put_away(
        self,
        host: WorkbenchHost,
        state: HostState,
        event: HostSuspended | HostGivenUp | None,
        now: float,
        fate: Fate = Fate.FINAL,
    ) -> FollowUp:
        urls = host.empty()
        if host.is_queued and host.address:
            self._queues.remove(host, host.address)
        self._hosts.rest(host, state, now)
        return FollowUp(fate, urls, event)

    def _update_queues(self, host: WorkbenchHost, now: float) -> None:
        if len(host.urls) > LOW_URLS_COUNT:
            self._hosts.needs_urls.pop(host, None)
        elif host.state is HostState.IDLE:
            self._hosts.needs_urls[host] = None
        if not host.urls or host.is_queued or host.address is None:
            return
        if host.state is HostState.IDLE:
            self._hosts.move(host, _WAITING)
            self._queues.push(host, host.address, now)
        elif host.state is _IN_FLIGHT and host.is_parallel:
            self._queues.push(host, host.address, now)

    def remove(self, name: str, now: float) -> tuple[str, ...]:
        """Remove a host, after its visits if any are in flight. Return its queued URLs."""
        now = self._tick(now)
        host = self._hosts.by_name.get(name)
        if host is None or host.state is HostState.LEFT:
            return ()
        urls = host.empty()
        if host.is_queued and host.address:
            self._queues.remove(host, host.address)
        if host.visits:
            host.is_leaving = True
            self._hosts.needs_urls.pop(host, None)
            return urls
        self._hosts.rest(host, HostState.LEFT, now)
        return urls

    def remove_if_idle(self, name: str, now: float) -> None:
        """Remove a host that has no URLs, also one whose suspension is over."""
        now = self._tick(now)
        host = self._hosts.by_name.get(name)
        if host is None:
            return
        if host.state is HostState.IDLE or (host.state is HostState.SUSPENDED and host.ready_at <= now):
            self.remove(name, now)

    def suspended_names(self) -> list[str]:
        return [host.name for host in self._hosts.by_name.values() if host.state is HostState.SUSPENDED]

    def has_urls(self, name: str) -> bool:
        """Return True if the host is here, with URLs that it is visited for."""
        host = self._hosts.by_name.get(name)
        return host is not None and host.state in (HostState.WAITING, HostState.IN_FLIGHT)

    def is_suspended(self, name: str) -> bool:
        """Return True if the host is here, suspended."""
        host = self._hosts.by_name.get(name)
        return host is not None and host.state is HostState.SUSPENDED

    @property
    def needs_urls_now(self) -> bool:
        """True if `needs_urls` would name a host."""
        return bool(self._hosts.needs_urls)

    @property
    def has_unresolved(self) -> bool:
        """True if `next_unresolved` would name a host."""
        return bool(self._hosts.unresolved)

    def has_room(self, now: float) -> bool:
        """Return True if a host that is not on the workbench could enter."""
        return self._hosts.has_room(self._tick(now))

    def evict_suspended(self, now: float, may_go: Callable[[str], bool]) -> tuple[str, ...]:
        """Forget the suspended hosts that wait longest and may go, if they keep new ones out. Return their names."""
        now = self._tick(now)
        return self._hosts.evict_suspended(now, may_go) if self._hosts.is_full_of_resting(now) else ()

    def needs_urls(self, now: float, limit: int) -> tuple[str, ...]:
        """Return hosts that run low on URLs or may come back. Add URLs or remove them: each is named once."""
        self._hosts.expire(self._tick(now))
        needing = self._hosts.needs_urls
        return tuple(needing.popitem(last=False)[0].name for _ in range(min(limit, len(needing))))

    def wake_at(self) -> float | None:
        """Return when `next`, `next_unresolved` or `needs_urls` may have something new; None if never."""
        queues = self._queues
        times = (queues.calendar.earliest(), queues.sites.earliest(), self._hosts.timers.earliest())
        return min((when for when in times if when is not None), default=None)

    def counts(self, now: float) -> WorkbenchCounts:
        unresolved, retry_name, idle, waiting, _, suspended, left = self._hosts.counts
        ready = self._queues.calendar.due_count(self._tick(now))
        waiting -= self._hosts_in_flight_count
        flying = self._in_flight_count
        return WorkbenchCounts(ready, waiting, flying, unresolved + retry_name, idle, suspended, left)

    def _tick(self, now: float) -> float:
        if now > self._now:
            self._now = now
        return self._now

    def hosts(self) -> list[WorkbenchHost]:
        """Return the hosts in memory; for tests."""
        return list(self._hosts.by_name.values())

    def check(self) -> None:
        """Assert the invariants; for tests."""
        self._hosts.check()
        assert len(self._queues.calendar) + len(self._hosts.timers) <= 8 * self._hosts.hosts_limit
