"""Numbers of numpy as a column of Arrow, without a copy where they stand side by side.

`pa.array` does it too, but asks whether its argument is a masked array, and so loads `numpy.ma`, which takes longer
than all columns of a small crawl.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def as_column(numbers: NDArray[Any], is_missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Nobody may change the numbers after that."""
    values = np.ascontiguousarray(numbers)
    is_there = None if is_missing is None else pa.py_buffer(np.packbits(~is_missing, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [is_there, pa.py_buffer(values)])
