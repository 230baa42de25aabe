"""Rows of documents and links that concern one URL, found by the catalogues that are kept of them.

Every answer is bounded, whatever the collection holds.
"""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.agent import checkpoint_of
from tarrafa.keep.catalogue import DocumentCatalogue, Incoming, LinkCatalogue, Urls, VisitRow
from tarrafa.keep.finding import Catalogued, Finder, newest_links
from tarrafa.layout import CrawlPaths, agents_of

VISITS_LIMIT = 200  # the newest
SOURCES_LIMIT = 2_000  # pages that link to one, those that were read last, of which the best are shown
COPIES_LIMIT = 100

_TOLD = ("title", "description", "media_type", "encoding", "language", "canonical", "directives")
_TOLD_COLUMNS = [*_TOLD, "published_at", "modified_at"]


class Agent(NamedTuple):
    """One agent's folder, at its last checkpoint."""

    paths: CrawlPaths
    checkpoint: int
    finder: Finder

    @property
    def archive(self) -> Path:
        return self.paths.archive

    def documents(self) -> AbstractContextManager[list[Catalogued[DocumentCatalogue]]]:
        return self.finder.documents(self.checkpoint)

    def links(self) -> AbstractContextManager[list[Catalogued[LinkCatalogue]]]:
        return self.finder.links(self.checkpoint)


class Told(NamedTuple):
    """A visit with what the page said then."""

    visit: VisitRow
    page: dict[str, Any]


class Visits(NamedTuple):
    """Visits of one URL."""

    rows: list[VisitRow]  # the newest ones, in the order of time
    telling: Told  # the last that brought something: one that found nothing changed says nothing of the page
    kept: Told | None  # the last that was fetched


class Linked(NamedTuple):
    """Links of one URL: rows of its newest visit; of each page that links to it the newest such link."""

    fetched_at: float  # of the visit; 0 if none found links
    outgoing: list[dict[str, Any]]
    incoming: dict[str, Incoming]
    is_bounded: bool  # there are more pages that link to it


class Agents:
    """The agents of a crawl. Used by any number of threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Filled by now: what a finder has opened is of use to the next who asks.
        self._finders: dict[CrawlPaths, Finder] = {}

    def now(self) -> list[Agent]:
        """Those that have begun, each at its last checkpoint."""
        return [
            Agent(paths, checkpoint_of(paths.hosts).number, self._finders.setdefault(paths, Finder(paths)))
            for paths in agents_of(self._root)
        ]


def visits_of(agent: Agent, url: str) -> Visits | None:
    """The newest visits of the URL by that agent; None if there are none."""
    with agent.documents() as stretches:
        wanted = Urls.made([url])
        found = [(stretch, visit) for stretch in stretches for visit in stretch.catalogue.of(wanted)]
        if not found:
            return None
        telling = next((each for each in reversed(found) if each[1].outcome != "unchanged"), found[-1])
        kept = next((each for each in reversed(found) if each[1].outcome == "fetched"), None)
        rows = [visit for _, visit in found[-VISITS_LIMIT:]]
        told = _told(*telling)
        return Visits(rows, told, told if kept is telling else _told(*kept) if kept else None)


def _told(stretch: Catalogued[DocumentCatalogue], visit: VisitRow) -> Told:
    return Told(visit, stretch.rows([visit.row], _TOLD_COLUMNS)[0])


def links_of(agent: Agent, url: str) -> Linked:
    with agent.links() as stretches:
        return Linked(*newest_links(stretches, url), *_incoming(stretches, url))


def _incoming(stretches: Sequence[Catalogued[LinkCatalogue]], url: str) -> tuple[dict[str, Incoming], bool]:
    """Of each page the first link with words of its last visit that found one; and whether there are more pages."""
    found: dict[str, Incoming] = {}
    for stretch in reversed(stretches):
        for link in stretch.catalogue.links_to(url):
            known = found.get(link.source)
            if known is None and link.source != url:
                if len(found) == SOURCES_LIMIT:
                    return found, True
                found[link.source] = link
            elif known and link.fetched_at == known.fetched_at and (link.text or not known.text):
                found[link.source] = link
    return found, False


def urls_with(agent: Agent, signature: int) -> set[str]:
    """URLs that had that content in some visit."""
    found: set[str] = set()
    with agent.documents() as stretches:
        for stretch in stretches:
            found.update(stretch.catalogue.with_signature(signature, COPIES_LIMIT))
            if len(found) >= COPIES_LIMIT:
                break
    return found


def newest_of(agent: Agent, urls: Collection[str]) -> dict[str, VisitRow]:
    """Of each of the URLs its last visit that brought something: a page that has not changed says what it said."""
    found: dict[str, VisitRow] = {}
    wanted = Urls.made(urls)
    with agent.documents() as stretches:
        for stretch in reversed(stretches):
            own = {visit.url: visit for visit in stretch.catalogue.of(wanted) if visit.outcome != "unchanged"}
            found |= own
            wanted = wanted.without(own) if own else wanted
    return found
