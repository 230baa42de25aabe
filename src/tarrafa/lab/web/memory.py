"""The door without sockets: the same web as a `Transport`, on any clock, for simulation.

Time passes on the given clock alone, so that an hour of slow hosts takes a moment, and the same questions get the same
answers in the same order.
"""

from tarrafa.clock import Clock
from tarrafa.lab.web.answers import DRIP_BYTES, DRIP_SECONDS, Answer, Ask, Manner, Web
from tarrafa.lab.web.dates import EPOCH_SECONDS, http_date
from tarrafa.lab.web.http import FALSE_LENGTH_BYTES
from tarrafa.lab.web.journal import Journal, Visit
from tarrafa.lab.web.plan import Host
from tarrafa.records import Failure, FailureKind, Page, Request, Timings

CLIENT = "127.0.0.1"


class MemoryTransport:
    """Brings the pages of a web. `round_trip_seconds` is what each answer takes at least."""

    def __init__(
        self,
        web: Web,
        clock: Clock,
        *,
        user_agent: str = "",
        speed: float = 0.0,
        round_trip_seconds: float = 0.01,
        timeout_seconds: float = 30.0,
        body_limit_bytes: int = 5_000_000,
        journal: Journal | None = None,
    ) -> None:
        self._web = web
        self._port = f":{web.plan.port}"
        self._clock = clock
        self._opened = clock.monotonic()
        self._user_agent = user_agent
        self._speed = speed
        self._round_trip_seconds = round_trip_seconds
        self._timeout_seconds = timeout_seconds
        self._body_limit_bytes = body_limit_bytes
        self.journal = journal or Journal(web.robots)

    async def fetch(self, request: Request) -> Page | Failure:
        if not request.url.startswith("http://"):
            return Failure(request.url, FailureKind.URL, "the made-up web speaks http alone")
        authority, _, rest = request.url.removeprefix("http://").partition("/")
        host = self._web.geography.find(authority) if authority.endswith(self._port) else None
        if host is None:
            await self._clock.sleep(self._round_trip_seconds)
            return Failure(request.url, self._absence(authority), f"nobody answers for {authority}")
        return await self._visit(host, request, f"/{rest}")

    def _absence(self, authority: str) -> FailureKind:
        """As over sockets: the server takes connections for all of 127.0.0.0/8, and drops those for nobody."""
        if not authority.partition(":")[0][-1:].isdigit():
            return FailureKind.NAME
        is_heard = authority.startswith("127.") and authority.endswith(self._port)
        return FailureKind.RESET if is_heard else FailureKind.REFUSED

    async def _visit(self, host: Host, request: Request, path: str) -> Page | Failure:
        begun, at = self._seconds(), self._clock.now()
        blame = self.journal.begin(host, path, self._user_agent, begun)
        headers = {name.lower(): value for name, value in request.headers}
        answer = self._web.answer(Ask(host, path, headers), int(begun * self._speed * 1000))
        visit = Visit(begun, host.origin, path, answer.status, CLIENT, self._user_agent, blame)
        try:
            return await self._receive(host, request.url, answer, at)
        finally:
            self.journal.end(host, visit, self._seconds(), answer.retry_after_seconds)

    async def _receive(self, host: Host, url: str, answer: Answer, at: float) -> Page | Failure:
        seconds = self._round_trip_seconds + answer.wait_seconds
        if answer.manner is Manner.DRIP:
            seconds += len(answer.body) // DRIP_BYTES * DRIP_SECONDS
        if answer.manner is Manner.HANG or seconds > self._timeout_seconds:
            await self._clock.sleep(self._timeout_seconds)
            return Failure(url, FailureKind.TIMEOUT, f"no answer in {self._timeout_seconds:g} s")
        await self._clock.sleep(seconds)
        if answer.manner is Manner.RESET:
            return Failure(url, FailureKind.RESET, "connection reset")
        return self._page(host, url, answer, at, seconds)

    def _page(self, host: Host, url: str, answer: Answer, at: float, seconds: float) -> Page:
        body, limit = answer.body, self._body_limit_bytes
        if answer.manner is Manner.ENDLESS:
            body = body * (limit // len(body) + 1)
        elif answer.manner is Manner.LONG:
            body = body[:-FALSE_LENGTH_BYTES]
        headers = [("Date", http_date(EPOCH_SECONDS + int(self._seconds() * self._speed)))]
        headers += [("Content-Type", answer.type)] if answer.type else []
        return Page(
            url=url,
            status=answer.status,
            headers=(*headers, *answer.headers),
            body=body[:limit],
            at=at,
            timings=Timings(
                connect_seconds=self._round_trip_seconds, first_byte_seconds=seconds, total_seconds=seconds
            ),
            truncated=len(body) > limit or answer.manner is Manner.SHORT,
            address=host.address,
        )

    def _seconds(self) -> float:
        return self._clock.monotonic() - self._opened
