"""What is known of one URL: visits, links, duplicates, HTTP header, rank. Read from the files of the crawl."""

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np

from tarrafa.collection.history import PastVisit, history_of
from tarrafa.collection.lookups import (
    AgentFolder,
    AgentFolders,
    DescribedVisit,
    UrlLinks,
    UrlVisits,
    links_of,
    newest_of,
    urls_with,
    visits_of,
)
from tarrafa.errors import TarrafaError
from tarrafa.keep import Place, StoredPage, read_page
from tarrafa.keep.catalogue import IncomingLink, VisitRow
from tarrafa.logs import event
from tarrafa.memory import return_freed_memory
from tarrafa.rank import Ranks
from tarrafa.records import Headers
from tarrafa.serve.stored_copy import CopyKind, StoredCopy, make_copy
from tarrafa.urls import fingerprint

LINKS_SHOWN = 100
ANCHORS_SHOWN = 20
COPIES_SHOWN = 20
NOARCHIVE = "noarchive"
CATALOGUE_SECONDS = 10.0  # between two updates of the catalogues

_log = logging.getLogger(__name__)


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
class LinkRank:
    """What links say of a page; the mean rank is 1."""

    rank: float
    host_rank: float
    links_in: int
    links_outside: int
    anchors: Sequence[tuple[str, int]]  # anchor texts, and how many hosts use each


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
    visits: list[PastVisit]  # newest first
    links_out: list[LinkOut]
    links_out_count: int
    links_in: list[LinkIn]
    links_in_count: int
    is_links_in_bounded: bool  # more pages link to it than were counted
    copies: list[str]
    status_line: str
    headers: Headers
    link_rank: LinkRank | None = field(default=None)

    @property
    def may_copy(self) -> bool:
        return NOARCHIVE not in self.directives


class FactsReader:
    """Reads the folders of all agents of a crawl. Thread-safe."""

    def __init__(self, root: Path, copy_limit_bytes: int = 2_000_000) -> None:
        self._agents = AgentFolders(root)
        self._copy_limit_bytes = copy_limit_bytes

    def facts(self, url: str, ranks: Ranks | None, at: float = math.inf) -> Facts | None:
        """Return what was known of the page at a moment; None if it was not visited until then.

        Links to it, copies and its rank are those of now.
        """
        agents = self._agents.current()
        owner, visits = _visited(agents, url, at)
        if owner is None or visits is None:
            return None
        visit, description = visits.described
        links = _join_links([links_of(agent, url, visit.fetched_at) for agent in agents])
        copies = set().union(*(urls_with(agent, visit.signature) for agent in agents if visit.signature))
        newest: dict[str, VisitRow] = {}
        for agent in agents:
            newest |= newest_of(agent, {*links.incoming, *copies})
        links_in = _current_links(links.incoming.values(), newest, ranks)
        stored = _stored(owner, visits.rows[-1])
        return Facts(
            url=url,
            **{name: description[name] for name in ("title", "description", "media_type", "language", "canonical")},
            directives=tuple(description["directives"] or ()),
            published_at=_seconds(description["published_at"]),
            modified_at=_seconds(description["modified_at"]),
            visits=history_of(visits.rows),
            links_out=[_link_out(row) for row in links.outgoing[:LINKS_SHOWN]],
            links_out_count=len(links.outgoing),
            links_in=links_in[:LINKS_SHOWN],
            links_in_count=len(links_in),
            is_links_in_bounded=links.is_bounded,
            copies=_current_copies(copies - {url}, newest, visit.signature),
            status_line=stored.status_line if stored else "",
            headers=stored.page.headers if stored else (),
            link_rank=_link_rank(url, ranks),
        )

    def copy(self, url: str, at: float = math.inf) -> StoredCopy | None:
        """Return the newest version of the URL until a moment; None if it was not visited until then."""
        owner, visits = _visited(self._agents.current(), url, at)
        if owner is None or visits is None:
            return None
        described, fetched = visits.described, visits.fetched
        title, at = described.description["title"], described.visit.fetched_at
        told = (described, fetched, self._described_now(url, at))
        if any(NOARCHIVE in (each.description["directives"] or ()) for each in told if each):
            return StoredCopy(url, title, at, CopyKind.FORBIDDEN)
        stored = _stored(owner, fetched.visit) if fetched else None
        if fetched is None or stored is None:
            return StoredCopy(url, title, at, CopyKind.ABSENT)
        return make_copy(stored, fetched.description, self._copy_limit_bytes)

    def _described_now(self, url: str, at: float) -> DescribedVisit | None:
        """Return the current row if an older version is asked for: what its author says now counts for all of them."""
        visits = _visited(self._agents.current(), url, math.inf)[1] if at < math.inf else None
        return visits.described if visits else None

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Update the catalogues in a thread while the crawl goes on, so that no request has to wait for it."""
        stop = Event()
        thread = Thread(target=self._update, args=(stop,), name="catalogues")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _update(self, stop: Event) -> None:
        while True:
            try:
                for agent in self._agents.current():
                    agent.finder.update(agent.checkpoint, stop.is_set)
            except TarrafaError as error:
                # A request for the same files meets the same error and reports it.
                event(_log, "catalogues not updated", logging.WARNING, reason=str(error))
            return_freed_memory()
            if stop.wait(CATALOGUE_SECONDS):
                return


def _visited(agents: list[AgentFolder], url: str, at: float) -> tuple[AgentFolder | None, UrlVisits | None]:
    """Return the agent that owns the URL, and its visits. If the URL has moved between agents, the last one owns it."""
    each = [(agent, visits) for agent in agents if (visits := visits_of(agent, url, at))]
    return max(each, key=lambda pair: pair[1].rows[-1].fetched_at, default=(None, None))


def _stored(agent: AgentFolder, visit: VisitRow) -> StoredPage | None:
    if visit.archive_file is None or visit.archive_offset is None:
        return None
    return read_page(agent.archive, Place(visit.archive_file, visit.archive_offset))


def _join_links(parts: list[UrlLinks]) -> UrlLinks:
    """Join the links that each agent knows: outgoing ones of the last owner, incoming ones of all."""
    own = max(parts, key=lambda part: part.fetched_at)
    incoming: dict[str, IncomingLink] = {}
    for part in parts:
        incoming |= part.incoming
    return own._replace(incoming=incoming, is_bounded=any(part.is_bounded for part in parts))


def _current_links(links: Iterable[IncomingLink], newest: dict[str, VisitRow], ranks: Ranks | None) -> list[LinkIn]:
    """Return the links that are still on their pages, from important pages first."""
    current = [LinkIn(*link) for link in links if not _is_stale(link, newest.get(link.source))]
    if ranks is None or not current:
        return current
    fingerprints = np.array([fingerprint(link.url) for link in current], np.uint64)
    return [current[place] for place in np.argsort(-ranks.of(fingerprints).rank, kind="stable").tolist()]


def _is_stale(link: IncomingLink, newest: VisitRow | None) -> bool:
    return newest is not None and newest.fetched_at > link.fetched_at


def _current_copies(urls: set[str], newest: dict[str, VisitRow], signature: int) -> list[str]:
    same = [url for url in urls if url in newest and newest[url].signature == signature]
    return sorted(same, key=lambda url: (len(url), url))[:COPIES_SHOWN]


def _link_out(row: dict[str, Any]) -> LinkOut:
    return LinkOut(row["target"], row["text"] or "", row["kind"] or "", row["rel"] or "")


def _link_rank(url: str, ranks: Ranks | None) -> LinkRank | None:
    if ranks is None:
        return None
    fingerprints = np.array([fingerprint(url)], np.uint64)
    columns = ranks.of(fingerprints)
    return LinkRank(
        rank=float(columns.rank[0]),
        host_rank=float(columns.host_rank[0]),
        links_in=int(columns.links_in[0]),
        links_outside=int(columns.links_outside[0]),
        anchors=ranks.anchors(fingerprints)[0][:ANCHORS_SHOWN],
    )


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
