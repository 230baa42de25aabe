"""What is known of one URL: visits, links, copies, header, rank. Read from the crawl's files as they are now."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np

from tarrafa.errors import TarrafaError
from tarrafa.keep import Place, StoredPage, read_page
from tarrafa.keep.catalogue import Incoming, VisitRow
from tarrafa.logs import event
from tarrafa.rank import Ranks
from tarrafa.records import Headers
from tarrafa.serve.rows import Agent, Agents, Linked, Visits, links_of, newest_of, urls_with, visits_of
from tarrafa.serve.stored import Copy, Shown, copy_of
from tarrafa.urls import fingerprint

LINKS_SHOWN = 100
ANCHORS_SHOWN = 20
COPIES_SHOWN = 20
NOARCHIVE = "noarchive"
KEEP_UP_SECONDS = 10.0  # between two looks for new segments

_log = logging.getLogger(__name__)


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
        self._agents = Agents(root)
        self._copy_limit_bytes = copy_limit_bytes

    def facts(self, url: str, ranks: Ranks | None) -> Facts | None:
        """None if the URL was never visited."""
        found = self._agents.now()
        owner, visits = _visited(found, url)
        if owner is None or visits is None:
            return None
        shown, page = visits.telling
        linked = _joined([links_of(agent, url) for agent in found])
        copies = set().union(*(urls_with(agent, shown.signature) for agent in found if shown.signature))
        newest: dict[str, VisitRow] = {}
        for agent in found:
            newest |= newest_of(agent, {*linked.incoming, *copies})
        links_out = linked.outgoing if linked.fetched_at >= shown.fetched_at else []
        links_in = _standing_links(linked.incoming.values(), newest, ranks)
        stored = _stored(owner, visits.rows[-1])
        return Facts(
            url=url,
            **{name: page[name] for name in ("title", "description", "media_type", "language", "canonical")},
            directives=tuple(page["directives"] or ()),
            published_at=_seconds(page["published_at"]),
            modified_at=_seconds(page["modified_at"]),
            visits=_history(visits.rows),
            links_out=[_link_out(row) for row in links_out[:LINKS_SHOWN]],
            links_out_count=len(links_out),
            links_in=links_in[:LINKS_SHOWN],
            links_in_count=len(links_in),
            is_links_in_bounded=linked.is_bounded,
            copies=_still_copies(copies - {url}, newest, shown.signature),
            status_line=stored.status_line if stored else "",
            headers=stored.page.headers if stored else (),
            standing=_standing(url, ranks),
        )

    def copy(self, url: str) -> Copy | None:
        """The newest content that is kept of the URL; None if it was never visited."""
        owner, visits = _visited(self._agents.now(), url)
        if owner is None or visits is None:
            return None
        told, kept = visits.telling, visits.kept
        title, at = told.page["title"], told.visit.fetched_at
        if any(NOARCHIVE in (each.page["directives"] or ()) for each in (told, kept) if each):
            return Copy(url, title, at, Shown.FORBIDDEN)
        stored = _stored(owner, kept.visit) if kept else None
        if kept is None or stored is None:
            return Copy(url, title, at, Shown.ABSENT)
        return copy_of(stored, kept.page, self._copy_limit_bytes)

    @contextmanager
    def kept_up(self) -> Iterator[None]:
        """Meanwhile a thread makes ready what may be asked for, also while the crawl goes on, so that nobody waits."""
        stop = Event()
        thread = Thread(target=self._keep_up, args=(stop,), name="catalogues")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _keep_up(self, stop: Event) -> None:
        while True:
            try:
                for agent in self._agents.now():
                    agent.finder.keep_up(agent.checkpoint, stop.is_set)
            except TarrafaError as error:
                # Whoever asks for it meets the same, and is told then.
                event(_log, "catalogues not kept up", logging.WARNING, reason=str(error))
            if stop.wait(KEEP_UP_SECONDS):
                return


def _visited(found: list[Agent], url: str) -> tuple[Agent | None, Visits | None]:
    """The agent that visited the URL, and its visits; a URL has one owner, the last one if it has moved."""
    each = [(agent, visits) for agent in found if (visits := visits_of(agent, url))]
    return max(each, key=lambda pair: pair[1].rows[-1].fetched_at, default=(None, None))


def _stored(agent: Agent, visit: VisitRow) -> StoredPage | None:
    if visit.archive_file is None or visit.archive_offset is None:
        return None
    return read_page(agent.archive, Place(visit.archive_file, visit.archive_offset))


def _history(rows: list[VisitRow]) -> list[Visit]:
    visits: list[Visit] = []
    before = 0
    for row in rows:
        is_same = row.outcome == "unchanged"
        is_other = row.signature != before if row.signature and before else None
        visits.append(
            Visit(
                at=row.fetched_at,
                outcome=row.outcome,
                status=row.status,
                size_bytes=row.size_bytes,
                has_content=bool(row.signature) or is_same,
                is_changed=False if is_same else is_other,
            )
        )
        before = row.signature or before
    return visits[::-1]


def _joined(parts: list[Linked]) -> Linked:
    """The URL itself was read by one agent, at a time, and is linked from pages of all."""
    own = max(parts, key=lambda part: part.fetched_at)
    incoming: dict[str, Incoming] = {}
    for part in parts:
        incoming |= part.incoming
    return own._replace(incoming=incoming, is_bounded=any(part.is_bounded for part in parts))


def _standing_links(links: Iterable[Incoming], newest: dict[str, VisitRow], ranks: Ranks | None) -> list[LinkIn]:
    """Those that their pages still have, from important pages first."""
    standing = [LinkIn(*link) for link in links if not _is_stale(link, newest.get(link.source))]
    if ranks is None or not standing:
        return standing
    marks = np.array([fingerprint(link.url) for link in standing], np.uint64)
    return [standing[place] for place in np.argsort(-ranks.of(marks).rank, kind="stable").tolist()]


def _is_stale(link: Incoming, newest: VisitRow | None) -> bool:
    return newest is not None and newest.fetched_at > link.fetched_at


def _still_copies(urls: set[str], newest: dict[str, VisitRow], signature: int) -> list[str]:
    same = [url for url in urls if url in newest and newest[url].signature == signature]
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
