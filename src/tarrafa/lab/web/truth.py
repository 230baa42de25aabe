"""The truth about a web at a moment: all of its URLs, and the pages that a perfect crawl collects."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tarrafa.lab.web import history, resources
from tarrafa.lab.web.faults import SILENT, Fault
from tarrafa.lab.web.history import EPOCH_SECONDS, modified_seconds
from tarrafa.lab.web.perfect_crawl import FoundAt, PerfectCrawl
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.synthetic_web import SyntheticWeb, WebRequest

CHANGES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class TruthRow:
    """One URL of the web. Fields that do not apply are None."""

    url: str
    host: str
    kind: str  # one of KINDS
    status: int | None  # None if the host does not answer
    allowed: bool  # by robots.txt; False if that cannot be read
    reachable: str | None  # "links", "sitemap", or None
    depth: int | None
    collectable: bool  # a page that a perfect crawl collects
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

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that apply, as a dictionary."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Truth:
    def __init__(self, web: SyntheticWeb, now_ms: int = 0) -> None:
        self._web = web
        self._now_ms = now_ms
        self._crawl = PerfectCrawl(web, now_ms)

    def collectable(self, by_sitemap: bool = True) -> set[str]:
        """Return the URLs of the pages that a perfect crawl collects, with or without sitemaps."""
        return {row.url for row in self.rows() if row.collectable and (by_sitemap or row.reachable == "links")}

    def rows(self) -> Iterator[TruthRow]:
        """Yield every page that exists now, then everything else that is linked."""
        hosts = self._web.hosts
        for number in range(hosts.plan.hosts):
            host = hosts.host(number)
            for page in range(history.size_at(host.size, self._now_ms)):
                if self._web.pages.alive(host, page, self._now_ms):
                    yield self._page_row(host, page)
            yield from self._own_rows(host)
        for number, path in [*sorted(self._not_pages()), *sorted(self._crawl.images)]:
            yield self._other_row(hosts.host(number), path)
        for name, found in sorted(self._crawl.dead.items()):
            yield self._dead_row(name, found)

    def _not_pages(self) -> Iterator[tuple[int, str]]:
        """Yield targets of links that are not pages: resources, and pages that are gone."""
        web = self._web
        for number, what in self._crawl.found:
            if isinstance(what, str):
                yield number, what
            elif not web.pages.alive(web.hosts.host(number), what, self._now_ms):
                yield number, self._crawl.path((number, what))

    def _dead_row(self, name: str, found: FoundAt) -> TruthRow:
        origin = f"http://{name}:{self._web.plan.port}"
        return TruthRow(
            url=f"{origin}/",
            host=origin,
            kind="dead",
            status=None,
            allowed=False,
            reachable=found.by,
            depth=found.depth,
            collectable=False,
        )

    def _own_rows(self, host: SyntheticHost) -> Iterator[TruthRow]:
        yield self._other_row(host, "/robots.txt")
        if host.sitemap:
            for path in self._web.sitemaps.paths(host, self._now_ms):
                yield self._other_row(host, path)

    def _page_row(self, host: SyntheticHost, page: int) -> TruthRow:
        pages, now_ms = self._web.pages, self._now_ms
        entry, found = pages.entry(host, page), self._crawl.found.get((host.number, page))
        source, allowed = pages.copy_of(host, page), self._web.robots.allows(host, entry.path)
        shown = pages.entry(source.host, source.page) if source else entry
        original = source.host.origin + shown.path if source else None
        marks = shown if source and source.exact else entry
        interval, silent = pages.interval_ms(*pages.shown(host, page)), bool(host.faults & SILENT)
        dies = pages.dies_ms(host, page)
        return TruthRow(
            url=host.origin + entry.path,
            host=host.origin,
            kind="page",
            status=None if silent else 200,
            allowed=allowed,
            reachable=found.by if found else None,
            depth=found.depth if found else None,
            collectable=bool(found) and allowed,
            canonical=self._web.renderer.canonical(host, page),
            copy_of=original if source and source.exact else None,
            near_copy_of=original if source and not source.exact else None,
            title=shown.title,
            language=host.language,
            charset=host.charset,
            topic=shown.topic,
            noindex=marks.noindex or entry.robots_header,
            nofollow=marks.nofollow,
            changes_per_day=round(history.DAY_MS / interval, 6) if interval else 0.0,
            changes=[moment / 1000 for moment in pages.all_changes(host, page, now_ms)[-CHANGES_MAX:]],
            modified=modified_seconds(entry.rate, pages.changed_ms(host, page, now_ms)),
            born=history.born_ms(host.size, page) / 1000,
            dies=dies / 1000 if dies else None,
        )

    def _other_row(self, host: SyntheticHost, path: str) -> TruthRow:
        found = self._found_at(host, path)
        answer = self._web.resource(WebRequest(host, path), self._now_ms)
        silent = bool(host.faults & SILENT) or (path == "/robots.txt" and Fault.ROBOTS_UNREACHABLE in host.faults)
        return TruthRow(
            url=host.origin + path,
            host=host.origin,
            kind=kind_of(host, path, answer.status),
            status=None if silent else answer.status,
            allowed=self._web.robots.allows(host, path),
            reachable=found.by if found else None,
            depth=found.depth if found else None,
            collectable=False,
            redirect=self._absolute(host, self._crawl.location(host, path)),
        )

    def _found_at(self, host: SyntheticHost, path: str) -> FoundAt | None:
        page = self._web.find(host, path)
        return self._crawl.found.get((host.number, path if page is None else page))

    def _absolute(self, host: SyntheticHost, location: str | None) -> str | None:
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
        """Return one JSON object: the summary, and the URLs, one on each line."""
        if kind is not None and kind not in KINDS:
            raise ValueError(f'no URL is of the kind "{kind}"; kinds are {", ".join(KINDS)}')
        rows = (row for row in self.rows() if kind in (None, row.kind) and host in (None, row.host))
        lines = ",\n".join(json.dumps(row.as_dict(), ensure_ascii=False) for row in rows)
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


def _facts(row: TruthRow) -> Iterator[str]:
    if row.kind != "page":
        return
    yield from ("collectable",) * row.collectable
    yield from ("closed_by_robots",) * (not row.allowed)
    yield from ("copies",) * bool(row.copy_of)
    yield from ("near_copies",) * bool(row.near_copy_of)
    yield from ("noindex",) * bool(row.noindex)
    if row.reachable:
        yield f"reachable_by_{'links' if row.reachable == 'links' else 'sitemap'}"


_KIND_BY_FOLDER = {
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

KINDS = ("page", *dict.fromkeys(_KIND_BY_FOLDER.values()), "sitemap", "trap", "dead")


def kind_of(host: SyntheticHost, path: str, status: int) -> str:
    """Return the kind of what is at a path that is not a page's."""
    first = path.split("/", 2)[1]
    if first in _KIND_BY_FOLDER:
        return _KIND_BY_FOLDER[first]
    if resources.is_trap(host, path):
        return "trap"
    return "sitemap" if status == 200 else "missing"
