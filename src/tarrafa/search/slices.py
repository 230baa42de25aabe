"""Slices of an index: each document is in one of 64.

Documents that were added one after the other are in the same slice, a thousand at a time; then comes the next slice's
turn. So a slice is spread over the whole index, and yet who looks at one passes over whole stretches of all others.
"""

import numpy as np
import numpy.typing as npt

SLICES_COUNT = 64
_STRETCH_ROWS = 1_024


def slice_numbers(rows: npt.NDArray[np.int64]) -> list[int]:
    """In which slice each of these rows of documents is."""
    numbers: list[int] = (rows // _STRETCH_ROWS % SLICES_COUNT).tolist()
    return numbers


def slice_fact(number: int) -> str:
    return f"slice:{number}"
