"""How much a visit to each collected page is worth now. One small class for each policy; the greatest comes first.

`optimal` and `age` know the whole belief about a page's rate, not only its mean, so a page of which little is known is
looked at in time without an exploration parameter.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import DAY_SECONDS, Belief, Histories, importance_of, interval_days, joined, prior

F64 = NDArray[np.float64]
# F4's formula bounds the changes that count, and the days, between these numbers.
_CHANGES_MIN, _CHANGES_MAX = 1, 10


class PageStates(NamedTuple):
    """What policies know of pages, one entry for each."""

    elapsed_days: F64  # since the last visit, and more if a hint says that the page has changed
    importance: NDArray[Any]  # mean 1
    belief: Belief
    changes: NDArray[Any]  # visits that found a change
    interval_days: NDArray[Any]  # between the last two visits, from 1 to 10


def page_states(histories: Histories, rates: F64, now: float, hints: F64 | float = 0.0) -> PageStates:
    """Return what policies know of pages, at a wall-clock time.

    `rates` are the mean rates of their hosts, and `hints` the weights of hints that the pages have changed. A hint of
    precision p stands for the time in which a page of the believed rate changes with probability p.
    """
    belief = joined(prior(rates), histories.shape, histories.days)
    elapsed = np.maximum(now - histories.visited.astype(np.float64), 0.0) / DAY_SECONDS
    return PageStates(
        elapsed + hints * belief.days / belief.shape,
        importance_of(histories.importance),
        belief,
        histories.changes,
        interval_days(histories.interval),
    )


class RefreshPolicy(Protocol):
    def values(self, pages: PageStates) -> F64:
        """Return the value of a visit to each page, not negative. A page of value 0 is not visited."""
        ...


class Never:
    """No page is visited again."""

    def values(self, pages: PageStates) -> F64:
        return np.zeros(len(pages.elapsed_days))


class Uniform:
    """All pages equally often: the page that waits longest comes first."""

    def values(self, pages: PageStates) -> F64:
        return pages.elapsed_days


class ByImportance:
    """Important pages more often, whatever they do."""

    def values(self, pages: PageStates) -> F64:
        return pages.importance * pages.elapsed_days


class Proportional:
    """More often what changes more often: changes, from 1 to 10, by the days between the last two visits, 1 to 10."""

    def values(self, pages: PageStates) -> F64:
        found: F64 = pages.elapsed_days * proportional_rate(pages.changes, pages.interval_days)
        return found


def proportional_rate(changes: NDArray[Any], days: NDArray[Any]) -> NDArray[Any]:
    """Return visits a day by the formula of the incremental crawler of 2005: from 0.1 to 10."""
    rates: NDArray[Any] = np.clip(changes, _CHANGES_MIN, _CHANGES_MAX) / np.clip(days, _CHANGES_MIN, _CHANGES_MAX)
    return rates


class Optimal(NamedTuple):
    """What adds most freshness, weighted by importance.

    The value of a visit after τ days is τ·C(τ) − ∫C, where C(t) is the probability that a copy of age t is stale. Pages
    that change faster than the tolerance count as if they changed once in that time, so none is abandoned because no
    visit could keep it fresh.
    """

    tolerance_days: float = 1.0

    def values(self, pages: PageStates) -> F64:
        shape, days = pages.belief
        days = days + shape * self.tolerance_days
        return pages.importance * stale_value(shape, days, pages.elapsed_days)


def stale_value(shape: F64, days: F64, elapsed: F64) -> F64:
    """Return τ·C(τ) − ∫C for the probability that a copy is stale, under a Gamma belief."""
    logs = np.log1p(elapsed / days)
    return np.maximum(_fresh_days(shape, days, logs) - elapsed * np.exp(-shape * logs), 0.0)


def fresh_days(shape: F64, days: F64, elapsed: F64) -> F64:
    """Return for how many days a copy that is so old is expected to have been fresh, under a Gamma belief."""
    return _fresh_days(shape, days, np.log1p(elapsed / days))


def _fresh_days(shape: F64, days: F64, logs: F64) -> F64:
    power = shape - 1.0
    is_one = np.abs(power) < 1e-6
    safe = np.where(is_one, 1.0, power)
    return np.where(is_one, days * logs, -days * np.expm1(-safe * logs) / safe)


class LowestAge(NamedTuple):
    """What lowers the mean age of copies most. Its value has no bound, so no page is abandoned."""

    def values(self, pages: PageStates) -> F64:
        shape, days = pages.belief
        return pages.importance * age_value(shape / days, pages.elapsed_days)


def age_value(rate: F64, elapsed: F64) -> F64:
    """Return τ·C(τ) − ∫C for the expected age of a copy, for pages that change at a known rate."""
    changes = rate * elapsed
    # The closed form loses all digits where little has changed; there the first term of its series is exact enough.
    exact = (changes**2 / 2 + changes * np.exp(-changes) + np.expm1(-changes)) / np.maximum(rate, 1e-12) ** 2
    return np.where(changes < 1e-2, rate * elapsed**3 / 3, exact)


POLICIES: dict[str, RefreshPolicy] = {
    "never": Never(),
    "uniform": Uniform(),
    "importance": ByImportance(),
    "proportional": Proportional(),
    "optimal": Optimal(),
    "age": LowestAge(),
}
