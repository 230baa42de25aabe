"""How fresh a collection was over time, judged afterwards by what its visits found.

Between two visits without a change a copy was fresh all the time. Between two visits that found a change, and after the
last one, the moment of the first change is uncertain: it follows from how often the page has changed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import DAY_SECONDS, FIRST_RATE, Belief, prior
from tarrafa.refresh.estimates import expected_ages, fresh_shares
from tarrafa.refresh.policies import fresh_days

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDS = 12  # of the estimate of rates
CHANGED, UNCHANGED, ENDED = 0, 1, 2  # what a visit found; the first of a page counts as changed


class PastVisits(NamedTuple):
    """Visits in the order of pages, those of one page in the order of time."""

    page: NDArray[Any]  # u8: the hash of its URL
    at_seconds: NDArray[Any]
    found: NDArray[Any]  # u1


class PastFreshness(NamedTuple):
    """How fresh the copies were at a moment, all pages alike."""

    at_seconds: float
    pages: int  # with a copy
    freshness: float
    age_days: float


def ordered_visits(visits: PastVisits) -> PastVisits:
    order = np.lexsort((visits.at_seconds, visits.page))
    return PastVisits(*(column[order] for column in visits))


def freshness_at(visits: PastVisits, moments: F64) -> list[PastFreshness]:
    """Return how fresh the collection was at each moment."""
    if not len(visits.page):
        return [PastFreshness(float(moment), 0, 0.0, 0.0) for moment in moments]
    is_first = np.concatenate(([True], visits.page[1:] != visits.page[:-1]))
    starts = np.flatnonzero(is_first)
    beliefs = _beliefs(visits, is_first, starts)
    return [_at(visits, starts, beliefs, float(moment)) for moment in moments]


def _beliefs(visits: PastVisits, is_first: NDArray[np.bool_], starts: Ints) -> Belief:
    """Return the belief about each page from all its visits.

    A page that has changed between two visits may have changed several times: the more often it changes, the more.
    """
    page = np.cumsum(is_first) - 1
    days = np.where(is_first, 0.0, np.diff(visits.at_seconds, prepend=0.0) / DAY_SECONDS)
    has_changed = (visits.found != UNCHANGED) & ~is_first & (days > 0)
    first = prior(np.full(len(starts), FIRST_RATE))
    changes = first.shape + np.add.reduceat(has_changed.astype(np.float64), starts)
    watched = first.days + np.add.reduceat(days, starts)
    rates = changes / watched
    for _ in range(_ROUNDS):
        expected = np.maximum(rates[page] * days, 1e-9)
        several = np.where(has_changed, expected / -np.expm1(-expected), 0.0)
        rates = (first.shape + np.add.reduceat(several, starts)) / watched
    return Belief(changes, changes / rates)


def _at(visits: PastVisits, starts: Ints, beliefs: Belief, moment: float) -> PastFreshness:
    is_past = visits.at_seconds <= moment
    places = np.arange(len(is_past))
    last = np.maximum.reduceat(np.where(is_past, places, -1), starts)  # of each page
    page = np.flatnonzero((last >= 0) & (visits.found[np.maximum(last, 0)] != ENDED))
    last = last[page]
    if not len(page):
        return PastFreshness(moment, 0, 0.0, 0.0)
    elapsed = (moment - visits.at_seconds[last]) / DAY_SECONDS
    belief = Belief(beliefs.shape[page], beliefs.days[page])
    fresh, ages = fresh_shares(belief, elapsed), expected_ages(belief, elapsed)
    ends = np.append(starts[1:], len(visits.page))[page]
    is_known = np.flatnonzero(last + 1 < ends)  # there is a visit after the moment
    after = last[is_known] + 1
    gap = np.maximum((visits.at_seconds[after] - visits.at_seconds[last[is_known]]) / DAY_SECONDS, 1e-9)
    has_changed = visits.found[after] != UNCHANGED
    # Given that the page has changed within the gap.
    belief = Belief(belief.shape[is_known], belief.days[is_known])
    until_then, never = elapsed[is_known], fresh_shares(belief, gap)
    seen = np.maximum(1.0 - never, 1e-12)
    changed_fresh = (fresh[is_known] - never) / seen
    changed_age = until_then - (fresh_days(*belief, until_then) - until_then * never) / seen
    fresh[is_known] = np.where(has_changed, changed_fresh, 1.0)
    ages[is_known] = np.where(has_changed, np.maximum(changed_age, 0.0), 0.0)
    return PastFreshness(moment, len(page), float(fresh.mean()), float(ages.mean()))


class VisitSample:
    """Visits to a sample of pages, chosen by the hash of their URLs; at most `limit` visits."""

    def __init__(self, limit: int = 200_000) -> None:
        self._limit = limit
        self._bound = 2**64 - 1  # pages with a greater hash are left out
        self._parts: list[PastVisits] = []
        self._count = 0

    @property
    def share(self) -> float:
        """The share of all pages that are in the sample."""
        return (self._bound + 1) / 2**64

    def add(self, page: NDArray[np.uint64], at_seconds: F64, found: NDArray[np.uint8]) -> None:
        """Add visits; `page` are hashes of their URLs."""
        self._keep(PastVisits(page, at_seconds, found))
        while self._count > self._limit and self._bound:
            self._bound >>= 1
            parts, self._parts, self._count = self._parts, [], 0
            for part in parts:
                self._keep(part)

    def _keep(self, visits: PastVisits) -> None:
        which = np.flatnonzero(visits.page <= np.uint64(self._bound))
        if len(which):
            self._parts.append(PastVisits(*(column[which] for column in visits)))
            self._count += len(which)

    def visits(self) -> PastVisits:
        """Return all visits of the sample, in order."""
        if not self._parts:
            return PastVisits(np.empty(0, np.uint64), np.empty(0), np.empty(0, np.uint8))
        columns = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        return ordered_visits(PastVisits(*columns))
