"""A collection: everything that a crawl has stored, to search and to read, while the crawl runs or later."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds

from tarrafa.agent import CrawlFolder, checkpoint_of, reason_of
from tarrafa.agent.outcomes import outcome_of
from tarrafa.collection.history import PastVisit
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.collection.ranker import update_ranks
from tarrafa.errors import DamagedError, LockedError, WorkError
from tarrafa.keep import DOCUMENTS, LINKS
from tarrafa.keep.datasets import RowFolder, open_current_documents, open_dataset
from tarrafa.keep.finder import Finder
from tarrafa.layout import agents_of
from tarrafa.library.collected_page import CollectedPage, find_page
from tarrafa.library.crawl_status import CrawlStatus, status_of_crawl
from tarrafa.library.page_versions import find_history, read_moment
from tarrafa.library.settings import configuration_of
from tarrafa.rank import Ranks
from tarrafa.report import make_report
from tarrafa.schedule import depth_of
from tarrafa.search import Search, SearchRequest
from tarrafa.verify import Known, known_urls


class SearchHit(NamedTuple):
    """A result of a search, the best first."""

    url: str
    title: str
    snippet: str
    score: float
    site: str
    language: str
    fetched_at: datetime
    published_at: datetime | None
    rank: float  # 0 if there are no ranks
    copies: tuple[str, ...]  # URLs with the same content


class KnownUrl(NamedTuple):
    """What a crawl knows of a URL."""

    url: str
    is_visited: bool
    outcome: str  # fetched, redirected, gone, refused, failed; empty if it was not visited
    status: int | None  # of HTTP; None without an answer
    reason: str  # why there is no answer
    depth: int  # the fewest links from a seed
    links_count: int  # from pages of the crawl
    visited_at: datetime | None


class Collection:
    """What a crawl has stored in a folder. It is only read, but for the index and the ranks."""

    def __init__(self, dir: str | Path) -> None:  # noqa: A002 - named as the option of the commands
        self._folder = CrawlFolder(Path(dir))
        self._folder.require()
        self._finder = Finder(self._folder)
        self._indexed: list[int] = []  # the checkpoints of the agents when the index was last brought up to date

    def __repr__(self) -> str:
        return f"<Collection {self.dir}>"

    @property
    def dir(self) -> Path:
        return self._folder.root

    def search(
        self,
        query: str,
        top: int = 10,
        *,
        page: int = 1,
        per_site: int = 1,
        site: str | None = None,
        language: str | None = None,
        after: str | None = None,
        before: str | None = None,
        expand: bool = False,
        fresh: bool = False,
        semantic: bool = False,
        verbatim: bool = False,
    ) -> list[SearchHit]:
        """Return the best pages for a query, after indexing what is new. The options are those of `tarrafa search`."""
        self._index_news()
        request = SearchRequest(
            query,
            top,
            page,
            per_site,
            expand,
            fresh,
            semantic,
            site=site,
            language=language,
            after=after,
            before=before,
            verbatim=verbatim,
        )
        results = Search.open(self.dir, Ranks.open(self._folder.ranks)).search(request)
        return [
            SearchHit(
                url=hit.url,
                title=hit.title,
                snippet="".join(text for text, _ in hit.snippet),
                score=hit.score,
                site=hit.site,
                language=hit.language,
                fetched_at=_moment(hit.fetched_at),
                published_at=None if hit.published_at is None else _moment(hit.published_at),
                rank=hit.rank,
                copies=hit.copies,
            )
            for hit in results.hits
        ]

    def index(self, *, rebuild: bool = False) -> int:
        """Index the documents that are not indexed yet; return their number. `search` does it as well."""
        checkpoints = self._checkpoints()
        with Indexer(self.dir, is_new=rebuild) as indexer:
            rows_count = indexer.update(_ignore, StopFlag()).rows
        self._indexed = checkpoints
        return rows_count

    def rank(self) -> None:
        """Compute the ranks of all pages. Later searches use them, and index anchor texts."""
        update_ranks(self._folder, _ignore)
        self._indexed = []

    def _index_news(self) -> None:
        """Index what is new. Where another process does it, or nothing may be written, search what is indexed."""
        if self._indexed == self._checkpoints():
            return
        try:
            self.index()
        except DamagedError:
            raise
        except (LockedError, WorkError):
            if not any(agent.index.is_dir() for agent in agents_of(self.dir)):
                raise

    def _checkpoints(self) -> list[int]:
        return [checkpoint_of(agent.hosts).number for agent in agents_of(self.dir)]

    def documents(self, *, versions: bool = False) -> ds.Dataset:
        """Return the documents as a dataset of pyarrow: the current row of each URL.

        With `versions`, one row for each visit that was stored.
        """
        return self._dataset("documents") if versions else open_current_documents(self._parts("documents"))

    def links(self) -> ds.Dataset:
        """Return the links as a dataset of pyarrow: one row for each link of a page."""
        return self._dataset("links")

    def _dataset(self, table: str) -> ds.Dataset:
        return open_dataset(self._parts(table), DOCUMENTS if table == "documents" else LINKS)

    def _parts(self, table: str) -> list[RowFolder]:
        return [RowFolder(getattr(each, table), checkpoint_of(each.hosts).number) for each in agents_of(self.dir)]

    def page(self, url: str, *, at: str | datetime | None = None) -> CollectedPage:
        """Return a page by its URL, as it was at a moment; by default as it is now.

        A date is one as `2026-11`, which means its end. Raise PageMissingError, which says why, if there is none.
        """
        return find_page(self._folder, self._finder, url, math.inf if at is None else _end_of(at))

    def history(self, url: str) -> list[PastVisit]:
        """Return the newest visits of a page, newest first; at most 1,000."""
        return find_history(self._folder, self._finder, url)

    def urls(self) -> Iterator[KnownUrl]:
        """Yield every URL that the crawl knows, visited or not, in no particular order."""
        for agent in agents_of(self.dir):
            yield from map(_known, known_urls(agent.repository))

    @property
    def status(self) -> CrawlStatus:
        """Return how far the crawl is: its progress, whether it runs, and how many pages are saved."""
        return status_of_crawl(self._folder)

    def report(self) -> dict[str, Any]:
        """Return the statistics of `tarrafa report --json`."""
        configuration = configuration_of({}, self._folder)
        return make_report(self._folder, configuration.crawl.in_flight, configuration.refresh.policy).as_json()


def _known(known: Known) -> KnownUrl:
    status = known.status if known.collected else None
    reason = "" if status is None else reason_of(status)
    return KnownUrl(
        url=known.url,
        is_visited=known.collected,
        outcome="" if status is None else str(outcome_of(status)),
        status=None if reason else status,
        reason=reason,
        depth=depth_of(known.depth),
        links_count=known.links,
        visited_at=None if known.at_seconds is None else _moment(known.at_seconds),
    )


def _end_of(at: str | datetime) -> float:
    return at.timestamp() if isinstance(at, datetime) else read_moment(at)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _ignore(*_: object) -> None:
    """Take a progress report."""
