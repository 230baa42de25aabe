"""One page over libcurl.

A transfer is prepared, performed and read in three steps, and only the middle one blocks: it runs in a thread.
"""

import asyncio
import errno
import logging
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path

import pycurl

from tarrafa.addresses import parse_address
from tarrafa.clock import Clock, SystemClock
from tarrafa.configuration import Crawl, Fetch
from tarrafa.errors import WorkError
from tarrafa.fetch.answer import Answer
from tarrafa.fetch.resolve import ADDRESS_LIMIT, Resolver, SystemResolver, public_only
from tarrafa.logs import event
from tarrafa.records import Failure, FailureKind, Page, Request, Timings
from tarrafa.texts import cut, printable
from tarrafa.urls import Url, parse

log = logging.getLogger(__name__)

# Where systems keep their certificates; libcurl knows only the place of the system on which it was built.
_CERTIFICATE_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)

# A value that a host gave us and gets back, such as an ETag, must not smuggle in another header.
_LINE_BREAKS = dict.fromkeys(map(ord, "\r\n\0"), " ")

_TOO_LARGE = 100  # libcurl's own bound for one line of the header; pycurl has no name for it
_HTTP2_STREAM = 92

_KINDS = {
    pycurl.E_OPERATION_TIMEDOUT: FailureKind.TIMEOUT,
    pycurl.E_COULDNT_RESOLVE_HOST: FailureKind.NAME,
    pycurl.E_SSL_CONNECT_ERROR: FailureKind.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: FailureKind.TLS,
    pycurl.E_SSL_CERTPROBLEM: FailureKind.TLS,
    pycurl.E_SSL_CIPHER: FailureKind.TLS,
    pycurl.E_SSL_ISSUER_ERROR: FailureKind.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: FailureKind.TLS,
    pycurl.E_RECV_ERROR: FailureKind.RESET,
    pycurl.E_SEND_ERROR: FailureKind.RESET,
    pycurl.E_GOT_NOTHING: FailureKind.RESET,
    pycurl.E_PARTIAL_FILE: FailureKind.RESET,
    pycurl.E_HTTP2: FailureKind.RESET,
    _HTTP2_STREAM: FailureKind.RESET,
    pycurl.E_UNSUPPORTED_PROTOCOL: FailureKind.ANSWER,  # the URL's scheme is known: it is the answer that is not HTTP
    pycurl.E_FTP_WEIRD_SERVER_REPLY: FailureKind.ANSWER,
    pycurl.E_BAD_CONTENT_ENCODING: FailureKind.ANSWER,
    pycurl.E_URL_MALFORMAT: FailureKind.URL,
    _TOO_LARGE: FailureKind.HEADER,
}


@dataclass(frozen=True, slots=True)
class _Transfer:
    """One request on its way: filled by libcurl's callbacks, read when it has ended."""

    request: Request
    handle: pycurl.Curl
    answer: Answer
    at: float
    name_seconds: float


class CurlTransport:
    def __init__(
        self,
        fetch: Fetch,
        crawl: Crawl,
        resolver: Resolver | None = None,
        clock: Clock | None = None,
        certificates: Path | None = None,
    ) -> None:
        self._fetch = fetch
        self._crawl = crawl
        self._resolver = resolver or SystemResolver()
        self._clock = clock or SystemClock()
        self._certificates = certificates or system_certificates()

    async def fetch(self, request: Request) -> Page | Failure:
        outcome = await self._outcome(request)
        _tell(outcome)
        return outcome

    async def _outcome(self, request: Request) -> Page | Failure:
        url = parse(request.url)
        if url is None:
            return Failure(request.url, FailureKind.URL, "is not a canonical http or https URL")
        at, began = self._clock.now(), self._clock.monotonic()
        addresses = await self._addresses(url)
        if isinstance(addresses, Failure):
            return addresses
        answer = Answer(self._fetch.header_limit_bytes, self._fetch.body_limit_bytes)
        transfer = _Transfer(request, pycurl.Curl(), answer, at, self._clock.monotonic() - began)
        self._prepare(transfer, url, addresses)
        return _read(transfer, *await _perform(transfer.handle))

    async def _addresses(self, url: Url) -> tuple[str, ...] | Failure:
        """Where we may connect to; decided here, once, so that nothing can change it before the connection."""
        literal = parse_address(url.name)
        try:
            async with asyncio.timeout(min(self._fetch.timeout_seconds, self._fetch.connect_timeout_seconds)):
                found = (str(literal),) if literal else await self._resolver.addresses(url.name)
        except TimeoutError:
            return Failure(url.url, FailureKind.TIMEOUT, f"no answer in time for the address of {url.name}")
        if not found:
            return Failure(url.url, FailureKind.NAME, f"{url.name} has no address")
        allowed = found if self._crawl.allow_private else public_only(found)
        if not allowed:
            return Failure(url.url, FailureKind.PRIVATE, f"{found[0]} is not a public address")
        return allowed[:ADDRESS_LIMIT]

    def _prepare(self, transfer: _Transfer, url: Url, addresses: tuple[str, ...]) -> None:
        handle, answer = transfer.handle, transfer.answer
        handle.setopt(pycurl.URL, url.url.encode())
        handle.setopt(pycurl.PATH_AS_IS, 1)
        handle.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        handle.setopt(pycurl.FOLLOWLOCATION, 0)
        handle.setopt(pycurl.NOSIGNAL, 1)
        handle.setopt(pycurl.HTTPHEADER, self._header_lines(transfer.request))
        handle.setopt(pycurl.HEADERFUNCTION, lambda line: len(line) if answer.take_header(line) else -1)
        handle.setopt(pycurl.WRITEFUNCTION, lambda data: len(data) if answer.take_body(data) else -1)
        self._bind(handle, url, addresses)
        self._bound(handle, transfer.name_seconds)

    def _bind(self, handle: pycurl.Curl, url: Url, addresses: tuple[str, ...]) -> None:
        """Connect to these addresses only: whatever name libcurl would look up, this is the answer."""
        places = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
        handle.setopt(pycurl.RESOLVE, [f"*:{url.port}:{places}"])
        handle.setopt(pycurl.PROXY, "")
        handle.setopt(pycurl.SSL_VERIFYPEER, 1)
        handle.setopt(pycurl.SSL_VERIFYHOST, 2)
        if self._certificates is not None:
            handle.setopt(pycurl.CAINFO, str(self._certificates))

    def _bound(self, handle: pycurl.Curl, spent_seconds: float) -> None:
        left_seconds = self._fetch.timeout_seconds - spent_seconds
        handle.setopt(pycurl.TIMEOUT_MS, max(1, round(left_seconds * 1000)))
        handle.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, round(self._fetch.connect_timeout_seconds * 1000)))

    def _header_lines(self, request: Request) -> list[bytes]:
        # Only gzip is asked for: it is what `decode` undoes.
        own = (("User-Agent", self._crawl.user_agent), ("Accept-Encoding", "gzip"))
        lines = (f"{name}: {value}".translate(_LINE_BREAKS) for name, value in (*own, *request.headers))
        return [line.encode("latin-1", "replace") for line in lines]


def system_certificates() -> Path | None:
    """The file with the certificates that this machine trusts."""
    places = (ssl.get_default_verify_paths().cafile, *_CERTIFICATE_PLACES)
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


def _tell(outcome: Page | Failure) -> None:
    if isinstance(outcome, Page):
        size = len(outcome.body)
        event(log, "page fetched", logging.DEBUG, url=outcome.url, status=outcome.status, body_bytes=size)
    else:
        event(log, "fetch failed", logging.DEBUG, url=outcome.url, kind=outcome.kind, detail=outcome.detail)


async def _perform(handle: pycurl.Curl) -> tuple[int, str]:
    """libcurl's code, 0 when all went well, and its message."""
    is_left = threading.Event()
    handle.setopt(pycurl.NOPROGRESS, 0)
    handle.setopt(pycurl.XFERINFOFUNCTION, lambda *_: int(is_left.is_set()))
    try:
        return await asyncio.to_thread(_run, handle)
    finally:
        is_left.set()  # when the caller is cancelled, libcurl is told so within a second


def _run(handle: pycurl.Curl) -> tuple[int, str]:
    try:
        handle.perform()
    except pycurl.error as error:
        return error.args[0], error.args[1]
    return 0, ""


def _read(transfer: _Transfer, code: int, message: str) -> Page | Failure:
    """A body that was cut, by us or by the host, is still a page."""
    answer = transfer.answer
    is_broken_off = code == pycurl.E_PARTIAL_FILE and answer.status >= 200
    if code == 0 or answer.is_body_cut or is_broken_off:
        return Page(
            url=transfer.request.url,
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            at=transfer.at,
            timings=_timings(transfer),
            truncated=answer.is_body_cut or is_broken_off,
            address=transfer.handle.getinfo(pycurl.PRIMARY_IP),
        )
    if answer.is_header_too_large:
        return Failure(transfer.request.url, FailureKind.HEADER, "the header is larger than its bound")
    kind = _kind(transfer.handle, code)
    return Failure(transfer.request.url, kind, printable(cut(message, 300)) or f"libcurl's error {code}")


def _kind(handle: pycurl.Curl, code: int) -> FailureKind:
    if code == pycurl.E_COULDNT_CONNECT:
        refused = handle.getinfo(pycurl.OS_ERRNO) == errno.ECONNREFUSED
        return FailureKind.REFUSED if refused else FailureKind.UNREACHABLE
    if code == pycurl.E_SSL_CACERT_BADFILE:
        raise WorkError("the system's certificates cannot be read; install them (on Debian: ca-certificates)")
    return _KINDS.get(code, FailureKind.OTHER)


def _timings(transfer: _Transfer) -> Timings:
    """libcurl counts each moment from the start; here each step has its own duration."""
    info = transfer.handle.getinfo
    name, connected = info(pycurl.NAMELOOKUP_TIME), info(pycurl.CONNECT_TIME)
    secured = info(pycurl.APPCONNECT_TIME)
    return Timings(
        name_seconds=transfer.name_seconds,
        connect_seconds=max(0.0, connected - name),
        tls_seconds=max(0.0, secured - connected) if secured else 0.0,
        first_byte_seconds=max(0.0, info(pycurl.STARTTRANSFER_TIME) - info(pycurl.PRETRANSFER_TIME)),
        total_seconds=transfer.name_seconds + info(pycurl.TOTAL_TIME),
    )
