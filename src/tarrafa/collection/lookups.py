"""Lookups of one URL in the catalogues of documents and links that each agent keeps. Every answer is bounded."""

import math
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.agent import checkpoint_of
from tarrafa.keep.catalogue import DocumentCatalogue, IncomingLink, LinkCatalogue, UrlSet, VisitRow
from tarrafa.keep.finder import (
    CataloguedStretch,
    Finder,
    FoundVisit,
    find_current,
    find_newest_links,
    find_version,
    newest_visits,
)
from tarrafa.layout import CrawlPaths, agents_of
from tarrafa.versions import is_mere_visit

VISITS_LIMIT = 200  # the newest
SOURCES_LIMIT = 2_000  # pages that link to a URL: those visited last, of which the best are shown
COPIES_LIMIT = 100

_DESCRIPTION = ("title", "description", "media_type", "encoding", "language", "canonical", "directives")
_DESCRIPTION_COLUMNS = [*_DESCRIPTION, "published_at", "modified_at"]


class AgentFolder(NamedTuple):
    """The folder of one agent, at its last checkpoint."""

    paths: CrawlPaths
    checkpoint: int
    finder: Finder

    @property
    def archive(self) -> Path:
        return self.paths.archive

    def documents(self) -> AbstractContextManager[list[CataloguedStretch[DocumentCatalogue]]]:
        return self.finder.documents(self.checkpoint)

    def links(self) -> AbstractContextManager[list[CataloguedStretch[LinkCatalogue]]]:
        return self.finder.links(self.checkpoint)


class DescribedVisit(NamedTuple):
    """A visit and the description of the page at that time."""

    visit: VisitRow
    description: dict[str, Any]


class UrlVisits(NamedTuple):
    """The visits of one URL."""

    rows: list[VisitRow]  # the newest, oldest first
    described: DescribedVisit  # the current row
    fetched: DescribedVisit | None  # the last version


class UrlLinks(NamedTuple):
    """The links of one URL: outgoing ones of one visit, and the newest incoming one of each page."""

    fetched_at: float  # of the visit; 0 if there is none with links
    outgoing: list[dict[str, Any]]
    incoming: dict[str, IncomingLink]
    is_bounded: bool  # more pages link to it than were read


class AgentFolders:
    """The folders of all agents of a crawl. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Filled by current; kept because a finder caches the catalogues that it has opened.
        self._finders: dict[CrawlPaths, Finder] = {}

    def current(self) -> list[AgentFolder]:
        """Return the agents that have started, each at its last checkpoint."""
        return [
            AgentFolder(paths, checkpoint_of(paths.hosts).number, self._finders.setdefault(paths, Finder(paths)))
            for paths in agents_of(self._root)
        ]


def visits_of(agent: AgentFolder, url: str, at: float = math.inf) -> UrlVisits | None:
    """Return the newest visits of the URL by that agent until a moment, or None if there are none."""
    with agent.documents() as segments:
        described = find_current(segments, url, at)
        if described is None:
            return None
        before = (found for found in newest_visits(segments, url) if found.visit.fetched_at <= at)
        rows = [found.visit for found in islice(before, VISITS_LIMIT)][::-1]
        fetched = find_version(segments, url, at)
        return UrlVisits(rows, _describe(described), _describe(fetched) if fetched else None)


def _describe(found: FoundVisit) -> DescribedVisit:
    return DescribedVisit(found.visit, found.stretch.rows([found.visit.row], _DESCRIPTION_COLUMNS)[0])


def links_of(agent: AgentFolder, url: str, at: float) -> UrlLinks:
    """Return the links of a URL; outgoing ones are those that its visit of that moment found."""
    with agent.links() as segments:
        return UrlLinks(*find_newest_links(segments, url, at), *_incoming(segments, url))


def _incoming(segments: Sequence[CataloguedStretch[LinkCatalogue]], url: str) -> tuple[dict[str, IncomingLink], bool]:
    """Return one link of each page, the first with anchor text of its last visit, and whether there are more pages."""
    found: dict[str, IncomingLink] = {}
    for segment in reversed(segments):
        for link in segment.catalogue.links_to(url):
            known = found.get(link.source)
            if known is None and link.source != url:
                if len(found) == SOURCES_LIMIT:
                    return found, True
                found[link.source] = link
            elif known and link.fetched_at == known.fetched_at and (link.text or not known.text):
                found[link.source] = link
    return found, False


def urls_with(agent: AgentFolder, signature: int) -> set[str]:
    """Return URLs that had this content in any visit."""
    found: set[str] = set()
    with agent.documents() as segments:
        for segment in segments:
            found.update(segment.catalogue.urls_with(signature, COPIES_LIMIT))
            if len(found) >= COPIES_LIMIT:
                break
    return found


def newest_of(agent: AgentFolder, urls: Collection[str]) -> dict[str, VisitRow]:
    """Return the last visit of each URL, apart from mere visits, which say nothing new of the page."""
    found: dict[str, VisitRow] = {}
    wanted = UrlSet.of(urls)
    with agent.documents() as segments:
        for segment in reversed(segments):
            own = {
                visit.url: visit for visit in segment.catalogue.visits_of(wanted) if not is_mere_visit(visit.outcome)
            }
            found |= own
            wanted = wanted.without(own) if own else wanted
    return found
