"""Arrays of numbers in place of texts: their types, fingerprints of columns of texts, and sorted arrays."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.hashes import bytes_of, edges_of, hashes_of, span_hashes
from tarrafa.urls import HOST_START, host_of

U64: TypeAlias = NDArray[np.uint64]
U32: TypeAlias = NDArray[np.uint32]
I64: TypeAlias = NDArray[np.int64]
F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Ranks join the rows of all agents. Each agent has its own secret seed, so fingerprints here use a fixed one.
FINGERPRINT_SEED = 0

CHUNK_ROWS = 1 << 17  # rows that fit into the processor's cache


def plain_texts(column: Any) -> pa.LargeStringArray:
    """Return a column of texts without a dictionary."""
    return column.cast(pa.large_string())


def fingerprints_of(texts: Any) -> U64:
    """Return the values of `urls.fingerprint` for a whole column of texts."""
    return hashes_of(texts, FINGERPRINT_SEED)


def host_hashes_of(urls: Any) -> U64:
    """Return the values of `urls.host_hash` of each URL's host."""
    urls = plain_texts(urls)
    hosts = span_hashes(bytes_of(urls), edges_of(urls)[:-1], _host_ends(urls), FINGERPRINT_SEED)
    # A user name and password before the host do not belong to it.
    with_name = np.flatnonzero(pc.match_like(urls, "%@%").to_numpy(zero_copy_only=False))
    if len(with_name):
        names = [host_of(urls[row].as_py()) for row in with_name.tolist()]
        hosts[with_name] = fingerprints_of(pa.array(names, pa.large_string()))
    return hosts


def _host_ends(urls: pa.LargeStringArray) -> I64:
    """Return where among the bytes the host of each URL ends: at its first slash, or with the URL."""
    edges = edges_of(urls)
    slashes = np.append(np.flatnonzero(bytes_of(urls) == ord("/")), edges[-1])
    starts = np.minimum(edges[:-1] + HOST_START, edges[-1])
    ends: I64 = np.minimum(slashes[np.searchsorted(slashes, starts)], edges[1:])
    return ends


def encode_texts(column: Any) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the number of each row's text, and the texts; few of them repeat."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    indices: NDArray[np.int32] = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return indices, coded.dictionary


def flatten_texts(texts: pa.LargeStringArray) -> tuple[I64, NDArray[np.uint8]]:
    """Return where each text begins and the last ends, and the bytes of all."""
    edges = edges_of(texts)
    return edges - edges[0], bytes_of(texts)[edges[0] : edges[-1]]


def restore_texts(edges: I64, data: NDArray[np.uint8]) -> pa.LargeStringArray:
    """Return the texts that `flatten_texts` flattened."""
    buffers = [pa.py_buffer(np.ascontiguousarray(each)) for each in (edges, data)]
    return pa.LargeStringArray.from_buffers(len(edges) - 1, *buffers)


class NumberedTexts(NamedTuple):
    """A column of texts as numbers."""

    numbers: NDArray[np.int32]  # for each row
    texts: pa.Array  # for each number
    fingerprints: U64  # for each number


def number_texts(column: Any) -> NumberedTexts:
    """Return the texts of a column by number, with their fingerprints."""
    indices, texts = encode_texts(column)
    return NumberedTexts(indices, texts, fingerprints_of(texts))


def distinct_hashes(hashes: U64) -> tuple[U64, I64, U32]:
    """Return each hash once, sorted; the first row of each; and the number of each row's hash."""
    rows, ordered = _sorted(hashes)
    starts, counts = runs(ordered)
    numbers = np.empty(len(hashes), np.uint32)
    numbers[rows] = np.repeat(np.arange(len(starts), dtype=np.uint32), counts)
    return ordered[starts], rows[starts], numbers


def sorted_rows(hashes: U64) -> I64:
    """Return the rows as a stable argsort does, in half the time."""
    return _sorted(hashes)[0]


def _sorted(hashes: U64) -> tuple[I64, U64]:
    """Return the rows in the order of their hashes, and the sorted hashes.

    The upper bits of hashes are sorted together with the numbers of their rows. If hashes differ only in the lower
    bits, which is rare, a usual sort follows.
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
    """Return times in microseconds since the Unix epoch."""
    found: I64 = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def runs(column: NDArray[Any]) -> tuple[I64, I64]:
    """Return where each value of a sorted column begins, and how often it occurs."""
    is_first = np.ones(len(column), np.bool_)
    np.not_equal(column[1:], column[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return starts, np.diff(starts, append=len(column))


def chunks(count: int) -> Iterator[slice]:
    """Split rows into chunks, so that what is computed of them stays small."""
    return (slice(first, min(count, first + CHUNK_ROWS)) for first in range(0, count, CHUNK_ROWS))


def pack_pairs(high: NDArray[Any], low: NDArray[Any] | int) -> U64:
    """Pack two 32-bit numbers into one, which sorts by the first, then by the second."""
    found = high.astype(np.uint64)
    found <<= np.uint64(32)
    found |= np.asarray(low, np.uint64)
    return found


def unpack_pairs(both: U64) -> tuple[U32, U32]:
    return (both >> np.uint64(32)).astype(np.uint32), both.astype(np.uint32)


def join_arrays(columns: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Concatenate arrays; an empty list gives an empty array of the type."""
    return np.concatenate([np.empty(0, dtype), *columns])


def find_rows(column: U64, wanted: U64) -> tuple[I64, Mask]:
    """Return the row of each wanted value in a sorted column, and True for those that are there."""
    if not len(column):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    rows = np.minimum(np.searchsorted(column, wanted), len(column) - 1)
    return rows, column[rows] == wanted
