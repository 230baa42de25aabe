"""The queue of name lookups: which host's name is asked for next. Pure: hosts and the time in, hosts out, no I/O.

Guarantees:

1. At most `limit` lookups are open that began within the last second, at most `open_limit` in all, and at most
   `site_limit` of one site. A name server that does not answer so holds back the names of others for a second only.
2. Sites take turns: while a site waits with fewer open lookups than its limit, no other site begins two.
3. A lookup begins when it leaves the queue, so no timeout runs while it waits.
4. When `site_limit` consecutive lookups of a site brought no answer, hosts of that site that wait fail with them. A
   site whose name servers are silent so costs a few lookups, however many names it has.
5. Every host that was added leaves once: it begins, or it fails with its site.
6. After `begin`, `wake_at` says when it may return more without any event.
"""

from collections import deque

from tarrafa.urls import host_name, site

LOOKUPS_LIMIT = 200
OPEN_LOOKUPS_LIMIT = 2_000
SITE_LOOKUPS_LIMIT = 10
_SLOW_SECONDS = 1.0  # a lookup that takes longer does not count among the first bound any more
_FAIL_COUNT = 1_000  # hosts that fail with one lookup; the next one takes the others along


class SiteLookups:
    __slots__ = ("is_in_turn", "name", "open_count", "silent_count", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: deque[str] = deque()  # hosts; filled by add, emptied by begin and end
        self.open_count = 0
        self.silent_count = 0  # consecutive lookups without an answer
        self.is_in_turn = False  # has an entry among the turns


class LookupQueue:
    def __init__(
        self, limit: int = LOOKUPS_LIMIT, site_limit: int = SITE_LOOKUPS_LIMIT, open_limit: int = OPEN_LOOKUPS_LIMIT
    ) -> None:
        self._limit = limit
        self._open_limit = open_limit
        self._site_limit = site_limit
        # Sites with hosts that wait or are open. Filled by add, emptied when the last of them has left.
        self._sites: dict[str, SiteLookups] = {}
        # Sites that may begin a lookup, the next one first. Filled by _take_turn, emptied by begin.
        self._turns: deque[SiteLookups] = deque()
        self._waiting: set[str] = set()  # hosts
        self._open: dict[str, SiteLookups] = {}  # hosts; filled by begin, emptied by end
        # Of the open ones those that began within the last second, the oldest first. Filled by begin, emptied by end
        # and, as they become slow, by begin.
        self._young: dict[str, float] = {}

    def __len__(self) -> int:
        """Return how many hosts wait or are open."""
        return len(self._waiting) + len(self._open)

    def add(self, host: str) -> None:
        """Queue a host, unless it is here already."""
        if host in self._waiting or host in self._open:
            return
        name = site(host_name(host))
        of_site = self._sites.get(name)
        if of_site is None:
            of_site = self._sites[name] = SiteLookups(name)
        of_site.waiting.append(host)
        self._waiting.add(host)
        self._take_turn(of_site)

    def begin(self, now: float, room: int | None = None) -> list[str]:
        """Return the hosts to look up now, at most `room`. Each is reported by `end`."""
        self._forget_slow(now)
        hosts: list[str] = []
        while self._turns and self._has_room and len(hosts) != room:
            of_site = self._turns.popleft()
            of_site.is_in_turn = False
            if not of_site.waiting:  # they have failed meanwhile
                continue
            host = of_site.waiting.popleft()
            self._waiting.remove(host)
            self._open[host] = of_site
            self._young[host] = now
            of_site.open_count += 1
            self._take_turn(of_site)
            hosts.append(host)
        return hosts

    def end(self, host: str, *, is_silent: bool) -> list[str]:
        """End a lookup; return the hosts that fail with it. A host that was not here changes nothing."""
        of_site = self._open.pop(host, None)
        if of_site is None:
            return []
        self._young.pop(host, None)
        of_site.open_count -= 1
        of_site.silent_count = of_site.silent_count + 1 if is_silent else 0
        failing = self._fail(of_site) if of_site.silent_count >= self._site_limit else []
        self._take_turn(of_site)
        if not of_site.waiting and not of_site.open_count:
            del self._sites[of_site.name]
        return failing

    def wake_at(self) -> float | None:
        """Return the time at which `begin` may return more; None if only events can tell."""
        if not self._turns or len(self._young) < self._limit or len(self._open) >= self._open_limit:
            return None
        return next(iter(self._young.values())) + _SLOW_SECONDS

    @property
    def _has_room(self) -> bool:
        return len(self._young) < self._limit and len(self._open) < self._open_limit

    def _forget_slow(self, now: float) -> None:
        while self._young:
            host, began = next(iter(self._young.items()))
            # A clock that went back makes them young again, for as long as it went back.
            if began + _SLOW_SECONDS > now:  # as wake_at adds, so that rounding cannot make them differ
                return
            del self._young[host]

    def _fail(self, of_site: SiteLookups) -> list[str]:
        hosts = [of_site.waiting.popleft() for _ in range(min(_FAIL_COUNT, len(of_site.waiting)))]
        self._waiting.difference_update(hosts)
        return hosts

    def _take_turn(self, of_site: SiteLookups) -> None:
        """Queue a site behind the others if it may begin a lookup."""
        if not of_site.is_in_turn and of_site.waiting and of_site.open_count < self._site_limit:
            of_site.is_in_turn = True
            self._turns.append(of_site)

    def check(self) -> None:
        """Assert the invariants; for tests."""
        waiting = [host for of_site in self._sites.values() for host in of_site.waiting]
        assert sorted(waiting) == sorted(self._waiting)
        assert not self._waiting & self._open.keys()
        assert len(self._young) <= self._limit
        assert len(self._open) <= self._open_limit
        assert self._young.keys() <= self._open.keys()
        for of_site in self._sites.values():
            assert of_site.waiting or of_site.open_count
            assert of_site.open_count == [*self._open.values()].count(of_site) <= self._site_limit
            may_begin = bool(of_site.waiting) and of_site.open_count < self._site_limit
            assert of_site.is_in_turn or not may_begin
            assert self._turns.count(of_site) == of_site.is_in_turn
