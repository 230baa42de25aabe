"""How fresh a collection is believed to be: sums over its pages, from their histories and the time.

A copy that is t days old is fresh with a probability that follows from the belief about its page. The true freshness is
known only to a synthetic web; over many pages the estimate comes near it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import Belief, Histories, Phase
from tarrafa.refresh.policies import fresh_days, page_states

F64 = NDArray[np.float64]

WRONG_DAYS = 7.0
# In these phases there is a copy that is shown. Whether it is fresh is unknown while its host fails; it ages meanwhile.
_WITH_COPY = (Phase.LIVE, Phase.MISSING, Phase.FAILING)


class FreshnessSums(NamedTuple):
    """Sums over pages that have a copy; those of parts of a collection can be added."""

    pages: float = 0.0
    visits: float = 0.0
    changes: float = 0.0  # visits that found a change
    importance: float = 0.0
    # By importance:
    fresh: float = 0.0  # copies that are fresh
    age_days: float = 0.0  # for how long copies have been stale
    wrong: float = 0.0  # copies that have been stale for more than a week

    def plus(self, other: "FreshnessSums") -> "FreshnessSums":
        return FreshnessSums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def mean(self, what: float) -> float:
        """Return the mean of a sum by importance."""
        return what / self.importance if self.importance else 0.0

    @property
    def changed_share(self) -> float:
        """The share of visits to a page after the first that found a change."""
        return self.changes / max(1.0, self.visits - self.pages)

    def as_json(self) -> dict[str, float]:
        return {
            "pages": int(self.pages),
            "visits": int(self.visits),
            "changes": int(self.changes),
            "freshness": self.mean(self.fresh),
            "age_days": self.mean(self.age_days),
            "wrong_share": self.mean(self.wrong),
        }


def fresh_shares(belief: Belief, elapsed_days: F64) -> F64:
    """Return the probability that each copy is still fresh."""
    shares: F64 = np.exp(-belief.shape * np.log1p(elapsed_days / belief.days))
    return shares


def expected_ages(belief: Belief, elapsed_days: F64) -> F64:
    """Return for how many days each copy is expected to have been stale."""
    return np.maximum(elapsed_days - fresh_days(belief.shape, belief.days, elapsed_days), 0.0)


def freshness_by_host(
    histories: Histories, rates: F64, hosts: NDArray[np.int64], count: int, now: float
) -> list[FreshnessSums]:
    """Return the sums of each of `count` hosts. `rates` are the mean rates of the hosts of the pages."""
    pages = page_states(histories, rates, now)
    importance = np.where(np.isin(histories.phase, _WITH_COPY), pages.importance, 0.0)
    elapsed = pages.elapsed_days
    week_ago = np.maximum(elapsed - WRONG_DAYS, 0.0)
    has_copy = (importance > 0).astype(np.float64)
    columns = (
        has_copy,
        has_copy * histories.visits,
        has_copy * histories.changes,
        importance,
        importance * fresh_shares(pages.belief, elapsed),
        importance * expected_ages(pages.belief, elapsed),
        importance * (1.0 - fresh_shares(pages.belief, week_ago)),
    )
    sums = [np.bincount(hosts, column, minlength=count) for column in columns]
    return [FreshnessSums(*row) for row in zip(*(column.tolist() for column in sums), strict=True)]
