"""One of libcurl's easy handles, used for one page after the other.

Options that are the same for every page are set once; URL, address, headers and timeout are set for each. No other
state is kept between pages: redirects are not followed, cookies and passwords are not stored.
"""

import math
import select
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pycurl

from tarrafa.addresses import parse_address
from tarrafa.configuration import CrawlSection, FetchSection
from tarrafa.errors import InputError
from tarrafa.fetch.codings import ACCEPTED
from tarrafa.fetch.response import MediaTypes, ResponseBuffer
from tarrafa.records import Headers, Request
from tarrafa.texts import quoted
from tarrafa.urls import parse

# A value that a host sent and gets back, such as an ETag, must not smuggle in another header.
_LINE_BREAKS = dict.fromkeys(map(ord, "\r\n\0"), " ")
_BUFFER_BYTES = 1 << 18  # most pages come in one piece
_SUPPRESS_CONNECT_HEADERS = 265  # the headers of a proxy's tunnel; pycurl has no name for it
_NO_PROXY = "none"
# libcurl knows only the store of the system on which it was built.
_CERTIFICATE_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def system_certificates() -> Path | None:
    """Return the file of trusted certificates: where Python finds it, else in the usual places."""
    places = (ssl.get_default_verify_paths().cafile, *_CERTIFICATE_FILES)
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


def parse_proxy(text: str) -> str:
    """Return `http://name:port`, with `user:password@` before the name if given; empty for "none"."""
    if text == _NO_PROXY:
        return ""
    url = parse(text)
    if url is None or url.scheme != "http" or url.path != "/" or url.query is not None:
        raise InputError(f'{quoted(text)} is not a proxy; write for example "http://proxy.your.site:3128", or "none"')
    return url.url


class IdleSockets:
    """The socket of each idle connection, to notice that its host has closed it.

    libcurl checks this once a second only. Hosts often close after as many seconds as polite crawlers wait, so a
    request would go to a connection that has just been closed, and fail through no fault of the host.

    Sockets are found by their local port, which is all that libcurl tells before it sends. An entry may belong to a
    connection that is gone. Then an open one may be taken for closed, which costs a new connection and nothing else.
    """

    def __init__(self) -> None:
        # Filled after the first page of a connection; bounded by the number of ports.
        self._sockets: dict[int, int] = {}

    def add(self, curl: pycurl.Curl) -> None:
        """Remember the socket of a transfer that has just ended, while libcurl still knows it."""
        if curl.getinfo(pycurl.NUM_CONNECTS):
            self._sockets[curl.getinfo(pycurl.LOCAL_PORT)] = curl.getinfo(pycurl.ACTIVESOCKET)

    def is_closed(self, local_port: int) -> bool:
        """Return True if there is something to read. No request was sent yet, so it can only be the end, or garbage."""
        socket = self._sockets.get(local_port, -1)
        if socket < 0:
            return False
        poll = select.poll()
        poll.register(socket, select.POLLIN | select.POLLRDHUP)
        return bool(poll.poll(0))


class CurlSettings(NamedTuple):
    """Options that are the same for every page."""

    fetch: FetchSection
    user_agent: str
    types: MediaTypes
    proxy: str  # empty for none
    certificates: Path | None

    def headers(self) -> Headers:
        return (("User-Agent", self.user_agent), ("Accept-Encoding", ACCEPTED))


class CurlHandle:
    __slots__ = (
        "_address",
        "_has_own_headers",
        "_idle",
        "_is_checking",
        "_is_fresh",
        "_lines",
        "accepts_broken",
        "curl",
        "is_late",
        "request_count",
        "response",
        "wrong_peer",
    )

    def __init__(self, settings: CurlSettings, idle: IdleSockets) -> None:
        fetch = settings.fetch
        self._idle = idle
        self.curl = pycurl.Curl()
        self.response = ResponseBuffer(fetch.header_limit_bytes, fetch.body_limit_bytes, settings.types)
        self._lines = _lines(settings.headers())
        self._has_own_headers = False
        self._is_checking, self._is_fresh = True, False
        self._address = ""
        self.accepts_broken = False  # certificates of the host to be asked
        self.request_count = 0  # how often libcurl wanted to send the request
        self.wrong_peer = False  # the connection led to another address
        self.is_late = False  # the reused connection was closed already; nothing was sent
        for option, value in (*_behaviour(settings), *_bounds(fetch), *_network(settings)):
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.HTTPHEADER, self._lines)
        self.curl.setopt(pycurl.HEADERFUNCTION, self.response.take_header)
        self.curl.setopt(pycurl.WRITEFUNCTION, self.response.take_body)
        self.curl.setopt(pycurl.PREREQFUNCTION, self.may_send)

    def prepare(self, request: Request) -> None:
        self.response.reset(request.any_type, request.body_limit_bytes, request.wants_type)
        self.curl.setopt(pycurl.URL, request.url)
        if request.headers or self._has_own_headers:
            own = {name.lower() for name, _ in request.headers}
            kept = [line for line in self._lines if line.partition(b":")[0].decode().lower() not in own]
            self.curl.setopt(pycurl.HTTPHEADER, [*kept, *_lines(request.headers)])
            self._has_own_headers = bool(request.headers)

    def connect_to(
        self, address: str, timeout_seconds: float, *, is_checking: bool = True, is_fresh: bool = False
    ) -> None:
        """Set the only address to connect to; empty with a proxy, which looks up the name and connects by itself."""
        self.request_count, self.wrong_peer, self.is_late = 0, False, False
        if address and address != self._address:
            # libcurl reuses a connection only if this option was the same, so never one to another address.
            self.curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
        self._address = address
        self.curl.setopt(pycurl.TIMEOUT_MS, max(1, round(timeout_seconds * 1000)))
        if is_checking is not self._is_checking:
            self.curl.setopt(pycurl.SSL_VERIFYPEER, 1 if is_checking else 0)
            self.curl.setopt(pycurl.SSL_VERIFYHOST, 2 if is_checking else 0)
            self._is_checking = is_checking
        if is_fresh is not self._is_fresh:
            self.curl.setopt(pycurl.FRESH_CONNECT, int(is_fresh))
            self._is_fresh = is_fresh

    def on_success(self) -> None:
        """Keep the socket of a transfer that succeeded. Over HTTP/2 there may always be something to read."""
        if not self.response.http_version.startswith("2"):
            self._idle.add(self.curl)

    def close(self) -> None:
        self.curl.close()

    def may_send(self, connected_to: str, _own: str, _port: int, own_port: int) -> int:
        """Answer libcurl, which asks when it is connected, before it sends the request.

        When a reused connection breaks, libcurl would send the request again on a new one. To the host that is a visit
        without delay, so it is refused. A connection that is closed already is noticed here, where none was sent.
        """
        self.request_count += 1
        self.wrong_peer = bool(self._address) and not _is_same(connected_to, self._address)
        self.is_late = not self._is_fresh and self._idle.is_closed(own_port)
        is_wrong = self.request_count > 1 or self.wrong_peer or self.is_late
        return int(pycurl.PREREQFUNC_ABORT if is_wrong else pycurl.PREREQFUNC_OK)


def make_settings(fetch: FetchSection, crawl: CrawlSection, proxy: str, certificates: Path | None) -> CurlSettings:
    return CurlSettings(fetch, crawl.user_agent, MediaTypes(fetch.types), proxy, certificates)


def _behaviour(settings: CurlSettings) -> Sequence[tuple[int, object]]:
    return (
        (pycurl.PATH_AS_IS, 1),
        (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.NOSIGNAL, 1),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
        (pycurl.BUFFERSIZE, _BUFFER_BYTES),
        (pycurl.PROXY, settings.proxy),
        (pycurl.NOPROXY, ""),
        (_SUPPRESS_CONNECT_HEADERS, 1),
    )


def _bounds(fetch: FetchSection) -> Sequence[tuple[int, object]]:
    return (
        (pycurl.CONNECTTIMEOUT_MS, max(1, round(fetch.connect_timeout_seconds * 1000))),
        (pycurl.LOW_SPEED_LIMIT, fetch.slow_limit_bytes),
        (pycurl.LOW_SPEED_TIME, math.ceil(fetch.slow_time_seconds)),
    )


def _network(settings: CurlSettings) -> Sequence[tuple[int, object]]:
    # Hosts are connected by address; only the name of a proxy is ever looked up by libcurl.
    cache_seconds = 60 if settings.proxy else 0
    options = [(pycurl.SSL_VERIFYPEER, 1), (pycurl.SSL_VERIFYHOST, 2), (pycurl.DNS_CACHE_TIMEOUT, cache_seconds)]
    if settings.certificates is None:
        return options
    return [*options, (pycurl.CAINFO, str(settings.certificates))]


def _lines(headers: Headers) -> list[bytes]:
    lines = (f"{name}: {value}".translate(_LINE_BREAKS) for name, value in headers)
    return [line.encode("latin-1", "replace") for line in lines]


def _is_same(address: str, other: str) -> bool:
    """Return True for the same address, however it is written; the system may drop the zone of a local one."""
    return address == other or parse_address(address) == parse_address(other.partition("%")[0])
