"""No URL is lost, whatever hosts do: a random crawl against a model that only counts."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from brains import A, B, BrainDriver, BrainSettings, C, D
from tarrafa.agent import CrawlLimits, HostStatus
from tarrafa.agent.instructions import EndUrl, Fetch, Purpose, Resolve
from tarrafa.records import FailureKind
from tarrafa.schedule import RetryPolicy
from tarrafa.urls import host_of
from tarrafa.verify import Scheduled

HOSTS = [A, B, C, D, "http://e.example"]
HOST, WHICH = st.sampled_from(HOSTS), st.integers(0, 20)
LEFT_LIMIT = 30  # URLs of a host, so that each example ends soon
CLOSED = b"User-agent: *\nDisallow: /\n"
HALF_CLOSED = b"User-agent: *\nCrawl-delay: 20\nDisallow: /1\n"
BODIES = [b"", CLOSED, HALF_CLOSED]
SETTINGS = BrainSettings(
    CrawlLimits(in_flight=3, has_contact=True),
    retry_policy=RetryPolicy(tries_limit=2, failures_limit=3, suspensions_limit=2),
    hosts_limit=3,
    buffer_limit=25,
)


class RandomCrawl(RuleBasedStateMachine):
    """Each URL that was scheduled and has not ended is in the frontier, or the repository schedules it again."""

    def __init__(self) -> None:
        super().__init__()
        self.brain = BrainDriver(SETTINGS)
        self.left: dict[str, list[str]] = {host: [] for host in HOSTS}  # URLs that have not ended
        self.unfinished: dict[str, list[str]] = {host: [] for host in HOSTS}  # ended, which the repository learns later
        self.count = 0
        self.fetches: list[Fetch] = []
        self.lookups: list[Resolve] = []

    @rule(host=HOST, new_count=st.integers(0, 15))
    def urls_are_scheduled(self, host: str, new_count: int) -> None:
        """The repository schedules URLs again until it knows their outcome."""
        new_count = min(new_count, LEFT_LIMIT - len(self.left[host]))
        self.left[host] += [f"{host}/{self.count + number}" for number in range(new_count)]
        self.count += new_count
        self.schedule(host)

    def schedule(self, host: str) -> bool:
        urls = self.unfinished[host] + self.left[host]
        scheduled = Scheduled(host, urls, [1] * len(urls), [0] * len(urls), len(urls))
        has_new = self.brain.frontier.scheduled(scheduled, self.brain.at)
        self.note()
        return has_new

    @rule(room=st.sampled_from([0, 1, 9]))
    def step(self, room: int) -> None:
        self.brain.visits.step(self.brain.at, room)
        self.note()

    def note(self) -> None:
        for each in self.brain.take():
            match each:
                case Fetch():
                    self.fetches.append(each)
                case Resolve():
                    self.lookups.append(each)
                case EndUrl(url, _):
                    self.end(url)

    def end(self, url: str) -> None:
        host = host_of(url)
        self.left[host].remove(url)
        self.unfinished[host].append(url)

    @rule()
    def repository_learns_what_ended(self) -> None:
        for urls in self.unfinished.values():
            self.brain.frontier.urls.finish(urls)
            urls.clear()

    @rule(seconds=st.sampled_from([0.5, 5.0, 30.0, 400.0, 90_000.0]))
    def time_passes(self, seconds: float) -> None:
        self.brain.now += seconds

    @rule()
    def time_passes_until_the_next_turn(self) -> None:
        self.step(9)
        if self.brain.visits.wake_at(self.brain.at) is not None:
            self.brain.pass_time()

    @rule(share=st.sampled_from([0.1, 0.5, 0.999]))
    def nothing_begins_before_the_time_to_wake(self, share: float) -> None:
        is_short = self.brain.visits.step(self.brain.at, 9)
        self.note()
        wake_at = self.brain.visits.wake_at(self.brain.at)
        if not is_short or self.brain.visits.resolving >= SETTINGS.limits.in_flight:
            return
        before = len(self.fetches), len(self.lookups)
        self.brain.now += share * (max(0.0, wake_at - self.brain.now) if wake_at is not None else 1e6)
        if wake_at is None or self.brain.now < wake_at:
            self.step(9)
            assert (len(self.fetches), len(self.lookups)) == before

    @precondition(lambda self: self.lookups)
    @rule(which=WHICH, address=st.sampled_from(["192.0.2.1", "192.0.2.2", "192.0.2.3"]))
    def name_is_resolved(self, which: int, address: str) -> None:
        self.brain.resolve(self.lookups.pop(which % len(self.lookups)).host, address)
        self.note()

    @precondition(lambda self: self.lookups)
    @rule(which=WHICH, kind=st.sampled_from([FailureKind.NAME, FailureKind.NAME_SERVER, FailureKind.PRIVATE]))
    def name_fails(self, which: int, kind: FailureKind) -> None:
        self.brain.fail_name(self.lookups.pop(which % len(self.lookups)).host, kind)
        self.note()

    def landed(self, which: int) -> Fetch:
        return self.fetches.pop(which % len(self.fetches))

    @precondition(lambda self: self.fetches)
    @rule(
        which=WHICH, status=st.sampled_from([200, 200, 404, 429, 503]), body=st.sampled_from([b"", CLOSED, HALF_CLOSED])
    )
    def host_answers(self, which: int, status: int, body: bytes) -> None:
        self.answer(self.landed(which), status, body)

    def answer(self, fetch: Fetch, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        is_final = self.brain.answer(fetch, status, body, *headers)
        if is_final and fetch.purpose is Purpose.PAGE:
            self.end(fetch.visit.url)
        self.note()

    @precondition(lambda self: self.fetches)
    @rule(which=WHICH, seconds=st.sampled_from([30, 5_000]))
    def host_asks_for_time(self, which: int, seconds: int) -> None:
        self.answer(self.landed(which), 503, b"", ("Retry-After", str(seconds)))

    @precondition(lambda self: self.fetches)
    @rule(which=WHICH, to_host=HOST, path=st.sampled_from(["/robots.txt", "/other.txt", "/0"]))
    def host_redirects(self, which: int, to_host: str, path: str) -> None:
        self.answer(self.landed(which), 301, b"", ("Location", to_host + path))

    @precondition(lambda self: self.fetches)
    @rule(which=WHICH, kind=st.sampled_from(FailureKind))
    def fetch_fails(self, which: int, kind: FailureKind) -> None:
        self.brain.fail(self.landed(which), kind)
        self.note()

    @invariant()
    def counts_agree(self) -> None:
        self.brain.workbench.check()
        visits, buffer = self.brain.visits, self.brain.frontier.urls
        assert (visits.in_flight, visits.resolving >= len(self.lookups)) == (len(self.fetches), True)
        assert max(visits.in_flight, len(self.lookups)) <= SETTINGS.limits.in_flight
        assert len(buffer) <= sum(url in buffer for urls in self.left.values() for url in urls)

    def teardown(self) -> None:
        """Once all hosts answer, every URL ends, except for those of hosts that were given up."""
        for _ in range(50):
            self.crawl_to_the_end()
            self.repository_learns_what_ended()
            if all(self.is_given_up(host) for host in HOSTS if self.left[host]):
                break
            for host in HOSTS:
                self.schedule(host)
        assert [host for host in HOSTS if self.left[host] and not self.is_given_up(host)] == []
        buffer = self.brain.frontier.urls
        assert [url for urls in self.left.values() for url in urls if url in buffer] == []

    def is_given_up(self, host: str) -> bool:
        return self.brain.record(host).status == HostStatus.GIVEN_UP

    def crawl_to_the_end(self) -> None:
        for _ in range(3_000):
            while self.lookups:
                self.name_is_resolved(0, "192.0.2.1")
            while self.fetches:
                self.answer(self.landed(0), 200, b"")
            self.step(9)
            if not (self.lookups or self.fetches):
                wake_at = self.brain.visits.wake_at(self.brain.at)
                if wake_at is None:
                    return
                self.brain.now = max(self.brain.now, wake_at)
        raise AssertionError("the crawl does not end")


TestRandomCrawl = RandomCrawl.TestCase
TestRandomCrawl.settings = settings(max_examples=120, stateful_step_count=60)
