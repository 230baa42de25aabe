"""PageRank by power iteration: the share of time that a random surfer spends on each node.

1. From a node without links the surfer goes to any node.
2. Ranks are not negative, and their mean is 1.
3. The start changes how many iterations are needed, and not the result, within the tolerance.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tarrafa.rank.arrays import F64

DAMPING = 0.85
# The iteration ends when the ranks change by less than this share in total.
TOLERANCE = 1e-6
ITERATIONS_MAX = 100


class PageRankResult(NamedTuple):
    ranks: F64  # for each node; their mean is 1
    iterations: int


def link_matrix(sources: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any], count: int) -> sparse.csr_array:
    """Return a matrix with a row for each target. Links of one source to one target add up to a weight of at most 1."""
    places = (targets.astype(np.int32, copy=False), sources.astype(np.int32, copy=False))
    matrix = sparse.coo_array((weights, places), shape=(count, count)).tocsr()
    np.minimum(matrix.data, 1, out=matrix.data)
    return matrix


def pagerank(
    matrix: sparse.csr_array,
    start: F64 | None = None,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations_max: int = ITERATIONS_MAX,
) -> PageRankResult:
    """Rank the nodes of a link matrix; `start` are former ranks."""
    count = matrix.shape[0]
    if not count:
        return PageRankResult(np.empty(0), 0)
    # Converted once: a matrix of another type than the ranks would be converted in each iteration.
    matrix = matrix.astype(np.float64, copy=False)
    leaving = np.bincount(matrix.indices, matrix.data, count)
    is_dangling = leaving == 0
    shares = 1 / np.where(is_dangling, 1, leaving)
    ranks = _normalised(start, count)
    iterations, change = 0, float("inf")
    while iterations < iterations_max and change >= tolerance:
        following = damping * (matrix @ (ranks * shares))
        following += (1 - following.sum()) / count
        iterations, change = iterations + 1, np.abs(following - ranks).sum()
        ranks = following
    return PageRankResult(ranks * count, iterations)


def _normalised(start: F64 | None, count: int) -> F64:
    """Return the start as shares. New nodes start with the mean rank, which is 1."""
    if start is None:
        return np.full(count, 1 / count)
    filled: F64 = np.where(start > 0, start, 1.0)
    filled /= filled.sum()
    return filled
