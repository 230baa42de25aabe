"""How are values spread? Sizes, times and ranks range over many powers of ten, so they are counted on such a scale.

However many values there are, this takes the same memory. Count, sum, least and greatest are exact; what lies between
is known to about one part in fifty.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_DECADES = (-9, 13)  # powers of ten; what lies outside counts as the nearest inside
_STEPS = 60  # in each: the next is 4% more
_EDGES = np.logspace(*_DECADES, (_DECADES[1] - _DECADES[0]) * _STEPS + 1)
# Those that people read: 1, 2, 5, 10, 20, 50, …
_ROUND_EDGES = np.array([float(f"{digit}e{power}") for power in range(*_DECADES) for digit in (1, 2, 5)])


class Bar(NamedTuple):
    """How many values are from `low` up to but not including `high`."""

    low: float
    high: float
    values: int


class Spread:
    def __init__(self) -> None:
        self.count = 0
        self.zeros = 0  # not among `count`
        self.sum = 0.0
        self.least, self.greatest = float("inf"), 0.0
        self._fine = np.zeros(len(_EDGES) + 1, np.int64)
        self._round = np.zeros(len(_ROUND_EDGES) + 1, np.int64)

    def add(self, values: NDArray[Any]) -> None:
        """What is neither zero nor more has no place on the scale, and counts as zero."""
        placed = values[values > 0].astype(np.float64)
        self.zeros += len(values) - len(placed)
        if not len(placed):
            return
        self.count += len(placed)
        self.sum += float(placed.sum())
        self.least, self.greatest = min(self.least, float(placed.min())), max(self.greatest, float(placed.max()))
        self._fine += _counted(_EDGES, placed)
        self._round += _counted(_ROUND_EDGES, placed)

    @property
    def mean(self) -> float:
        return self.sum / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The value that this share of all do not exceed; 0 if there are none."""
        if not self.count:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self._fine), max(1.0, share * self.count)))
        # The middle of its step, on the scale.
        low, high = _EDGES[max(place - 1, 0)], _EDGES[min(place, len(_EDGES) - 1)]
        return float(min(max(np.sqrt(low * high), self.least), self.greatest))

    def bars(self) -> list[Bar]:
        """From the least value to the greatest, those without a value in between too."""
        places = np.flatnonzero(self._round)
        if not len(places):
            return []
        edges = [0.0, *_ROUND_EDGES.tolist(), float("inf")]
        return [
            Bar(edges[place], edges[place + 1], int(self._round[place])) for place in range(places[0], places[-1] + 1)
        ]

    def told(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "zeros": self.zeros,
            "mean": self.mean,
            "least": self.least if self.count else 0.0,
            "median": self.quantile(0.5),
            "p90": self.quantile(0.9),
            "p99": self.quantile(0.99),
            "greatest": self.greatest,
            "bars": [{"from": bar.low, "count": bar.values} for bar in self.bars()],
        }


def _counted(edges: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
