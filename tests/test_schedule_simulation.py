"""A long crawl on virtual time: 200 hosts on 50 addresses of unequal speed."""

from collections import defaultdict
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from tarrafa.chance import Chance
from tarrafa.schedule import ConstantDelay, Delays, RetryPolicy, Visit, VisitResult, Workbench

HOSTS = [f"http://h{number}.test" for number in range(200)]
HOST_SECONDS, ADDRESS_SECONDS = 5.0, 1.0
VISITS_COUNT = 20_000


def address_of(host: str) -> str:
    """Three hosts each on most addresses, and a shared hoster with fifty."""
    number = HOSTS.index(host)
    return f"192.0.2.{number % 50 if number < 150 else 7}"


ADDRESS_OF = {host: address_of(host) for host in HOSTS}
# From a twentieth of a second to four seconds.
DOWNLOAD_SECONDS = {host: 0.05 * 1.025 ** (number * 7 % 180) for number, host in enumerate(HOSTS)}


class Stay(NamedTuple):
    begin: float
    end: float
    visit: Visit


class Crawl:
    """As many connections as are wanted; every host has URLs without end; names are asked for again now and then."""

    def __init__(self) -> None:
        self.bench = Workbench(Delays(ConstantDelay(HOST_SECONDS), ADDRESS_SECONDS), RetryPolicy())
        self.chance = Chance("simulation")
        self.now = 0.0
        self.in_flight: list[tuple[float, str, Stay]] = []  # a heap by when they end
        self.stays: list[Stay] = []

    def run(self) -> list[Stay]:
        for host in HOSTS:
            self.bench.add(host, [f"{host}/"] * 10, self.now)
        while len(self.stays) < VISITS_COUNT:
            self.answer_names()
            while (visit := self.bench.next(self.now)) is not None:
                self.begin(visit)
            self.move_on()
        return self.stays

    def answer_names(self) -> None:
        while (host := self.bench.next_unresolved(self.now)) is not None:
            self.bench.resolved(host, [ADDRESS_OF[host]], self.now, self.now + 300.0)

    def begin(self, visit: Visit) -> None:
        end = self.now + DOWNLOAD_SECONDS[visit.host] * (0.5 + self.chance.below(1_000) / 1_000)
        heappush(self.in_flight, (end, visit.host, Stay(self.now, end, visit)))

    def move_on(self) -> None:
        """To the end of a visit or to the next turn, whichever comes first."""
        turn_at = self.bench.wake_at() or float("inf")
        assert turn_at > self.now
        if self.in_flight and self.in_flight[0][0] <= turn_at:
            self.now, _, stay = heappop(self.in_flight)
            self.bench.ended(stay.visit, self.now, VisitResult(200, None, stay.end - stay.begin))
            self.stays.append(stay)
        else:
            self.now = turn_at
        for host in self.bench.needs_urls(self.now, len(HOSTS)):
            self.bench.add(host, [f"{host}/"] * 7, self.now)


def fastest_rate() -> float:
    """Visits a second if hosts and addresses were never late: each address is held back by its hosts or by itself."""
    rates = 0.0
    for address in set(ADDRESS_OF.values()):
        downloads = [DOWNLOAD_SECONDS[host] for host in HOSTS if ADDRESS_OF[host] == address]
        by_hosts = sum(1.0 / (seconds + HOST_SECONDS) for seconds in downloads)
        by_address = len(downloads) / sum(seconds + ADDRESS_SECONDS for seconds in downloads)
        rates += min(by_hosts, by_address)
    return rates


def test_every_delay_is_kept_nobody_starves_and_nearly_no_time_is_lost() -> None:
    stays = Crawl().run()
    of_host, of_address = defaultdict(list), defaultdict(list)
    for stay in sorted(stays):
        of_host[stay.visit.host].append(stay)
        of_address[stay.visit.address].append(stay)
    assert all(b.begin >= a.end + HOST_SECONDS for visits in of_host.values() for a, b in pairwise(visits))
    assert all(b.begin >= a.end + ADDRESS_SECONDS for visits in of_address.values() for a, b in pairwise(visits))
    for address, visits in of_address.items():
        shares = [len(of_host[host]) for host in HOSTS if ADDRESS_OF[host] == address]
        assert max(shares) - min(shares) <= 0.5 * len(visits) / len(shares)
    assert len(of_host) == len(HOSTS)
    rate = len(stays) / max(stay.end for stay in stays)
    assert 0.95 * fastest_rate() < rate < 1.02 * fastest_rate()
