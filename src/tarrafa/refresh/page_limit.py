"""A limit of pages of a collection: when it is full, the least important ones make room for more important ones.

Each block of the repository is looked at on its own and leaves 256 counts of the importance of its pages. The sum over
all blocks tells the importance below which pages leave. A page that has left comes back if it is twice as important as
those at the limit, or if there is room again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import Histories, Phase

Ints = NDArray[np.int64]
Counts = NDArray[np.int64]
_CODES = 256
_TWICE = 8  # codes of importance
_ROOM_SHARE = 0.05  # of the limit: with more room than that, pages come back
_LEAVING_MAX = 5_000  # pages of one block at a time


class Edge(NamedTuple):
    """Pages below this code of importance leave, and of the code itself a share."""

    code: int
    share: float


class PageLimit:
    """Counts pages by block. None for no limit."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        # Of the pages that stay, by block. Filled by leaving; blocks that were split are dropped by keep_blocks.
        self._counts: dict[int, Counts] = {}

    def keep_blocks(self, blocks: set[int]) -> None:
        """Forget blocks that were split."""
        self._counts = {block: counts for block, counts in self._counts.items() if block in blocks}

    def leaving(self, block: int, histories: Histories, chance: NDArray[np.float64]) -> Ints:
        """Return the positions of the pages of a block that make room; `chance` are random numbers from 0 to 1.

        They count no more from now on.
        """
        if self._limit is None:
            return np.empty(0, np.int64)
        staying = (histories.phase == Phase.LIVE) | (histories.phase == Phase.MISSING)
        self._counts[block] = np.bincount(histories.importance[staying], minlength=_CODES)
        edge = self._edge(self._limit)
        at_edge = (histories.importance == edge.code) & (chance < edge.share)
        leaving = np.flatnonzero(staying & ((histories.importance < edge.code) | at_edge))
        leaving = leaving[np.argsort(histories.importance[leaving], kind="stable")][:_LEAVING_MAX]
        self._counts[block] -= np.bincount(histories.importance[leaving], minlength=_CODES)
        return leaving

    def returning(self, histories: Histories) -> NDArray[np.bool_]:
        """Return which of the pages that have left may come back."""
        has_left: NDArray[np.bool_] = histories.phase == Phase.DROPPED
        counts = self._sum()
        if self._limit is None or counts.sum() <= (1.0 - _ROOM_SHARE) * self._limit:
            return has_left
        least = int(np.flatnonzero(counts)[0])
        has_left &= histories.importance.astype(np.int64) >= least + _TWICE
        return has_left

    def _edge(self, limit: int) -> Edge:
        counts = self._sum()
        excess = int(counts.sum()) - limit
        if excess <= 0:
            return Edge(0, 0.0)
        below = np.cumsum(counts)
        code = int(np.searchsorted(below, excess))
        before = int(below[code - 1]) if code else 0
        return Edge(code, (excess - before) / max(1, int(counts[code])))

    def _sum(self) -> Counts:
        found: Counts = np.sum(list(self._counts.values()), axis=0) if self._counts else np.zeros(_CODES, np.int64)
        return found
