"""Fold visits into histories: what each visit changes in the history of its URL.

| phase   | comes from                                          | not visited before       | belief   |
|---------|-----------------------------------------------------|--------------------------|----------|
| live    | 2xx, 304                                            | cache lifetime           | updated  |
| moved   | 3xx                                                 | as live                  | updated  |
| missing | 404                                                 | a day                    | kept     |
| failing | no answer, 5xx, and the other errors                | 1, 3, 9, 27 days         | kept     |
| gone    | 410, a second 404 a day later, the fifth failure    | 7, 14, … 180 days        | kept     |
| refused | robots.txt, the scope or a budget                   | 1, 7, 30 days            | kept     |
| dropped | it made room for more important pages; no visit     | as it was                | kept     |

From each of them 2xx leads back to live. After gone the evidence begins anew. Nothing is learned from the first visit
that finds a page again, because the time since its last content is not known.

A page is restless if several visits in a row found slight changes. More of them are no change to the belief: what
changes at every visit, such as a counter or a date, is not worth more visits.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories.belief import Belief, after_visit, joined, prior
from tarrafa.histories.columns import (
    COUNT_MAX,
    DAY_SECONDS,
    F64,
    SECONDS_MAX,
    U8,
    Bools,
    Change,
    Histories,
    Phase,
    interval_codes,
    new_histories,
    taken,
)

_FAILURES_TO_GONE = 5  # after waits of 1, 3, 9 and 27 days
_FAILURES_MAX = 20
_RESTLESS, _SLIGHT_MAX = 5, 255  # slight changes in a row
# Days until the next visit, by the number of consecutive visits without a page.
_WAITS = {
    Phase.MISSING: (1.0,),
    Phase.FAILING: (1.0, 3.0, 9.0, 27.0),
    Phase.GONE: (7.0, 14.0, 28.0, 56.0, 112.0, 180.0),
    Phase.REFUSED: (1.0, 7.0, 30.0),
}
# The statuses from this one up to `REFUSED_END` are of visits that were not made: by robots.txt, the scope or a budget.
REFUSED_STATUS, REFUSED_END = 1_000, 1_100
# Of a URL that makes room for more important ones. It counts as no visit.
DROPPED_STATUS = 1_099


class VisitNews(NamedTuple):
    """What visits found, one entry for each visit."""

    at_seconds: F64
    status: NDArray[np.uint16]  # 0 without an answer
    change: U8  # `Change`, against the visit before
    content_seconds: F64  # the age of the content, as the host tells it; NaN if it does not
    cache_seconds: F64  # for how long the host says that the content stays valid


def fold(histories: Histories, positions: NDArray[Any], news: VisitNews, rates: F64) -> None:
    """Change the histories at these positions by what visits found, each visit once, in the order of their times.

    `rates` are the mean rates of the hosts of the visits: the prior of their pages.
    """
    for which in _turns(positions, news.at_seconds):
        _fold_once(histories, positions[which], VisitNews(*(column[which] for column in news)), rates[which])


def _turns(positions: NDArray[Any], at_seconds: F64) -> Iterator[NDArray[Any]]:
    """Yield the first visit to each URL, then the second ones, and so on. Nearly always, few URLs have a second."""
    order = _by_time(positions, at_seconds)
    ordered = positions[order]
    starts = np.flatnonzero(np.concatenate(([len(ordered) > 0], ordered[1:] != ordered[:-1])))
    yield order[starts]
    turn = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    later = np.flatnonzero(turn)
    later = later[np.argsort(turn[later], kind="stable")]
    for first, end in pairwise(np.cumsum(np.bincount(turn)).tolist()):
        yield order[later[first - len(starts) : end - len(starts)]]


def _by_time(positions: NDArray[Any], at_seconds: F64) -> NDArray[np.int64]:
    """Return what orders visits by position, then by time; those of one moment stay in their order.

    Sorting values is faster than an argsort, so the place of each visit rides in the low bits.
    """
    packed = positions.astype(np.uint64) << np.uint64(32) | np.arange(len(positions), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64(2**32 - 1)).astype(np.int64)
    ordered = positions[order]
    is_next = ordered[1:] == ordered[:-1]
    several = np.flatnonzero(np.append(is_next, False) | np.append(False, is_next)) if len(order) else order
    own = order[several]
    order[several] = own[np.lexsort((at_seconds[own], ordered[several]))]
    return order


def _fold_once(histories: Histories, at: NDArray[Any], news: VisitNews, rates: F64) -> None:
    """Fold one visit into each of the histories at these positions."""
    is_dropped = news.status == DROPPED_STATUS
    if is_dropped.any():
        histories.phase[at[is_dropped]] = Phase.DROPPED
        at, rates = at[~is_dropped], rates[~is_dropped]
        news = VisitNews(*(column[~is_dropped] for column in news))
    before = taken(histories, at)
    phase = _phases(before, news)
    is_page, is_first = phase <= Phase.MOVED, before.visits == 0
    changed = (news.change != Change.NONE) & is_page & ~is_first
    slight = _slight_in_a_row(before, news, is_page)
    elapsed = np.where(is_first, 0.0, np.maximum(news.at_seconds - before.visited, 0.0)) / DAY_SECONDS
    _learn(histories, at, before, news, elapsed, changed & (slight < _RESTLESS), phase, rates)
    failures = np.where(is_page, 0, np.minimum(_consecutive(before, phase), _FAILURES_MAX))
    seconds = np.clip(news.at_seconds, 0, SECONDS_MAX).astype(np.uint32)
    histories.visited[at] = np.maximum(seconds, before.visited)
    histories.changed[at] = np.where(changed | is_first, seconds, before.changed)
    histories.visits[at] = np.minimum(before.visits.astype(np.uint32) + 1, COUNT_MAX)
    histories.changes[at] = np.minimum(before.changes.astype(np.uint32) + changed, COUNT_MAX)
    histories.interval[at] = np.where(is_first, 0, interval_codes(elapsed))
    histories.phase[at] = phase
    histories.failures[at] = failures
    histories.slight[at] = slight
    wait = _wait_seconds(phase, failures, news.cache_seconds)
    histories.not_before[at] = np.minimum(news.at_seconds + wait, SECONDS_MAX).astype(np.uint32)


def _learn(
    histories: Histories,
    at: NDArray[Any],
    before: Histories,
    news: VisitNews,
    elapsed: F64,
    changed: Bools,
    phase: U8,
    rates: F64,
) -> None:
    """Update the evidence of the pages that were found; after a page was gone, it begins anew."""
    first = prior(rates)
    believed = joined(first, before.shape, before.days)
    after = after_visit(believed, elapsed, changed, news.content_seconds / DAY_SECONDS)
    learned = Belief(after.shape - first.shape, after.days - first.days)
    is_page = phase <= Phase.MOVED
    is_evidence = is_page & ((before.phase <= Phase.MOVED) | (before.phase == Phase.DROPPED))
    is_back = is_page & (before.phase == Phase.GONE)
    kept = np.where(is_back, 0.0, before.shape), np.where(is_back, 0.0, before.days)
    histories.shape[at] = np.where(is_evidence, learned.shape, kept[0])
    histories.days[at] = np.where(is_evidence, learned.days, kept[1])


def phase_after(phase: Phase, failures: int, visited_seconds: float, at_seconds: float, status: int) -> Phase:
    """Return the phase of one URL after a visit that ended with a status, as `fold` finds it."""
    before = new_histories(np.zeros(1, np.uint32))
    before.phase[0], before.failures[0] = phase, failures
    before.visited[0] = min(max(visited_seconds, 0), SECONDS_MAX)
    nothing = np.zeros(1)
    news = VisitNews(np.array([at_seconds]), np.array([status], np.uint16), np.zeros(1, np.uint8), nothing, nothing)
    return Phase(_phases(before, news)[0])


def _slight_in_a_row(before: Histories, news: VisitNews, is_page: Bools) -> NDArray[np.int64]:
    """Return how many visits in a row found slight changes; those without a page are passed over."""
    more = np.minimum(before.slight.astype(np.int64) + 1, _SLIGHT_MAX)
    return np.where(is_page, np.where(news.change == Change.SLIGHT, more, 0), before.slight)


def _phases(before: Histories, news: VisitNews) -> U8:
    status = news.status
    is_later = news.at_seconds - before.visited >= DAY_SECONDS
    is_second = (before.phase == Phase.GONE) | ((before.phase == Phase.MISSING) & is_later)
    is_lost = (before.phase == Phase.GONE) | (before.failures + 1 >= _FAILURES_TO_GONE)
    rules = (
        ((status >= 200) & (status < 300) | (status == 304), Phase.LIVE),
        ((status >= 300) & (status < 400), Phase.MOVED),
        (status == DROPPED_STATUS, Phase.DROPPED),
        ((status >= REFUSED_STATUS) & (status < REFUSED_END), Phase.REFUSED),
        ((status == 410) | (status == 404) & is_second, Phase.GONE),
        (status == 404, Phase.MISSING),
        (is_lost & (before.phase != Phase.REFUSED), Phase.GONE),
    )
    found = np.select([rule for rule, _ in rules], [int(phase) for _, phase in rules], int(Phase.FAILING))
    return found.astype(np.uint8)


def _consecutive(before: Histories, phase: U8) -> NDArray[np.int64]:
    """Return how many visits in a row brought no page, counted anew when a URL turns out to be gone or refused."""
    is_new_kind = (phase != before.phase) & ((phase == Phase.GONE) | (phase == Phase.REFUSED))
    return np.where(is_new_kind, 1, before.failures.astype(np.int64) + 1)


def _wait_seconds(phase: U8, failures: NDArray[Any], cache_seconds: F64) -> F64:
    waits = np.clip(np.nan_to_num(cache_seconds), 0.0, DAY_SECONDS)
    for which, days in _WAITS.items():
        steps = np.asarray(days)[np.clip(failures - 1, 0, len(days) - 1)]
        waits = np.where(phase == which, steps * DAY_SECONDS, waits)
    return waits
