"""The history of each collected URL, as columns of numbers: 33 bytes a URL.

Times are whole seconds since 1970, 0 for never. `shape` and `days` are the evidence of the visits about how often the
page changes: see `belief`.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]
U8 = NDArray[np.uint8]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]

DAY_SECONDS = 86_400.0
SECONDS_MAX = 2**32 - 1
COUNT_MAX = 2**16 - 1
# The interval before the last visit is kept in tenths of a day, between one day and ten.
_INTERVAL_PARTS, _INTERVAL_MIN, _INTERVAL_MAX = 10, 10, 100
# Importance is kept as a power of two, in eighths: code 128 is 1.
_IMPORTANCE_ONE, _IMPORTANCE_STEPS = 128, 8


class Phase(IntEnum):
    """What the last visits to a URL found. The numbers are on disk."""

    LIVE = 0
    MOVED = 1  # it redirects
    MISSING = 2  # 404, once
    FAILING = 3  # no answer, or 5xx
    GONE = 4  # 410, or 404 on two days, or failing for a month
    REFUSED = 5  # robots.txt disallows it now
    DROPPED = 6  # it made room for more important pages


class Change(IntEnum):
    """How the content that a visit found differs from that of the visit before. The numbers are on disk."""

    NONE = 0
    SLIGHT = 1  # another signature, nearly the same text
    FULL = 2


class PageHistory(NamedTuple):
    """The history of one URL, for people. Times are seconds since 1970, 0 for never."""

    phase: Phase
    visited_seconds: int
    changed_seconds: int
    not_before_seconds: int
    visits: int
    changes: int
    failures: int  # consecutive visits without a page
    importance: float  # mean 1
    changes_per_day: float  # believed, with the prior of its host


class Histories(NamedTuple):
    """One entry for each collected row of a block, in the order in which they were collected."""

    row: U32
    visited: U32  # the last visit
    changed: U32  # the last visit that found other content
    not_before: U32
    shape: F32
    days: F32
    visits: U16
    changes: U16  # visits that found other content than the one before
    interval: U8
    importance: U8  # 0 if it was never set
    phase: U8
    failures: U8  # consecutive visits without a page
    slight: U8  # consecutive visits that found slight changes


HISTORY_TYPES = tuple(
    map(np.dtype, ("<u4", "<u4", "<u4", "<u4", "<f4", "<f4", "<u2", "<u2", "u1", "u1", "u1", "u1", "u1"))
)
HISTORY_BYTES = sum(each.itemsize for each in HISTORY_TYPES)


def new_histories(rows: NDArray[Any], importance: U8 | None = None) -> Histories:
    """Return the histories of URLs that were never visited."""
    columns = [np.zeros(len(rows), each) for each in HISTORY_TYPES]
    found = Histories(*columns)._replace(row=rows.astype(np.uint32))
    codes = np.full(len(rows), _IMPORTANCE_ONE, np.uint8) if importance is None else importance
    return found._replace(importance=codes)


def taken(histories: Histories, which: NDArray[Any]) -> Histories:
    """Return some of the histories, by position or by mask."""
    positions = np.flatnonzero(which) if which.dtype == np.bool_ else which
    columns: list[Any] = [column.take(positions) for column in histories]
    return Histories(*columns)


def importance_codes(importance: NDArray[Any]) -> U8:
    """Return the code of each importance, a positive number of mean 1. No code is 0."""
    codes = np.rint(_IMPORTANCE_ONE + _IMPORTANCE_STEPS * np.log2(np.maximum(importance, 1e-9)))
    found: U8 = np.clip(codes, 1, 255).astype(np.uint8)
    return found


def importance_of(codes: U8) -> F32:
    """Return the importance that each code stands for."""
    return _IMPORTANCES[codes]


_IMPORTANCES = np.exp2((np.arange(256) - _IMPORTANCE_ONE) / _IMPORTANCE_STEPS).astype(np.float32)


def interval_codes(days: F64) -> U8:
    """Return the code of each interval between two visits."""
    return np.clip(np.rint(days * _INTERVAL_PARTS), _INTERVAL_MIN, _INTERVAL_MAX).astype(np.uint8)


def interval_days(codes: U8) -> F32:
    """Return the interval before the last visit in days, from 1 to 10; 1 for a URL that was visited once."""
    return np.maximum(codes, _INTERVAL_MIN).astype(np.float32) / np.float32(_INTERVAL_PARTS)
