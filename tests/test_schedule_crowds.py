"""Many hosts of one address, many hosts of one site, a host without end: none of them holds back the rest.

On virtual time: every visit takes a second, a host rests five, an address one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from itertools import pairwise

import pytest

from tarrafa.schedule import ConstantDelay, Delays, RetryPolicy, Visit, VisitResult, Workbench

VISIT_SECONDS, HOST_SECONDS, ADDRESS_SECONDS = 1.0, 5.0, 1.0
FOREVER = 1e9


def names(word: str, count: int) -> list[str]:
    return [f"http://{word}{number}.test" for number in range(count)]


class Crowd:
    """Crawls hosts with a number of URLs each; as many connections as are wanted."""

    def __init__(
        self,
        urls_counts: Mapping[str, int],
        address_of: Callable[[str], str] = lambda host: host,
        site_of: Callable[[str], str] | None = None,
    ) -> None:
        delays = Delays(ConstantDelay(HOST_SECONDS), ADDRESS_SECONDS)
        self.bench = Workbench(delays, RetryPolicy(), site_of=site_of)
        self.address_of = address_of
        self.left = Counter(urls_counts)
        self.now = 0.0
        self.ends: list[tuple[float, str, Visit]] = []  # a heap
        self.begun: dict[str, list[float]] = defaultdict(list)  # when visits to each host began

    def run(self, until: float = FOREVER) -> None:
        for host in list(self.left):
            self.feed(host)
        self.begin_visits()
        while self.now < until and (self.ends or self.bench.wake_at() is not None):
            self.move_on()
            for host in self.bench.needs_urls(self.now, len(self.left)):
                if not self.feed(host):
                    self.bench.remove_if_idle(host, self.now)
            self.begin_visits()
        self.bench.check()

    def feed(self, host: str) -> bool:
        count = min(5, self.left[host])
        back = self.bench.add(host, [f"{host}/"] * count, self.now)
        self.left[host] -= count - len(back)
        return count > 0

    def begin_visits(self) -> None:
        while (host := self.bench.next_unresolved(self.now)) is not None:
            self.bench.resolved(host, [self.address_of(host)], self.now, FOREVER)
        while (visit := self.bench.next(self.now)) is not None:
            self.begun[visit.host].append(self.now)
            heappush(self.ends, (self.now + VISIT_SECONDS, visit.host, visit))

    def move_on(self) -> None:
        turn_at = self.bench.wake_at()
        if self.ends and (turn_at is None or self.ends[0][0] <= turn_at):
            self.now, _, visit = heappop(self.ends)
            self.bench.ended(visit, self.now, VisitResult(200, None, VISIT_SECONDS))
        elif turn_at is not None:
            self.now = max(self.now, turn_at)

    def gaps(self, hosts: Iterable[str]) -> list[float]:
        """Return the times from the end of a visit to any of the hosts to the next begin."""
        begun = sorted(when for host in hosts for when in self.begun[host])
        return [after - before - VISIT_SECONDS for before, after in pairwise(begun)]

    def done_at(self, hosts: Iterable[str]) -> float:
        return max(self.begun[host][-1] for host in hosts)


def test_thousand_hosts_on_one_address_hold_back_no_other_host() -> None:
    crowd, others = names("crowd", 1_000), names("other", 100)
    together = Crowd(dict.fromkeys([*crowd, *others], 10), lambda host: "192.0.2.1" if "crowd" in host else host)
    together.run()
    alone = Crowd(dict.fromkeys(others, 10))
    alone.run()
    assert {host: together.begun[host] for host in others} == alone.begun
    # The crowd itself is visited by turns, and loses no time: a visit and a second of rest for each of its pages.
    assert min(together.gaps(crowd)) == max(together.gaps(crowd)) == ADDRESS_SECONDS
    first = sorted(together.begun[host][0] for host in crowd)
    assert first[-1] < 2.0 * 1_000 + 1


def test_host_without_end_holds_back_no_other_host_of_its_address() -> None:
    """The others have one page every six seconds, as if the large host were not there."""
    others = names("other", 2)
    together = Crowd({"http://endless.test": 10**9, **dict.fromkeys(others, 50)}, lambda _: "192.0.2.1")
    together.run(until=1_000.0)
    assert together.done_at(others) <= 50 * (VISIT_SECONDS + HOST_SECONDS)
    assert len(together.begun["http://endless.test"]) > 160


@pytest.mark.parametrize("addresses_count", [1, 3, 300])
def test_site_of_many_hosts_is_visited_once_at_a_time_and_by_turns(addresses_count: int) -> None:
    site, others = names("part", 300), names("other", 20)

    def address_of(host: str) -> str:
        """A third of the other hosts share an address with hosts of the site."""
        number = int("".join(filter(str.isdigit, host)))
        return f"address {number % addresses_count}" if host in set(site) or number % 3 == 0 else host

    members = set(site)
    crowd = Crowd(dict.fromkeys([*site, *others], 4), address_of, lambda host: "the site" if host in members else host)
    crowd.run()
    assert all(len(crowd.begun[host]) == 4 for host in [*site, *others])
    assert min(crowd.gaps(site)) >= HOST_SECONDS
    assert max(crowd.gaps(site)) <= HOST_SECONDS + 2 * len(others)
    # By turns. A host whose address is busy when the site is open lets another one go first.
    assert max(crowd.begun[host][0] for host in site) < min(crowd.begun[host][2] for host in site)
    # The others do not notice the site: those that share an address wait for at most one visit to it, and its rest.
    assert crowd.done_at(others) < 4 * (VISIT_SECONDS + HOST_SECONDS + 2 * len(others))


def test_sites_do_not_rest_unless_they_are_to() -> None:
    site = names("part", 10)
    crowd = Crowd(dict.fromkeys(site, 2))
    crowd.run()
    assert crowd.done_at(site) == VISIT_SECONDS + HOST_SECONDS
