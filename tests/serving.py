"""What the tests of the search page share: a small crawl on disk, a search with fixed answers, and a server of both."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import pytest

from tarrafa.agent import Checkpoint, HostDatabase, Totals
from tarrafa.clock import Clock, SystemClock, VirtualClock
from tarrafa.errors import InputError
from tarrafa.explain import Explanation, Verdict
from tarrafa.keep import BEGINNING, DocumentRow, DocumentWriter, Link, LinkWriter, open_archive
from tarrafa.layout import CrawlPaths
from tarrafa.records import Headers, Page
from tarrafa.search import Hit, Results, SearchRequest
from tarrafa.serve import (
    FactsReader,
    LiveSearch,
    RateLimit,
    SearchEngine,
    SearchPage,
    SearchServer,
    listen,
    make_application,
)

DAY = 86_400.0
NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC

HOME = "http://porto.example/"
NETS = "http://porto.example/redes/tarrafa.html"
COPY = "http://copia.example/tarrafa"
NEWS = "http://jornal.example/2026/pesca"
OLD = "http://jornal.example/antigo"
HOSTILE = "http://hostil.example/"
SECRET = "http://porto.example/segredo"
PLAIN = "http://porto.example/lista.txt"
PICTURE = "http://porto.example/rede.png"
HTML = (("Content-Type", "text/html; charset=utf-8"), ("Server", "quay/1.0"))

# Whatever a page may try; `{listener}` is where the test would hear of it.
TRICKS = """<!doctype html><html><head><title>Trick</title><base href="{listener}base/">
<script>document.documentElement.dataset.ran = "yes"; fetch("{listener}fetch"); parent.document.title = "ran"</script>
<script src="{listener}script.js"></script><link rel="stylesheet" href="{listener}style.css">
<link rel="preconnect" href="{listener}"><link rel="prefetch" href="{listener}prefetch">
<meta http-equiv="refresh" content="0;url={listener}refresh">
<style>@import "{listener}import.css"; body {{ background: url({listener}background.png) }}</style></head>
<body onload="document.documentElement.dataset.ran = 'yes'" background="{listener}old.png"><h1>Kept words</h1>
<img src="{listener}picture.png" srcset="{listener}large.png 2x" onerror="document.documentElement.dataset.ran = 'yes'">
<img alt="own" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">
<iframe src="{listener}frame"></iframe><object data="{listener}object"></object><embed src="{listener}embed">
<video src="{listener}video" poster="{listener}poster.png" autoplay></video>
<form action="{listener}form"><button>Send</button>
<input autofocus onfocus="document.documentElement.dataset.ran = 'yes'"></form>
<svg onload="document.documentElement.dataset.ran = 'yes'"><image href="{listener}svg.png"></image></svg>
<a id="away" href="{listener}away" ping="{listener}ping" target="_top">Away</a>
<a id="code" href="javascript:document.documentElement.dataset.ran = 'yes'">Code</a></body></html>"""


class Visit(NamedTuple):
    """One page of a crawl, as a test tells it."""

    url: str
    day: int
    body: str = "<title>t</title>"
    title: str = ""
    signature: int = 0
    links: Sequence[Link] = ()
    status: int = 200
    outcome: str = "fetched"
    headers: Headers = HTML
    media_type: str = "text/html"
    directives: tuple[str, ...] = ()


def link(target: str, text: str) -> Link:
    return (target, text, "", "a", 0)


def crawl_pages(listener: str) -> dict[str, list[Visit]]:
    """By agent."""
    return {
        "00": [
            Visit(HOME, 0, title="Porto", signature=1, links=[link(NETS, "a tarrafa"), link(NEWS, "notícias")]),
            Visit(NETS, 0, title="Rede", signature=2),
            Visit(NETS, 1, status=304, outcome="unchanged"),
            Visit(
                NETS,
                2,
                title="A rede <b>tarrafa</b>",
                signature=3,
                links=[link(HOME, "início"), link(NEWS, "<i>jornal</i>")],
            ),
            Visit(SECRET, 0, "<p>private words</p>", title="Segredo", directives=("noarchive",)),
            Visit(SECRET, 4, status=304, outcome="unchanged"),
            Visit(
                PLAIN,
                0,
                "rede <script>alert(1)</script>",
                headers=(("Content-Type", "text/plain"),),
                media_type="text/plain",
            ),
            Visit(PICTURE, 0, "GIF", headers=(("Content-Type", "image/png"),), media_type="image/png"),
        ],
        "01": [
            Visit(
                NEWS, 0, title="Jornal", links=[link(NETS, "rede de pesca"), link(HOSTILE, "<script>alert(1)</script>")]
            ),
            Visit(OLD, 0, title="Antigo", links=[link(NETS, "velha rede")]),
            Visit(OLD, 5, title="Antigo", links=[]),
            Visit(COPY, 0, title="Rede", signature=3),
            Visit(HOSTILE, 0, TRICKS.format(listener=listener), title="<script>alert(1)</script>"),
        ],
    }


def make_crawl(root: Path, listener: str = "http://127.0.0.1:9/") -> Path:
    for agent, visits in crawl_pages(listener).items():
        keep_visits(CrawlPaths(root, agent), visits)
    (root / "tarrafa.toml").write_text("")
    return root


def keep_visits(paths: CrawlPaths, visits: Sequence[Visit]) -> None:
    archive = open_archive(paths.archive, BEGINNING, VirtualClock(NOON))
    documents, links = DocumentWriter(paths.documents, 0), LinkWriter(paths.links, 0)
    for visit in visits:
        at = NOON + visit.day * DAY
        body = b"" if visit.outcome == "unchanged" else visit.body.encode()
        kept = archive.append(Page(visit.url, visit.status, visit.headers, body, at, reason="OK"))
        documents.add(
            DocumentRow(
                url=visit.url,
                fetched_at=at,
                outcome=visit.outcome,
                status=visit.status,
                media_type=visit.media_type,
                encoding="utf-8",
                language="pt",
                title=visit.title,
                signature=visit.signature,
                directives=visit.directives,
                size_bytes=len(body),
                archive_file=kept.place.file,
                archive_offset=kept.place.offset,
            )
        )
        links.add(visit.url, at, visit.links)
    end = archive.sync()
    archive.close()
    documents.sync(1)
    links.sync(1)
    book = HostDatabase(paths.hosts)
    book.commit(Checkpoint(1, end, Totals({})))
    book.close()


def hit(url: str, title: str, place: int, copies: tuple[str, ...] = ()) -> Hit:
    words = [("As redes de ", False), ("pesca", True), (" do litoral, e como se lança a ", False), ("tarrafa", True)]
    parts = {"total": 9.5 - place, "words": 4.0, "near": 1.5, "anchors": 0.5, "links": 0.2, "fresh": 0.0, "rank": 3.2}
    return Hit(
        url=url,
        title=title,
        snippet=[*words, (" à beira <b>do mar</b>, segundo quem vive disso desde menino.", False)],
        site="porto.example",
        host="http://porto.example",
        language="pt",
        fetched_at=int(NOON),
        published_at=None,
        score=9.5 - place,
        rank=3.2,
        copies=copies,
        explanation=parts,
    )


HITS = [
    hit(NETS, "A rede <b>tarrafa</b>: como se faz, como se lança", 0, (COPY,)),
    hit(NEWS, "Pesca artesanal no Ceará", 1),
    hit(HOSTILE, "<script>alert(1)</script>", 2),
    hit(SECRET, "", 3),
    *(
        hit(f"http://porto.example/redes/{number}", f"Redes e malhas, parte {number}", number)
        for number in range(4, 25)
    ),
]


class FakeSearch:
    """The same hits for every question; `nothing` has none, and some words do harm."""

    documents_count = 1_234

    def __init__(self) -> None:
        # Filled by each question, read by the test.
        self.requests: list[SearchRequest] = []
        self.refreshes = 0
        self.is_slow_begun = threading.Event()
        self.may_end = threading.Event()

    def search(self, request: SearchRequest) -> Results:
        self.requests.append(request)
        if request.text == "slow":
            self.is_slow_begun.set()
            assert self.may_end.wait(30)
        if request.text == "broken":
            raise RuntimeError("/secret/place is broken")
        if request.text == "translated":
            translations = (("en", "http://porto.example/en/net?a&b"), ("ja", "http://porto.example/ja/net"))
            return Results((replace(HITS[1], translations=translations),), 1, 0.001, 1)
        if request.text == "nothing":
            return Results((), 0, 0.001, 1, suggestion="tarrafa")
        if request.text == "tarafa" and not request.verbatim:
            return Results(tuple(HITS[:2]), 2, 0.001, 1, suggestion="tarrafa", is_corrected=True)
        start = (request.page - 1) * request.top
        hits = tuple(HITS[start : start + request.top])
        return Results(hits, len(HITS), 0.0042, request.page)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        return [f"{prefix}rrafa", f"{prefix}inha <b>"][:limit]

    def refresh(self) -> None:
        self.refreshes += 1


def no_index(*_: object) -> SearchEngine:
    raise InputError("nothing is indexed in /secret/place")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Read(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def words_of(answer: Answer) -> str:
    return " ".join(Read(answer.text).words.split())


class Served:
    """A search page that answers."""

    def __init__(self, url: str, search: FakeSearch, paths: list[str]) -> None:
        self.url = url
        self.search = search
        self.paths = paths  # what was asked, in order

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read().decode())
        finally:
            connection.close()

    def about(self, page: str, url: str, **more: str) -> Answer:
        return self.ask(
            f"{page}?url={quote(url, safe='')}" + "".join(f"&{name}={quote(value)}" for name, value in more.items())
        )


def fetched(url: str) -> Explanation:
    """Explain any URL of the small crawl; one of another site is unknown."""
    verdict = Verdict.UNKNOWN if "nowhere" in url else Verdict.FETCHED
    return Explanation(url, verdict, "It is one of the test's.")


@contextmanager
def served(
    root: Path,
    search: FakeSearch | None = None,
    clock: Clock | None = None,
    limit: RateLimit | None = None,
    explain: Callable[[str], Explanation] = fetched,
) -> Iterator[Served]:
    """Without a search nothing is indexed."""
    now = clock or SystemClock()
    opener = no_index if search is None else lambda *_: search
    page = SearchPage(
        LiveSearch(root, now, opener),
        FactsReader(root),
        explain,
        now,
        rate_limit=limit or RateLimit(per_second=0),
    )
    paths: list[str] = []
    application = make_application(page)

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            paths.append(scope["path"])
        await application(scope, receive, send)

    server = SearchServer(noting, listen("127.0.0.1", 0))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Served(server.url, search or FakeSearch(), paths)
    finally:
        server.stop()
        thread.join()


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Modules that want it name it among their own."""
    return make_crawl(tmp_path_factory.mktemp("crawl"))


@pytest.fixture(scope="module")
def page(crawl: Path) -> Iterator[Served]:
    with served(crawl, FakeSearch()) as found:
        yield found
