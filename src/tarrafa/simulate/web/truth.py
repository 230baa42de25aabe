"""Everything that is true of a web at a moment: the complete list of its URLs, and what a perfect crawl of it would
collect.

The perfect crawl starts at the first host's front page and obeys robots.txt, `rel=nofollow` and the meta tag
`nofollow`. It follows links and redirects to any host. First by links alone; then it also reads the sitemaps of the
hosts it has met, which brings in the pages that nothing links to. Traps are entered but never followed: what lies
behind them is endless and empty.
"""

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tarrafa.simulate.web import changes, traps
from tarrafa.simulate.web.answers import Ask, Web
from tarrafa.simulate.web.dates import EPOCH_SECONDS, modified_seconds
from tarrafa.simulate.web.faults import SILENT, Fault
from tarrafa.simulate.web.links import NOFOLLOW, Outline
from tarrafa.simulate.web.plan import Host

CHANGES_MAX = 1_000

# Where something stands: a host's number with a page's number, or with a path that is no page's.
Place = tuple[int, int | str]


@dataclass(frozen=True, slots=True)
class Found:
    """How the perfect crawl came to know a place."""

    depth: int  # links from the start
    by: str  # "links", or "sitemap" if only those lead there


@dataclass(frozen=True, slots=True)
class Row:
    """One URL of the web. What it does not have is None."""

    url: str
    host: str
    kind: (
        str  # page, redirect, missing, image, pdf, robots, sitemap, trap, endless, false-length, false-type, gzip-bomb
    )
    status: int | None  # None where the host does not answer
    allowed: bool  # by robots.txt
    reachable: str | None  # "links", "sitemap", or None
    depth: int | None
    collectable: bool  # a page that a perfect crawl ends with
    redirect: str | None = None
    canonical: str | None = None
    copy_of: str | None = None
    near_copy_of: str | None = None
    title: str | None = None
    language: str | None = None
    charset: str | None = None
    topic: str | None = None
    noindex: bool | None = None
    nofollow: bool | None = None
    changes_per_day: float | None = None
    changes: list[float] | None = None  # moments since the web began, in its seconds; the last thousand
    modified: int | None = None  # seconds since 1970, as Last-Modified says
    born: float | None = None
    dies: float | None = None

    def told(self) -> dict[str, Any]:
        """As a dictionary, without what the kind does not have."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Truth:
    def __init__(self, web: Web, now_ms: int = 0) -> None:
        self._web = web
        self._now_ms = now_ms
        # Filled by the perfect crawl below, then only read.
        self._found: dict[Place, Found] = {}
        self._images: set[Place] = set()
        self._sitemaps_read: set[int] = set()
        self._met: set[int] = set()
        self._crawl()

    def _crawl(self) -> None:
        self._spread([(0, 0)], 0, "links")
        while waiting := sorted(self._met - self._sitemaps_read):
            for number in waiting:
                self._sitemaps_read.add(number)
                self._spread(self._in_sitemap(self._web.geography.host(number)), 1, "sitemap")

    def _spread(self, starts: Iterable[Place], depth: int, by: str) -> None:
        """Follow links breadth first from places that may be new."""
        queue: deque[Place] = deque()
        self._meet(starts, Found(depth, by), queue)
        while queue:
            place = queue.popleft()
            self._meet(self._leads_to(place), Found(self._found[place].depth + 1, by), queue)

    def _meet(self, places: Iterable[Place], how: Found, queue: deque[Place]) -> None:
        found = self._found
        for place in places:
            if place not in found:
                found[place] = how
                self._met.add(place[0])
                queue.append(place)

    def _in_sitemap(self, host: Host) -> list[Place]:
        if not host.sitemap or not self._web.robots.readable(host) or host.faults & SILENT:
            return []
        paths = [path for path in self._web.sitemaps.paths(host, self._now_ms) if self._web.robots.allows(host, path)]
        numbers = range(changes.size_at(host.size, self._now_ms)) if paths else ()
        return [(host.number, page) for page in numbers if self._web.pages.alive(host, page, self._now_ms)]

    def _leads_to(self, place: Place) -> Iterable[Place]:
        """The places that a perfect crawl goes on to from here."""
        number, what = place
        host = self._web.geography.host(number)
        if host.faults & SILENT or not self._web.robots.allows(host, self._path(place)):
            return ()
        if isinstance(what, str):
            target = self._redirect(host, what)
            return [self._place(host, target)] if target else ()
        if not self._web.pages.alive(host, what, self._now_ms):
            return ()
        return self._links(host, what)

    def _links(self, host: Host, page: int) -> Iterable[Place]:
        pages = self._web.pages
        source = pages.copy_of(host, page)
        if source and source.exact:
            host, page = source.host, source.page
        self._images.add((host.number, f"/img/{page % 97}.png"))
        if pages.entry(host, page).nofollow:
            return ()
        return self._followed(host, page, self._web.links.outline(host, page, self._now_ms))

    def _followed(self, host: Host, page: int, outline: Outline) -> Iterator[Place]:
        own = host.number
        yield from ((own, target) for target in (0, max(0, (page - 1) // host.branching), page))
        yield from ((own, child) for child in outline.children)
        if self._web.pages.entry(host, page).syndicated:
            yield from ((own, target) for target in outline.own)
            yield from ((own, target) for block in outline.blocks for target in block.targets)
        elif Fault.SESSION not in host.faults:
            # Where links carry session ids, they lead to copies without end, not to the pages.
            for targets, forms in [(outline.own, outline.own_forms), *((b.targets, b.forms) for b in outline.blocks)]:
                yield from ((own, target) for target, form in zip(targets, forms, strict=False) if form != NOFOLLOW)
        for partners in outline.partners:
            yield from ((other.number, target) for other, target, nofollow in partners.targets if not nofollow)
        yield from ((other.number, 0) for other in outline.kin)
        yield from ((own, path) for path in outline.special)

    def _redirect(self, host: Host, path: str) -> str | None:
        if not path.startswith("/ir/"):
            return None
        return next((v for k, v in self._web.resource(Ask(host, path)).headers if k == "Location"), None)

    def _place(self, host: Host, location: str) -> Place:
        """A Location header's place: a page, or a path of something else."""
        if location.startswith("http://"):
            authority, _, rest = location.removeprefix("http://").partition("/")
            found = self._web.geography.find(authority)
            assert found is not None, location
            host, location = found, f"/{rest}"
        page = self._web.find(host, location)
        return (host.number, location if page is None else page)

    def _path(self, place: Place) -> str:
        number, what = place
        return what if isinstance(what, str) else self._web.pages.entry(self._web.geography.host(number), what).path

    # What is told.

    def collectable(self, by_sitemap: bool = True) -> set[str]:
        """The URLs of the pages that a perfect crawl ends with, with or without the help of sitemaps."""
        return {row.url for row in self.rows() if row.collectable and (by_sitemap or row.reachable == "links")}

    def rows(self) -> Iterator[Row]:
        """Every page that is alive, then whatever else something links to."""
        geography = self._web.geography
        for number in range(geography.plan.hosts):
            host = geography.host(number)
            for page in range(changes.size_at(host.size, self._now_ms)):
                if self._web.pages.alive(host, page, self._now_ms):
                    yield self._page_row(host, page)
            yield from self._own_rows(host)
        others = sorted((place[0], place[1]) for place in self._found if isinstance(place[1], str))
        others += sorted((place[0], place[1]) for place in self._images if isinstance(place[1], str))
        for number, path in others:
            yield self._other_row(geography.host(number), path)

    def _own_rows(self, host: Host) -> Iterator[Row]:
        yield self._other_row(host, "/robots.txt")
        if host.sitemap:
            for path in self._web.sitemaps.paths(host, self._now_ms):
                yield self._other_row(host, path)

    def _page_row(self, host: Host, page: int) -> Row:
        pages, now_ms = self._web.pages, self._now_ms
        entry, found = pages.entry(host, page), self._found.get((host.number, page))
        source, allowed = pages.copy_of(host, page), self._web.robots.allows(host, entry.path)
        shown = pages.entry(source.host, source.page) if source else entry
        original = source.host.origin + shown.path if source else None
        marks = shown if source and source.exact else entry
        interval, silent = pages.interval_ms(host, page), bool(host.faults & SILENT)
        moments = changes.changes_until(pages.seed(host, page), interval, now_ms)[-CHANGES_MAX:]
        dies = pages.dies_ms(host, page)
        return Row(
            url=host.origin + entry.path,
            host=host.origin,
            kind="page",
            status=None if silent else 200,
            allowed=allowed,
            reachable=found.by if found else None,
            depth=found.depth if found else None,
            collectable=bool(found) and allowed and not silent,
            canonical=self._web.renderer.canonical(host, page),
            copy_of=original if source and source.exact else None,
            near_copy_of=original if source and not source.exact else None,
            title=shown.title,
            language=host.language,
            charset=host.charset,
            topic=shown.topic,
            noindex=marks.noindex or entry.robots_header,
            nofollow=marks.nofollow,
            changes_per_day=round(changes.DAY_MS / interval, 6) if interval else 0.0,
            changes=[moment / 1000 for moment in moments],
            modified=modified_seconds(entry.rate, pages.changed_ms(host, page, now_ms)),
            born=changes.born_ms(host.size, page) / 1000,
            dies=dies / 1000 if dies else None,
        )

    def _other_row(self, host: Host, path: str) -> Row:
        found = self._found.get((host.number, path))
        answer = self._web.resource(Ask(host, path), self._now_ms)
        silent = bool(host.faults & SILENT) or (path == "/robots.txt" and Fault.ROBOTS_UNREACHABLE in host.faults)
        return Row(
            url=host.origin + path,
            host=host.origin,
            kind=_kind(host, path, answer.status),
            status=None if silent else answer.status,
            allowed=self._web.robots.allows(host, path),
            reachable=found.by if found else None,
            depth=found.depth if found else None,
            collectable=False,
            redirect=self._absolute(host, self._redirect(host, path)),
        )

    def _absolute(self, host: Host, location: str | None) -> str | None:
        return host.origin + location if location and location.startswith("/") else location

    def summary(self) -> dict[str, Any]:
        plan, kinds, counts = self._web.plan, Counter[str](), Counter[str]()
        for row in self.rows():
            kinds[row.kind] += 1
            counts.update(_facts(row))
        return {
            "front": self._web.front,
            "hosts": plan.hosts,
            "pages": kinds["page"],
            "rng_seed": plan.rng_seed,
            "faults": sorted(fault.value for fault in plan.faults),
            "web_seconds": self._now_ms / 1000,
            "date": EPOCH_SECONDS + self._now_ms // 1000,
            "urls": sum(kinds.values()),
            "kinds": dict(kinds.most_common()),
            **{name: counts[name] for name in _FACTS},
        }

    def document(self, kind: str | None = None, host: str | None = None) -> bytes:
        """All of it as one JSON object: the summary, and the URLs, one on each line."""
        rows = (row for row in self.rows() if kind in (None, row.kind) and host in (None, row.host))
        lines = ",\n".join(json.dumps(row.told(), ensure_ascii=False) for row in rows)
        return f'{{"summary": {json.dumps(self.summary(), ensure_ascii=False)},\n"urls": [\n{lines}\n]}}\n'.encode()


_FACTS = (
    "collectable",
    "reachable_by_links",
    "reachable_by_sitemap",
    "closed_by_robots",
    "copies",
    "near_copies",
    "noindex",
)


def _facts(row: Row) -> Iterator[str]:
    if row.kind != "page":
        return
    yield from ("collectable",) * row.collectable
    yield from ("closed_by_robots",) * (not row.allowed)
    yield from ("copies",) * bool(row.copy_of)
    yield from ("near_copies",) * bool(row.near_copy_of)
    yield from ("noindex",) * bool(row.noindex)
    if row.reachable:
        yield f"reachable_by_{'links' if row.reachable == 'links' else 'sitemap'}"


_KINDS = {
    "ir": "redirect",
    "antigo": "missing",
    "img": "image",
    "doc": "pdf",
    "robots.txt": "robots",
    "fluxo": "endless",
    "curto": "false-length",
    "longo": "false-length",
    "falso": "false-type",
    "bomba": "gzip-bomb",
}


def _kind(host: Host, path: str, status: int) -> str:
    first = path.split("/", 2)[1]
    if first in _KINDS:
        return _KINDS[first]
    if traps.leads_on(host, path):
        return "trap"
    return "sitemap" if first.endswith((".xml", ".gz")) else f"status {status}"
