"""How fresh a collection stays under each refresh policy, beside the best possible.

The policies, looks and histories are those of production, on a virtual clock. The pages are those of a synthetic web,
which tells every moment of change. Time is divided into looks; between two looks the chosen pages are visited. The last
third of the time counts, after at least fifteen visits a page on average.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import (
    DAY_SECONDS,
    FIRST_RATE,
    Change,
    Histories,
    VisitNews,
    fold,
    host_rates,
    importance_codes,
    joined,
    new_histories,
    prior,
    taken,
)
from tarrafa.lab.experiment.changing_pages import ChangingPages
from tarrafa.lab.experiment.optimal_rates import fresh_share, optimal_visits
from tarrafa.refresh import (
    BINS,
    ByImportance,
    LookTime,
    Optimal,
    PageStates,
    Proportional,
    RefreshPolicy,
    Uniform,
    counts_of_values,
    look,
    price_of,
    values_at,
)

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]

BANDWIDTHS = (0.03, 0.1, 0.3, 1.0)  # visits a page a day
_VISITS = 15  # a page
_BLOCKS = 4  # of the repository; one is looked at after the other
_LOOKED_SHARE = 0.01  # a round of looks is due when so much of the collection was visited
_ROUND_MIN_DAYS, _ROUND_MAX_DAYS = 1 / 96, 0.25
_VISITS_MAX = 24.0  # a day, of one page
_EPOCH = 1_700_000_000.0
_WRONG_DAYS = 7.0


class TrueRates(NamedTuple):
    """The classical proportional policy, which no crawler can have: by the true rates."""

    rates: F64

    def values(self, pages: PageStates) -> F64:
        return pages.elapsed_days * self.rates


class Freshness(NamedTuple):
    """How well a policy did, over the time that counts."""

    policy: str
    weighted: float  # share of time that copies are fresh, by importance
    plain: float  # the same, all pages alike
    age_days: float  # mean age of copies, by importance
    wrong_share: float  # of time, by importance: copies that are stale for more than a week
    changed_share: float  # of the visits, those that found a change
    visits: float  # a page a day
    rate_error: float  # median of |ln| of believed to true rate


class _Measured:
    """Sums over the time that counts. A copy is fresh from a visit to the next change of its page."""

    def __init__(self, pages: ChangingPages, begin: float) -> None:
        self._pages, self._begin = pages, begin
        self.fresh = np.zeros(len(pages))
        self.aged = np.zeros(len(pages))
        self.wrong = np.zeros(len(pages))
        self.visits = self.changes = 0

    def end_copies(self, which: Ints, visited: F64, until: float) -> F64:
        """Count the time of copies from their visit until a moment; return when each became stale."""
        stale = self._pages.next_change(which, visited)
        begin = self._begin
        if until > begin:
            self.fresh[which] += np.maximum(np.minimum(stale, until) - np.maximum(visited, begin), 0.0)
            first = np.clip(stale, begin, until)
            staleness = np.where(stale < until, stale, until)
            self.aged[which] += ((until - staleness) ** 2 - (first - staleness) ** 2) / 2
            self.wrong[which] += np.maximum(until - np.maximum(stale + _WRONG_DAYS, begin), 0.0)
        return stale


class _Collection:
    """A collection of pages that is kept fresh by a policy."""

    def __init__(self, pages: ChangingPages, begin: float) -> None:
        self._pages = pages
        self.histories = new_histories(np.arange(len(pages)), importance_codes(pages.importance))
        self.visited = np.zeros(len(pages))
        self.measured = _Measured(pages, begin)
        self.blocks = [np.flatnonzero(pages.hosts % _BLOCKS == number) for number in range(_BLOCKS)]
        self.counts = np.zeros((_BLOCKS, BINS), np.int64)
        self._mean_rate = FIRST_RATE
        self._fold(np.arange(len(pages)), np.zeros(len(pages)), np.zeros(len(pages), bool))

    def rates(self, which: Ints) -> F64:
        """Return the mean rate of the host of each page, as far as it is known."""
        part = taken(self.histories, which)
        hosts = self._pages.hosts[which]
        return host_rates(hosts, part.shape, part.days, self._mean_rate)[hosts]

    def learn_mean(self) -> None:
        everything = np.arange(len(self._pages))
        belief = joined(prior(np.full(len(everything), self._mean_rate)), self.histories.shape, self.histories.days)
        self._mean_rate = float(np.mean(belief.shape / belief.days))

    def visit(self, which: Ints, now: float) -> None:
        """Visit pages: end their copies, and fold what the visits found into their histories."""
        stale = self.measured.end_copies(which, self.visited[which], now)
        if now >= self.measured._begin:
            self.measured.visits += len(which)
            self.measured.changes += int((stale <= now).sum())
        self._fold(which, np.full(len(which), now), stale <= now)
        self.visited[which] = now

    def _fold(self, which: Ints, at_days: F64, changed: NDArray[np.bool_]) -> None:
        unknown = np.full(len(which), np.nan)
        status, change = np.full(len(which), 200, np.uint16), np.where(changed, Change.FULL, Change.NONE)
        news = VisitNews(_EPOCH + at_days * DAY_SECONDS, status, change.astype(np.uint8), unknown, unknown)
        fold(self.histories, which, news, self.rates(which))


PolicyOf = Callable[[Ints], RefreshPolicy]


def keep_fresh(name: str, policy_of: PolicyOf, pages: ChangingPages, bandwidth: float, rng_seed: int = 1) -> Freshness:
    """Keep the pages fresh by a policy, for the whole time; return how fresh they were in its last third."""
    chance = np.random.default_rng(rng_seed)
    round_days = min(max(_LOOKED_SHARE / bandwidth, _ROUND_MIN_DAYS), _ROUND_MAX_DAYS)
    collection = _Collection(pages, pages.days * 2 / 3)
    policies = [policy_of(block) for block in collection.blocks]
    step = round_days / _BLOCKS
    per_round, surplus = bandwidth * len(pages) * round_days, 0.0
    for number, block in enumerate(collection.blocks):
        collection.counts[number] = _counts(collection, block, policies[number], round_days)
    for turn in range(int(pages.days / step)):
        now = turn * step
        number = turn % _BLOCKS
        if number == 0:
            collection.learn_mean()
        block = collection.blocks[number]
        part, rates = taken(collection.histories, block), collection.rates(block)
        # Half of what was visited too much or too little is made up for in this round.
        price = price_of(collection.counts.sum(axis=0), max(0.0, per_round - surplus / 2))
        time = LookTime(_EPOCH + now * DAY_SECONDS, round_days * DAY_SECONDS)
        found = look(part, rates, policies[number], price, time, chance.random(len(block)))
        collection.counts[number] = found.counts
        collection.visit(block[found.chosen], now)
        surplus += len(found.chosen) - per_round / _BLOCKS
    collection.measured.end_copies(np.arange(len(pages)), collection.visited, pages.days)
    return _freshness(name, pages, collection)


def _counts(collection: _Collection, block: Ints, policy: RefreshPolicy, after_days: float) -> NDArray[np.int64]:
    """Count the values of a block as they will be at its first look."""
    now = _EPOCH + after_days * DAY_SECONDS
    return counts_of_values(values_at(taken(collection.histories, block), collection.rates(block), policy, now))


def _freshness(name: str, pages: ChangingPages, collection: _Collection) -> Freshness:
    measured, weights, days = collection.measured, pages.importance, pages.days / 3
    whole = float(weights.sum() * days)
    return Freshness(
        policy=name,
        weighted=float(weights @ measured.fresh) / whole,
        plain=float(measured.fresh.sum()) / (len(pages) * days),
        age_days=float(weights @ measured.aged) / whole,
        wrong_share=float(weights @ measured.wrong) / whole,
        changed_share=measured.changes / max(1, measured.visits),
        visits=measured.visits / (len(pages) * days),
        rate_error=_rate_error(pages, collection.histories, collection.rates(np.arange(len(pages)))),
    )


def _rate_error(pages: ChangingPages, histories: Histories, rates: F64) -> float:
    belief = joined(prior(rates), histories.shape, histories.days)
    changing = pages.rates > 0
    return float(np.median(np.abs(np.log((belief.shape / belief.days)[changing] / pages.rates[changing]))))


class BandwidthResult(NamedTuple):
    bandwidth: float
    optimum: float  # the best possible weighted freshness
    plain_optimum: float
    policies: list[Freshness]

    def of(self, name: str) -> Freshness:
        return next(each for each in self.policies if each.policy == name)


def optimum(pages: ChangingPages, weights: F64, bandwidth: float) -> float:
    visits = optimal_visits(pages.rates, weights, bandwidth, _VISITS_MAX)
    return float(weights @ fresh_share(pages.rates, visits) / weights.sum())


def longest_days(bandwidths: Sequence[float]) -> float:
    """Return how many days of changes the comparison at these bandwidths needs."""
    return _VISITS / min(bandwidths)


def compare(
    pages: ChangingPages, bandwidths: Sequence[float], tell: Callable[[str], None] = lambda _: None
) -> list[BandwidthResult]:
    """Run every policy at every bandwidth, over pages whose changes are known for the longest time."""
    return [_compare_at(pages.until(_VISITS / each), each, tell) for each in sorted(bandwidths)]


def _compare_at(pages: ChangingPages, bandwidth: float, tell: Callable[[str], None]) -> BandwidthResult:
    policies: dict[str, PolicyOf] = {
        "uniform": lambda _: Uniform(),
        "importance": lambda _: ByImportance(),
        "proportional": lambda _: Proportional(),
        "proportional_true": lambda block: TrueRates(pages.rates[block]),
        "optimal": lambda _: Optimal(),
    }
    found = []
    for name, policy_of in policies.items():
        found.append(keep_fresh(name, policy_of, pages, bandwidth))
        tell(f"bandwidth {bandwidth:g}, {name}: {found[-1].weighted:.3f}")
    best = optimum(pages, pages.importance, bandwidth)
    return BandwidthResult(bandwidth, best, optimum(pages, np.ones(len(pages)), bandwidth), found)


def fresh_over_time(pages: ChangingPages, period: float, burst: float, points: int = 240) -> tuple[F64, F64]:
    """Return the share of fresh copies over two periods, if each page is visited once a period within a burst.

    Visits are spread over the burst. The first period, in which the collection is made, is left out.
    """
    everything = np.arange(len(pages))
    offsets = burst * np.random.default_rng(1).permutation(len(pages)) / len(pages)
    days = np.linspace(0.0, 2 * period, points)
    shares = []
    for now in days + period + burst:
        visited = now - (now - offsets) % period
        shares.append(float((pages.next_change(everything, visited) > now).mean()))
    return days, np.array(shares)
