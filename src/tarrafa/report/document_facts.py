"""Count documents in one pass over the columns that are needed; texts are not read."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.rank import Ranks, fingerprints_of
from tarrafa.report.counters import DuplicateCounter, Histogram, TextCounter, Timeline
from tarrafa.report.freshness_facts import FreshnessFacts

REPORT_COLUMNS = (
    *("url", "host", "site", "fetched_at", "outcome", "status", "media_type", "language", "signature"),
    *("size_bytes", "cuts"),
)
FIRST_PAGES = 1_000  # whose different hosts are counted
CUT_PAGES = 1_000  # listed by URL


class DocumentFacts:
    """Filled by `read`: answers that were kept, and pages, which are those with a 2xx status."""

    def __init__(self, ranks: Ranks | None = None, freshness: FreshnessFacts | None = None) -> None:
        self._ranks = ranks
        self._freshness = freshness
        # Of all answers.
        self.statuses = TextCounter()
        # Of pages only, since other answers are no part of the collection. A page that was kept twice counts twice.
        self.pages = 0
        self.pages_cut = 0
        self.cuts = TextCounter()
        self.cut_pages: list[tuple[str, list[str]]] = []  # the first: URL, and what was cut
        self.media_types = TextCounter()
        self.languages = TextCounter()
        self.sizes = Histogram()
        self.ranks = Histogram()
        self.duplicates = DuplicateCounter()
        self.timeline = Timeline()
        self.levels: Counter[int] = Counter()  # bounded by the length of a URL
        self.first_hosts: set[str] = set()

    def read(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            self._read(batch)

    def _read(self, batch: pa.RecordBatch) -> None:
        self.statuses.add_column(batch.column("status"))
        if self._freshness is not None:
            self._freshness.read_documents(batch)
        self._read_pages(batch.filter(pc.equal(batch.column("outcome"), "fetched")))

    def _read_pages(self, batch: pa.RecordBatch) -> None:
        if self.pages < FIRST_PAGES:
            self.first_hosts.update(batch.column("host").slice(0, FIRST_PAGES - self.pages).to_pylist())
        self.pages += batch.num_rows
        at_seconds = batch.column("fetched_at").cast(pa.int64()).to_numpy(zero_copy_only=False) / 1e6
        self.timeline.add(at_seconds, _numbers(batch, "size_bytes"))
        self.levels.update(levels_of(batch).tolist())
        self._read_cuts(batch.filter(pc.greater(pc.list_value_length(batch.column("cuts")), 0)))
        self.media_types.add_column(batch.column("media_type"))
        self.languages.add_column(batch.column("language"))
        self.sizes.add(_numbers(batch, "size_bytes"))
        urls = fingerprints_of(batch.column("url"))
        self.duplicates.add(_numbers(batch, "signature"), urls)
        if self._ranks is not None:
            self.ranks.add(self._ranks.of(urls).rank)

    def _read_cuts(self, batch: pa.RecordBatch) -> None:
        self.pages_cut += batch.num_rows
        self.cuts.add_column(pc.list_flatten(batch.column("cuts")))
        some = batch.slice(0, CUT_PAGES - len(self.cut_pages))
        self.cut_pages += zip(some.column("url").to_pylist(), some.column("cuts").to_pylist(), strict=True)


def levels_of(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Return the level of each URL, as `urls.level` does for one."""
    without_query = pc.replace_substring_regex(batch.column("url"), r"\?.*", "")
    slashes = _count(without_query, "/") - 2  # those of the scheme
    dots = _count(batch.column("host"), ".") - _count(batch.column("site"), ".")
    return dots + 10 * slashes


def _count(column: pa.Array, text: str) -> NDArray[np.int64]:
    counts: NDArray[np.int32] = pc.count_substring(column, text).to_numpy(zero_copy_only=False)
    return counts.astype(np.int64)


def _numbers(batch: pa.RecordBatch, name: str) -> NDArray[Any]:
    found: NDArray[Any] = batch.column(name).to_numpy(zero_copy_only=False)
    return found
