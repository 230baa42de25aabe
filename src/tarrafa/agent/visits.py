"""Visits, from the workbench's word to the outcome: the deciding half, without sockets. Events in, instructions out.

Before the first page of a host, its robots.txt is fetched, by a visit of its own through the workbench. What it
disallows is ended without a request. A failed visit is retried or ended as the workbench says. The caller carries out
the instructions that gather in `Frontier.instructions` and reports what came of each.
"""

from collections.abc import Callable, Sequence

from tarrafa.addresses import parse_address
from tarrafa.agent.budgets import REFUSALS, CrawlLimits
from tarrafa.agent.frontier import Frontier
from tarrafa.agent.host_table import HostTable
from tarrafa.agent.instructions import (
    EndUrl,
    Fetch,
    OfferSitemaps,
    Purpose,
    Resolve,
    TellMirror,
    TellOutageBegun,
    TellOutageEnded,
    TellPatternSlowed,
    TellRobotsUnreachable,
)
from tarrafa.agent.mirror_watch import MirrorWatch
from tarrafa.agent.outcomes import ROBOTS, URL_BUDGET
from tarrafa.agent.robots_cache import RobotsCache
from tarrafa.agent.trap_watch import TrapWatch
from tarrafa.clock import Instant
from tarrafa.extract import Extract
from tarrafa.obey import (
    ROBOTS_MAX_BYTES,
    Basis,
    Permission,
    RobotsRequest,
    Wall,
    first_request,
    retry_after_seconds,
    settle,
)
from tarrafa.records import Failure, FailureKind, Page, Request
from tarrafa.schedule import LOOKUPS_LIMIT, Fate, FollowUp, LookupQueue, OutageBreaker, Visit, VisitResult, Workbench
from tarrafa.urls import host_name, host_of
from tarrafa.verify import KnownPage

NAME_SECONDS = 300.0  # for which a resolved address is valid
SKIPS_LIMIT = 500  # visits that one step may name and not make: refused, or waiting for robots.txt
_UNRESOLVED_COUNT = 1_000  # hosts that are queued for a lookup in one step


def is_address(name: str) -> bool:
    return parse_address(name) is not None


class Visits:
    def __init__(
        self,
        frontier: Frontier,
        workbench: Workbench,
        hosts: HostTable,
        robots: RobotsCache,
        limits: CrawlLimits,
        watch: TrapWatch,
        mirrors: MirrorWatch,
        is_known: Callable[[str], bool] = is_address,  # True for a name that is resolved without a lookup
    ) -> None:
        self.outage = OutageBreaker()
        self._frontier = frontier
        self._workbench = workbench
        self._hosts = hosts
        self._robots = robots
        self._watch = watch
        self._mirrors = mirrors
        self.in_flight_limit = limits.in_flight
        self._tables = limits.tables
        self._probes_sitemaps = limits.probes_sitemaps
        # Each robots.txt that is to be fetched, by URL, with the hosts that need it: redirects may lead several hosts
        # to one file. Filled by _request_robots, emptied by robots_fetched and _returned.
        self._robots_requests: dict[str, list[RobotsRequest]] = {}
        self._is_known = is_known
        self._lookups = LookupQueue(min(LOOKUPS_LIMIT, limits.in_flight))
        self.in_flight = 0  # visits begun and not ended

    @property
    def is_idle(self) -> bool:
        return not self.in_flight and not self.resolving and self._frontier.is_idle

    @property
    def resolving(self) -> int:
        """The number of hosts whose name is being looked up, or is to be."""
        return len(self._lookups)

    def is_exhausted(self, at: Instant) -> bool:
        """Return True if no visit can follow from what is in memory, except for suspended hosts."""
        # A host whose last URLs were refused may have more in the buffer.
        if not self.is_idle or (self._workbench.needs_urls_now and self._frontier.has_buffered):
            return False
        counts = self._workbench.counts(at.monotonic)
        return not counts.waiting and not counts.unresolved

    def wake_at(self, at: Instant) -> float | None:
        """Return the monotonic time at which `step` may have something new to do; None if only events can tell."""
        if self.outage.is_open and not self.outage.room:
            return self.outage.probe_at
        if self._workbench.needs_urls_now or self._workbench.has_unresolved:
            return at.monotonic
        times = (self._workbench.wake_at(), self._frontier.wake_at(at), self._lookups.wake_at())
        return min((when for when in times if when is not None), default=None)

    def step(self, at: Instant, room: int) -> bool:
        """Begin what may begin, at most `room` visits; return True if there were fewer than could have begun.

        A step does a bounded amount of work. What it leaves is due at once, as `wake_at` says.
        """
        self._frontier.tick(at)
        outage = self.outage
        outage.tick(at.monotonic)
        room = min(room, self.in_flight_limit - self.in_flight)
        is_short = self._begin_visits(at, min(room, outage.room) if outage.is_open else room)
        # After the visits, because a host whose address has expired is found when its turn comes.
        self._begin_lookups(at)
        return is_short or outage.is_open

    def _begin_lookups(self, at: Instant) -> None:
        """Resolve known names at once, and queue lookups for the others."""
        known = []
        for _ in range(_UNRESOLVED_COUNT):
            host = self._workbench.next_unresolved(at.monotonic)
            if host is None:
                break
            if (address := self._tables.of(host).address) is not None:
                self.resolved(host, (address,), at)
            elif self._is_known(host_name(host)):
                known.append(host)
            else:
                self._lookups.add(host)
        begun = self._lookups.begin(at.monotonic, self.outage.room if self.outage.is_open else None)
        self.outage.begun(len(begun))
        for host in (*known, *begun):
            self._frontier.instructions.append(Resolve(host, host_name(host)))

    def _begin_visits(self, at: Instant, room: int) -> bool:
        skips = 0
        while room > 0:
            visit = self._workbench.next(at.monotonic) if skips < SKIPS_LIMIT else None
            if visit is None:
                return True
            fetch = self._begin(visit, at)
            if fetch is None:
                skips += 1
                continue
            self.in_flight += 1
            self.outage.begun()
            self._frontier.instructions.append(fetch)
            room -= 1
        return False

    def resolved(self, host: str, found: tuple[str, ...] | Failure, at: Instant) -> None:
        """Take the addresses of a host, or the failure to find any."""
        now = at.monotonic
        is_silent = isinstance(found, Failure) and found.kind is FailureKind.NAME_SERVER
        failing = self._lookups.end(host, is_silent=is_silent)
        if isinstance(found, Failure):
            self._unresolved((host, *failing), found, at)
            return
        self.outage.resolved()
        self._workbench.update_traits(host, self._frontier.traits(host, found), now)
        # If only a proxy knows the address, each host counts as an address of its own.
        addresses = found or (host_name(host),)
        self._follow_up(host, self._workbench.resolved(host, addresses, now, now + NAME_SECONDS), at)

    def _unresolved(self, hosts: Sequence[str], found: Failure, at: Instant) -> None:
        """Take the failure of the first of these hosts, which is that of all."""
        self._hosts.count_failed_lookup(found.kind)
        if self._is_outage(host_name(hosts[0]), hosts[0], found, at):
            for each in hosts:
                self._workbench.postpone_resolving(each, at.monotonic)
            return
        is_doubtful = self.outage.is_doubtful(hosts[0], found.kind, at.monotonic)
        for each in hosts:
            failed = self._workbench.resolve_failed(each, at.monotonic, found.kind, is_doubtful=is_doubtful)
            self._follow_up(each, failed, at)

    def page_fetched(self, visit: Visit, page: Page, at: Instant) -> bool:
        """End a visit that brought a page; return True if the page is to be kept, False if it will be retried."""
        return self._ended(visit, page, at) is Fate.FINAL

    def page_kept(
        self, page: Page, signature: int = 0, *, is_refresh: bool = False, is_new_page: bool | None = None
    ) -> None:
        """Count an answer that was stored, in the record of its host and in budgets. The signature is of its text.

        A page that was collected before is no page more, unless the caller knows that it had no content.
        """
        host = host_of(page.url)
        if is_new_page is None:
            is_new_page = not (is_refresh or page.url in self._frontier.refresh)
        self._hosts.count_kept(page, host, is_new_page=is_new_page)
        if is_new_page:
            self._frontier.budgets.count(page, host, signature)
        self._frontier.refresh.finish(page.url, page.at)

    def page_read(self, page: Page, found: Extract, *, is_refresh: bool = False) -> None:
        """Take note of what an answer that is stored brought, for the pattern of its URL if that is fresh."""
        if is_refresh or page.url in self._frontier.refresh:
            return
        host = host_of(page.url)
        for pattern in self._watch.note(page, found):
            self._frontier.instructions.append(TellPatternSlowed(host, pattern))
        for news in self._mirrors.note(page, found):
            self._frontier.instructions.append(TellMirror(news))

    def page_recovered(
        self, page: Page, signature: int = 0, *, is_refresh: bool = False, is_new_page: bool | None = None
    ) -> None:
        """Count an answer that a killed process stored and did not save, and the visit that brought it."""
        self.page_kept(page, signature, is_refresh=is_refresh, is_new_page=is_new_page)
        self._hosts.count_visit(host_of(page.url), page, page.at, is_refresh=is_refresh)

    def page_failed(self, visit: Visit, failure: Failure, at: Instant) -> None:
        """End a visit that brought no answer."""
        # Before the visit ends: if its host is suspended then, what is known of its pages is dropped.
        known = self._frontier.refresh.page(visit.url)
        if self._ended(visit, failure, at) is Fate.FINAL:
            self._end(visit.url, failure, known, at)
            self._hosts.count_failure(host_of(visit.url))

    def page_walled(self, visit: Visit, page: Page, wall: Wall, at: Instant) -> None:
        """End a visit that brought the challenge page of a bot wall. The host backs off as one that is busy."""
        self._hosts.count_wall(visit.host, wall)
        follow_up = self._workbench_ended(visit, page, at, FailureKind.WALL)
        if follow_up.fate is Fate.FINAL:
            failure = Failure(visit.url, FailureKind.WALL, wall)
            self._end(visit.url, failure, self._frontier.refresh.page(visit.url), at)
            self._hosts.count_failure(visit.host)
        self._follow_up(visit.host, follow_up, at)

    def _end(self, url: str, failure: Failure | None, known: KnownPage | None, at: Instant, why: str = ROBOTS) -> None:
        """End a URL without a page: it failed, or was refused. One that was collected before goes on to be known."""
        self._frontier.instructions.append(EndUrl(url, failure, why, known))
        self._frontier.refresh.finish(url, at.wall)

    def robots_fetched(self, visit: Visit, got: Page | Failure, at: Instant) -> None:
        """End a visit to a robots.txt. The content coding of a page is undone already."""
        follow_up = self._workbench_ended(visit, got, at)
        # A retry needs the requests again, so they are taken only once the outcome is final.
        if follow_up.fate is Fate.FINAL:
            for request in self._robots_requests.pop(visit.url, []):
                self._robots_answered(request, got, at)
        self._follow_up(visit.host, follow_up, at)

    def _ended(self, visit: Visit, got: Page | Failure, at: Instant) -> Fate:
        follow_up = self._workbench_ended(visit, got, at)
        self._follow_up(visit.host, follow_up, at)
        return follow_up.fate

    def _workbench_ended(
        self, visit: Visit, got: Page | Failure, at: Instant, kind: FailureKind | None = None
    ) -> FollowUp:
        """End a visit on the workbench. `kind` makes an answer a failure of the host."""
        self.in_flight -= 1
        self._hosts.count_visit(visit.host, got, at.wall, is_refresh=visit.url in self._frontier.refresh)
        if isinstance(got, Page):
            began_at = self.outage.began_at
            self.outage.answered(visit.address, visit.host, at.monotonic)
            self._tell_ended(began_at, at)
        elif self._is_outage(visit.address, visit.host, got, at):
            return self._workbench.postpone(visit, at.monotonic)
        result = _result(got, at, kind)
        if isinstance(got, Failure):
            result = result._replace(is_doubtful=self.outage.is_doubtful(visit.host, got.kind, at.monotonic))
        return self._workbench.ended(visit, at.monotonic, result)

    def _is_outage(self, key: str, host: str, failure: Failure, at: Instant) -> bool:
        """Return True if this machine's network is down, so that the failure counts against no host."""
        began_at, record = self.outage.began_at, self._hosts.find(host)
        is_evidence = record is not None and record.pages > 0
        if not self.outage.is_open:
            self.outage.forget_answers(self._workbench.has_urls)
        is_open = self.outage.failed(key, host, failure.kind, at.monotonic, is_evidence=is_evidence)
        if is_open and began_at is None:
            self._frontier.instructions.append(TellOutageBegun(host, failure.kind))
            for name in self.outage.failing_hosts():
                self._workbench.forgive(name)
        self._tell_ended(began_at, at)
        return is_open

    def _tell_ended(self, began_at: float | None, at: Instant) -> None:
        """Tell of the end of the outage that began then, if it has ended."""
        if began_at is not None and not self.outage.is_open:
            told = TellOutageEnded(at.monotonic - began_at, is_answered=not self.outage.is_disbelieved)
            self._frontier.instructions.append(told)

    def _begin(self, visit: Visit, at: Instant) -> Fetch | None:
        """Return the fetch for a visit, or None if none is needed or allowed now."""
        if visit.url in self._robots_requests:
            request = Request(visit.url, address=visit.address, any_type=True, body_limit_bytes=ROBOTS_MAX_BYTES)
            return Fetch(visit, request, Purpose.ROBOTS)
        frontier, known = self._frontier, self._frontier.refresh.page(visit.url)
        if known is None and visit.url not in frontier.urls:
            # This robots.txt was fetched already, for another host.
            self._workbench.skip(visit, at.monotonic, again=False)
            return None
        if (refusal := frontier.refusal(visit)) is not None:
            # Before robots.txt is asked for: an excluded address is not connected to at all.
            self._refuse(visit, refusal, at)
            return None
        if known is None and self._is_mirrored(visit, at):
            return None
        permission = self._robots.permission(visit.host, at.wall)
        if permission is None:
            self._workbench.skip(visit, at.monotonic, again=True)
            self._request_robots(first_request(visit.host), at)
            return None
        if self._is_refused(visit, permission, at) or self._is_trap(visit, at):
            return None
        request = Request(
            visit.url,
            address=visit.address,
            any_type=frontier.is_sitemap(visit.url),
            wants_type=frontier.type_filter(visit),
        )
        distance, cash = frontier.distance(visit.url), frontier.urls.cash(visit.url)
        return Fetch(visit, request, Purpose.PAGE, distance, cash, known)

    def _is_mirrored(self, visit: Visit, at: Instant) -> bool:
        """Refuse a URL that another host has, and let mirrors wait; before robots.txt is asked for."""
        frontier, host = self._frontier, visit.host
        if not frontier.distance(visit.url):
            return False  # the user gave it
        refusal = self._mirrors.refusal(host, visit.url)
        if refusal is not None:
            self._refuse(visit, refusal, at)
        elif frontier.defers(host):
            self._workbench.skip(visit, at.monotonic, again=True)
            self._recall(host, at)
            frontier.urls.drop(host)
        else:
            return False
        return True

    def _refuse(self, visit: Visit, why: str, at: Instant) -> None:
        """End a visit that is not made, and its URL."""
        self._workbench.skip(visit, at.monotonic, again=False)
        self._end(visit.url, None, self._frontier.refresh.page(visit.url), at, why)

    def _is_refused(self, visit: Visit, permission: Permission, at: Instant) -> bool:
        """Refuse a URL that robots.txt or a budget forbids. Budgets are of pages that were never visited."""
        frontier, host, refusal = self._frontier, self._hosts.meet(visit.host), permission.refusal(visit.url)
        is_fresh = not frontier.has_content(visit.url)
        frontier.budgets.note_address(host, visit.address)
        if is_fresh and visit.url in frontier.refresh and (limit := frontier.budgets.limit_of(host)) is not None:
            self._refuse(visit, REFUSALS[limit], at)
        elif is_fresh and frontier.is_full(host):
            self._workbench.skip(visit, at.monotonic, again=True)
            self._recall(visit.host, at)
            frontier.refuse(host)
        elif refusal is None and not (is_fresh and frontier.budgets.refuses(visit.url)):
            return False
        elif refusal is None:
            self._refuse(visit, URL_BUDGET, at)
        elif permission.basis is Basis.UNREACHABLE:
            self._workbench.skip(visit, at.monotonic, again=True)
            self._recall(visit.host, at)
            reason, until = self._robots.reason(visit.host), permission.expires_at
            frontier.suspend(visit.host, reason, until, is_failing=False)
            frontier.hold_back(visit.host, until)
        else:
            self._refuse(visit, ROBOTS, at)
        return True

    def _is_trap(self, visit: Visit, at: Instant) -> bool:
        """Refuse a URL that leads into a trap, unless it has content, the user gave it, or it is a sitemap."""
        reason, frontier = self._watch.refusal(visit.host, visit.url), self._frontier
        if reason is None or frontier.has_content(visit.url):
            return False
        if not frontier.distance(visit.url) or frontier.is_sitemap(visit.url):
            return False
        self._refuse(visit, reason, at)
        return True

    def _request_robots(self, request: RobotsRequest, at: Instant) -> bool:
        """Queue a robots.txt before the pages of its host; return False if the host has no room for it."""
        host = host_of(request.url)
        is_queued = request.url in self._robots_requests and host != request.host
        if not is_queued and not self._workbench.add_first(host, request.url, at.monotonic):
            # The queue of the host may be full.
            self._recall(host, at)
            if not self._workbench.add_first(host, request.url, at.monotonic):
                return False
        self._robots_requests.setdefault(request.url, []).append(request)
        return True

    def _robots_answered(self, request: RobotsRequest, got: Page | Failure, at: Instant) -> None:
        """Store what a host's robots.txt says, or follow its redirect."""
        host = request.host
        answer = settle(request, got, at.wall, self._hosts.robots_answer(host))
        if isinstance(answer, RobotsRequest):
            target = host_of(answer.url)
            if target != host:
                self._frontier.hold(host)
                self._recall(host, at)
            may_ask = target == host or self._frontier.may_contact(target, at)
            if not (may_ask and self._request_robots(answer, at)):
                self._robots_answered(answer, _not_visited(answer), at)
            return
        permission = self._robots.put(answer)
        if answer.basis is Basis.UNREACHABLE:
            told = TellRobotsUnreachable(host, answer.reason, answer.expires_at)
            self._frontier.instructions.append(told)
        self._workbench.update_crawl_delay(host, permission.rules.crawl_delay_seconds or 0.0, at.monotonic)
        sitemaps = tuple(permission.rules.sitemaps)
        if self._probes_sitemaps and not sitemaps and answer.basis is not Basis.UNREACHABLE:
            sitemaps = (f"{host}/sitemap.xml",)
        if sitemaps:
            self._frontier.instructions.append(OfferSitemaps(host, sitemaps))
        self._frontier.release(host)

    def _follow_up(self, host: str, follow_up: FollowUp, at: Instant) -> None:
        if follow_up.urls:
            self._returned(host, follow_up.urls, at)
        self._frontier.follow_up(host, follow_up, at)

    def _recall(self, host: str, at: Instant) -> None:
        """Take a host off the workbench; its URLs are buffered again."""
        self._returned(host, self._workbench.remove(host, at.monotonic), at)

    def _returned(self, host: str, urls: tuple[str, ...], at: Instant) -> None:
        pages = []
        for url in urls:
            requests = self._robots_requests.pop(url, [])
            if not requests and self._frontier.has(url):
                pages.append(url)
            # The host itself requests its robots.txt again at its next turn; other hosts have waited in vain.
            for request in requests:
                if request.host != host:
                    self._robots_answered(request, _not_visited(request), at)
        self._frontier.put_back(host, pages)


def _not_visited(request: RobotsRequest) -> Failure:
    return Failure(request.url, FailureKind.UNREACHABLE, "the redirect leads to a host that is not visited")


def _result(got: Page | Failure, at: Instant, kind: FailureKind | None) -> VisitResult:
    if isinstance(got, Failure):
        return VisitResult(0, got.kind, is_unreached=got.is_unreached)
    return VisitResult(got.status, kind, got.timings.total_seconds, retry_after_seconds(got, at.wall))
