"""Chooses which collected pages are visited again: looks at the blocks of the repository, one after the other.

`refresh` values the pages and sets the price; the repository gives their histories and, of the chosen ones, their URLs.
Nothing is marked on disk: what was chosen and not visited is worth more at the next look. Used by one thread at a time.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tarrafa.clock import Instant
from tarrafa.configuration import HostTables
from tarrafa.histories import DAY_SECONDS, Phase, host_rates
from tarrafa.refresh import (
    BINS,
    NO_HINTS,
    Hints,
    Load,
    LookSettings,
    LookTime,
    Optimal,
    PageLimit,
    Price,
    RefreshPolicy,
    Rounds,
    RoundSettings,
    counts_of_values,
    hint_weights,
    look,
    price_of,
    values_at,
    worth_visiting,
)
from tarrafa.verify import BlockHistories, KnownPage, positions_of

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]

HOST_PAGES = 1_000  # of one host, that one look chooses at most
PASS_SECONDS = 60.0  # between two passes over all blocks, while pages of the last one are left
_ALL = Price()
_RNG_SEED = 1


class RefreshMode(StrEnum):
    """What a run does with pages that were collected before."""

    NOTHING = "nothing"
    FOREVER = "forever"  # keeps them fresh, and never ends by itself
    ROUND = "round"  # visits once what is worth most, and nothing new
    AGAIN = "again"  # visits all of them once more


class RefreshIntervals(NamedTuple):
    """Bounds of the time between two visits to a page; those of `[[host]]` tables come first."""

    shortest_seconds: float = 3_600.0
    longest_seconds: float = 90 * DAY_SECONDS
    tables: HostTables = HostTables()

    def of(self, block: BlockHistories) -> LookSettings:
        """Return the bounds of each page of a block."""
        if not self.tables:
            return LookSettings(self.shortest_seconds, self.longest_seconds)
        settings = [self.tables.of(name) for name in block.host_names]
        shortest = [_default(each.refresh_shortest_seconds, self.shortest_seconds) for each in settings]
        longest = [_default(each.refresh_longest_seconds, self.longest_seconds) for each in settings]
        return LookSettings(np.array(shortest, np.float64)[block.hosts], np.array(longest, np.float64)[block.hosts])


class RefreshSettings(NamedTuple):
    """How pages are chosen."""

    mode: RefreshMode = RefreshMode.NOTHING
    policy: RefreshPolicy = Optimal()
    intervals: RefreshIntervals = RefreshIntervals()
    rounds: RoundSettings = RoundSettings()
    budget: int | None = None  # visits of a `ROUND`; None for all pages that may be visited
    pages_limit: int | None = None  # of the collection, if it is kept `FOREVER`
    delay_seconds: float = 5.0  # between two visits to a host, as most have it


class HistorySource(Protocol):
    """The part of a `Repository` that choosing needs."""

    def blocks(self) -> list[int]: ...

    def histories(self, block: int) -> BlockHistories: ...

    def rows_of(self, block: int, urls: Sequence[str]) -> NDArray[np.int64]: ...

    def known_pages(self, block: int, rows: NDArray[np.uint32]) -> list[KnownPage]: ...

    def mean_rate(self) -> float: ...


class Refresher(Protocol):
    """Looks at one block after the other. Nothing is due before `due_at`, by the monotonic clock."""

    @property
    def due_at(self) -> float: ...

    @property
    def renews(self) -> bool:
        """True if a look at a block takes the place of the one before."""
        ...

    @property
    def is_over(self) -> bool:
        """True if there is nothing left to choose: all that may be visited was visited."""
        ...

    def next_block(self, blocks: Sequence[int], at: Instant) -> int | None:
        """Return the block to look at now; None if there is none."""
        ...

    def choose(self, block: int, load: Load, at: Instant, hints: Hints = NO_HINTS) -> list[KnownPage]:
        """Return the pages of a block that are to be visited, the best first. Hints are of pages of any block."""
        ...

    def leaving(self, block: int) -> list[KnownPage]:
        """Return the pages that make room, as of the last `choose`, which was for this block."""
        ...

    def taken(self, count: int) -> None:
        """Note that so many of the chosen pages were new to the caller."""
        ...

    def look_again(self, when: float) -> None:
        """Note that nothing is left of what was chosen, so that the next pass may begin, by the monotonic clock."""
        ...


def make_refresher(repository: HistorySource, settings: RefreshSettings, began_at: float, at: Instant) -> Refresher:
    """Return the refresher of a run. `began_at` is the wall-clock time at which its round began."""
    if settings.mode is RefreshMode.FOREVER:
        return SteadyRefresh(repository, settings, at)
    return RefreshRound(repository, settings, began_at, at)


class SteadyRefresh:
    """Looks at each block in turn, for ever, and chooses what is worth the price of the bandwidth."""

    renews, is_over = True, False

    def __init__(self, repository: HistorySource, settings: RefreshSettings, at: Instant) -> None:
        self._repository = repository
        self._settings = settings
        self._rounds = Rounds(settings.rounds, at.monotonic)
        self._chance = np.random.default_rng(_RNG_SEED)
        self._blocks_count = 1
        self._page_limit = PageLimit(settings.pages_limit)
        self._leaving: NDArray[np.uint32] = np.empty(0, np.uint32)  # rows of the block that was looked at last

    @property
    def due_at(self) -> float:
        return self._rounds.due_at

    def next_block(self, blocks: Sequence[int], at: Instant) -> int | None:
        self._blocks_count = len(blocks)
        self._page_limit.keep_blocks(set(blocks))
        block = self._rounds.next_block(blocks)
        if block is None:
            self._rounds.wait(at.monotonic)
        return block

    def choose(self, block: int, load: Load, at: Instant, hints: Hints = NO_HINTS) -> list[KnownPage]:
        found, policy = self._limited(block), self._settings.policy
        rates, intervals = rates_of(found, self._repository.mean_rate()), self._settings.intervals.of(found)
        weights = weights_of(self._repository, block, found, hints)

        def first_counts() -> NDArray[np.int64]:
            return counts_of_values(values_at(found.histories, rates, policy, at.wall, intervals, weights))

        if weights.any():
            # Hints come at once for many pages; at the old price all of these would be chosen.
            self._rounds.forget(block)
        price = self._rounds.price(block, first_counts, load, at.monotonic)
        time = LookTime(at.wall, self._rounds.round_seconds)
        chance = self._chance.random(len(rates))
        chosen = look(found.histories, rates, policy, price, time, chance, intervals, weights)
        turns = self._rounds.round_seconds / max(self._settings.delay_seconds, 1e-3)
        positions = best_of_hosts(found, chosen.chosen, int(min(max(turns, 1.0), HOST_PAGES)))
        self._rounds.note(block, chosen.counts, len(positions), self._blocks_count, at.monotonic)
        return self._repository.known_pages(block, found.histories.row[positions])

    def _limited(self, block: int) -> BlockHistories:
        """Return the histories of a block after pages have made room for others, and those that may come back."""
        found = self._repository.histories(block)
        histories = found.histories
        if self._settings.pages_limit is None and not (histories.phase == Phase.DROPPED).any():
            return found
        leaving = self._page_limit.leaving(block, histories, self._chance.random(len(histories.row)))
        self._leaving = histories.row[leaving]
        phase = np.where(self._page_limit.returning(histories), np.uint8(Phase.LIVE), histories.phase)
        phase[leaving] = Phase.DROPPED
        return found._replace(histories=histories._replace(phase=phase))

    def leaving(self, block: int) -> list[KnownPage]:
        rows, self._leaving = self._leaving, np.empty(0, np.uint32)
        return self._repository.known_pages(block, rows) if len(rows) else []

    def taken(self, count: int) -> None:
        """Do nothing: the next look counts what was visited."""

    def look_again(self, when: float) -> None:
        """Do nothing: a look has its time, and what was not worth the price then is not worth it now."""


class RefreshRound:
    """Looks at the blocks until each page was visited once, or the budget is spent.

    The round is over when a pass over all blocks, while nothing is left of the ones before, finds nothing more.
    """

    renews = False

    def __init__(self, repository: HistorySource, settings: RefreshSettings, began_at: float, at: Instant) -> None:
        self._repository = repository
        self._settings = settings
        self._began_at = began_at
        self._chance = np.random.default_rng(_RNG_SEED)
        # Set by the first look, if there is a budget.
        self._price = _ALL if settings.budget is None else None
        # Blocks that are still to be looked at in this pass. Filled and emptied by next_block.
        self._left: list[int] | None = None
        self._is_last = True  # nothing was left of passes before, and this one has found nothing
        self._is_exact = False  # the bin of the price is taken whole, as far as the budget goes
        self.is_over = False
        self.due_at = at.monotonic

    def next_block(self, blocks: Sequence[int], at: Instant) -> int | None:
        if self._left is None:
            self._left, self._is_last = list(blocks), True
        if not self._left:
            # Hosts may have more pages than one look takes.
            self._end_pass(at.monotonic)
            return None
        return self._left.pop(0)

    def _end_pass(self, now: float) -> None:
        """Let the next pass have a price of its own. A last one leaves nothing of the budget to chance."""
        has_budget = self._settings.budget is not None
        self.is_over = self._is_last and (self._is_exact or not has_budget)
        self._left, self.due_at = None, now if self._is_last else now + PASS_SECONDS
        self._is_exact = self._is_last
        if has_budget:
            self._price = None

    def choose(self, block: int, load: Load, at: Instant, hints: Hints = NO_HINTS) -> list[KnownPage]:
        budget = self._settings.budget
        left = None if budget is None else max(0, budget - load.visited_count - load.unfinished_count)
        self._is_last &= load.is_settled and not load.unfinished_count
        if self._price is None:
            price = price_of(self._counts(at.wall, hints), left or 0)
            self._price = price._replace(share=1.0) if self._is_exact else price
        found = self._repository.histories(block)
        values = self._values(block, found, at.wall, hints)
        chosen = np.flatnonzero(worth_visiting(values, self._price, self._chance.random(len(values))))
        positions = best_of_hosts(found, chosen[np.argsort(-values[chosen], kind="stable")], HOST_PAGES)
        return self._repository.known_pages(block, found.histories.row[positions[:left]])

    def leaving(self, block: int) -> list[KnownPage]:  # noqa: ARG002 - the contract's
        return []

    def taken(self, count: int) -> None:
        self._is_last &= not count

    def look_again(self, when: float) -> None:
        self._left, self.is_over, self.due_at = None, False, when

    def _counts(self, wall: float, hints: Hints) -> NDArray[np.int64]:
        """Count the values of all pages."""
        counts = np.zeros(BINS, np.int64)
        for block in self._repository.blocks():
            counts += counts_of_values(self._values(block, self._repository.histories(block), wall, hints))
        return counts

    def _values(self, block: int, found: BlockHistories, wall: float, hints: Hints) -> F64:
        """Return what a visit to each page of a block is worth in this round."""
        histories = found.histories
        is_open = (histories.visited < self._began_at) & (histories.phase != Phase.DROPPED)
        if self._settings.mode is RefreshMode.AGAIN:
            # What was refused without a visit is no page. A trap would let some of it through, as a trial.
            is_open &= histories.phase != Phase.REFUSED
            return np.where(is_open, np.maximum(wall - histories.visited, 1.0), 0.0)  # the oldest first
        rates = rates_of(found, self._repository.mean_rate())
        intervals = self._settings.intervals.of(found)
        weights = weights_of(self._repository, block, found, hints)
        return np.where(is_open, values_at(histories, rates, self._settings.policy, wall, intervals, weights), 0.0)


def rates_of(block: BlockHistories, mean_rate: float) -> F64:
    """Return the mean rate of change of the host of each page."""
    if not len(block.hosts):
        return np.empty(0)
    return host_rates(block.hosts, block.histories.shape, block.histories.days, mean_rate)[block.hosts]


def weights_of(repository: HistorySource, block: int, found: BlockHistories, hints: Hints) -> F64:
    """Return how much the hint of each page of a block counts; 0 for a page without one."""
    if not hints.urls or not len(found.hosts):
        return np.zeros(len(found.hosts))
    rows = repository.rows_of(block, hints.urls)
    positions = np.where(rows < 0, -1, positions_of(found.histories, np.maximum(rows, 0)))
    return hint_weights(found.histories, positions, hints)


def best_of_hosts(block: BlockHistories, chosen: Ints, limit: int) -> Ints:
    """Return the first pages of each host, at most `limit`, in the order given."""
    hosts = block.hosts[chosen]
    order = np.argsort(hosts, kind="stable")
    ordered = hosts[order]
    starts = np.flatnonzero(np.concatenate(([len(ordered) > 0], ordered[1:] != ordered[:-1])))
    place = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    kept: Ints = chosen[np.sort(order[place < limit])]
    return kept


def _default(value: float | None, general: float) -> float:
    return general if value is None else value
