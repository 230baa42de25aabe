"""Helpers for tests of the synthetic web: a clock without waiting, parsers of pages, and a reference crawler.

The crawler is written to be obviously right, not fast: breadth first, one request at a time, the standard library's
HTML parser, protego for robots.txt. It knows nothing of how the web is made.
"""

import asyncio
import contextlib
import http.client
import re
import zlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import uvloop
from protego import Protego

from tarrafa.clock import Clock
from tarrafa.lab.web import Plan, ServingOptions, SyntheticServer, SyntheticWeb, WebRequest, open_server
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.web_server import DEFAULT_SERVING
from tarrafa.records import Failure, FailureKind, Page, Request
from tarrafa.urls import BaseUrl, host_of

ROBOTS_MAX_BYTES = 500 * 1024
BODY_MAX_BYTES = 2_000_000
TRIES = 4
AGENT = "tester"

SERVED = Plan(hosts=40, pages=400, rng_seed=21)
LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)
Story = Callable[[SyntheticServer], Awaitable[None]]
Serve = Callable[..., None]


class InstantClock:
    """A clock that jumps ahead at each sleep: for a single client, an hour passes in no time."""

    def __init__(self, now: float = 0.0) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += max(seconds, 0.0)
        await asyncio.sleep(0)


def hosts_of(web: SyntheticWeb) -> list[SyntheticHost]:
    return [web.hosts.host(number) for number in range(web.plan.hosts)]


def pages_of(web: SyntheticWeb) -> Iterator[tuple[SyntheticHost, int]]:
    """Yield every page that exists when the web begins."""
    return ((host, page) for host in hosts_of(web) for page in range(host.size))


def get(web: SyntheticWeb, host: SyntheticHost, path: str | int, now_ms: int = 0, **headers: str) -> Page:
    """Return what is at a path, or at the path of a page's number; `accept_encoding="gzip"` is a header."""
    if isinstance(path, int):
        path = web.pages.entry(host, path).path
    asked = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = web.resource(WebRequest(host, path, asked), now_ms)
    sent = (("Content-Type", answer.type), *answer.headers)
    return Page(host.origin + path, answer.status, sent, answer.body, at=0.0)


class Reader(HTMLParser):
    """Parse a page: its links as they are written, and its head."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []  # href and rel
        self.images: list[str] = []
        self.headings: list[str] = []
        self.meta: dict[str, str] = {}
        self.base = self.canonical = self.language = self.title = ""
        self.text: list[str] = []
        self._within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._within = tag
        if tag == "a" and "href" in given:
            self.links.append((given["href"], given.get("rel", "")))
        elif tag == "img":
            self.images.append(given["src"])
        elif tag == "html":
            self.language = given.get("lang", "")
        elif tag == "base":
            self.base = self.base or given["href"]
        elif tag == "link" and given.get("rel") == "canonical":
            self.canonical = given["href"]
        elif tag == "meta":
            self.meta[given.get("name", "charset")] = given.get("content") or given.get("charset", "")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "title":
            self.title += data
        elif self._within in ("h1", "h2"):
            self.headings.append(data)
        elif self._within == "p":
            self.text.append(data)

    @property
    def nofollow(self) -> bool:
        return "nofollow" in self.meta.get("robots", "")


def unpacked(body: bytes, limit_bytes: int = BODY_MAX_BYTES) -> bytes:
    """Decompress gzip, up to a bound."""
    return zlib.decompressobj(31).decompress(body, limit_bytes)


def body_of(page: Page) -> bytes:
    return unpacked(page.body) if page.header("content-encoding") == "gzip" else page.body


def charset_of(page: Page, body: bytes) -> str:
    """Return the charset of the header, else of the page."""
    declared = re.search(r"charset=([\w-]+)", page.header("content-type") or "")
    within = re.search(rb"<meta charset=\"([\w-]+)\"", body[:1024])
    return declared[1] if declared else within[1].decode() if within else "utf-8"


def read_page(page: Page) -> Reader:
    body = body_of(page)
    return Reader(body.decode(charset_of(page, body), "replace"))


def sitemap_urls(body: bytes) -> tuple[list[str], list[str]]:
    """Return the pages and the further sitemaps that a sitemap lists."""
    root = ElementTree.fromstring(unpacked(body) if body.startswith(b"\x1f\x8b") else body)
    found = [element.text or "" for element in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    return ([], found) if root.tag.endswith("sitemapindex") else (found, [])


Fetch = Callable[[Request], Awaitable[Page | Failure]]


class Rules:
    """The rules of a host's robots.txt by RFC 9309: unreachable forbids all, missing allows all."""

    def __init__(self, outcome: Page | Failure) -> None:
        self._rules = Protego.parse("")
        self._is_known = isinstance(outcome, Page) and outcome.status < 500
        if isinstance(outcome, Page) and outcome.status == 200:
            self._rules = Protego.parse(outcome.body[:ROBOTS_MAX_BYTES].decode("utf-8-sig", "replace"))
        self.sitemaps = list(self._rules.sitemaps)

    def allow(self, url: str, user_agent: str = AGENT) -> bool:
        return self._is_known and bool(self._rules.can_fetch(url, user_agent))


@dataclass
class Crawl:
    """A reference crawl: every URL it met, and every answer it got."""

    fetch: Fetch
    sleep: Callable[[float], Awaitable[None]]
    enters: Callable[[str], bool] = lambda _: True
    by_sitemap: bool = True
    allowed: dict[str, bool] = field(default_factory=dict)  # every URL met
    answers: dict[str, Page | Failure] = field(default_factory=dict)  # fetched as pages
    depth: dict[str, int] = field(default_factory=dict)
    _rules: dict[str, Rules] = field(default_factory=dict)
    _queue: deque[str] = field(default_factory=deque)

    async def run(self, start: str) -> "Crawl":
        await self._meet(start, 0)
        while self._queue:
            url = self._queue.popleft()
            self.answers[url] = outcome = await self._get(url)
            if isinstance(outcome, Page):
                for target in self._leads_to(outcome):
                    await self._meet(target, self.depth[url] + 1)
        return self

    async def _get(self, url: str) -> Page | Failure:
        """Fetch, with retries after a reset, a challenge, or Retry-After."""
        for _ in range(TRIES):
            outcome = await self.fetch(Request(url))
            if isinstance(outcome, Page):
                is_challenge = "challenge" in (outcome.header("cf-mitigated") or "") or b"anubis_" in outcome.body
                if outcome.status not in (429, 503) and not is_challenge:
                    break
                await self.sleep(float(outcome.header("retry-after") or 1))
            elif outcome.kind is not FailureKind.RESET:
                break
        return outcome

    async def _meet(self, url: str, depth: int) -> None:
        if url in self.allowed or not self.enters(url):
            return
        rules = await self._rules_of(host_of(url))
        if url in self.allowed:  # the host's sitemap listed it
            return
        self.allowed[url], self.depth[url] = rules.allow(url), depth
        if self.allowed[url]:
            self._queue.append(url)

    async def _rules_of(self, host: str) -> Rules:
        known = self._rules.get(host)
        if known is None:
            known = self._rules[host] = Rules(await self._get(f"{host}/robots.txt"))
            if self.by_sitemap:
                await self._read_sitemaps(known.sitemaps, known)
        return known

    async def _read_sitemaps(self, urls: list[str], rules: Rules) -> None:
        for url in urls:
            outcome = await self._get(url) if rules.allow(url) else None
            if isinstance(outcome, Page) and outcome.status == 200:
                pages, further = sitemap_urls(body_of(outcome))
                await self._read_sitemaps(further, rules)
                for page in pages:
                    await self._meet(page, 1)

    def _leads_to(self, page: Page) -> Iterator[str]:
        location = page.header("location")
        if 300 <= page.status < 400 and location:
            yield from filter(None, [BaseUrl(page.url).link(location)])
        elif page.status == 200 and page.media_type == "text/html":
            yield from followed(page)

    def pages(self) -> dict[str, Page]:
        """Return what a crawler keeps: HTML, answered with 200."""
        kept = {url: page for url, page in self.answers.items() if isinstance(page, Page) and page.status == 200}
        return {url: page for url, page in kept.items() if page.media_type == "text/html"}


def followed(page: Page) -> list[str]:
    """Return the URLs that a crawler may follow from a page, in order."""
    reader = read_page(page)
    if reader.nofollow:
        return []
    body = body_of(page)
    base = BaseUrl(BaseUrl(page.url).link(reader.base) or page.url, charset_of(page, body))
    links = (base.link(href) for href, rel in reader.links if "nofollow" not in rel)
    return [url for url in links if url]


class SocketFetch:
    """Fetch over sockets by the standard library's client, in a thread, with one connection for each host."""

    def __init__(self, user_agent: str = AGENT, accept_encoding: str = "gzip", timeout_seconds: float = 60.0) -> None:
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": accept_encoding}
        self._timeout_seconds = timeout_seconds
        self._open: dict[str, http.client.HTTPConnection] = {}
        self.count = 0

    async def __call__(self, request: Request) -> Page | Failure:
        self.count += 1
        return await asyncio.to_thread(self._get, request)

    def _get(self, request: Request) -> Page | Failure:
        authority, _, rest = request.url.removeprefix("http://").partition("/")
        connection = self._open.get(authority)
        if connection is None:
            connection = http.client.HTTPConnection(authority, timeout=self._timeout_seconds)
            self._open[authority] = connection
        try:
            connection.request("GET", f"/{rest}", headers={**self._headers, **dict(request.headers)})
            got = connection.getresponse()
            return Page(request.url, got.status, tuple(got.getheaders()), got.read(BODY_MAX_BYTES), at=0.0)
        except ConnectionResetError as error:
            self._open.pop(authority).close()
            return Failure(request.url, FailureKind.RESET, str(error))

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


class Wire:
    """A connection on which a test sends and reads exact bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    @classmethod
    @asynccontextmanager
    async def open(cls, server: SyntheticServer, host: SyntheticHost | None = None) -> AsyncIterator["Wire"]:
        """Connect to a host's address, else to the first one's."""
        address = host.address if host else "127.0.0.1"
        reader, writer = await asyncio.open_connection(address, server.web.plan.port)
        try:
            yield cls(reader, writer)
        finally:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    def ask(
        self, host: SyntheticHost, path: str = "/", *headers: str, method: str = "GET", version: str = "1.1"
    ) -> None:
        fields = "".join(f"{header}\r\n" for header in (f"Host: {host.authority}", *headers))
        self.send(f"{method} {path} HTTP/{version}\r\n{fields}\r\n".encode())

    async def head(self) -> Page:
        """Read status and headers; the body is empty."""
        status, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
        headers = tuple((line.partition(":")[0], line.partition(":")[2].strip()) for line in lines)
        return Page("", int(status.split()[1]), headers, b"", at=0.0)

    async def answer(self) -> Page:
        """Read a whole answer to any method but HEAD."""
        page = await self.head()
        length = page.header("content-length")
        if page.header("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in self.chunks()])
        else:
            body = await self.reader.readexactly(int(length)) if length else b""
        return page._replace(body=body)

    async def chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self.reader.readline(), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        assert await self.reader.readline() == b"\r\n"

    async def is_at_end(self) -> bool:
        """Return True if the server has closed without sending more."""
        return await self.reader.read(1) == b""

    async def is_silent(self) -> bool:
        """Return True if nothing arrives for a moment."""
        try:
            await asyncio.wait_for(self.reader.read(1), 0.02)
        except TimeoutError:
            return True
        return False


async def until(is_so: Callable[[], object]) -> None:
    """Yield to other tasks until the condition holds."""
    while not is_so():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0)


def run_story(
    story: Story,
    plan: Plan,
    habits: ServingOptions = DEFAULT_SERVING,
    clock: Clock | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> None:
    """Serve the web on a free port while the story runs; any exception in the server fails the test."""
    failed: list[object] = []

    async def whole() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
        # Not a measurement: this ends a test that hangs.
        async with asyncio.timeout(60), open_server(replace(plan, port=0), habits, clock) as server:
            await story(server)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(whole())
    assert not failed


def serve_on(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> Serve:
    """Return a function that runs stories on such a loop."""

    def run(
        story: Story, plan: Plan = SERVED, habits: ServingOptions = DEFAULT_SERVING, clock: Clock | None = None
    ) -> None:
        run_story(story, plan, habits, clock, loop_factory)

    return run
