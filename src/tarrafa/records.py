"""The records that move between rooms, and the `Transport` through which the web enters.

    Request ──► Transport ──► Page       the host answered, whatever the status
                         └──► Failure    there was no usable answer, and why

A 404 is a `Page`; a timeout is a `Failure`. Neither is an exception.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, Protocol

DEPTH_MAX = 2**32 - 1  # links from a seed to a URL: the most that is stored, so no limit

# The headers that make a request conditional.
CONDITIONS = ("If-None-Match", "If-Modified-Since")

# Names as the host wrote them, in its order; a name may be repeated.
Headers = tuple[tuple[str, str], ...]


def header(headers: Headers, name: str) -> str | None:
    """Return the first value of that name, in any case; None if there is none."""
    wanted, length = name.lower(), len(name)
    for key, value in headers:
        # Few names have the same length, and comparing lengths costs less than changing the case.
        if len(key) == length and key.lower() == wanted:
            return value
    return None


def is_conditional(headers: Headers) -> bool:
    """Return True if a request with these headers asks for a page only if it has changed."""
    return any(header(headers, name) is not None for name in CONDITIONS)


def plain_type(content_type: str) -> str:
    """Return `text/html` for `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


class Request(NamedTuple):
    """One page to fetch. The URL is canonical; the headers are sent beside the transport's `request_headers`."""

    url: str
    headers: Headers = ()
    address: str = ""  # to connect to; empty leaves the choice to the transport
    any_type: bool = False  # read the body whatever its media type, as for robots.txt
    body_limit_bytes: int | None = None  # in place of the configured one
    # Takes the media type of a 2xx answer; False leaves the body unread. None reads what is configured.
    wants_type: Callable[[str], bool] | None = None


class Timings(NamedTuple):
    """The duration of each step; zero for a step that was not needed."""

    name_seconds: float = 0.0  # DNS lookup
    connect_seconds: float = 0.0  # one round trip to the address
    tls_seconds: float = 0.0
    first_byte_seconds: float = 0.0  # from the request being sent to the first byte of the answer
    total_seconds: float = 0.0


class Page(NamedTuple):
    """An answer. The body is as received, still in its content coding; a redirect is a page of its own."""

    url: str
    status: int
    headers: Headers
    body: bytes
    at: float  # seconds since the Unix epoch, when the fetch began
    timings: Timings = Timings()
    truncated: bool = False  # the body was cut at its bound, or ended before its announced length
    address: str = ""  # the one that answered
    unread: bool = False  # the media type is not wanted, so the body was not read
    http_version: str = "1.1"
    reason: str = ""  # the reason phrase after the status; HTTP/2 has none
    tls: str = ""  # what is wrong with the certificate, if a broken one was accepted

    def header(self, name: str) -> str | None:
        return header(self.headers, name)

    @property
    def is_success(self) -> bool:
        """True if the status is 2xx; kept answers of that kind are what a crawl counts as pages."""
        return 200 <= self.status < 300

    @property
    def media_type(self) -> str:
        """Return `text/html` for `Text/HTML; charset=utf-8`; empty without a Content-Type."""
        return plain_type(self.header("content-type") or "")


class FailureKind(StrEnum):
    NAME = "name"  # the name has no address
    NAME_SERVER = "name server"  # no name server answered, so it is unknown whether the name has an address
    PRIVATE = "private"  # the name has only private addresses, which are not allowed
    REFUSED = "refused"  # the port is closed
    UNREACHABLE = "unreachable"  # no route to the address
    TIMEOUT = "timeout"
    RESET = "reset"  # the connection broke before the answer was complete
    TLS = "tls"  # the certificate or the handshake is wrong
    HEADER = "header"  # the header is larger than its bound
    ANSWER = "answer"  # not HTTP
    WALL = "wall"  # the challenge page of a bot wall, instead of an answer of the host
    URL = "url"  # not an http or https URL
    OTHER = "other"


class Failure(NamedTuple):
    url: str
    kind: FailureKind
    detail: str
    is_unreached: bool = False  # there was no connection, so that the failure is not about the URL


class Transport(Protocol):
    """Fetches pages and resolves names. `fetch.curl` does it over sockets, `lab.web.memory_transport` from memory."""

    @property
    def request_headers(self) -> Headers:
        """Return the headers that every request carries."""
        ...

    async def fetch(self, request: Request) -> Page | Failure:
        """Make one request, following no redirect. Never raise for what a host does."""
        ...

    async def resolve(self, name: str) -> tuple[str, ...] | Failure:
        """Return the addresses of a host's name, the best first; none if only a proxy knows them.

        A failure has the name in place of a URL.
        """
        ...

    def close(self) -> None:
        """End every request that is still running."""
        ...
