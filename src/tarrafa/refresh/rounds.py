"""When the blocks of the repository are looked at, and how many visits a round of looks may choose.

A round looks at each block once. It lasts until about one in a hundred pages was visited, so that no choice is old, and
its looks are spread over it. The bandwidth is what the user allows, or what hosts and machine let through if that is
less: pages that were chosen and not visited by the next look are chosen anew, and fewer of them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tarrafa.histories import DAY_SECONDS
from tarrafa.refresh.price import BINS, Counts, Price, price_of

# A round is over when this share of the collection was visited, within these bounds.
_ROUND_SHARE = 0.01
ROUND_MIN_SECONDS, ROUND_MAX_SECONDS = 900.0, 6 * 3_600.0
_IDLE_SECONDS = 60.0  # until the next look when there is no block
# The capacity may have grown since it was reached: a little more is tried each round.
_GROWTH = 1.1
_HELD_SHARE = 0.1  # of what the last look chose: if more is left, the capacity is reached


class RoundSettings(NamedTuple):
    visits_per_page: float = 1.0  # a day, on average over all pages
    min_seconds: float = ROUND_MIN_SECONDS
    max_seconds: float = ROUND_MAX_SECONDS


class Load(NamedTuple):
    """What became of the visits that were chosen."""

    visited_count: int  # since the start
    held_count: int  # chosen by the last look at the block, and not visited yet
    unfinished_count: int = 0  # chosen by looks at all blocks, and not visited yet
    is_settled: bool = True  # the repository knows of all visits


class Rounds:
    """Plans the looks of a crawl that goes on for ever. Times are seconds of one clock."""

    def __init__(self, settings: RoundSettings, now: float) -> None:
        self._settings = settings
        # Counts of values by block. Filled by note; blocks that were split are dropped by next_block.
        self._counts: dict[int, Counts] = {}
        self._pages: dict[int, int] = {}
        self._chosen: dict[int, int] = {}  # by the last look at each block
        # Blocks that are still to be looked at in this round. Filled and emptied by next_block.
        self._left: list[int] = []
        self.due_at = now
        self.round_seconds = settings.min_seconds
        self._capacity: float | None = None  # visits a second, when it was last reached
        self._visited_count, self._visited_at = 0, now

    def next_block(self, blocks: Sequence[int]) -> int | None:
        """Return the block to look at: each once in a round. None if there is none."""
        known = set(blocks)
        for each in [each for each in self._counts if each not in known]:
            del self._counts[each], self._pages[each], self._chosen[each]
        self._left = [each for each in self._left if each in known] or list(blocks)
        return self._left.pop(0) if self._left else None

    def forget(self, block: int) -> None:
        """Forget the counts of a block, because they did not foresee the values that its pages have now."""
        self._counts.pop(block, None)

    def price(self, block: int, first_counts: Callable[[], Counts], load: Load, now: float) -> Price:
        """Return the price for a look at a block. `first_counts` counts its values now, if there are no counts of it.

        As many pages are worth the price, over all blocks, as can be visited in a round.
        """
        self._note_capacity(block, load, now)
        if block not in self._counts:
            self._counts[block] = first_counts()
        self._pages[block] = int(self._counts[block].sum())
        known = np.sum(list(self._counts.values()), axis=0) if self._counts else np.zeros(BINS, np.int64)
        return price_of(known, self.rate * self.round_seconds)

    @property
    def rate(self) -> float:
        """The visits a second that all pages seen so far may get."""
        wanted = self._settings.visits_per_page * sum(self._pages.values()) / DAY_SECONDS
        return wanted if self._capacity is None else min(wanted, self._capacity)

    def note(self, block: int, counts: Counts, chosen_count: int, blocks_count: int, now: float) -> None:
        """Take what a look found: the values at the next one, and how many pages it chose."""
        self._counts[block], self._chosen[block] = counts, chosen_count
        pages, rate = sum(self._pages.values()), self.rate
        seconds = _ROUND_SHARE * pages / rate if rate > 0 else self._settings.max_seconds
        self.round_seconds = min(max(seconds, self._settings.min_seconds), self._settings.max_seconds)
        self.due_at = now + self.round_seconds / max(1, blocks_count)

    def wait(self, now: float) -> None:
        """Look again later: there is no block."""
        self.due_at = now + _IDLE_SECONDS

    def _note_capacity(self, block: int, load: Load, now: float) -> None:
        seconds, visited = now - self._visited_at, load.visited_count - self._visited_count
        if seconds <= 0:
            return
        self._visited_count, self._visited_at = load.visited_count, now
        if load.held_count > _HELD_SHARE * self._chosen.get(block, 0):
            self._capacity = _GROWTH * visited / seconds
        elif self._capacity is not None:
            self._capacity *= _GROWTH
