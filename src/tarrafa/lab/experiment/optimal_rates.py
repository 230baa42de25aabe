"""The best possible freshness, if the rate of every page were known: how often each page is visited then.

Visits at fixed intervals: a page that changes λ times a day and is visited f times a day is fresh for the share
(1 − e^−r)/r of the time, r = λ/f. The optimum gives every page that is visited the same marginal value μ.
"""

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

# r, and g(r) = 1 − e^−r (1 + r), which grows from 0 to 1.
_RATIOS = np.geomspace(1e-6, 60.0, 20_000)
_GAINS = 1.0 - np.exp(-_RATIOS) * (1.0 + _RATIOS)
_BISECTIONS = 100


def fresh_share(rates: F64, visits: F64) -> F64:
    """Return the share of time that a copy is fresh, for changes and visits a day."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = rates / visits
        share = -np.expm1(-ratio) / ratio
    return np.where(rates == 0, 1.0, np.where(visits == 0, 0.0, share))


def optimal_visits(rates: F64, weights: F64, bandwidth: float, visits_max: float) -> F64:
    """Return the visits a day of each page that maximise weighted freshness; their mean is the bandwidth."""
    low, high = np.log(1e-12), np.log(float(np.max(weights / np.maximum(rates, 1e-9))) + 1.0)
    visits = np.zeros(len(rates))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        visits = _visits_at(float(np.exp(middle)), rates, weights, visits_max)
        low, high = (middle, high) if visits.mean() > bandwidth else (low, middle)
    return visits


def _visits_at(price: float, rates: F64, weights: F64, visits_max: float) -> F64:
    gains = price * rates / weights
    ratios = np.interp(gains, _GAINS, _RATIOS)
    visits = np.where(gains < 1.0, rates / ratios, 0.0)
    return np.where(rates == 0, 0.0, np.minimum(visits, visits_max))
