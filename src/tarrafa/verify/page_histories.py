"""Histories of the collected URLs of a block: what a cycle folds into them, and what a block tells of them.

Rows are those of the block. A URL without an importance of its own has one from its links and its depth.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import (
    FIRST_RATE,
    Histories,
    PageHistory,
    Phase,
    VisitNews,
    fold,
    host_rates,
    importance_codes,
    importance_of,
    joined,
    new_histories,
    prior,
)
from tarrafa.verify.contract import LINKS_MAX

F32 = NDArray[np.float32]
U32 = NDArray[np.uint32]

NO_HISTORIES = new_histories(np.empty(0, np.uint32))
NO_PHASES = (0,) * len(Phase)
_IMPORTANCE_MIN = 0.05  # of the mean
_WEIGHT_ONE = 1_000  # a weight that stands for the mean importance
_OUTSIDE = np.log2(2 + np.arange(LINKS_MAX + 1)).astype(np.float32)
_DEPTH_STEP, _DEPTH_LIMIT = np.float32(0.25), 100


def mean_rate_of(rate_sum: float, collected: int) -> float:
    return rate_sum / collected if collected else FIRST_RATE


def mean_importance_of(importance_sum: float, collected: int) -> float:
    """Return the mean importance by links and depth; 1 if no URL has any."""
    return importance_sum / collected if importance_sum > 0 else 1.0


def with_visits(
    histories: Histories, visited: NDArray[np.int64], news: VisitNews, hosts: NDArray[Any], mean_rate: float
) -> Histories:
    """Return the histories after visits to the rows `visited`, which come in the order of their batches.

    `hosts` gives the host of each row of the block.
    """
    if not len(visited):
        return histories
    after = _with_rows(histories, np.unique(visited))
    own = hosts[after.row]
    positions = np.searchsorted(after.row, visited)
    rates = host_rates(own, after.shape, after.days, mean_rate)
    fold(after, positions, news, rates[own[positions]])
    return after


def _with_rows(histories: Histories, rows: NDArray[np.int64]) -> Histories:
    """Return a copy that has histories of all these rows, which are in ascending order."""
    places = np.searchsorted(histories.row, rows)
    known = np.zeros(len(rows), bool)
    inside = places < len(histories.row)
    known[inside] = histories.row[places[inside]] == rows[inside]
    new = rows[~known]
    at = places[~known] + np.arange(len(new))
    is_old = np.ones(len(histories.row) + len(new), bool)
    is_old[at] = False
    after = new_histories(np.zeros(len(is_old), np.uint32), np.zeros(len(is_old), np.uint8))
    for name in Histories._fields:
        getattr(after, name)[is_old] = getattr(histories, name)
    after.row[at] = new
    return after


def rate_sum(histories: Histories, mean_rate: float) -> float:
    """Return the sum of the believed changes a day."""
    belief = joined(prior(np.array([mean_rate])), histories.shape, histories.days)
    return float(np.sum(belief.shape / belief.days))


def phase_counts(histories: Histories) -> tuple[int, ...]:
    """Return the number of URLs in each phase."""
    return tuple(np.bincount(histories.phase, minlength=len(Phase)).tolist())


def importance_sum(outside: NDArray[Any], depth: U32) -> float:
    """Return the sum of the importance of URLs by links and depth."""
    return float(np.sum(link_importance(outside, depth), dtype=np.float64))


def link_importance(outside: NDArray[Any], depth: U32) -> F32:
    """Return the importance of URLs by links from other hosts and by depth, not negative; its mean is not 1."""
    found: F32 = np.maximum(_OUTSIDE[outside] - np.minimum(depth, _DEPTH_LIMIT) * _DEPTH_STEP, np.float32(0))
    return found


def with_importance(histories: Histories, outside: NDArray[Any], depth: U32, mean: float) -> Histories:
    """Fill in the importance of histories that have none; `mean` is that of all URLs by links and depth.

    The other columns have one entry for each history.
    """
    lacking = np.flatnonzero(histories.importance == 0)
    if not len(lacking):
        return histories
    importance = histories.importance.copy()
    found = link_importance(outside[lacking], depth[lacking]) / mean
    importance[lacking] = importance_codes(np.maximum(found, _IMPORTANCE_MIN))
    return histories._replace(importance=importance)


def rated(histories: Histories, weights: U32) -> Histories:
    """Return the histories with an importance by these weights, one for each; none for a weight of 0."""
    codes = importance_codes(np.maximum(weights / _WEIGHT_ONE, _IMPORTANCE_MIN))
    return histories._replace(importance=np.where(weights == 0, np.uint8(0), codes))


def page_histories(histories: Histories, rates: NDArray[np.float64]) -> list[PageHistory]:
    """Return histories for people; `rates` are the mean rates of their hosts."""
    belief = joined(prior(rates), histories.shape, histories.days)
    phases = [Phase(each) for each in histories.phase.tolist()]
    times = (histories.visited, histories.changed, histories.not_before)
    counts = (histories.visits, histories.changes, histories.failures)
    columns = (*times, *counts, importance_of(histories.importance), belief.shape / belief.days)
    return [PageHistory(*row) for row in zip(phases, *(column.tolist() for column in columns), strict=True)]
