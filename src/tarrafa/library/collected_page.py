"""A page of a collection: what is known of it, and its stored copy."""

import math
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from tarrafa.agent import CrawlFolder, checkpoint_of, host_in, reason_of
from tarrafa.dates import format_moment
from tarrafa.errors import PageMissingError
from tarrafa.extract import Element, Link, LinkKind, PageTree, as_text, encoding_of, markdown_of
from tarrafa.fetch import decode
from tarrafa.keep import DOCUMENTS, Place, StoredPage, read_page
from tarrafa.keep.catalogue import DocumentCatalogue
from tarrafa.keep.finder import (
    CataloguedStretch,
    Finder,
    FoundVisit,
    find_current,
    find_newest_links,
    find_version,
    newest_visits,
)
from tarrafa.library.settings import configuration_of
from tarrafa.records import Headers
from tarrafa.schedule import read_seed
from tarrafa.urls import host_of
from tarrafa.verify import look_up
from tarrafa.versions import VERSION, is_ending

_Documents = Sequence[CataloguedStretch[DocumentCatalogue]]


class CollectedPage:
    """A version of a page. Its stored copy is read from the archive when it is first asked for."""

    def __init__(self, folder: CrawlFolder, finder: Finder, row: dict[str, Any]) -> None:
        self._folder = folder
        self._finder = finder
        self._row = row

    def __repr__(self) -> str:
        return f"<CollectedPage {self.url}>"

    @property
    def url(self) -> str:
        return str(self._row["url"])

    @property
    def status(self) -> int:
        return int(self._row["status"])

    @property
    def title(self) -> str:
        return str(self._row["title"])

    @property
    def text(self) -> str:
        """Return the main text, which is indexed; one block on each line."""
        return str(self._row["text"])

    @property
    def language(self) -> str:
        return str(self._row["language"])

    @property
    def fetched_at(self) -> datetime:
        moment: datetime = self._row["fetched_at"]
        return moment

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields that hooks have added."""
        names = DOCUMENTS.columns.names
        return {name: value for name, value in self._row.items() if name not in names and value is not None}

    @property
    def document(self) -> dict[str, Any]:
        """Return all columns of the document."""
        return dict(self._row)

    @cached_property
    def stored(self) -> StoredPage:
        """Return the stored copy: request, response, and the place in the archive."""
        return read_page(self._folder.archive, Place(self._row["archive_file"], self._row["archive_offset"]))

    @property
    def headers(self) -> Headers:
        """Return the headers of the response, as pairs in the order of the host."""
        return self.stored.page.headers

    def header(self, name: str) -> str | None:
        return self.stored.page.header(name)

    @cached_property
    def body(self) -> bytes:
        """Return the body, decompressed."""
        return decode(self.stored.page, configuration_of({}, self._folder).fetch.body_limit_bytes).body

    @property
    def html(self) -> str:
        """Return the body as text, in the encoding that a browser would use."""
        return as_text(self.body, encoding_of(self.header("content-type") or "", self.body))

    @property
    def markdown(self) -> str:
        """Return the main content as Markdown, with absolute links."""
        return markdown_of(self.stored.page, self.body, self.title)

    @cached_property
    def _tree(self) -> PageTree:
        return PageTree(self.stored.page, self.body)

    def select(self, css: str) -> Element:
        """Return the first element that matches a CSS selector; an empty one, which is false, if none does."""
        return self._tree.select(css)

    def select_all(self, css: str) -> list[Element]:
        return self._tree.select_all(css)

    @cached_property
    def links(self) -> list[Link]:
        """Return the links, in document order."""
        with self._finder.links(checkpoint_of(self._folder.hosts).number) as stretches:
            rows = find_newest_links(stretches, self.url, self.fetched_at.timestamp())[1]
        return [
            Link(row["target"], row["text"], row["rel"], LinkKind(row["kind"]), place) for place, row in enumerate(rows)
        ]


def find_page(folder: CrawlFolder, finder: Finder, url: str, at: float = math.inf) -> CollectedPage:
    """Return a page by its URL, written as a seed is, as it was at a moment; by default as it is now.

    Raise PageMissingError, which says why, if there is none.
    """
    url = read_seed(url)
    with finder.documents(checkpoint_of(folder.hosts).number) as stretches:
        found = find_current(stretches, url, at)
        if found is None:
            raise PageMissingError(f"{url} {_before(stretches, url, at) or _absence(folder, url)}")
        has_ended = is_ending(found.visit.outcome) and at < math.inf
        if has_ended or not found.is_stored:
            raise PageMissingError(f"{url} {_ending(found, find_version(stretches, url, at))}")
        return CollectedPage(folder, finder, found.document())


def _before(stretches: _Documents, url: str, at: float) -> str:
    """Say when a URL was visited first, if that was after a moment."""
    every = list(newest_visits(stretches, url))[::-1]
    if not every:
        return ""
    first = next((each for each in every if each.visit.outcome == VERSION), every[0])
    moment = format_moment(first.visit.fetched_at)
    return f"has no version before {format_moment(at)}; its first is of {moment}: give --at {moment}"


def _ending(found: FoundVisit, version: FoundVisit | None) -> str:
    """Say why the current row has no page to show, and which version has."""
    visit = found.visit
    what = "is no longer stored as it was on" if visit.outcome == VERSION else f"is {visit.outcome} since"
    text = f"{what} {format_moment(visit.fetched_at)}"
    if version is None or not version.is_stored:
        return text
    last = format_moment(version.visit.fetched_at)
    return f"{text}; its last version is of {last}: give --at {last}"


def _absence(folder: CrawlFolder, url: str) -> str:
    known = look_up(folder.repository, url)
    if known is None:
        return "is unknown: no fetched page links to it, or it is out of scope"
    if known.status is not None and reason_of(known.status):
        return f"was not fetched: {reason_of(known.status)}"
    if known.collected:
        return "was visited, and a hook dropped it"
    host = host_in(folder.hosts, host_of(known.url))
    text = "is known but was not visited yet"
    return f"{text}: its host is {host.status} ({host.reason})" if host and host.status else text
