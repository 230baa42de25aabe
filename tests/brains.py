"""Shared by the tests of frontier and visits: a brain over memory, on virtual time, and a driver that answers it."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tarrafa.agent import CrawlLimits, HostRecord, HostTable, Policies, make_brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.instructions import CountRefused, EndUrl, Fetch, Instruction, OfferSitemaps, Purpose, Resolve, Tell
from tarrafa.agent.url_buffer import BUFFER_LIMIT
from tarrafa.agent.visits import is_address
from tarrafa.clock import Instant
from tarrafa.records import Failure, FailureKind, Headers, Page
from tarrafa.schedule import (
    ConstantDelay,
    DelayPolicy,
    Delays,
    Fifo,
    RetryPolicy,
    Scope,
    UrlBounds,
    UrlKind,
    Workbench,
)
from tarrafa.schedule.scope import Rule, any_host
from tarrafa.urls import host_name, host_of
from tarrafa.verify import Scheduled

A, B, C, D = (f"http://{letter}.example" for letter in "abcd")
EPOCH = 1_763_251_200.0  # the wall clock when the monotonic one says 0
DELAY_SECONDS = 5.0
DAY_SECONDS = 86_400.0
UNLIMITED = 2**31
WITH_CONTACT = CrawlLimits(has_contact=True)


class NotedStorage(MemoryHostStorage):
    """A storage that notes what is written to its journal."""

    def __init__(self) -> None:
        super().__init__()
        self.journal: list[HostRecord] = []

    def write(self, record: HostRecord) -> None:
        self.journal.append(record.copy())


class BrainSettings(NamedTuple):
    limits: CrawlLimits = WITH_CONTACT
    rule: Rule = any_host
    retry_policy: RetryPolicy = RetryPolicy()
    hosts_limit: int = 1_000  # of the workbench
    buffer_limit: int = BUFFER_LIMIT
    address_seconds: float = 1.0
    is_known: Callable[[str], bool] = is_address
    policy: DelayPolicy = ConstantDelay(DELAY_SECONDS)


_DEFAULT_SETTINGS = BrainSettings()


class BrainDriver:
    """Plays the event loop and the repository: schedules URLs, carries out instructions, and lets time pass."""

    def __init__(self, settings: BrainSettings = _DEFAULT_SETTINGS) -> None:
        self.now = 0.0
        self.storage = NotedStorage()
        self.hosts = HostTable(self.storage, self.storage)
        self.workbench = Workbench(
            Delays(settings.policy, settings.address_seconds),
            settings.retry_policy,
            hosts_limit=settings.hosts_limit,
        )
        policies = Policies(Scope(settings.rule, UrlBounds()), Fifo(), settings.limits, "tarrafa")
        self.brain = brain = make_brain(self.hosts, self.workbench, policies, settings.buffer_limit, settings.is_known)
        self.frontier, self.visits, self.discovery = brain.frontier, brain.visits, brain.discovery
        self.pages: list[str] = []  # URLs that were kept

    @property
    def at(self) -> Instant:
        return Instant(self.now, EPOCH + self.now)

    def record(self, host: str) -> HostRecord:
        found = self.hosts.find(host)
        assert found is not None
        return found

    def schedule(self, *urls: str, left_count: int | None = None, depth: int = 0, kind: int = UrlKind.PAGE) -> bool:
        """Schedule URLs of one host, as the repository does."""
        count = len(urls)
        left_count = count if left_count is None else left_count
        scheduled = Scheduled(host_of(urls[0]), [*urls], [depth] * count, [kind] * count, left_count)
        return self.frontier.scheduled(scheduled, self.at)

    def take(self) -> list[Instruction]:
        """Take the instructions that have gathered."""
        instructions, self.frontier.instructions = self.frontier.instructions, []
        return instructions

    def step(self, room: int = UNLIMITED) -> list[Instruction]:
        self.visits.step(self.at, room)
        self.workbench.check()
        return self.take()

    def resolve(self, host: str, *addresses: str) -> None:
        """Resolve a name; without addresses, to one that no other host has."""
        self.visits.resolved(host, addresses or (f"address of {host_name(host)}",), self.at)

    def fail_name(self, host: str, kind: FailureKind = FailureKind.NAME) -> None:
        self.visits.resolved(host, Failure(host_name(host), kind, ""), self.at)

    def run(self) -> list[Fetch]:
        """Begin what may begin now, resolving names on the way; return the fetches."""
        fetches: list[Fetch] = []
        while instructions := self.step():
            fetches += [each for each in instructions if isinstance(each, Fetch)]
            for each in instructions:
                if isinstance(each, Resolve):
                    self.resolve(each.host)
        return fetches

    def next_fetch(self) -> Fetch:
        """Let time pass until exactly one fetch begins."""
        for _ in range(1_000):
            if fetches := self.run():
                (fetch,) = fetches
                return fetch
            self.pass_time()
        raise AssertionError("no fetch begins")

    def pass_time(self) -> None:
        """Let time pass until the brain may have something to do."""
        wake_at = self.visits.wake_at(self.at)
        assert wake_at is not None
        self.now = max(self.now, wake_at)

    def answer(self, fetch: Fetch, status: int = 200, body: bytes = b"", *headers: tuple[str, str]) -> bool:
        """Answer a fetch; return True if its outcome is final. A page is kept, as `Ingest` does."""
        page = make_page(fetch.visit.url, status, body, headers, self.at.wall)
        if fetch.purpose is Purpose.ROBOTS:
            self.visits.robots_fetched(fetch.visit, page, self.at)
            return True
        is_final = self.visits.page_fetched(fetch.visit, page, self.at)
        if is_final:
            self.visits.page_kept(page)
            self.pages.append(page.url)
        return is_final

    def fail(self, fetch: Fetch, kind: FailureKind = FailureKind.TIMEOUT) -> Failure:
        failure = Failure(fetch.visit.url, kind, "")
        if fetch.purpose is Purpose.ROBOTS:
            self.visits.robots_fetched(fetch.visit, failure, self.at)
        else:
            self.visits.page_failed(fetch.visit, failure, self.at)
        return failure

    def allow_all(self, *hosts: str) -> None:
        """Schedule the first page of each host, and answer that it has no robots.txt; leaves the page to be fetched."""
        for host in hosts:
            self.schedule(f"{host}/")
        for fetch in self.run():
            assert fetch.purpose is Purpose.ROBOTS
            self.answer(fetch, 404)


class DriverClock:
    """The time of a driver."""

    def __init__(self, brain: BrainDriver) -> None:
        self._brain = brain

    def now(self) -> float:
        return self._brain.at.wall

    def monotonic(self) -> float:
        return self._brain.now

    async def sleep(self, seconds: float) -> None:
        self._brain.now += seconds


def make_page(url: str, status: int = 200, body: bytes = b"", headers: Headers = (), at: float = EPOCH) -> Page:
    return Page(url, status, headers, body, at)


def urls_of(host: str, count: int, start: int = 0) -> list[str]:
    return [f"{host}/{number}" for number in range(start, start + count)]


def fetched_urls(fetches: Iterable[Instruction]) -> list[str]:
    return [each.request.url for each in fetches if isinstance(each, Fetch)]


def ended_urls(instructions: Iterable[Instruction]) -> list[EndUrl]:
    return [each for each in instructions if isinstance(each, EndUrl)]


def refused_counts(instructions: Iterable[Instruction]) -> list[CountRefused]:
    return [each for each in instructions if isinstance(each, CountRefused)]


def told(instructions: Iterable[Instruction]) -> list[Tell]:
    """Return what the log is to tell."""
    return [each for each in instructions if isinstance(each, Tell)]


def resolved_hosts(instructions: Iterable[Instruction]) -> list[str]:
    return [each.host for each in instructions if isinstance(each, Resolve)]


def sitemaps(instructions: Iterable[Instruction]) -> list[OfferSitemaps]:
    return [each for each in instructions if isinstance(each, OfferSitemaps)]
