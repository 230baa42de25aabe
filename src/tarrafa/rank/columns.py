"""Columns of numbers instead of texts: types, fingerprints, and places in sorted columns."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.hashes import column_hashes
from tarrafa.urls import host_of

U64: TypeAlias = NDArray[np.uint64]
U32: TypeAlias = NDArray[np.uint32]
I64: TypeAlias = NDArray[np.int64]
F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
Marks: TypeAlias = NDArray[np.bool_]

# Ranks are joined over agents, each of which has a secret of its own; so fingerprints here have none.
FINGERPRINT_SEED = 0

# Past the slashes of the scheme; the shortest host has one character.
_HOST_START = len("http://x")


def plain(column: Any) -> pl.Series:
    """A column of texts, whether it has a dictionary or not. What is picked from it refers to the same bytes."""
    return pl.Series(column.cast(pa.string()), dtype=pl.String)


def fingerprints_of(texts: Any) -> U64:
    """The same values as `urls.fingerprint`, for a whole column of texts: Arrow, polars or a list."""
    return column_hashes(texts, FINGERPRINT_SEED)


def host_hashes_of(urls: Any) -> U64:
    """The same values as `urls.host_hash` of each URL's host."""
    column = pl.col("text")
    host_end = column.str.slice(_HOST_START).str.find("/", literal=True) + _HOST_START
    frame = pl.Series("text", urls, dtype=pl.String).to_frame()
    hosts = frame.select(column.str.head(host_end).fill_null(column)).to_series()
    with_name = hosts.str.contains("@", literal=True)
    if with_name.any():
        # A name and password before the host are no part of it.
        plain = [host_of(f"{host}/") if "@" in host else host for host in hosts.to_list()]
        return fingerprints_of(plain)
    return fingerprints_of(hosts)


def encoded(column: Any) -> tuple[NDArray[np.int32], pa.Array]:
    """The number of each row's text, and the texts, of which each stands there once or seldom more."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    indices: NDArray[np.int32] = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return indices, coded.dictionary


class Numbered(NamedTuple):
    """A column of texts as numbers."""

    numbers: NDArray[np.int32]  # of each row
    texts: pa.Array  # of each number
    fingerprints: U64  # of each number


def numbered(column: Any) -> Numbered:
    indices, texts = encoded(column)
    return Numbered(indices, texts, fingerprints_of(texts))


def distinct(hashes: U64) -> tuple[U64, I64, U32]:
    """Each hash once, in order; the first row of each; and the number of each row's hash."""
    rows, ordered = _sorted(hashes)
    starts, counts = runs(ordered)
    numbers = np.empty(len(hashes), np.uint32)
    numbers[rows] = np.repeat(np.arange(len(starts), dtype=np.uint32), counts)
    return ordered[starts], rows[starts], numbers


def sorted_rows(hashes: U64) -> I64:
    """What a stable argsort gives, in half the time."""
    return _sorted(hashes)[0]


def _sorted(hashes: U64) -> tuple[I64, U64]:
    """The rows in the order of their hashes, and the hashes in that order.

    The upper bits of hashes are sorted together with the numbers of their rows. Where hashes differ in the lower bits
    only, which is rare, that is not enough, and they are sorted as usual.
    """
    row_bits = np.uint64(max(1, len(hashes).bit_length()))
    keys = hashes >> row_bits << row_bits
    keys |= np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    keys &= (np.uint64(1) << row_bits) - np.uint64(1)
    rows = keys.view(np.int64)
    ordered = hashes[rows]
    if (ordered[1:] < ordered[:-1]).any():
        rows = np.argsort(hashes, kind="stable")
        ordered = hashes[rows]
    return rows, ordered


def moments_of(column: Any) -> I64:
    """Microseconds since the Unix epoch."""
    found: I64 = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def runs(column: NDArray[Any]) -> tuple[I64, I64]:
    """Where in a sorted column each value begins, and how often it stands there."""
    is_first = np.ones(len(column), np.bool_)
    np.not_equal(column[1:], column[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return starts, np.diff(starts, append=len(column))


def rows_of_runs(starts: I64, counts: I64) -> I64:
    """The rows of some runs, one run after the other."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def packed(high: NDArray[Any], low: NDArray[Any] | int) -> U64:
    """Two numbers of 32 bits in one, which sorts by the first, then by the second."""
    found = high.astype(np.uint64)
    found <<= np.uint64(32)
    found |= np.asarray(low, np.uint64)
    return found


def unpacked(both: U64) -> tuple[U32, U32]:
    return (both >> np.uint64(32)).astype(np.uint32), both.astype(np.uint32)


def joined(columns: list[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, kind), *columns])


def renumbering(count: int, used: NDArray[Any]) -> U32:
    """From old numbers, of which only those are used, to new ones in the same order."""
    found = np.zeros(count, np.uint32)
    found[used] = np.arange(len(used), dtype=np.uint32)
    return found


def used_numbers(count: int, *columns: NDArray[Any]) -> I64:
    """Which numbers below `count` stand in the columns, in order."""
    is_used = np.zeros(count, np.bool_)
    for column in columns:
        is_used[column] = True
    return np.flatnonzero(is_used)


def find_rows(column: U64, wanted: U64) -> tuple[I64, Marks]:
    """Return the row of each wanted value in a sorted column, and True for those that are there."""
    if not len(column):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    rows = np.minimum(np.searchsorted(column, wanted), len(column) - 1)
    return rows, column[rows] == wanted
