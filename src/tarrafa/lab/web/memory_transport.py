"""The synthetic web as a transport without sockets, on any clock, for tests and simulation.

Time passes on the given clock alone, so an hour of slow hosts takes a moment, and the same requests get the same
answers in the same order. `fetch` and `resolve` are for an event loop; `answer` and `look_up` say the same to a caller
that keeps its own time.
"""

from typing import NamedTuple

from tarrafa.addresses import parse_address
from tarrafa.clock import Clock
from tarrafa.lab.web.history import EPOCH_SECONDS, http_date
from tarrafa.lab.web.http_messages import FALSE_LENGTH_BYTES
from tarrafa.lab.web.journal import Journal, LoggedVisit
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.synthetic_web import DRIP_BYTES, DRIP_SECONDS, SendMode, SyntheticWeb, WebAnswer, WebRequest
from tarrafa.records import Failure, FailureKind, Headers, Page, Request, Timings

CLIENT = "127.0.0.1"


class MemoryAnswer(NamedTuple):
    """The outcome of a request, how long it takes, and its line for the journal if a host received it."""

    seconds: float
    outcome: Page | Failure
    host: SyntheticHost | None = None
    visit: LoggedVisit | None = None
    retry_after_seconds: float = 0.0


class NetworkCut(NamedTuple):
    """A time during which this machine has no network. Moments are of the transport's clock."""

    begin: float
    end: float
    kind: FailureKind = FailureKind.UNREACHABLE  # of visits
    seconds: float = 0.0  # until a visit fails

    def holds(self, when: float) -> bool:
        return self.begin <= when < self.end


class MemoryTransport:
    """Fetches pages of a synthetic web. Each answer takes at least `round_trip_seconds`."""

    def __init__(
        self,
        web: SyntheticWeb,
        clock: Clock,
        *,
        user_agent: str = "",
        speed: float = 0.0,
        round_trip_seconds: float = 0.01,
        timeout_seconds: float = 30.0,
        body_limit_bytes: int = 5_000_000,
        journal: Journal | None = None,
        wants_page_bodies: bool = True,
        cuts: tuple[NetworkCut, ...] = (),
    ) -> None:
        self._cuts = cuts
        self._web = web
        self._port = f":{web.plan.port}"
        self._clock = clock
        self._opened = clock.monotonic()
        self._epoch = clock.now() - clock.monotonic()
        self._user_agent = user_agent
        self._speed = speed
        self._round_trip_seconds = round_trip_seconds
        self._timeout_seconds = timeout_seconds
        self._body_limit_bytes = body_limit_bytes
        self._wants_page_bodies = wants_page_bodies
        self.journal = journal or Journal(web.robots)

    @property
    def request_headers(self) -> Headers:
        return (("User-Agent", self._user_agent),)

    async def fetch(self, request: Request) -> Page | Failure:
        delivery = self._deliver(request, self._clock.monotonic())
        try:
            if delivery.seconds:
                await self._clock.sleep(delivery.seconds)
        finally:
            if delivery.host and delivery.visit:
                end_seconds = self._clock.monotonic() - self._opened
                self.journal.end(delivery.host, delivery.visit, end_seconds, delivery.retry_after_seconds)
        return delivery.outcome

    def answer(self, request: Request, at_seconds: float) -> tuple[float, Page | Failure]:
        """Return how many seconds a fetch takes that begins at this moment of the clock, and its outcome.

        The journal takes the fetch to last that long, also if the caller gives up before.
        """
        delivery = self._deliver(request, at_seconds)
        if delivery.host and delivery.visit:
            end_seconds = at_seconds + delivery.seconds - self._opened
            self.journal.end_later(delivery.host, delivery.visit, end_seconds, delivery.retry_after_seconds)
        return delivery.seconds, delivery.outcome

    async def resolve(self, name: str) -> tuple[str, ...] | Failure:
        return self.look_up(name, self._clock.monotonic())

    def look_up(self, name: str, at_seconds: float = 0.0) -> tuple[str, ...] | Failure:
        """Return the addresses of a name; an address stands for itself."""
        literal = parse_address(name)
        if literal is None and self._cut(at_seconds) is not None:
            return Failure(name, FailureKind.NAME_SERVER, "the network is cut")
        address = str(literal) if literal else self._web.hosts.resolve(name)
        return (address,) if address else Failure(name, FailureKind.NAME, f"{name} has no address")

    def close(self) -> None:
        """Do nothing: there is no connection to close."""

    def _cut(self, at_seconds: float) -> NetworkCut | None:
        return next((cut for cut in self._cuts if cut.holds(at_seconds)), None)

    def _deliver(self, request: Request, at_seconds: float) -> MemoryAnswer:
        cut = self._cut(at_seconds)
        if cut is not None:
            failure = Failure(request.url, cut.kind, "the network is cut", is_unreached=True)
            return MemoryAnswer(cut.seconds, failure)
        if not request.url.startswith("http://"):
            return MemoryAnswer(0.0, Failure(request.url, FailureKind.URL, "the synthetic web speaks http only"))
        authority, _, rest = request.url.removeprefix("http://").partition("/")
        host = self._web.hosts.find(authority) if authority.endswith(self._port) else None
        if host is None:
            failure = Failure(request.url, self._absence(authority), f"no host at {authority}")
            return MemoryAnswer(self._round_trip_seconds, failure)
        return self._visit(host, request, f"/{rest}", at_seconds)

    def _absence(self, authority: str) -> FailureKind:
        """Return what sockets would report: the server listens on all of 127.0.0.0/8 and drops unknown hosts."""
        if not authority.partition(":")[0][-1:].isdigit():
            return FailureKind.NAME
        is_heard = authority.startswith("127.") and authority.endswith(self._port)
        return FailureKind.RESET if is_heard else FailureKind.REFUSED

    def _visit(self, host: SyntheticHost, request: Request, path: str, at_seconds: float) -> MemoryAnswer:
        begun = at_seconds - self._opened
        blame = self.journal.begin(host, path, self._user_agent, begun)
        headers = {name.lower(): value for name, value in request.headers}
        ask = WebRequest(host, path, headers, self._wants_page_bodies)
        answer = self._web.answer(ask, int(begun * self._speed * 1000))
        visit = LoggedVisit(begun, host.origin, path, answer.status, CLIENT, self._user_agent, blame)
        seconds, outcome = self._receive(host, request, answer, at_seconds)
        return MemoryAnswer(seconds, outcome, host, visit, answer.retry_after_seconds)

    def _receive(
        self, host: SyntheticHost, request: Request, answer: WebAnswer, at_seconds: float
    ) -> tuple[float, Page | Failure]:
        seconds = self._round_trip_seconds + answer.wait_seconds
        if answer.send_mode is SendMode.DRIP:
            seconds += len(answer.body) // DRIP_BYTES * DRIP_SECONDS
        if answer.send_mode is SendMode.HANG or seconds > self._timeout_seconds:
            failure = Failure(request.url, FailureKind.TIMEOUT, f"no answer in {self._timeout_seconds:g} s")
            return self._timeout_seconds, failure
        if answer.send_mode is SendMode.RESET:
            return seconds, Failure(request.url, FailureKind.RESET, "connection reset")
        return seconds, self._page(host, request, answer, at_seconds, seconds)

    def _page(
        self, host: SyntheticHost, request: Request, answer: WebAnswer, at_seconds: float, seconds: float
    ) -> Page:
        body, limit = answer.body, request.body_limit_bytes or self._body_limit_bytes
        if answer.send_mode is SendMode.ENDLESS:
            body = body * (limit // len(body) + 1)
        elif answer.send_mode is SendMode.LONG:
            body = body[:-FALSE_LENGTH_BYTES]
        sent = at_seconds - self._opened + seconds
        headers = [("Date", http_date(EPOCH_SECONDS + int(sent * self._speed)))]
        headers += [("Content-Type", answer.type)] if answer.type else []
        return Page(
            url=request.url,
            status=answer.status,
            headers=(*headers, *answer.headers),
            body=body[:limit],
            at=self._epoch + at_seconds,
            timings=Timings(
                connect_seconds=self._round_trip_seconds, first_byte_seconds=seconds, total_seconds=seconds
            ),
            truncated=len(body) > limit or answer.send_mode is SendMode.SHORT,
            address=host.address,
        )
