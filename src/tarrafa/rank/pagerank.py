"""PageRank by power iteration: the share of time that a random surfer spends on each node.

1. From a node without links the surfer goes to any node.
2. Ranks are not negative, and their mean is 1.
3. The start changes how many iterations are needed, and not the result, within the tolerance.
4. In memory there are 24 bytes for each node, and one block of the matrix.
"""

from typing import NamedTuple

import numpy as np

from tarrafa.rank.arrays import F64, chunks
from tarrafa.rank.link_matrix import LinkMatrix

DAMPING = 0.85
# The iteration ends when the ranks change by less than this share in total.
TOLERANCE = 1e-6
ITERATIONS_MAX = 100


class PageRankResult(NamedTuple):
    ranks: F64  # for each node; their mean is 1
    iterations: int


def pagerank(
    matrix: LinkMatrix,
    start: F64 | None = None,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations_max: int = ITERATIONS_MAX,
) -> PageRankResult:
    """Rank the nodes of a link matrix. `start` are former ranks, 0 for new nodes; its memory is used again."""
    leaving = matrix.leaving
    # No link reads the share of a node without links, so any number will do.
    leaving[leaving == 0] = 1
    # What a unit of weight passes on: the rank of a node, divided by the weight of all its links.
    shares = np.ones(matrix.count) if start is None else start
    shares[shares <= 0] = 1
    shares /= shares.sum()
    shares /= leaving
    iterations, change = 0, float("inf")
    while matrix.count and iterations < iterations_max and change >= tolerance:
        following = matrix.multiply(shares)
        change = _follow(following, shares, leaving, damping)
        iterations, shares = iterations + 1, following
    shares *= leaving
    shares *= matrix.count
    return PageRankResult(shares, iterations)


def _follow(passed: F64, shares: F64, leaving: F64, damping: float) -> float:
    """Turn what was passed on into the shares that follow, in place; return how much the ranks change in total."""
    jumping, change = (1 - damping * passed.sum()) / len(passed), 0.0
    for chunk in chunks(len(passed)):
        ranks = damping * passed[chunk] + jumping
        change += float(np.abs(ranks - shares[chunk] * leaving[chunk]).sum())
        passed[chunk] = ranks / leaving[chunk]
    return change
