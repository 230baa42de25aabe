"""How fresh a collection stays under each refresh policy, beside the best possible.

`SteadyRefresh` of production chooses the pages, with its policies, looks and rounds, and `histories` takes what the
visits found, on a virtual clock. The pages are those of a synthetic web, which tells every moment of change. A page is
visited when it is chosen: hosts answer at once. The last third of the time counts, after at least fifteen visits a page
on average and 45 days, because rates are learned from days as much as from visits.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.agent.refresher import RefreshMode, RefreshSettings, SteadyRefresh
from tarrafa.clock import Instant
from tarrafa.histories import (
    DAY_SECONDS,
    FIRST_RATE,
    Change,
    Phase,
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
    ByImportance,
    Load,
    Optimal,
    PageStates,
    Proportional,
    RefreshPolicy,
    RoundSettings,
    Uniform,
)
from tarrafa.verify import BlockHistories, KnownPage

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BANDWIDTHS = (0.03, 0.1, 0.3, 1.0)  # visits a page a day
_DAYS_OF_FIGURE_2 = 120.0  # two months to begin, and two that are shown
_BLOCKS = 2  # of the repository; one is looked at after the other
_VISITS_MAX = 24.0  # a day, of one page
_EPOCH = 1_700_000_000.0
_WRONG_DAYS = 7.0


class Extent(NamedTuple):
    """How long pages are kept fresh, at least."""

    visits: float = 15.0  # of a page, on average
    days: float = 45.0

    def days_at(self, bandwidth: float) -> float:
        return max(self.visits / bandwidth, self.days)

    def longest_days(self, bandwidths: Sequence[float]) -> float:
        """Return how many days of changes the comparison at these bandwidths and figure 2 need."""
        return max(_DAYS_OF_FIGURE_2, *map(self.days_at, bandwidths))


WHOLE, QUICK = Extent(), Extent(visits=5.0, days=15.0)


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

    def note_visits(self, changed: Bools, now: float) -> None:
        if now >= self._begin:
            self.visits += len(changed)
            self.changes += int(changed.sum())

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
    """A collection of pages that is kept fresh. Stands in for the repository: it knows histories and no URLs."""

    def __init__(self, pages: ChangingPages, begin: float) -> None:
        self._pages = pages
        self.histories_of_all = new_histories(np.arange(len(pages)), importance_codes(pages.importance))
        self.visited = np.zeros(len(pages))
        self.measured = _Measured(pages, begin)
        self._blocks = [np.flatnonzero(pages.hosts % _BLOCKS == number) for number in range(_BLOCKS)]
        # The pages of the block that was asked for last: those that a policy is about to value.
        self.looked_at = self._blocks[0]
        self._names = [str(number) for number in range(int(pages.hosts.max()) + 1)]
        self._mean_rate = FIRST_RATE
        self._fold(np.arange(len(pages)), 0.0, np.zeros(len(pages), bool))

    def blocks(self) -> list[int]:
        return list(range(_BLOCKS))

    def histories(self, block: int) -> BlockHistories:
        self.looked_at = self._blocks[block]
        return BlockHistories(
            taken(self.histories_of_all, self.looked_at), self._pages.hosts[self.looked_at], self._names
        )

    def rows_of(self, block: int, urls: Sequence[str]) -> NDArray[np.int64]:  # noqa: ARG002 - the contract's
        return np.full(len(urls), -1, np.int64)

    def known_pages(self, block: int, rows: NDArray[np.uint32]) -> list[KnownPage]:  # noqa: ARG002 - the contract's
        visited = self.histories_of_all.visited[rows].tolist()
        return [
            KnownPage(str(row), 0, at, 200, Phase.LIVE, 0, 0, 0, 0)
            for row, at in zip(rows.tolist(), visited, strict=True)
        ]

    def mean_rate(self) -> float:
        return self._mean_rate

    def believed_rates(self) -> F64:
        """Return the rate that each page is believed to have."""
        belief = joined(prior(self._host_rates()), self.histories_of_all.shape, self.histories_of_all.days)
        return belief.shape / belief.days

    def learn_mean(self) -> None:
        """Renew the mean rate, as the repository does by its cycles."""
        first = prior(np.full(len(self._pages), self._mean_rate))
        belief = joined(first, self.histories_of_all.shape, self.histories_of_all.days)
        self._mean_rate = float(np.mean(belief.shape / belief.days))

    def visit(self, which: Ints, now: float) -> None:
        """Visit pages: end their copies, and fold what the visits found into their histories."""
        stale = self.measured.end_copies(which, self.visited[which], now)
        self.measured.note_visits(stale <= now, now)
        self._fold(which, now, stale <= now)
        self.visited[which] = now

    def is_fresh(self, now: float) -> Bools:
        return self._pages.next_change(np.arange(len(self._pages)), self.visited) > now

    def _fold(self, which: Ints, now: float, changed: Bools) -> None:
        unknown, status = np.full(len(which), np.nan), np.full(len(which), 200, np.uint16)
        change = np.where(changed, Change.FULL, Change.NONE).astype(np.uint8)
        news = VisitNews(np.full(len(which), _wall(now)), status, change, unknown, unknown)
        fold(self.histories_of_all, which, news, self._host_rates()[which])

    def _host_rates(self) -> F64:
        hosts, known = self._pages.hosts, self.histories_of_all
        return host_rates(hosts, known.shape, known.days, self._mean_rate)[hosts]


class TrueRates(NamedTuple):
    """The classical proportional policy, which no crawler can have: by the true rates."""

    rates: Callable[[], F64]  # of the pages that are valued

    def values(self, pages: PageStates) -> F64:
        return pages.elapsed_days * self.rates()


POLICIES: dict[str, Callable[[ChangingPages, _Collection], RefreshPolicy]] = {
    "uniform": lambda *_: Uniform(),
    "importance": lambda *_: ByImportance(),
    "proportional": lambda *_: Proportional(),
    "proportional_true": lambda pages, collection: TrueRates(lambda: pages.rates[collection.looked_at]),
    "optimal": lambda *_: Optimal(),
}


def keep_fresh(name: str, pages: ChangingPages, bandwidth: float) -> Freshness:
    """Keep the pages fresh by a policy, for the whole time; return how fresh they were in its last third."""
    collection = _Collection(pages, pages.days * 2 / 3)
    for _ in _looks(name, pages, collection, bandwidth):
        pass
    collection.measured.end_copies(np.arange(len(pages)), collection.visited, pages.days)
    return _freshness(name, pages, collection)


def _looks(name: str, pages: ChangingPages, collection: _Collection, bandwidth: float) -> Iterator[float]:
    """Look at one block after the other and visit what is chosen; yield the time in days after each look."""
    settings = RefreshSettings(
        RefreshMode.FOREVER, POLICIES[name](pages, collection), rounds=RoundSettings(visits_per_page=bandwidth)
    )
    refresher = SteadyRefresh(collection, settings, _at(0.0))
    visited_count = 0
    while (now := refresher.due_at / DAY_SECONDS) < pages.days:
        block = refresher.next_block(collection.blocks(), _at(now))
        assert block is not None
        if block == 0:
            collection.learn_mean()
        chosen = refresher.choose(block, Load(visited_count, 0), _at(now))
        collection.visit(np.array([int(each.url) for each in chosen], np.int64), now)
        visited_count += len(chosen)
        yield now


def _at(days: float) -> Instant:
    return Instant(monotonic=days * DAY_SECONDS, wall=_wall(days))


def _wall(days: float) -> float:
    return _EPOCH + days * DAY_SECONDS


def _freshness(name: str, pages: ChangingPages, collection: _Collection) -> Freshness:
    measured, weights, days = collection.measured, pages.importance, pages.days / 3
    whole = float(weights.sum() * days)
    changing = pages.rates > 0
    errors = np.abs(np.log(collection.believed_rates()[changing] / pages.rates[changing]))
    return Freshness(
        policy=name,
        weighted=float(weights @ measured.fresh) / whole,
        plain=float(measured.fresh.sum()) / (len(pages) * days),
        age_days=float(weights @ measured.aged) / whole,
        wrong_share=float(weights @ measured.wrong) / whole,
        changed_share=measured.changes / max(1, measured.visits),
        visits=measured.visits / (len(pages) * days),
        rate_error=float(np.median(errors)),
    )


class BandwidthResult(NamedTuple):
    bandwidth: float
    optimum: float  # the best possible weighted freshness
    plain_optimum: float
    policies: list[Freshness]

    def of(self, name: str) -> Freshness:
        return next(each for each in self.policies if each.policy == name)

    @property
    def reached(self) -> float:
        """The share of the best possible that the policy `optimal` reaches."""
        return self.of("optimal").weighted / self.optimum

    @property
    def points_above_importance(self) -> float:
        return 100 * (self.of("optimal").weighted - self.of("importance").weighted)


def optimum(pages: ChangingPages, weights: F64, bandwidth: float) -> float:
    visits = optimal_visits(pages.rates, weights, bandwidth, _VISITS_MAX)
    return float(weights @ fresh_share(pages.rates, visits) / weights.sum())


def compare(
    pages: ChangingPages,
    bandwidths: Sequence[float],
    extent: Extent = WHOLE,
    tell: Callable[[str], None] = lambda _: None,
) -> list[BandwidthResult]:
    """Run every policy at every bandwidth, over pages whose changes are known for the longest time."""
    return [_compare_at(pages.until(extent.days_at(each)), each, tell) for each in sorted(bandwidths)]


def _compare_at(pages: ChangingPages, bandwidth: float, tell: Callable[[str], None]) -> BandwidthResult:
    found = []
    for name in POLICIES:
        found.append(keep_fresh(name, pages, bandwidth))
        tell(f"bandwidth {bandwidth:g}, {name}: {found[-1].weighted:.3f}")
    best = optimum(pages, pages.importance, bandwidth)
    return BandwidthResult(bandwidth, best, optimum(pages, np.ones(len(pages)), bandwidth), found)


# Figure 2 of the incremental crawler of 2005: freshness over time, all pages alike.


class Curve(NamedTuple):
    label: str
    days: F64
    shares: F64  # of fresh copies

    @property
    def mean(self) -> float:
        return float(np.mean(self.shares))


def periodic_curves(pages: ChangingPages, period: float, bursts: Sequence[float], points: int = 240) -> list[Curve]:
    """Return the freshness over the last two periods of collections that are made anew once a period, each in a burst.

    The first replaces its pages as it visits them; the others replace the whole collection when it is complete.
    """
    days = np.linspace(0.0, 2 * period, points, endpoint=False)
    first, *others = bursts
    curves = [_periodic(pages, period, first, days, is_swapped=False)]
    return [*curves, *(_periodic(pages, period, burst, days, is_swapped=True) for burst in others)]


def _periodic(pages: ChangingPages, period: float, burst: float, days: F64, is_swapped: bool) -> Curve:
    everything, begin = np.arange(len(pages)), pages.days - 2 * period
    offsets = burst * np.random.default_rng(1).permutation(len(pages)) / len(pages)
    shares = []
    for day in days:
        # A copy is shown from its visit, or from the end of the burst.
        bursts = np.floor((day - (burst if is_swapped else offsets)) / period)
        visited = begin + offsets + bursts * period
        shares.append(float((pages.next_change(everything, visited) > begin + day).mean()))
    swapped = ", swapped when complete" if is_swapped else ""
    return Curve(f"periodic: in {burst:g} days of {period:g}{swapped}", days, np.array(shares))


def steady_curve(name: str, pages: ChangingPages, period: float) -> Curve:
    """Return the freshness of a collection that a policy keeps up, with as many visits, over the last two periods."""
    collection, days, shares = _Collection(pages, pages.days), [], []
    begin = pages.days - 2 * period
    for now in _looks(name, pages, collection, 1 / period):
        if now >= begin:
            days.append(now - begin)
            shares.append(float(collection.is_fresh(now).mean()))
    return Curve(f"incremental: {name}", np.array(days), np.array(shares))
