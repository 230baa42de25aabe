"""From Python values to a column of a type."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.numbers import as_column

# A moment; in Python, seconds since the Unix epoch.
SECONDS = pa.timestamp("us", tz="UTC")

Values: TypeAlias = Sequence[Any] | NDArray[Any]


def column(values: Values, kind: pa.DataType) -> pa.Array:
    if kind == SECONDS:
        return _moments(values)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # Half of a character that takes two code units: no text, and nothing to stop for.
        return pa.array([_scrubbed(value) for value in values], kind)


def _moments(values: Values) -> pa.Array:
    seconds = np.array(values, np.float64)  # of None it makes a number that is none
    is_missing = np.isnan(seconds)
    microseconds = np.where(is_missing, 0, np.rint(seconds * 1e6)).astype(np.int64)
    return as_column(microseconds, is_missing).view(SECONDS)


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return [_scrubbed(each) for each in value] if isinstance(value, tuple) else value
