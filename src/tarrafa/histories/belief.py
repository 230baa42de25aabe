"""What is believed of how often a page changes: a Gamma distribution of its rate, with a shape and a time in days.

Its mean, shape / days, is the expected number of changes a day. Changes are taken for a Poisson process, so a visit
that finds no change adds its interval to the days, exactly. A visit that finds one has a posterior that is no Gamma
distribution; the Gamma with the same mean and variance takes its place.

A prior by host stands in front of the evidence: the pages of a host change alike. Only the evidence is stored, so that
a better prior reaches every page at once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories.columns import F64, Bools

PRIOR_SHAPE = 0.4
# Changes a day of a page, before anything is known of any page.
FIRST_RATE = 1 / 30
# How many pages of average rate are added to each host, so that few pages do not decide about a host.
_HOST_PAGES = 8
_SHAPE_MIN, _DAYS_MIN = 0.05, 0.001
# More evidence than this is forgotten in proportion, because rates change.
_SHAPE_MAX = 50.0


class Belief(NamedTuple):
    shape: F64
    days: F64


def prior(rates: F64) -> Belief:
    """Return the belief about pages that were never visited, on hosts with these mean rates."""
    return Belief(np.full(len(rates), PRIOR_SHAPE, rates.dtype), PRIOR_SHAPE / rates)


def joined(before: Belief, shape: NDArray[Any], days: NDArray[Any]) -> Belief:
    """Add evidence to a prior."""
    return Belief(np.maximum(before.shape + shape, _SHAPE_MIN), np.maximum(before.days + days, _DAYS_MIN))


def host_rates(hosts: NDArray[Any], shape: NDArray[Any], days: NDArray[Any], mean_rate: float) -> F64:
    """Return the mean rate of each host, by its number, from the evidence of its pages and the mean over all hosts."""
    belief = joined(prior(np.array([mean_rate])), shape, days)
    return host_means(hosts, belief.shape / belief.days, mean_rate)


def host_means(hosts: NDArray[Any], rates: NDArray[Any], mean_rate: float) -> F64:
    """Return the mean rate of each host, by its number, from the believed rates of its pages."""
    return (np.bincount(hosts, rates) + _HOST_PAGES * mean_rate) / (np.bincount(hosts) + _HOST_PAGES)


def after_visit(belief: Belief, elapsed_days: F64, changed: Bools, content_days: F64) -> Belief:
    """Return the belief after a visit.

    `content_days` is the age of the content that was found, as the host tells it; NaN if it does not. Without elapsed
    time nothing is learned.
    """
    elapsed = np.maximum(elapsed_days, 0.0)
    is_dated = changed & (content_days >= 0) & (content_days <= elapsed)
    found = _after_change(belief, np.where(elapsed > 0, elapsed, 1.0))
    shape = np.where(changed, np.where(is_dated, belief.shape + 1, found.shape), belief.shape)
    dated_days = belief.days + np.where(is_dated, content_days, 0.0)
    days = np.where(changed, np.where(is_dated, dated_days, found.days), belief.days + elapsed)
    scale = np.minimum(1.0, _SHAPE_MAX / shape)
    is_later = elapsed > 0
    return Belief(np.where(is_later, shape * scale, belief.shape), np.where(is_later, days * scale, belief.days))


def _after_change(belief: Belief, elapsed: F64) -> Belief:
    """Return the Gamma with the mean and variance of the posterior, if at least one change is all that is known."""
    shape, days = belief
    log_share = np.log(days / (days + elapsed))
    # 1 - q, 1 - q x and 1 - q x² with x = days / (days + elapsed) and q = x ** shape.
    seen = -np.expm1(shape * log_share)
    first = shape / days * -np.expm1((shape + 1) * log_share) / seen
    second = shape * (shape + 1) / days**2 * -np.expm1((shape + 2) * log_share) / seen
    new_days = first / np.maximum(second - first**2, 1e-12)
    return Belief(first * new_days, new_days)
