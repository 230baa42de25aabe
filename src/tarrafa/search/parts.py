"""Parts of an index: each document is in one of 64.

Documents that were added one after the other are in the same part, a thousand at a time; then comes the next part's
turn. So a part is spread over the whole index, and yet who looks at one passes over whole stretches of all others.
"""

import numpy as np
import numpy.typing as npt

PARTS_COUNT = 64
_STRETCH_ROWS = 1_024


def part_numbers(rows: npt.NDArray[np.int64]) -> list[int]:
    """In which part each of these rows of documents is."""
    numbers: list[int] = (rows // _STRETCH_ROWS % PARTS_COUNT).tolist()
    return numbers


def part_fact(number: int) -> str:
    return f"part:{number}"
