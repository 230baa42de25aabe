"""Looks at the collection while a crawl runs: what they choose enters the frontier.

A look reads a block of the repository, so it runs in the thread that owns it; the rest runs in the thread that decides.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tarrafa.agent.frontier import Frontier
from tarrafa.agent.refresher import Refresher
from tarrafa.clock import Instant
from tarrafa.refresh import NO_HINTS, Hints, Load, RefreshHints
from tarrafa.verify import KnownPage


class QueueLoad(NamedTuple):
    """What became of the pages that looks have chosen, when a look begins."""

    visited_count: int
    unfinished_count: int
    held: Counter[int]  # pages that wait, by block
    is_settled: bool
    hints: Hints = NO_HINTS  # which pages may have changed

    def of(self, block: int) -> Load:
        return Load(self.visited_count, self.held[block], self.unfinished_count, self.is_settled)


class ChosenPages(NamedTuple):
    """The pages that a look has chosen to be visited, the best first."""

    block: int
    pages: Sequence[KnownPage]
    leaving: Sequence[KnownPage] = ()  # pages that make room for more important ones


class RatedBlocks(Protocol):
    """Where the blocks of the repository are."""

    def blocks(self) -> list[int]: ...

    def rate(self, block: int) -> None:
        """Give the collected pages of a block the newest importance, if they have an older one."""
        ...


class RefreshLooks:
    def __init__(
        self,
        refresher: Refresher,
        frontier: Frontier,
        refreshes_before: int = 0,
        hints: RefreshHints | None = None,  # None if no lists are read
    ) -> None:
        """`refreshes_before` are those that had been made when the round began."""
        self._hints = hints
        self._refresher = refresher
        self._frontier = frontier
        self._refreshes_before = refreshes_before

    @property
    def due_at(self) -> float:
        """The monotonic time of the next look."""
        return self._refresher.due_at

    @property
    def is_over(self) -> bool:
        """True if nothing more will be chosen."""
        return self._refresher.is_over

    def load(self, refreshes: int, *, is_settled: bool) -> QueueLoad:
        """Return what became of the pages that were chosen. `refreshes` are those that the crawl ever made."""
        queue = self._frontier.refresh
        visited = refreshes - self._refreshes_before
        hints = NO_HINTS if self._hints is None else self._hints.believed()
        return QueueLoad(visited, queue.unfinished_count, queue.held_counts(), is_settled, hints)

    def look(self, store: RatedBlocks, load: QueueLoad, at: Instant) -> ChosenPages | None:
        """Look at the next block; return None if there is none."""
        block = self._refresher.next_block(store.blocks(), at)
        if block is None:
            return None
        store.rate(block)
        pages = self._refresher.choose(block, load.of(block), at, load.hints)
        return ChosenPages(block, pages, self._refresher.leaving(block))

    def take(self, chosen: ChosenPages | None, at: Instant) -> bool:
        """Hand what a look has chosen to the frontier; return True if any of it is new there."""
        if chosen is None:
            return False
        if self._refresher.renews:
            self._frontier.refresh.drop_block(chosen.block)
        self._frontier.drop_pages(chosen.leaving)
        count = self._frontier.refresh_pages(chosen.pages, chosen.block, at)
        self._refresher.taken(count)
        return count > 0

    def look_again(self, when: float) -> None:
        """Note that nothing is left of what was chosen, so that the next pass may begin, by the monotonic clock."""
        self._refresher.look_again(when)
