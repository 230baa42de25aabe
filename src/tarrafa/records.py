"""What moves between rooms: small frozen records, and the one seam through which the web enters.

    Request ──► Transport ──► Page       the host answered, whatever the status
                         └──► Failure    no answer that could be kept, and why

A 404 is a `Page`; a time-out is a `Failure`. Neither is an exception.
"""

from enum import StrEnum
from typing import NamedTuple, Protocol

# Names as the host wrote them, in the order in which they came; a name may come twice.
Headers = tuple[tuple[str, str], ...]


def header(headers: Headers, name: str) -> str | None:
    """The first value of that name, in any case of letters."""
    wanted = name.lower()
    for key, value in headers:
        if key.lower() == wanted:
            return value
    return None


class Request(NamedTuple):
    """One page to fetch. The URL is canonical; the headers come on top of those that the transport always sends."""

    url: str
    headers: Headers = ()
    address: str = ""  # connect to this one; empty leaves the choice to the transport
    any_type: bool = False  # read the body whatever its type, as for robots.txt
    body_limit_bytes: int | None = None  # instead of the usual one


class Timings(NamedTuple):
    """How long each step took; zero for a step that was not needed."""

    name_seconds: float = 0.0  # from the name to its addresses
    connect_seconds: float = 0.0  # one round trip to the address
    tls_seconds: float = 0.0
    first_byte_seconds: float = 0.0  # from the request being sent to the first byte of the answer
    total_seconds: float = 0.0


class Page(NamedTuple):
    """What was fetched. The body is as received, still in its content coding; redirects are pages of their own."""

    url: str
    status: int
    headers: Headers
    body: bytes
    at: float  # seconds since the Unix epoch, when the fetch began
    timings: Timings = Timings()
    truncated: bool = False  # the body was cut at its bound, or broke off before its announced end
    address: str = ""  # that answered
    unread: bool = False  # its type is not wanted, so the body was left with the host
    http_version: str = "1.1"
    reason: str = ""  # the words after the status; HTTP/2 has none
    tls: str = ""  # what is wrong with the certificate, where that was accepted

    def header(self, name: str) -> str | None:
        return header(self.headers, name)

    @property
    def media_type(self) -> str:
        """`text/html` of `Text/HTML; charset=utf-8`; empty when the host does not say."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


class FailureKind(StrEnum):
    NAME = "name"  # the name has no address
    PRIVATE = "private"  # the name leads into a private network and that is not allowed
    REFUSED = "refused"  # nobody listens there
    UNREACHABLE = "unreachable"  # no way to the address
    TIMEOUT = "timeout"
    RESET = "reset"  # the connection broke before the answer was complete
    TLS = "tls"  # the certificate or the handshake is wrong
    HEADER = "header"  # the header is larger than its bound
    ANSWER = "answer"  # what came is not HTTP
    URL = "url"  # cannot be asked for by HTTP at all
    OTHER = "other"


class Failure(NamedTuple):
    url: str
    kind: FailureKind
    detail: str


class Transport(Protocol):
    """Fetches pages and resolves names. `fetch.curl` does it over sockets, `lab.web.memory` from memory."""

    @property
    def request_headers(self) -> Headers:
        """Headers that every request carries."""
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
