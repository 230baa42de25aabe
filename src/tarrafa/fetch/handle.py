"""One of libcurl's easy handles, used for one page after the other.

What is the same for every page is set once. What differs is set for each: URL, address, headers, time. Nothing else
lasts: redirects are not followed, cookies and passwords are not kept.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pycurl

from tarrafa.addresses import parse_address
from tarrafa.configuration import CrawlSection, FetchSection
from tarrafa.fetch.answer import Answer
from tarrafa.fetch.decode import ACCEPTED
from tarrafa.fetch.kept import Kept
from tarrafa.fetch.wanted import Types
from tarrafa.records import Headers, Request

# A value that a host gave us and gets back, such as an ETag, must not smuggle in another header.
_LINE_BREAKS = dict.fromkeys(map(ord, "\r\n\0"), " ")
_BUFFER_BYTES = 1 << 18  # most pages come in one piece
_SUPPRESS_CONNECT_HEADERS = 265  # what a proxy says of its tunnel; pycurl has no name for it


class Settings(NamedTuple):
    """What is the same for every page."""

    fetch: FetchSection
    user_agent: str
    types: Types
    proxy: str  # empty for none
    certificates: Path | None

    def headers(self) -> Headers:
        return (("User-Agent", self.user_agent), ("Accept-Encoding", ACCEPTED))


class Handle:
    __slots__ = (
        "_address",
        "_has_own_headers",
        "_is_checking",
        "_is_fresh",
        "_kept",
        "_lines",
        "answer",
        "asked_count",
        "curl",
        "is_astray",
        "is_late",
    )

    def __init__(self, settings: Settings, kept: Kept) -> None:
        fetch = settings.fetch
        self._kept = kept
        self.curl = pycurl.Curl()
        self.answer = Answer(fetch.header_limit_bytes, fetch.body_limit_bytes, settings.types)
        self._lines = _lines(settings.headers())
        self._has_own_headers = False
        self._is_checking, self._is_fresh = True, False
        self._address = ""
        self.asked_count = 0  # how often the request went out
        self.is_astray = False  # a connection led elsewhere than it should
        self.is_late = False  # a connection that was used before is closed; nothing was sent
        for option, value in (*_habits(settings), *_bounds(fetch), *_network(settings)):
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.HTTPHEADER, self._lines)
        self.curl.setopt(pycurl.HEADERFUNCTION, self.answer.take_header)
        self.curl.setopt(pycurl.WRITEFUNCTION, self.answer.take_body)
        self.curl.setopt(pycurl.PREREQFUNCTION, self.may_ask)

    def prepare(self, request: Request) -> None:
        self.answer.begin(request.any_type, request.body_limit_bytes)
        self.curl.setopt(pycurl.URL, request.url)
        if request.headers or self._has_own_headers:
            self.curl.setopt(pycurl.HTTPHEADER, [*self._lines, *_lines(request.headers)])
            self._has_own_headers = bool(request.headers)

    def aim(self, address: str, timeout_seconds: float, is_checking: bool = True, is_fresh: bool = False) -> None:
        """Connect to this address only. With a proxy there is none: it looks up the name and connects by itself."""
        self.asked_count, self.is_astray, self.is_late = 0, False, False
        if address and address != self._address:
            # libcurl uses a connection again only where this is the same too, so what was connected elsewhere is not.
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

    def has_ended(self) -> None:
        """Told when all went well, while libcurl still knows the connection. Over HTTP/2 there may always be news."""
        if not self.answer.http_version.startswith("2"):
            self._kept.remember(self.curl)

    def close(self) -> None:
        self.curl.close()

    def may_ask(self, connected_to: str, _own: str, _port: int, own_port: int) -> int:
        """Asked by libcurl when it is connected, before anything is sent.

        When a connection that was used before breaks, libcurl would ask a second time on a new one. To the host that is
        a visit without delay, so it may not. One that is closed already is noticed here, where nobody was asked yet.
        """
        self.asked_count += 1
        self.is_astray = bool(self._address) and not _is_same(connected_to, self._address)
        self.is_late = not self._is_fresh and self._kept.is_closed(own_port)
        is_wrong = self.asked_count > 1 or self.is_astray or self.is_late
        return int(pycurl.PREREQFUNC_ABORT if is_wrong else pycurl.PREREQFUNC_OK)


def make_settings(fetch: FetchSection, crawl: CrawlSection, proxy: str, certificates: Path | None) -> Settings:
    return Settings(fetch, crawl.user_agent, Types(fetch.types), proxy, certificates)


def _habits(settings: Settings) -> Sequence[tuple[int, object]]:
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


def _network(settings: Settings) -> Sequence[tuple[int, object]]:
    # Whom we connect to is an address already; only the name of a proxy is ever looked up by libcurl.
    cache_seconds = 60 if settings.proxy else 0
    options = [(pycurl.SSL_VERIFYPEER, 1), (pycurl.SSL_VERIFYHOST, 2), (pycurl.DNS_CACHE_TIMEOUT, cache_seconds)]
    if settings.certificates is None:
        return options
    return [*options, (pycurl.CAINFO, str(settings.certificates))]


def _lines(headers: Headers) -> list[bytes]:
    lines = (f"{name}: {value}".translate(_LINE_BREAKS) for name, value in headers)
    return [line.encode("latin-1", "replace") for line in lines]


def _is_same(address: str, other: str) -> bool:
    """An address may be written in several ways, and the system may drop the zone of a local one."""
    return address == other or parse_address(address) == parse_address(other.partition("%")[0])
