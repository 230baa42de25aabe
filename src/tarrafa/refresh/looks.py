"""A look at the pages of a block: which of them are visited again before the next look."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import DAY_SECONDS, Histories, Phase
from tarrafa.refresh.policies import RefreshPolicy, page_states
from tarrafa.refresh.price import Counts, Price, counts_of_values, worth_visiting

F64 = NDArray[np.float64]


class LookSettings(NamedTuple):
    """What bounds a look, whatever the policy. Each interval is one number for all pages, or one for each."""

    shortest_seconds: F64 | float = 0.0  # no page is visited sooner after its last visit
    longest_seconds: F64 | float = 90 * DAY_SECONDS  # a page that waits longer comes first
    longest_share: float = 0.2  # of the visits, for pages that wait longer than that


DEFAULT_SETTINGS = LookSettings()


class Look(NamedTuple):
    """What a look found."""

    chosen: NDArray[np.int64]  # positions among the histories, the best first
    counts: Counts  # of the values at the next look, for its price


class LookTime(NamedTuple):
    """When a look happens, in seconds since 1970, and how long it is until the next look at the same pages."""

    now: float
    round_seconds: float


def look(
    histories: Histories,
    rates: F64,
    policy: RefreshPolicy,
    price: Price,
    time: LookTime,
    chance: F64,
    settings: LookSettings = DEFAULT_SETTINGS,
    hints: F64 | None = None,
) -> Look:
    """Choose the pages that are worth the price now.

    `rates` are the mean rates of the hosts of the pages, `chance` random numbers from 0 to 1, and `hints` the weights
    of hints that they have changed: one for each page.
    """
    hints = np.zeros(len(rates)) if hints is None else hints
    values = values_at(histories, rates, policy, time.now, settings, hints)
    is_chosen = worth_visiting(values, price, chance)
    chosen = np.flatnonzero(is_chosen)
    order = np.argsort(-values[chosen], kind="stable")
    late = _late(histories, time.now, ~is_chosen & (values > 0), int(settings.longest_share * len(chosen)), settings)
    chosen = np.concatenate((late, chosen[order][: len(chosen) - len(late)]))
    return Look(chosen, _next_counts(histories, rates, policy, chosen, time, settings, hints))


def values_at(
    histories: Histories,
    rates: F64,
    policy: RefreshPolicy,
    now: float,
    settings: LookSettings = DEFAULT_SETTINGS,
    hints: F64 | float = 0.0,
) -> F64:
    """Return what a visit to each page is worth at a moment; 0 for a page that must not be visited yet."""
    values = policy.values(page_states(histories, rates, now, hints))
    is_open = (histories.not_before <= now) & (histories.visited + settings.shortest_seconds <= now)
    return np.where(is_open & (histories.phase != Phase.DROPPED), values, 0.0)


def _next_counts(
    histories: Histories,
    rates: F64,
    policy: RefreshPolicy,
    chosen: NDArray[np.int64],
    time: LookTime,
    settings: LookSettings,
    hints: F64,
) -> Counts:
    """Count the values of the pages as they will be at the next look, when the chosen ones have been visited.

    Counts of the values now would be a round old by then. Where all pages age alike, as under a uniform policy, all of
    them would be above the old price.
    """
    visited = histories.visited.copy()
    visited[chosen] = time.now
    left = hints.copy()
    left[chosen] = 0.0
    later = histories._replace(visited=visited)
    return counts_of_values(values_at(later, rates, policy, time.now + time.round_seconds, settings, left))


def _late(
    histories: Histories, now: float, is_open: NDArray[np.bool_], limit: int, settings: LookSettings
) -> NDArray[Any]:
    """Return the pages that wait longer than they may and were not chosen by their value, the longest first."""
    waits = now - histories.visited.astype(np.float64)
    late = np.flatnonzero(is_open & (waits > settings.longest_seconds))
    return late[np.argsort(-waits[late], kind="stable")][:limit]
