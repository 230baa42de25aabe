"""The workbench: the hosts in memory that may be visited, ordered by when. Events in, instructions out, nothing done.

`now` is monotonic seconds and only compared with what was passed before. What holds after any sequence of events:

1. A host is visited again only when its delay has passed since the end of its last answer: the longest of policy,
   Crawl-delay, Retry-After and back-off. That it left and came back in between changes nothing.
2. An address is visited again only when the delay of addresses has passed since the end of the last answer from it
   (or the delay of the host that was visited there, when that is shorter).
3. At most one visit is in flight to a host, and at most one to an address.
4. No ready host starves. While an address is due, no other host is visited twice before it; and while a host waits,
   no other host of its address is visited twice before it.
5. At most 10 URLs of a host wait besides the one whose turn it is. None is dropped: whatever was added waits, is in
   flight, has ended, or was handed back.
6. At most 2 × `hosts_limit` hosts are in memory, half of them at work, with at most as many addresses. When so many
   are set aside that nobody new could come, `hand_over` forgets some of them: those are the caller's to hold back until
   their time, and it tells what it knows of their past when it adds them again.
7. A URL is tried a bounded number of times; a host that fails is set aside a bounded number of times, then given up,
   each with a reason.
8. After a restart a host waits its full delay before its first visit, and an address too. One that is added with a past
   waits until then besides, and its failures go on counting.
9. A clock that stands still, jumps forward or goes back breaks none of these.
10. Nobody waits in vain: when a visit is allowed `next` gives one, and `wake_at` is never later than the next one.

A visit costs O(log n), and little: see `turns`.
"""

from collections.abc import Callable, Sequence

from tarrafa.records import FailureKind
from tarrafa.schedule.delays import Delays, Traits, bounded_wait_seconds
from tarrafa.schedule.hosts import LOW_URLS_COUNT, NEVER, WAITING_URLS_LIMIT, Address, Host, State
from tarrafa.schedule.patience import BUSY_STATUSES, HOST_FAILURES, Patience, Reason, Step
from tarrafa.schedule.queues import Queues
from tarrafa.schedule.roster import Roster
from tarrafa.schedule.visits import NO_PAST, Answer, Counts, Ended, Fate, GivenUp, Past, Rest, SetAside, Visit

_FINAL = Ended()
_WAITING, _IN_FLIGHT = State.WAITING, State.IN_FLIGHT


class Workbench:
    """Used by one thread. Hosts are named as `urls.host_of` does."""

    def __init__(
        self,
        delays: Delays,
        patience: Patience,
        *,
        hosts_limit: int = 100_000,
        address_hosts_limit: int = 5_000,  # so that one hoster does not take the whole workbench
        restarted_at: float | None = None,  # None when nobody was visited before
    ) -> None:
        self._delays = delays
        self._patience = patience
        self._roster = Roster(delays, hosts_limit, address_hosts_limit, restarted_at)
        self._now = NEVER
        self._in_flight_count = 0
        self._queues = Queues(hosts_limit)

    def add(self, name: str, urls: Sequence[str], now: float, past: Past = NO_PAST) -> tuple[str, ...]:
        """Give a host URLs to visit, first one first. Those that find no room are handed back: keep them elsewhere.

        `past` counts for a host that is not known here.
        """
        now = self._tick(now)
        host = self._roster.welcome(name, now, past) if urls else None
        room = max(0, host.room_count()) if host else 0
        if host and room:
            host.urls += urls[:room]
            self._wants_turn(host, now)
        return tuple(urls[room:])

    def add_first(self, name: str, url: str, now: float) -> bool:
        """A URL before all others, such as robots.txt; False if there was no room. One such finds room always."""
        now = self._tick(now)
        host = self._roster.welcome(name, now)
        if host is None or len(host.urls) + (host.visit is not None) > WAITING_URLS_LIMIT:
            return False
        host.urls.insert(0, url)
        self._wants_turn(host, now)
        return True

    def describe(self, name: str, traits: Traits, now: float) -> None:
        """What is known of a host that is here. A longer delay counts from its last answer, a shorter from the next."""
        now = self._tick(now)
        host = self._roster.hosts.get(name)
        if host is None:
            return
        host.traits = traits
        ready_at = host.visited_at + self._delays.host_seconds(traits, host.download_seconds)
        if ready_at <= host.ready_at:
            return
        host.ready_at = ready_at
        if host.state is _WAITING and host.address:
            self._queues.remove(host, host.address)
            self._queues.stand(host, host.address, now)

    def describe_delay(self, name: str, crawl_delay_seconds: float, now: float) -> None:
        """What the robots.txt of a host that is here asks for."""
        host = self._roster.hosts.get(name)
        if host is not None:
            self.describe(name, host.traits._replace(crawl_delay_seconds=crawl_delay_seconds), now)

    def resolve_next(self, now: float) -> str | None:
        """A host whose addresses are to be found; the answer goes to `resolved` or `unresolved`."""
        self._roster.look(self._tick(now))
        nameless = self._roster.nameless
        return nameless.popitem(last=False)[0].name if nameless else None

    def resolved(self, name: str, addresses: Sequence[str], now: float, expires_at: float) -> Ended:
        """Where a host is: at least one address. After a failure the next one of several is taken."""
        now = self._tick(now)
        host = self._nameless(name)
        if host is None:
            return _FINAL
        if not self._roster.bind(host, addresses[host.failures % len(addresses)]):
            host.ready_at = max(host.ready_at, now + self._patience.ceiling_seconds)
            return self._put_away(host, State.ASIDE, SetAside(name, Reason.CROWDED, host.ready_at), now)
        host.expires_at, host.has_news = expires_at, True
        self._roster.move(host, State.IDLE)
        self._wants_turn(host, now)
        return _FINAL

    def unresolved(self, name: str, now: float, kind: FailureKind) -> Ended:
        """A host has no address (`NAME`), or none that may be visited (`PRIVATE`)."""
        now = self._tick(now)
        host = self._nameless(name)
        if host is None:
            return _FINAL
        ended = self._failed(host, HOST_FAILURES[kind], 0.0, now)
        if ended is _FINAL:
            self._roster.move(host, State.NAME_LATER)
            self._roster.note(host)
        return ended

    def _nameless(self, name: str) -> Host | None:
        """None if nobody waits for the answer any more, because the host has left or was answered for already."""
        host = self._roster.hosts.get(name)
        if host is None or host.state is not State.NAMELESS:
            return None
        self._roster.nameless.pop(host, None)
        return host

    def next(self, now: float) -> Visit | None:
        """The visit whose turn it is; the caller makes it and reports by `ended`, or by `not_made`."""
        now = self._tick(now)
        while (host := self._queues.pop(now)) is not None:
            address = host.address
            assert address is not None
            if host.expires_at > now or host.has_news:
                return self._begun(host, address)
            self._roster.ask_name(host)
            if address.waiting:
                self._queues.call(address)
        return None

    def _begun(self, host: Host, address: Address) -> Visit:
        url = host.urls.pop(0)
        tries = host.tries.pop(url, 0) if host.tries else 0
        visit = host.visit = Visit(host.name, url, address.name, tries)
        host.state = _IN_FLIGHT
        host.has_news, host.turn_at = False, None
        address.is_in_flight = True
        self._in_flight_count += 1
        if len(host.urls) <= LOW_URLS_COUNT:
            self._roster.hungry[host] = None
        return visit

    def ended(self, visit: Visit, now: float, answer: Answer) -> Ended:
        """The visit is over, at `now`. Every delay counts from here."""
        now = self._tick(now)
        host, address = self._landed(visit)
        status, failure, download_seconds, retry_after_seconds = answer
        delay = self._delays.host_seconds(host.traits, download_seconds)
        address_delay = self._delays.address_seconds
        address.ready_at = now + address_delay if address_delay < delay else now + delay
        host.visited_at, host.download_seconds = now, download_seconds
        if retry_after_seconds:
            delay = max(delay, bounded_wait_seconds(retry_after_seconds))
        host.ready_at = now + delay
        reason = Reason.BUSY if status in BUSY_STATUSES else None
        if failure is not None:
            reason = HOST_FAILURES.get(failure)
        if reason is not None:
            ended = self._go_on(host, address, now, self._failed(host, reason, delay, now, visit))
            return ended if ended.event else ended._replace(rest=Rest(host.ready_at, host.failures))
        host.failures = host.asides = 0
        ended = self._go_on(host, address, now, _FINAL)
        return ended._replace(rest=Rest(host.ready_at, 0)) if retry_after_seconds else ended

    def not_made(self, visit: Visit, now: float, *, again: bool) -> Ended:
        """Nobody was visited after all, so no delay begins; the URL waits here again, or is dropped by the caller."""
        now = self._tick(now)
        host, address = self._landed(visit)
        if again:
            host.put_back(visit.url, visit.tries)
        return self._go_on(host, address, now, Ended(Fate.AGAIN) if again else _FINAL)

    def _landed(self, visit: Visit) -> tuple[Host, Address]:
        host = self._roster.hosts.get(visit.host)
        if host is None or host.visit is not visit or host.address is None:
            raise ValueError(f"this visit is not in flight: {visit.url}")
        host.visit = None
        host.state = _WAITING
        host.address.is_in_flight = False
        self._in_flight_count -= 1
        return host, host.address

    def _go_on(self, host: Host, address: Address, now: float, ended: Ended) -> Ended:
        """After a landing: the host waits for its next turn, or is idle, or leaves; the address calls who is next."""
        if host.urls and not host.is_leaving:
            self._queues.stand(host, address, now)
            return ended
        if host.is_leaving:
            fate = Fate.RETURNED if ended.fate is Fate.AGAIN else ended.fate
            ended = self._put_away(host, State.LEFT, None, now, fate)
        elif host.state is _WAITING:
            self._roster.move(host, State.IDLE)
            self._roster.hungry[host] = None
        if address.waiting:
            self._queues.call(address)
        return ended

    def _failed(self, host: Host, reason: Reason, wait: float, now: float, visit: Visit | None = None) -> Ended:
        host.failures += 1
        wait = max(wait, self._patience.back_off_seconds(host.failures))
        host.ready_at = max(host.ready_at, now + wait)
        if reason is not Reason.BUSY:
            host.expires_at = NEVER  # perhaps it has moved, and perhaps another of its addresses answers
        fate = Fate.FINAL
        if visit is not None and visit.tries + 1 < self._patience.tries_limit:
            host.put_back(visit.url, visit.tries + 1)
            fate = Fate.AGAIN
        step = self._patience.step(reason, host.failures, host.asides, wait)
        if step is Step.WAIT or host.is_leaving:
            return Ended(fate) if fate is Fate.AGAIN else _FINAL
        fate = Fate.RETURNED if fate is Fate.AGAIN else fate
        if step is Step.GIVE_UP:
            return self._put_away(host, State.LEFT, GivenUp(host.name, reason), now, fate)
        host.ready_at = max(host.ready_at, now + self._patience.set_aside_seconds(host.asides))
        host.asides += 1
        return self._put_away(host, State.ASIDE, SetAside(host.name, reason, host.ready_at), now, fate)

    def _put_away(
        self, host: Host, state: State, event: SetAside | GivenUp | None, now: float, fate: Fate = Fate.FINAL
    ) -> Ended:
        urls = host.empty()
        self._roster.rest(host, state, now)
        return Ended(fate, urls, event)

    def _wants_turn(self, host: Host, now: float) -> None:
        if len(host.urls) > LOW_URLS_COUNT:
            self._roster.hungry.pop(host, None)
        elif host.state is State.IDLE:
            self._roster.hungry[host] = None
        if host.urls and host.state is State.IDLE and host.address:
            self._roster.move(host, _WAITING)
            self._queues.stand(host, host.address, now)

    def leave(self, name: str, now: float) -> tuple[str, ...]:
        """The host goes, when it has landed if it is in flight; its URLs that waited are handed back."""
        now = self._tick(now)
        host = self._roster.hosts.get(name)
        if host is None or host.state is State.LEFT:
            return ()
        urls = host.empty()
        if host.visit is not None:
            host.is_leaving = True
            self._roster.hungry.pop(host, None)
            return urls
        if host.state is _WAITING and host.address:
            self._queues.remove(host, host.address)
        self._roster.rest(host, State.LEFT, now)
        return urls

    def let_go(self, name: str, now: float) -> None:
        """The host goes if it has no URLs, also one that was set aside and may come back; else it stays."""
        now = self._tick(now)
        host = self._roster.hosts.get(name)
        if host is None:
            return
        if host.state is State.IDLE or (host.state is State.ASIDE and host.ready_at <= now):
            self.leave(name, now)

    @property
    def is_hungry(self) -> bool:
        """Whether `hungry` would name anybody now."""
        return bool(self._roster.hungry)

    def has_room(self, now: float) -> bool:
        """Whether a host that is not here could come."""
        return self._roster.has_room(self._tick(now))

    def hand_over(self, now: float, may_go: Callable[[str], bool]) -> tuple[str, ...]:
        """Where nobody new can come because so many are set aside: forget those that wait longest and may go."""
        now = self._tick(now)
        return self._roster.hand_over(now, may_go) if self._roster.is_resting_full(now) else ()

    def hungry(self, now: float, n: int) -> tuple[str, ...]:
        """Up to `n` hosts that have few URLs left or may come back. Feed them or let them leave: each is told once."""
        self._roster.look(self._tick(now))
        hungry = self._roster.hungry
        return tuple(hungry.popitem(last=False)[0].name for _ in range(min(n, len(hungry))))

    def wake_at(self) -> float | None:
        """When `next`, `resolve_next` or `hungry` may have something that they do not have now; None if never."""
        times = (self._queues.turns.earliest(), self._roster.noted.earliest())
        return min((when for when in times if when is not None), default=None)

    def counts(self, now: float) -> Counts:
        nameless, later, idle, waiting, _, aside, left = self._roster.counts
        ready, flying = self._queues.turns.due_count(self._tick(now)), self._in_flight_count
        return Counts(ready, waiting - flying, flying, nameless + later, idle, aside, left)

    def _tick(self, now: float) -> float:
        if now > self._now:
            self._now = now
        return self._now

    def check(self) -> None:
        """What always holds, for tests."""
        self._roster.check()
        assert len(self._queues.turns) + len(self._roster.noted) <= 8 * self._roster.hosts_limit
