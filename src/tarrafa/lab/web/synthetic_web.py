"""Decide what a host answers to a request. Servers and transports only send it.

A path is looked up as it is, and then with its percent escapes normalised, because servers ignore how a letter is
escaped.
"""

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from isal import isal_zlib

from tarrafa.lab.web import resources
from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.history import http_date, modified_seconds
from tarrafa.lab.web.outlines import Outlines, Place
from tarrafa.lab.web.pages import SyntheticPages, normalise_escapes
from tarrafa.lab.web.plan import Plan, SyntheticHost, SyntheticHosts
from tarrafa.lab.web.renderer import Renderer
from tarrafa.lab.web.robots import RobotsFiles

HTML = "text/html"
NO_HEADERS: Mapping[str, str] = {}
REDIRECTS = {"p": 301, "m": 308, "t": 302, "s": 307, "u": 303, "c": 302, "x": 301, "l": 302}
GZIP_WINDOW = 31  # zlib's window bits for gzip
CHAIN = 3  # redirects in a chain
DRIP_BYTES, DRIP_SECONDS = 512, 0.1
ASKED_MAX = 100_000
_ZERO = re.compile(r"q=0(\.0*)?")
_REDIRECT = re.compile(r"/ir/([pmtsucxl])(\d{1,10})(?:-(\d))?")


class SendMode(Enum):
    """How an answer is sent."""

    PLAIN = "plain"
    HANG = "hang"  # nothing is ever sent
    RESET = "reset"  # the connection is reset
    ENDLESS = "endless"  # the body is repeated without end
    SHORT = "short"  # Content-Length promises more than is sent
    LONG = "long"  # Content-Length promises less than is sent
    DRIP = "drip"  # a few bytes at a time


class WebAnswer(NamedTuple):
    status: int
    body: bytes = b""
    type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()
    send_mode: SendMode = SendMode.PLAIN
    wait_seconds: float = 0.0
    page: int | None = None  # the number of the page, if the answer is one
    retry_after_seconds: int = 0


_URLS_LIMIT = 1 << 18


class WebRequest(NamedTuple):
    """A request to a host; header names in lower case."""

    host: SyntheticHost
    path: str
    headers: Mapping[str, str] = NO_HEADERS
    wants_page_body: bool = True  # False for a simulation that takes links from `followed_urls`


class SyntheticWeb:
    """The whole web of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        # A cache of URLs. Filled by _url, cleared when full.
        self._urls: dict[Place, str] = {}
        self.hosts = SyntheticHosts(plan)
        self.pages = SyntheticPages(self.hosts)
        self.outlines = Outlines(self.pages)
        self.renderer = Renderer(self.outlines)
        self.robots = RobotsFiles(self.pages)
        self.sitemaps = resources.SitemapFiles(self.pages)
        # Filled and read by answer, for hosts whose faults depend on earlier requests: the number of requests, and the
        # URLs that were requested once. The oldest URLs are dropped at the bound.
        self._asked_count: dict[int, int] = {}
        self._asked_once: dict[tuple[int, str], None] = {}

    @property
    def front(self) -> str:
        """Return the URL where a crawl of this web starts."""
        return f"{self.hosts.host(0).origin}/"

    def answer(self, ask: WebRequest, now_ms: int = 0) -> WebAnswer:
        """Return the answer of the host, including its faults."""
        if not ask.host.faults:
            return self.resource(ask, now_ms)
        fault = self._fault(ask)
        return fault or self._slow_down(ask.host, self.resource(ask, now_ms))

    def _fault(self, ask: WebRequest) -> WebAnswer | None:
        """Return the fault that replaces the answer, if there is one."""
        faults = ask.host.faults
        if Fault.HANG in faults:
            return WebAnswer(0, send_mode=SendMode.HANG)
        if Fault.RESET in faults or (Fault.ROBOTS_UNREACHABLE in faults and ask.path == "/robots.txt"):
            return WebAnswer(0, send_mode=SendMode.RESET)
        if Fault.FLAKY in faults and self._is_first(ask):
            return WebAnswer(0, send_mode=SendMode.RESET)
        if Fault.WALL in faults and self.find(ask.host, ask.path) is not None and not self._count(ask.host) % 4:
            return _challenge(ask.host)
        return self._busy(ask.host) if Fault.BUSY in faults and ask.path != "/robots.txt" else None

    def _is_first(self, ask: WebRequest) -> bool:
        key = (ask.host.number, ask.path)
        if key in self._asked_once:
            return False
        if len(self._asked_once) >= ASKED_MAX:
            del self._asked_once[next(iter(self._asked_once))]
        self._asked_once[key] = None
        return True

    def _count(self, host: SyntheticHost) -> int:
        count = self._asked_count[host.number] = self._asked_count.get(host.number, 0) + 1
        return count

    def _busy(self, host: SyntheticHost) -> WebAnswer | None:
        count = self._count(host)
        if count % 5:
            return None
        seconds = 1 + host.number % 3
        status, headers = 429 if count % 2 else 503, (("Retry-After", str(seconds)),)
        return WebAnswer(status, b"busy\n", "text/plain", headers, retry_after_seconds=seconds)

    def _slow_down(self, host: SyntheticHost, answer: WebAnswer) -> WebAnswer:
        """Return the answer as a slow or dripping host sends it."""
        wait = 0.5 + host.number % 5 / 2 if Fault.SLOW in host.faults else 0.0
        drip = Fault.DRIP in host.faults and answer.page is not None and answer.body != b""
        if not wait and not drip:
            return answer
        manner = SendMode.DRIP if drip else answer.send_mode
        return answer._replace(send_mode=manner, wait_seconds=wait)

    def resource(self, ask: WebRequest, now_ms: int = 0) -> WebAnswer:
        """Return what is at the path, ignoring faults of the host."""
        page = self.find(ask.host, ask.path)
        if page is not None:
            return self._page(ask, page, now_ms)
        found = self._other(ask, now_ms)
        if found is None and "%" in ask.path:
            page = self.find(ask.host, normalise_escapes(ask.path))
            found = self._page(ask, page, now_ms) if page is not None else None
        return found or WebAnswer(404, b"<!DOCTYPE html><title>404</title><p>Not here.</p>\n")

    def find(self, host: SyntheticHost, path: str) -> int | None:
        """Return the number of the page at a path, ignoring a session id if the host uses them."""
        if Fault.SESSION in host.faults:
            path = resources.without_session(path)
        return self.pages.find(host, path)

    def followed_urls(self, url: str, now_ms: int = 0) -> list[str]:
        """Return the URLs that a crawl follows from a page, without rendering and parsing it; none if it is no page."""
        authority, _, rest = url.removeprefix("http://").partition("/")
        host = self.hosts.find(authority)
        page = self.find(host, f"/{rest}") if host else None
        if host is None or page is None or not self.pages.alive(host, page, now_ms):
            return []
        host, page = self.pages.shown(host, page)
        if self.pages.entry(host, page).nofollow:
            return []
        outline = self.outlines.outline(host, page, now_ms)
        urls = [self._url(place) for place in self.outlines.followed(host, page, outline)]
        return urls + [f"http://{name}:{self.plan.port}/" for name in (*outline.dead, *outline.aliases)]

    def _url(self, place: Place) -> str:
        url = self._urls.get(place)
        if url is None:
            number, what = place
            host = self.hosts.host(number)
            if len(self._urls) >= _URLS_LIMIT:
                self._urls.clear()
            url = self._urls[place] = host.origin + (
                what if isinstance(what, str) else self.pages.entry(host, what).path
            )
        return url

    def _page(self, ask: WebRequest, page: int, now_ms: int) -> WebAnswer:
        host, pages = ask.host, self.pages
        if not pages.alive(host, page, now_ms):
            return _answer_gone(page)
        headers = self._validators(host, page, now_ms)
        if ("if-none-match" in ask.headers or "if-modified-since" in ask.headers) and _is_unchanged(
            ask.headers, headers
        ):
            return WebAnswer(304, b"", "", tuple(headers.items()), page=page)
        if pages.entry(host, page).robots_header:
            headers["X-Robots-Tag"] = "noindex"
        body = self.renderer.page(host, page, now_ms, ask.path) if ask.wants_page_body else b""
        if host.gzip and _accepts_gzip(ask.headers.get("accept-encoding", "")):
            body = isal_zlib.compress(body, 1, GZIP_WINDOW)
            headers["Content-Encoding"], headers["Vary"] = "gzip", "Accept-Encoding"
        return WebAnswer(200, body, host.html_type, tuple(headers.items()), page=page)

    def _validators(self, host: SyntheticHost, page: int, now_ms: int) -> dict[str, str]:
        """Return ETag and Last-Modified, as far as the host sends them."""
        headers: dict[str, str] = {}
        is_false = Fault.FALSE_VALIDATORS in host.faults
        changed = self.pages.changed_ms(host, page, now_ms) if now_ms > 0 and not is_false else 0
        if host.validators & 1:
            headers["ETag"] = f'"{host.number:x}-{page:x}-{changed:x}"'
        if host.validators & 2:
            headers["Last-Modified"] = http_date(modified_seconds(self.pages.entry(host, page).rate, changed))
        return headers

    def _other(self, ask: WebRequest, now_ms: int) -> WebAnswer | None:
        """Return what is not a page, by the first segment of its path."""
        host, path = ask.host, ask.path
        first = path.split("/", 2)[1].partition("?")[0]
        if first == "robots.txt":
            return self._robots(host)
        if first == "ir":
            return self._redirect(host, path)
        if first == "antigo":
            return _answer_gone(len(path))
        if first == "img" and path.endswith(".png"):
            return WebAnswer(200, resources.png(sum(path.encode()) % 97), "image/png")
        if first == "doc" and path.endswith(".pdf"):
            return WebAnswer(200, resources.pdf(f"{host.topic} {path}"), "application/pdf")
        if host.sitemap and first.endswith((".xml", ".gz")):
            found = self.sitemaps.answer(host, path, now_ms)
            return WebAnswer(200, *found) if found else None
        return self._hostile_resource(host, first, path)

    def _hostile_resource(self, host: SyntheticHost, first: str, path: str) -> WebAnswer | None:
        """Return a false or endless body, or the page of a trap, if the host has that fault."""
        if first in _HOSTILE_RESOURCES and _HOSTILE_RESOURCES[first][0] in host.faults:
            return _HOSTILE_RESOURCES[first][1]()
        body = resources.trap_page(host, path)
        return WebAnswer(200, body, f"{HTML}; charset=utf-8") if body else None

    def _robots(self, host: SyntheticHost) -> WebAnswer | None:
        if Fault.ROBOTS_FORBIDDEN in host.faults:
            return WebAnswer(403, b"forbidden\n", "text/plain")
        if Fault.ROBOTS_ERROR in host.faults:
            return WebAnswer(500, b"error\n", "text/plain")
        return WebAnswer(200, self.robots.text(host), "text/plain") if host.robots_file else None

    def _redirect(self, host: SyntheticHost, path: str) -> WebAnswer | None:
        match = _REDIRECT.fullmatch(path)
        if not match or (match[1] == "l" and Fault.REDIRECT_LOOP not in host.faults):
            return None
        target = self._redirect_target(host, match[1], int(match[2]), int(match[3] or CHAIN))
        return WebAnswer(REDIRECTS[match[1]], b"<!DOCTYPE html><p>Moved.</p>\n", HTML, (("Location", target),))

    def _redirect_target(self, host: SyntheticHost, kind: str, number: int, hops: int) -> str:
        if kind == "l":
            return f"{host.origin}/ir/l{number}-{1 + hops % 2}"
        if kind == "c" and hops > 1:
            return f"/ir/c{number}-{hops - 1}"
        if kind == "x":
            host = self.hosts.neighbourhood(host)[number % 64]
        path = self.pages.entry(host, number % host.linked_size).path
        return path if kind == "s" else host.origin + path


@lru_cache(maxsize=256)
def _accepts_gzip(codings: str) -> bool:
    """Return True if an Accept-Encoding accepts gzip."""
    wishes = (coding.replace(" ", "").lower().partition(";") for coding in codings.split(","))
    return any(name == "gzip" and not _ZERO.fullmatch(weight) for name, _, weight in wishes)


def _challenge(host: SyntheticHost) -> WebAnswer:
    """Return the challenge of a bot wall: with a header that says so, or with a mark in a page like any other."""
    if host.number % 2:
        headers = (("CF-Mitigated", "challenge"), ("Server", "cloudflare"))
        return WebAnswer(403, b"<!DOCTYPE html><title>Just a moment...</title><p>Wait.</p>\n", headers=headers)
    return WebAnswer(200, b'<!DOCTYPE html><title>Wait</title><script id="anubis_challenge">{}</script>\n')


def _answer_gone(number: int) -> WebAnswer:
    status = 410 if number % 2 else 404
    return WebAnswer(status, b"<!DOCTYPE html><title>%d</title><p>Not here any more.</p>\n" % status)


_HOSTILE_RESOURCES: dict[str, tuple[Fault, Callable[[], WebAnswer]]] = {
    "fluxo": (Fault.ENDLESS, lambda: WebAnswer(200, b"<p>sem fim</p>\n" * 500, send_mode=SendMode.ENDLESS)),
    "curto": (Fault.FALSE_LENGTH, lambda: WebAnswer(200, b"<p>curto</p>\n" * 100, send_mode=SendMode.SHORT)),
    "longo": (Fault.FALSE_LENGTH, lambda: WebAnswer(200, b"<p>longo</p>\n" * 100, send_mode=SendMode.LONG)),
    "falso": (Fault.FALSE_TYPE, lambda: WebAnswer(200, resources.png(7))),
    "bomba": (Fault.GZIP_BOMB, lambda: WebAnswer(200, resources.bomb(), headers=(("Content-Encoding", "gzip"),))),
}


def _is_unchanged(asked: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Return True if the client's copy is current: by the tag if one was sent, otherwise by the date."""
    if "if-none-match" in asked:
        tags = [tag.strip().removeprefix("W/") for tag in asked["if-none-match"].split(",")]
        return "ETag" in headers and (tags == ["*"] or headers["ETag"] in tags)
    modified = headers.get("Last-Modified")
    return modified is not None and _seconds_of(asked["if-modified-since"]) >= _seconds_of(modified)


def _seconds_of(date: str) -> int:
    try:
        return int(parsedate_to_datetime(date).timestamp())
    except (TypeError, ValueError, OverflowError):
        return -1
