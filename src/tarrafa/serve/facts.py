"""What is known of one URL: visits, links, copies, header, rank. Read from the crawl's files as they are now."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tarrafa.keep import Place, StoredPage, read_page
from tarrafa.rank import Ranks
from tarrafa.records import Headers
from tarrafa.serve.rows import Agent, Incoming, Linked, agents, links_of, newest_of, urls_with, visits_of
from tarrafa.serve.stored import Copy, Shown, copy_of
from tarrafa.urls import fingerprint, parse

LINKS_SHOWN = 100
ANCHORS_SHOWN = 20
COPIES_SHOWN = 20
NOARCHIVE = "noarchive"


@dataclass(frozen=True, slots=True)
class Visit:
    """`is_changed` compares the content with that of the visit before; None where there is nothing to compare."""

    at: float  # seconds since the Unix epoch
    outcome: str
    status: int
    size_bytes: int
    has_content: bool
    is_changed: bool | None


class LinkOut(NamedTuple):
    url: str
    text: str
    kind: str
    rel: str


class LinkIn(NamedTuple):
    url: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Standing:
    """What links say; the mean rank is 1."""

    rank: float
    host_rank: float
    links_in: int
    links_outside: int
    anchors: Sequence[tuple[str, int]]  # what they say, and how many hosts say so


@dataclass(frozen=True, slots=True)
class Facts:
    url: str
    title: str
    description: str
    media_type: str
    language: str
    canonical: str
    directives: tuple[str, ...]
    published_at: float | None
    modified_at: float | None
    visits: list[Visit]  # newest first
    links_out: list[LinkOut]
    links_out_count: int
    links_in: list[LinkIn]
    links_in_count: int
    is_links_in_bounded: bool  # there are more than were counted
    copies: list[str]
    status_line: str
    headers: Headers
    standing: Standing | None = field(default=None)

    @property
    def may_copy(self) -> bool:
        return NOARCHIVE not in self.directives


class Reader:
    """Reads the folder of a crawl, of all its agents. Used by any number of threads."""

    def __init__(self, root: Path, copy_limit_bytes: int = 2_000_000) -> None:
        self._root = root
        self._copy_limit_bytes = copy_limit_bytes

    def facts(self, url: str, ranks: Ranks | None) -> Facts | None:
        """None if the URL was never visited."""
        found = agents(self._root)
        owner, rows = _visited(found, url)
        if owner is None:
            return None
        shown = _telling(rows)
        linked = _joined([links_of(agent, url) for agent in found])
        copies = set().union(*(urls_with(agent, shown["signature"]) for agent in found if shown["signature"]))
        newest: dict[str, dict[str, Any]] = {}
        for agent in found:
            newest |= newest_of(agent, {*linked.incoming, *copies})
        links_out = [_link_out(row) for row in linked.outgoing if row["fetched_at"] >= shown["fetched_at"]]
        links_in = _standing_links(linked.incoming.values(), newest, ranks)
        stored = _stored(owner, rows[-1:])
        return Facts(
            url=url,
            **{name: shown[name] for name in ("title", "description", "media_type", "language", "canonical")},
            directives=tuple(shown["directives"] or ()),
            published_at=_seconds(shown["published_at"]),
            modified_at=_seconds(shown["modified_at"]),
            visits=_history(rows),
            links_out=links_out[:LINKS_SHOWN],
            links_out_count=len(links_out),
            links_in=links_in[:LINKS_SHOWN],
            links_in_count=len(links_in),
            is_links_in_bounded=linked.is_bounded,
            copies=_still_copies(copies - {url}, newest, shown["signature"]),
            status_line=stored.status_line if stored else "",
            headers=stored.page.headers if stored else (),
            standing=_standing(url, ranks),
        )

    def copy(self, url: str) -> Copy | None:
        """The newest content that is kept of the URL; None if it was never visited."""
        owner, rows = _visited(agents(self._root), url)
        if owner is None:
            return None
        kept = [row for row in rows if row["outcome"] == "fetched"][-1:]
        told = _telling(rows)
        if any(NOARCHIVE in (row["directives"] or ()) for row in (told, *kept)):
            return Copy(url, told["title"], told["fetched_at"].timestamp(), Shown.FORBIDDEN)
        stored = _stored(owner, kept)
        if stored is None:
            return Copy(url, told["title"], told["fetched_at"].timestamp(), Shown.ABSENT)
        return copy_of(stored, kept[-1], self._copy_limit_bytes)


def _visited(found: list[Agent], url: str) -> tuple[Agent | None, list[dict[str, Any]]]:
    """The agent that visited the URL, and its visits; a URL has one owner, the last one if it has moved."""
    best: tuple[Agent | None, list[dict[str, Any]]] = (None, [])
    for agent in found:
        rows = visits_of(agent, url)
        if rows and (not best[1] or rows[-1]["fetched_at"] > best[1][-1]["fetched_at"]):
            best = agent, rows
    return best


def _telling(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The last visit that brought something: one that found nothing changed says nothing of the page."""
    return next((row for row in reversed(rows) if row["outcome"] != "unchanged"), rows[-1])


def _stored(agent: Agent, rows: list[dict[str, Any]]) -> StoredPage | None:
    for row in rows:
        if row["archive_file"] is not None and row["archive_offset"] is not None:
            return read_page(agent.archive, Place(row["archive_file"], row["archive_offset"]))
    return None


def _history(rows: list[dict[str, Any]]) -> list[Visit]:
    visits: list[Visit] = []
    before = 0
    for row in rows:
        signature = row["signature"] or 0
        is_same = row["outcome"] == "unchanged"
        visits.append(
            Visit(
                at=row["fetched_at"].timestamp(),
                outcome=row["outcome"],
                status=row["status"],
                size_bytes=row["size_bytes"],
                has_content=bool(signature) or is_same,
                is_changed=False if is_same else signature != before if signature and before else None,
            )
        )
        before = signature or before
    return visits[::-1]


def _joined(parts: list[Linked]) -> Linked:
    """The URL itself was read by one agent, at a time, and is linked from pages of all."""
    outgoing = max(
        (part.outgoing for part in parts), key=lambda rows: rows[-1]["fetched_at"].timestamp() if rows else 0
    )
    incoming: dict[str, Incoming] = {}
    for part in parts:
        incoming |= part.incoming
    return Linked(outgoing, incoming, any(part.is_bounded for part in parts))


def _standing_links(links: Iterable[Incoming], newest: dict[str, dict[str, Any]], ranks: Ranks | None) -> list[LinkIn]:
    """Those that their pages still have, from important pages first."""
    standing = [link for link in links if not _is_stale(link, newest.get(link.source)) and parse(link.source)]
    marks = np.array([fingerprint(link.source) for link in standing], np.uint64)
    order = np.argsort(-ranks.of(marks).rank, kind="stable").tolist() if ranks and standing else range(len(standing))
    return [
        LinkIn(link.source, link.text, link.fetched_at.timestamp()) for link in (standing[place] for place in order)
    ]


def _is_stale(link: Incoming, newest: dict[str, Any] | None) -> bool:
    return newest is not None and newest["fetched_at"] > link.fetched_at


def _still_copies(urls: set[str], newest: dict[str, dict[str, Any]], signature: int) -> list[str]:
    same = [url for url in urls if url in newest and newest[url]["signature"] == signature]
    return sorted(same, key=lambda url: (len(url), url))[:COPIES_SHOWN]


def _link_out(row: dict[str, Any]) -> LinkOut:
    return LinkOut(row["target"], row["text"] or "", row["kind"] or "", row["rel"] or "")


def _standing(url: str, ranks: Ranks | None) -> Standing | None:
    if ranks is None:
        return None
    marks = np.array([fingerprint(url)], np.uint64)
    columns = ranks.of(marks)
    return Standing(
        rank=float(columns.rank[0]),
        host_rank=float(columns.host_rank[0]),
        links_in=int(columns.links_in[0]),
        links_outside=int(columns.links_outside[0]),
        anchors=ranks.anchors(marks)[0][:ANCHORS_SHOWN],
    )


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
