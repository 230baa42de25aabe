"""Counters of texts, magnitudes, times and contents. Their memory is bounded for any input."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

U64 = NDArray[np.uint64]

TEXTS_LIMIT = 10_000
PAIRS_LIMIT = 4_000_000
SPANS_LIMIT = 4_000

_DECADES = (-9, 13)  # powers of ten; values outside count as the nearest inside
_STEPS = 60  # in each decade, so that a step is 4%
_EDGES = np.logspace(*_DECADES, (_DECADES[1] - _DECADES[0]) * _STEPS + 1)
# The edges of bars: 1, 2, 5, 10, 20, 50, …
_ROUND_EDGES = np.array([float(f"{digit}e{power}") for power in range(*_DECADES) for digit in (1, 2, 5)])
# Each is a multiple of the one before, so that spans can be joined.
_WIDTHS_SECONDS = (1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400, 604_800, 2_419_200, 31_449_600)


class TopTexts(NamedTuple):
    """The most frequent texts, in order."""

    rows: list[tuple[str, int]]
    others: int  # the counts of all texts without a row
    different: int  # number of texts that were distinguished

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [{"name": name, "count": count} for name, count in self.rows],
            "others": self.others,
            "different": self.different,
        }


class TextCounter:
    """Count texts. The first `texts_limit` different ones are distinguished; later ones are counted together."""

    def __init__(self, texts_limit: int = TEXTS_LIMIT) -> None:
        self._texts_limit = texts_limit
        self._counts: Counter[str] = Counter()
        self._others = 0

    def add_column(self, column: pa.Array) -> None:
        for each in pc.value_counts(column).to_pylist():
            self.add(str(each["values"]), each["counts"])

    def add(self, text: str, count: int) -> None:
        if text in self._counts or len(self._counts) < self._texts_limit:
            self._counts[text] += count
        else:
            self._others += count

    @property
    def total(self) -> int:
        return self._counts.total() + self._others

    def top(self, limit: int) -> TopTexts:
        """Return the most frequent texts. Ties are ordered by text, so the result is reproducible."""
        rows = sorted(self._counts.items(), key=lambda row: (-row[1], row[0]))[:limit]
        return TopTexts(rows, self.total - sum(count for _, count in rows), len(self._counts))


class HistogramBar(NamedTuple):
    """The number of values from `low` up to but not including `high`."""

    low: float
    high: float
    values: int


class Histogram:
    """Count values that range over many powers of ten, such as sizes, times and ranks, on a logarithmic scale.

    Count, sum, least and greatest are exact; quantiles are exact to about 2%.
    """

    def __init__(self) -> None:
        self.count = 0
        self.zeros = 0  # not included in `count`
        self.sum = 0.0
        self.least, self.greatest = float("inf"), 0.0
        self._fine = np.zeros(len(_EDGES) + 1, np.int64)
        self._round = np.zeros(len(_ROUND_EDGES) + 1, np.int64)

    def add(self, values: NDArray[Any]) -> None:
        """Add values; those that are not positive count as zero."""
        positive = values[values > 0].astype(np.float64)
        self.zeros += len(values) - len(positive)
        if not len(positive):
            return
        self.count += len(positive)
        self.sum += float(positive.sum())
        self.least, self.greatest = min(self.least, float(positive.min())), max(self.greatest, float(positive.max()))
        self._fine += _counts_between(_EDGES, positive)
        self._round += _counts_between(_ROUND_EDGES, positive)

    @property
    def mean(self) -> float:
        return self.sum / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """Return the value that this share of all values does not exceed; 0 if there are none."""
        if not self.count:
            return 0.0
        step = int(np.searchsorted(np.cumsum(self._fine), max(1.0, share * self.count)))
        # The geometric middle of the step.
        low, high = _EDGES[max(step - 1, 0)], _EDGES[min(step, len(_EDGES) - 1)]
        return float(min(max(np.sqrt(low * high), self.least), self.greatest))

    def bars(self) -> list[HistogramBar]:
        """Return the bars from the least value to the greatest, including empty ones between."""
        filled = np.flatnonzero(self._round)
        if not len(filled):
            return []
        edges = [0.0, *_ROUND_EDGES.tolist(), float("inf")]
        return [
            HistogramBar(edges[step], edges[step + 1], int(self._round[step]))
            for step in range(filled[0], filled[-1] + 1)
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "zeros": self.zeros,
            "mean": self.mean,
            "least": self.least if self.count else 0.0,
            "median": self.quantile(0.5),
            "p90": self.quantile(0.9),
            "p99": self.quantile(0.99),
            "greatest": self.greatest,
            "bars": [{"from": bar.low, "count": bar.values} for bar in self.bars()],
        }


def _counts_between(edges: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


class TimeSpan(NamedTuple):
    """The pages and bytes of a span of time."""

    at_seconds: int  # when it begins, since the Unix epoch
    width_seconds: int
    pages: int
    bytes: int

    @property
    def pages_per_minute(self) -> float:
        return 60 * self.pages / self.width_seconds

    @property
    def bytes_per_minute(self) -> float:
        return 60 * self.bytes / self.width_seconds

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "pages_per_minute": self.pages_per_minute, "bytes_per_minute": self.bytes_per_minute}


class Timeline:
    """Count pages and bytes over time: by the second at first, in wider spans when there are too many."""

    def __init__(self, spans_limit: int = SPANS_LIMIT) -> None:
        self._spans_limit = spans_limit
        self._width = 0  # index into the widths
        self._spans: dict[int, tuple[int, int]] = {}  # by number: pages, bytes
        self._least, self._greatest = float("inf"), float("-inf")

    def add(self, at_seconds: NDArray[np.float64], size_bytes: NDArray[Any]) -> None:
        if not len(at_seconds):
            return
        self._least = min(self._least, float(at_seconds.min()))
        self._greatest = max(self._greatest, float(at_seconds.max()))
        width = _WIDTHS_SECONDS[self._width]
        spans, indexes = np.unique(np.floor(at_seconds / width).astype(np.int64), return_inverse=True)
        pages = np.bincount(indexes, minlength=len(spans)).tolist()
        sizes = np.bincount(indexes, size_bytes, minlength=len(spans)).tolist()
        _add_spans(self._spans, zip(spans.tolist(), pages, map(int, sizes), strict=True))
        while len(self._spans) > self._spans_limit and self._width + 1 < len(_WIDTHS_SECONDS):
            self._spans = _widened(self._spans, width, _WIDTHS_SECONDS[self._width + 1])
            self._width += 1
            width = _WIDTHS_SECONDS[self._width]

    @property
    def first_at(self) -> float | None:
        return self._least if self._spans else None

    @property
    def last_at(self) -> float | None:
        return self._greatest if self._spans else None

    @property
    def seconds(self) -> float:
        """The time from the first page to the last."""
        return self._greatest - self._least if self._spans else 0.0

    def spans(self, limit: int) -> list[TimeSpan]:
        """Return at most `limit` spans of one width from first to last, including empty ones.

        If that is not enough at the greatest width, the earliest spans are left out.
        """
        spans, width = self._spans, _WIDTHS_SECONDS[self._width]
        for wider in _WIDTHS_SECONDS[self._width + 1 :]:
            if not spans or max(spans) - min(spans) < limit:
                break
            spans, width = _widened(spans, width, wider), wider
        if not spans:
            return []
        last = max(spans)
        first = max(min(spans), last - limit + 1)
        return [TimeSpan(span * width, width, *spans.get(span, (0, 0))) for span in range(first, last + 1)]


def _widened(spans: dict[int, tuple[int, int]], before: int, after: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    _add_spans(found, ((span // (after // before), *counts) for span, counts in spans.items()))
    return found


def _add_spans(spans: dict[int, tuple[int, int]], added: Iterable[tuple[int, int, int]]) -> None:
    for span, pages, size_bytes in added:
        before = spans.get(span, (0, 0))
        spans[span] = (before[0] + pages, before[1] + size_bytes)


class DuplicateCounts(NamedTuple):
    """A page that was visited twice counts once with each content that it had."""

    pages: int  # that have a signature
    contents: int  # different ones among them
    most: int  # pages of one content
    is_exact: bool

    @property
    def copies(self) -> int:
        return self.pages - self.contents

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "copies": self.copies}


class DuplicateCounter:
    """Count pages with equal content by their signatures.

    Beyond the limit, only signatures that end in one zero bit are kept, then in two, and so on. Signatures are hashes,
    so those are a fair sample, and the counts are scaled up. Below the limit they are exact.
    """

    def __init__(self, pairs_limit: int = PAIRS_LIMIT) -> None:
        self._pairs_limit = pairs_limit
        self._zeros = 0  # zero bits in which a signature must end
        # Signatures and the fingerprints of their URLs. Filled by add, joined and sampled there when they are many.
        self._parts: list[tuple[U64, U64]] = []
        self._count = 0

    def add(self, signatures: U64, urls: U64) -> None:
        """Add pages; a signature of 0 means none."""
        self._keep(signatures[signatures != 0], urls[signatures != 0])
        while self._count > self._pairs_limit:
            signatures, urls = self._joined()
            if len(signatures) > self._pairs_limit // 2:
                self._zeros += 1
            self._parts, self._count = [], 0
            self._keep(signatures, urls)

    def _keep(self, signatures: U64, urls: U64) -> None:
        is_kept = signatures & np.uint64((1 << self._zeros) - 1) == 0
        self._parts.append((signatures[is_kept], urls[is_kept]))
        self._count += int(is_kept.sum())

    def _joined(self) -> tuple[U64, U64]:
        """Return each pair once, sorted by signature."""
        signatures = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in self._parts)])
        urls = np.concatenate([np.empty(0, np.uint64), *(part[1] for part in self._parts)])
        order = np.lexsort((urls, signatures))
        signatures, urls = signatures[order], urls[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (signatures[1:] != signatures[:-1]) | (urls[1:] != urls[:-1])
        return signatures[is_first], urls[is_first]

    def counts(self) -> DuplicateCounts:
        _, counts = np.unique(self._joined()[0], return_counts=True)
        scale = 1 << self._zeros
        most = int(counts.max()) if len(counts) else 0
        return DuplicateCounts(int(counts.sum()) * scale, len(counts) * scale, most, scale == 1)
