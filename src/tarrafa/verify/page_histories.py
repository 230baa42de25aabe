"""Histories of the collected URLs of a block: what a cycle folds into them, and what a block tells of them.

Rows are those of the block. A URL without an importance of its own has one from its links and its depth: the binary
logarithm of 2 plus the links from other hosts, less a quarter of the depth. So 1 is that of a start page to which no
other host links, which is near the mean.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import (
    FIRST_RATE,
    Histories,
    PageHistory,
    Phase,
    VisitNews,
    fold,
    host_means,
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
_IMPORTANCE_MIN = 0.05
_WEIGHT_ONE = 1_000  # a weight that stands for the mean importance
_OUTSIDE = np.log2(2 + np.arange(LINKS_MAX + 1)).astype(np.float32)
_DEPTH_STEP, _DEPTH_LIMIT = np.float32(0.25), 100


class Folded(NamedTuple):
    """Histories after visits, and the sum of their believed changes a day."""

    histories: Histories
    rate_sum: float


def mean_rate_of(rate_sum: float, collected: int) -> float:
    return rate_sum / collected if collected else FIRST_RATE


def positions_of(histories: Histories, rows: NDArray[Any]) -> NDArray[np.int32]:
    """Return where the histories of these rows stand; -1 for a row that has none."""
    count = 1 + max(int(histories.row.max(initial=0)), int(rows.max(initial=0)))
    places = np.full(count, -1, np.int32)
    places[histories.row] = np.arange(len(histories.row), dtype=np.int32)
    found: NDArray[np.int32] = places[rows]
    return found


def with_visits(
    histories: Histories, visited: NDArray[Any], news: VisitNews, hosts: NDArray[Any], mean_rate: float
) -> Folded:
    """Return the histories after visits to the rows `visited`, those of one row in the order of their batches.

    `hosts` gives the host of each row of the block.
    """
    is_new = np.zeros(len(hosts), bool)
    is_new[visited] = True
    is_new[histories.row] = False
    after = _with_rows(histories, np.flatnonzero(is_new))
    positions, own = positions_of(after, visited), hosts[after.row].astype(np.intp)
    rates = _believed_rates(after.shape, after.days, mean_rate)
    fold(after, positions, news, host_means(own, rates, mean_rate)[own[positions]])
    rates[positions] = _believed_rates(after.shape.take(positions), after.days.take(positions), mean_rate)
    return Folded(after, _sum(rates))


def _with_rows(histories: Histories, rows: NDArray[Any]) -> Histories:
    """Return a copy of the histories, followed by those of new rows."""
    added = new_histories(rows, np.zeros(len(rows), np.uint8))
    columns: list[Any] = [np.concatenate((getattr(histories, name), getattr(added, name))) for name in added._fields]
    return Histories(*columns)


def rate_sum(histories: Histories, mean_rate: float) -> float:
    """Return the sum of the believed changes a day, if pages change at this mean rate."""
    return _sum(_believed_rates(histories.shape, histories.days, mean_rate))


def _believed_rates(shape: F32, days: F32, mean_rate: float) -> F32:
    belief = joined(prior(np.array([mean_rate], np.float32)), shape, days)
    return (belief.shape / belief.days).astype(np.float32, copy=False)


def _sum(rates: F32) -> float:
    return float(np.sum(rates, dtype=np.float64))


def phase_counts(histories: Histories) -> tuple[int, ...]:
    """Return the number of URLs in each phase."""
    return tuple(np.bincount(histories.phase, minlength=len(Phase)).tolist())


def link_importance(outside: NDArray[Any], depth: U32) -> F32:
    """Return the importance of URLs by links from other hosts and by depth."""
    found = _OUTSIDE[outside] - np.minimum(depth, _DEPTH_LIMIT) * _DEPTH_STEP
    importance: F32 = np.maximum(found, np.float32(_IMPORTANCE_MIN))
    return importance


def with_importance(histories: Histories, outside: NDArray[Any], depth: U32) -> Histories:
    """Fill in the importance of histories that have none. The other columns have one entry for each history."""
    lacking = np.flatnonzero(histories.importance == 0)
    if not len(lacking):
        return histories
    importance = histories.importance.copy()
    importance[lacking] = importance_codes(link_importance(outside[lacking], depth[lacking]))
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
