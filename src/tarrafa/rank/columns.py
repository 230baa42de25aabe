"""Columns of numbers instead of texts: types, fingerprints, and places in sorted columns."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.hashes import bytes_of, edges_of, hashes_of, span_hashes
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


def plain(column: Any) -> pa.LargeStringArray:
    """Return a column of texts without a dictionary."""
    return column.cast(pa.large_string())


def fingerprints_of(texts: Any) -> U64:
    """Return the values of `urls.fingerprint` for a whole column of texts."""
    return hashes_of(texts, FINGERPRINT_SEED)


def host_hashes_of(urls: Any) -> U64:
    """Return the values of `urls.host_hash` of each URL's host."""
    urls = plain(urls)
    hosts = span_hashes(bytes_of(urls), edges_of(urls)[:-1], _host_ends(urls), FINGERPRINT_SEED)
    # A name and password before the host are no part of it.
    with_name = np.flatnonzero(pc.match_like(urls, "%@%").to_numpy(zero_copy_only=False))
    if len(with_name):
        names = [host_of(urls[row].as_py()) for row in with_name.tolist()]
        hosts[with_name] = fingerprints_of(pa.array(names, pa.large_string()))
    return hosts


def _host_ends(urls: pa.LargeStringArray) -> I64:
    """Return where among the bytes the host of each URL ends: at its first slash, or with the URL."""
    edges = edges_of(urls)
    slashes = np.append(np.flatnonzero(bytes_of(urls) == ord("/")), edges[-1])
    starts = np.minimum(edges[:-1] + _HOST_START, edges[-1])
    ends: I64 = np.minimum(slashes[np.searchsorted(slashes, starts)], edges[1:])
    return ends


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
