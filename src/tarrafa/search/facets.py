"""Counts of the documents that match a query, by site, language, media type and year.

Tantivy counts in its columns. Where very many documents match, only those of some slices of the index are counted, and
the counts are estimates.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tarrafa.search.fields import DATE, LANGUAGE, MEDIA, SITE_NAME
from tarrafa.search.pruning import SLICES_COUNT

VALUES_LIMIT = 10  # of each facet that are shown, those of most documents
_COUNTED_VALUES = 100  # of each facet that an index counts
_COUNTED_DOCUMENTS = 50_000  # more matching documents are counted in some slices only
_FIRST_YEAR = 1990
_COLUMNS = {"site": SITE_NAME, "language": LANGUAGE, "type": MEDIA}
_YEAR = "year"
NAMES = (*_COLUMNS, _YEAR)


class FacetCount(NamedTuple):
    value: str
    documents_count: int

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "count": self.documents_count}


Facets = dict[str, tuple[FacetCount, ...]]


def slices_for(matches_count: int) -> int:
    """Return how many slices to count for so many matching documents."""
    return max(1, min(SLICES_COUNT, SLICES_COUNT * _COUNTED_DOCUMENTS // max(1, matches_count)))


def aggregation(now: float) -> dict[str, Any]:
    """Return what tantivy is to count."""
    found: dict[str, Any] = {
        name: {"terms": {"field": column, "size": _COUNTED_VALUES}} for name, column in _COLUMNS.items()
    }
    years = range(_FIRST_YEAR, datetime.fromtimestamp(now, UTC).year + 1)
    ranges = [{"key": str(year), "from": _begin(year), "to": _begin(year + 1)} for year in years]
    return {**found, _YEAR: {"range": {"field": DATE, "ranges": ranges}}}


def _begin(year: int) -> float:
    return datetime(year, 1, 1, tzinfo=UTC).timestamp()


def counts_of(answer: Mapping[str, Any], slices: int) -> dict[str, Counter[str]]:
    """Return the counts in an answer of tantivy, scaled to all slices."""
    found: dict[str, Counter[str]] = {}
    for name in NAMES:
        buckets: Iterable[Mapping[str, Any]] = answer[name]["buckets"]
        scaled = {str(each["key"]): round(each["doc_count"] * SLICES_COUNT / slices) for each in buckets}
        found[name] = Counter({value: count for value, count in scaled.items() if count and value})
    if _YEAR in found:  # ranges at the ends have names of their own
        found[_YEAR] = Counter({value: count for value, count in found[_YEAR].items() if value.isdigit()})
    return found


def merge(parts: Sequence[Mapping[str, Counter[str]]]) -> Facets:
    """Join the counts of several indexes; of each facet, keep the values of most documents, years in their order."""
    merged: Facets = {}
    for name in NAMES:
        counts: Counter[str] = sum((part[name] for part in parts), Counter())
        best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:VALUES_LIMIT]
        ordered = sorted(best, reverse=True) if name == _YEAR else best
        merged[name] = tuple(FacetCount(value, count) for value, count in ordered)
    return merged
