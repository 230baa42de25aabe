"""Which values are worth a visit: the price that fills the bandwidth, from counts of values.

Each block of the repository is looked at on its own and leaves 256 counts of the values that it found. The sum over all
blocks tells above which value there are as many pages as can be visited until each block is looked at again. So no
block needs to know the pages of another, and nothing is kept on disk.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Counts = NDArray[np.int64]
BINS = 256
# The bin of the value 1, and bins for each factor of two.
_ONE, _STEPS = 160, 8


class Price(NamedTuple):
    """Pages above this bin are visited, and of the bin itself a share. By default all that are worth anything."""

    bin: int = 0
    share: float = 0.0


def bins_of(values: F64) -> NDArray[np.int64]:
    """Return the bin of each value; 0 for values that are not worth a visit at any price."""
    codes = _ONE + np.floor(_STEPS * np.log2(np.maximum(values, 1e-300)))
    return np.where(values > 0, np.clip(codes, 1, BINS - 1), 0).astype(np.int64)


def counts_of_values(values: F64) -> Counts:
    return np.bincount(bins_of(values), minlength=BINS)


def price_of(counts: Counts, wanted: float) -> Price:
    """Return the price at which as many pages as wanted are visited; bin 0 is never visited."""
    above = np.cumsum(counts[::-1])[::-1]  # pages in each bin and above
    bins = np.flatnonzero(above[1:] > wanted)
    if not len(bins):
        return Price(0, 0.0)
    edge = int(bins[-1]) + 1
    over = float(above[edge + 1]) if edge + 1 < BINS else 0.0
    return Price(edge, (wanted - over) / float(counts[edge]))


def worth_visiting(values: F64, price: Price, chance: F64) -> NDArray[np.bool_]:
    """Return which pages are visited, never one of value 0.

    `chance` are random numbers from 0 to 1, one for each page.
    """
    bins = bins_of(values)
    found: NDArray[np.bool_] = (bins > 0) & ((bins > price.bin) | ((bins == price.bin) & (chance < price.share)))
    return found
