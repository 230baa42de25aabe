"""How much came when? Seconds at first, and wider spans as they become many: a crawl of months takes no more memory."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Each is a multiple of the one before, so that spans can be joined.
_WIDTHS_SECONDS = (1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400, 604_800, 2_419_200, 31_449_600)
SPANS_LIMIT = 4_000


class Moment(NamedTuple):
    """What came in a span of time."""

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

    def told(self) -> dict[str, Any]:
        return {**self._asdict(), "pages_per_minute": self.pages_per_minute, "bytes_per_minute": self.bytes_per_minute}


class Timeline:
    def __init__(self, spans_limit: int = SPANS_LIMIT) -> None:
        self._spans_limit = spans_limit
        self._width = 0  # which of the widths
        self._spans: dict[int, tuple[int, int]] = {}  # by number: pages, bytes
        self._least, self._greatest = float("inf"), float("-inf")

    def add(self, at_seconds: NDArray[np.float64], size_bytes: NDArray[Any]) -> None:
        if not len(at_seconds):
            return
        self._least = min(self._least, float(at_seconds.min()))
        self._greatest = max(self._greatest, float(at_seconds.max()))
        width = _WIDTHS_SECONDS[self._width]
        spans, places = np.unique(np.floor(at_seconds / width).astype(np.int64), return_inverse=True)
        pages = np.bincount(places, minlength=len(spans)).tolist()
        sizes = np.bincount(places, size_bytes, minlength=len(spans)).tolist()
        _join(self._spans, zip(spans.tolist(), pages, map(int, sizes), strict=True))
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
        """From the first page to the last."""
        return self._greatest - self._least if self._spans else 0.0

    def moments(self, limit: int) -> list[Moment]:
        """All the time from first to last in at most so many spans of one width, empty ones too.

        A time of more spans than that, at the greatest width, loses its beginning.
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
        return [Moment(span * width, width, *spans.get(span, (0, 0))) for span in range(first, last + 1)]


def _widened(spans: dict[int, tuple[int, int]], before: int, after: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    _join(found, ((span // (after // before), *counts) for span, counts in spans.items()))
    return found


def _join(spans: dict[int, tuple[int, int]], added: Any) -> None:
    for span, pages, size_bytes in added:
        before = spans.get(span, (0, 0))
        spans[span] = (before[0] + pages, before[1] + size_bytes)
