"""From the repository's scheduled URLs to hosts on the workbench, with their addresses."""

import heapq

from tarrafa.addresses import is_public, parse_address
from tarrafa.agent.hosts import Host, Standing
from tarrafa.agent.parts import Parts
from tarrafa.configuration import is_public_name
from tarrafa.schedule import NO_PAST, WAIT_MAX_SECONDS, Ended, GivenUp, Past, Reason, Rest, SetAside, Traits
from tarrafa.urls import host_name
from tarrafa.verify import Scheduled

_HUNGRY_COUNT = 1_000
_TURN_URLS = 10  # as many of a host as the workbench holds
_PAGES = "pages"  # why a host is given up: it has had its share
# Hosts that are left alone for now keep a URL here, by which they come back. Of others the repository alone knows.
_ASLEEP_LIMIT = 20_000


class Feeding:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Hosts with URLs that are to come to the workbench, each once. Filled by take, free, look and step, emptied by
        # step.
        self._newcomers: dict[str, None] = {}
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
        name, urls, hints, _ = scheduled
        if name in self._asleep_hosts or not self._is_welcome(name):
            return False
        host = self.meet(name)
        if self.is_full(host):
            self.refuse(host, scheduled)
            return False
        if host.standing == Standing.GIVEN_UP:
            host.standing, host.reason = Standing.WELCOME, ""
            self.note(host)
        if host.standing == Standing.ASIDE and self._rest_seconds(host):
            self._parts.supply.take(name, urls[:1], hints[:1])
            self.sleep(name, host.until)
            return False
        has_new = self._parts.supply.take(name, urls, hints) > 0
        if has_new and name not in self._held:
            self._newcomers[name] = None
        return has_new

    def _is_welcome(self, name: str) -> bool:
        if not self._parts.reading.admits(name):
            return False
        manners, host = self._parts.manners, self._parts.memory.find(name)
        if host is None:
            return manners.hosts is None or self._parts.memory.met_count < manners.hosts
        # What was only forbidden before may be allowed by now: a private network, or more pages of the host.
        is_forgiven = host.reason == _PAGES or (host.reason == Reason.PRIVATE and manners.allow_private)
        return host.standing != Standing.GIVEN_UP or is_forgiven

    def is_full(self, host: Host) -> bool:
        """Whether it has had its pages."""
        return host.pages >= self._parts.manners.host_pages

    def step(self, now: float) -> None:
        self._look()
        for name in self._parts.bench.hungry(now, _HUNGRY_COUNT):
            self._feed(name, now)
        while self._newcomers and self._has_room(now):
            name = next(iter(self._newcomers))
            del self._newcomers[name]
            self._feed(name, now)

    def _has_room(self, now: float) -> bool:
        """Whether somebody can come to the workbench. Hosts that are set aside do not keep others away: they sleep."""
        bench, find = self._parts.bench, self._parts.memory.find
        if bench.has_room(now):
            return True
        # One that was only asked for the robots.txt of another is in no book, so the workbench must remember it.
        for name in bench.hand_over(now, lambda name: find(name) is not None):
            host = find(name)
            assert host is not None
            self.sleep(name, host.until)
        return bench.has_room(now)

    def _feed(self, name: str, now: float) -> None:
        supply, bench, host = self._parts.supply, self._parts.bench, self._parts.memory.find(name)
        urls = supply.give(name, _TURN_URLS)
        back = bench.add(name, urls, now, self._past(host, now) if host else NO_PAST)
        supply.put_back(name, back)
        if not urls:
            bench.let_go(name, now)
        elif len(back) == len(urls) and not bench.has_room(now):
            self._newcomers[name] = None

    def _past(self, host: Host, now: float) -> Past:
        if not (host.until or host.asides or host.failing):
            return NO_PAST
        rest_seconds = self._rest_seconds(host)
        return Past(host.asides, host.failing, now + rest_seconds if rest_seconds else NO_PAST.until)

    def _rest_seconds(self, host: Host) -> float:
        """For how long a host is left alone. What ends later than anybody is ever told was said by a wrong clock."""
        if not host.until:
            return 0.0
        rest_seconds = host.until - self._parts.clock.now()
        return rest_seconds if 0.0 < rest_seconds <= WAIT_MAX_SECONDS else 0.0

    def _look(self) -> None:
        while self._asleep and self._asleep[0][0] <= self._parts.clock.now():
            name = heapq.heappop(self._asleep)[1]
            self._asleep_hosts.remove(name)
            self._newcomers[name] = None

    def sleep(self, name: str, until: float) -> None:
        """Nothing of the host is visited before that moment of the wall clock."""
        if name in self._asleep_hosts:
            return
        is_known_here = len(self._asleep) < _ASLEEP_LIMIT and not self._parts.supply.is_crowded
        self._parts.supply.give_up(name, but=1 if is_known_here else 0)
        if is_known_here:
            self._asleep_hosts.add(name)
            heapq.heappush(self._asleep, (until, name))

    def hold(self, name: str, now: float) -> None:
        """Off the workbench, until it is free."""
        self._held.add(name)
        self.recall(name, now)

    def free(self, name: str) -> None:
        if name in self._held:
            self._held.remove(name)
            self._newcomers[name] = None

    def may_ask(self, name: str) -> bool:
        """Whether a host may be asked for the robots.txt of another."""
        host, is_public = self._parts.memory.find(name), is_public_name(host_name(name))
        if is_public and not self._parts.manners.has_contact:
            return False
        return host is None or (host.standing != Standing.GIVEN_UP and not self._rest_seconds(host))

    def recall(self, name: str, now: float) -> None:
        """The host leaves the workbench; its URLs wait here."""
        self._returned(name, self._parts.bench.leave(name, now))

    def _returned(self, name: str, urls: tuple[str, ...]) -> None:
        robots, pages = self._parts.robots, []
        for url in urls:
            asked = robots.drop(url)
            if not asked and self._parts.supply.has(url):
                pages.append(url)
            # The host itself asks again at its next turn; others have waited for it in vain.
            for request in asked:
                if request.host != name:
                    robots.unreached(request, self._parts.clock.now())
                    self.free(request.host)
        self._parts.supply.put_back(name, pages)

    def after(self, name: str, ended: Ended, now: float) -> None:
        """What the workbench says when something has ended: URLs handed back, and what becomes of the host."""
        if ended.urls:
            self._returned(name, ended.urls)
        match ended.event:
            case SetAside(_, reason, until):
                self.set_aside(name, reason, self._parts.clock.now() + until - now, reason is not Reason.CROWDED)
            case GivenUp(_, reason):
                self.give_up(name, reason)
        if ended.rest is not None:
            self._rest(name, ended.rest, now)

    def _rest(self, name: str, rest: Rest, now: float) -> None:
        """The workbench sees to it; this is for after a restart."""
        host = self._parts.memory.find(name)
        if host is not None and host.standing != Standing.GIVEN_UP:
            host.until, host.failing = self._parts.clock.now() + rest.until - now, rest.failures
            self.note(host)
            self._parts.rounds.pauses.write(host)

    def regain(self) -> None:
        """Hosts that were to be left alone when an earlier process was killed."""
        for pause in self._parts.rounds.pauses.read():
            host = self.meet(pause.name)
            pause.put_on(host)
            self.note(host)

    def set_aside(self, name: str, reason: str, until: float, is_failing: bool = False) -> None:
        """A host that was only asked for the robots.txt of another is not one of the crawl's."""
        host = self._parts.memory.find(name)
        if host is not None:
            host.standing, host.reason, host.until = Standing.ASIDE, reason, until
            host.asides += is_failing
            self.note(host)
            self._parts.rounds.pauses.write(host)
        self._parts.supply.give_up(name, but=0 if self._parts.supply.is_crowded else 1)

    def refuse(self, host: Host, scheduled: Scheduled | None = None) -> None:
        """No more of a host that has had its pages: neither what waits here, nor what the repository has left of it.

        Of such a host more URLs may be found and none is visited, so whatever goes beyond the last count is new.
        """
        count = self.give_up(host.name, _PAGES)
        if scheduled is not None:
            # What is still on its way was visited, and the repository does not know it yet; or the workbench has it.
            count = scheduled.left_count - sum(map(self._parts.supply.has, scheduled.urls))
        if count > host.refused:
            self._parts.rounds.gathering.counts["refusal host pages"] += count - host.refused
            host.refused = count
            self.note(host)

    def give_up(self, name: str, reason: str) -> int:
        """How many of its URLs waited here."""
        host = self._parts.memory.find(name)
        if host is not None and host.standing != Standing.GIVEN_UP:
            host.standing, host.reason, host.until, host.asides = Standing.GIVEN_UP, reason, 0.0, 0
            self.note(host)
            self._parts.rounds.gathering.counts["given up"] += 1
        return self._parts.supply.give_up(name)

    def traits(self, name: str, addresses: tuple[str, ...]) -> Traits:
        parts = self._parts
        permission = parts.robots.permission(name, parts.clock.now())
        is_own = host_name(name) in parts.manners.own_hosts or (parts.manners.allow_private and _is_private(addresses))
        host = parts.memory.find(name)
        crawl_delay = (permission.rules.crawl_delay_seconds if permission else None) or 0.0
        return Traits(host.pages if host else 0, crawl_delay, is_own)


def _is_private(addresses: tuple[str, ...]) -> bool:
    parsed = [parse_address(each) for each in addresses]
    return bool(parsed) and not any(each is None or is_public(each) for each in parsed)
