"""From the repository's scheduled URLs to hosts on the workbench, with their addresses."""

import heapq
from collections import deque

from tarrafa.addresses import is_public, parse_address
from tarrafa.crawl.hosts import Host, Standing
from tarrafa.crawl.parts import Parts
from tarrafa.schedule import Ended, GivenUp, Reason, SetAside, Traits
from tarrafa.urls import host_name
from tarrafa.verify import Scheduled

_HUNGRY_COUNT = 1_000
_TURN_URLS = 10  # as many of a host as the workbench holds
PAGES = "pages"  # why a host is given up: it has had its share
_ASLEEP_URLS = 10  # of a host that is left alone for now


class Feeding:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Hosts with URLs that are to come to the workbench. Filled by take, free and look, emptied by introduce.
        self._newcomers: deque[str] = deque()
        # Hosts that are left alone, and until when by the wall clock: robots.txt cannot be had, or they were set aside
        # before a restart. Filled by sleep, emptied by look.
        self._asleep: list[tuple[float, str]] = []
        self._asleep_hosts: set[str] = set()
        # Hosts whose robots.txt is being asked for elsewhere. Filled by hold, emptied by free.
        self._held: set[str] = set()

    @property
    def is_idle(self) -> bool:
        """Whether nobody is about to come to the workbench."""
        return not self._newcomers and not self._held

    @property
    def asleep_count(self) -> int:
        return len(self._asleep_hosts)

    def meet(self, name: str) -> Host:
        host, is_new = self._parts.memory.meet(name)
        if is_new:
            self.note(host)
            self._parts.rounds.gathering.counts["hosts"] += 1
        return host

    def note(self, host: Host) -> None:
        """Something about it has changed."""
        self._parts.rounds.gathering.hosts[host.name] = host

    def take(self, scheduled: Scheduled) -> bool:
        """URLs of a host that may be visited next; whether there is anything new among them."""
        name, urls, hints = scheduled
        if name in self._asleep_hosts or not self._is_welcome(name):
            return False
        host = self.meet(name)
        if host.standing == Standing.GIVEN_UP:
            host.standing, host.reason = Standing.WELCOME, ""
            self.note(host)
        if host.standing == Standing.ASIDE and host.until > self._parts.clock.now():
            self._parts.supply.take(name, urls[:_ASLEEP_URLS], hints[:_ASLEEP_URLS])
            self.sleep(name, host.until)
            return False
        has_new = self._parts.supply.take(name, urls, hints) > 0
        if has_new and name not in self._held:
            self._newcomers.append(name)
        return has_new

    def _is_welcome(self, name: str) -> bool:
        if not self._parts.reading.admits(name):
            return False
        manners, host = self._parts.manners, self._parts.memory.find(name)
        if host is None:
            return manners.hosts is None or self._parts.memory.met_count < manners.hosts
        if host.pages >= manners.host_pages:
            self.give_up(name, PAGES)
            return False
        # What was only forbidden before may be allowed by now: a private network, or more pages of the host.
        is_forgiven = host.reason == PAGES or (host.reason == Reason.PRIVATE and manners.allow_private)
        return host.standing != Standing.GIVEN_UP or is_forgiven

    def step(self, now: float) -> None:
        self._look()
        for name in self._parts.bench.hungry(now, _HUNGRY_COUNT):
            if not self._feed(name, now):
                self._parts.bench.let_go(name, now)
        while self._newcomers and self._parts.bench.has_room(now):
            self._feed(self._newcomers.popleft(), now)

    def _feed(self, name: str, now: float) -> bool:
        supply, bench = self._parts.supply, self._parts.bench
        urls = supply.give(name, _TURN_URLS)
        if urls:
            supply.put_back(name, bench.add(name, urls, now))
        return bool(urls)

    def _look(self) -> None:
        while self._asleep and self._asleep[0][0] <= self._parts.clock.now():
            name = heapq.heappop(self._asleep)[1]
            self._asleep_hosts.remove(name)
            self._newcomers.append(name)

    def sleep(self, name: str, until: float) -> None:
        if name not in self._asleep_hosts:
            self._asleep_hosts.add(name)
            heapq.heappush(self._asleep, (until, name))

    def hold(self, name: str, now: float) -> None:
        """Off the workbench, until it is free."""
        self._held.add(name)
        self.recall(name, now)

    def free(self, name: str) -> None:
        if name in self._held:
            self._held.remove(name)
            self._newcomers.append(name)

    def recall(self, name: str, now: float) -> None:
        """The host leaves the workbench; its URLs wait here."""
        self._returned(name, self._parts.bench.leave(name, now))

    def _returned(self, name: str, urls: tuple[str, ...]) -> None:
        robots = self._parts.robots
        asked = [url for url in urls if robots.is_asked(url)]
        for url in asked:
            robots.forget(url)
        self._parts.supply.put_back(name, [url for url in urls if url not in asked])

    def after(self, name: str, ended: Ended, now: float) -> None:
        """What the workbench says when something has ended: URLs handed back, and what becomes of the host."""
        self._returned(name, ended.urls)
        match ended.event:
            case SetAside(_, reason, until):
                self.set_aside(name, reason, self._parts.clock.now() + until - now)
            case GivenUp(_, reason):
                self.give_up(name, reason)

    def set_aside(self, name: str, reason: str, until: float) -> None:
        host = self.meet(name)
        host.standing, host.reason, host.until = Standing.ASIDE, reason, until
        self.note(host)
        self._parts.supply.give_up(name, but=_ASLEEP_URLS)

    def give_up(self, name: str, reason: str) -> None:
        host = self.meet(name)
        if host.standing != Standing.GIVEN_UP:
            host.standing, host.reason, host.until = Standing.GIVEN_UP, reason, 0.0
            self.note(host)
            self._parts.rounds.gathering.counts["given up"] += 1
        self._parts.supply.give_up(name)

    def traits(self, name: str, addresses: tuple[str, ...]) -> Traits:
        parts = self._parts
        permission = parts.robots.permission(name, parts.clock.now())
        parsed = [parse_address(each) for each in addresses]
        is_private = bool(parsed) and not any(each is None or is_public(each) for each in parsed)
        is_own = host_name(name) in parts.manners.own_hosts or (is_private and parts.manners.allow_private)
        host = parts.memory.find(name)
        crawl_delay = (permission.rules.crawl_delay_seconds if permission else None) or 0.0
        return Traits(host.pages if host else 0, crawl_delay, is_own)
