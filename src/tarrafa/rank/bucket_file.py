"""Rows on disk, split into buckets: what does not fit into memory together is worked on bucket by bucket.

A bucket has its rows in the order in which they were added.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.rank.arrays import I64, U64
from tarrafa.rank.scratch import Scratch

# Working on a bucket takes up to 150 bytes for each of its rows.
BUCKET_ROWS = 1_000_000
_BUCKETS_MAX = 1 << 16  # numpy sorts numbers of 16 bits in linear time
_MIX = np.uint64(0x9E3779B97F4A7C15)  # an odd number that mixes bits


def count_buckets(rows: int) -> int:
    """Return how many buckets so many rows need if they are spread evenly."""
    return min(_BUCKETS_MAX, rows // BUCKET_ROWS + 1)


def buckets_of_hashes(hashes: U64, buckets_count: int) -> I64:
    """Return the bucket of each hash. Greater hashes are in the same or in later buckets."""
    return ((hashes >> np.uint64(32)) * np.uint64(buckets_count) >> np.uint64(32)).astype(np.int64)


def buckets_of_numbers(numbers: U64, buckets_count: int) -> I64:
    """Return a bucket for each number; numbers that are close to one another are spread too."""
    mixed = numbers * _MIX
    return buckets_of_hashes((mixed ^ mixed >> np.uint64(32)) * _MIX, buckets_count)


def even_edges(counts: I64) -> I64:
    """Split numbers into ranges, which become buckets, by the rows of each number. The counts are changed.

    Return where each range begins, and the number of numbers. A range has few more than `BUCKET_ROWS` rows, unless a
    single number has more.
    """
    total = int(counts.sum())
    step = max(BUCKET_ROWS, total // (_BUCKETS_MAX - 1) + 1)
    np.cumsum(counts, out=counts)
    edges = np.searchsorted(counts, np.arange(step, total, step), "right")
    return np.unique(np.concatenate([[0], edges, [len(counts)]]))


class _Batch(NamedTuple):
    position: int  # of its first byte; one column follows the other
    edges: I64  # the row at which each bucket begins, and the number of rows


class BucketFile:
    """Columns of rows in a temporary file. Filled by add, append and write."""

    def __init__(self, scratch: Scratch, buckets_count: int, *dtypes: Any) -> None:
        self.buckets_count = buckets_count
        self._dtypes = [np.dtype(dtype) for dtype in dtypes]
        self._file = scratch.file()
        self._end = 0
        self._batches: list[_Batch] = []

    def add(self, buckets: NDArray[Any], *columns: NDArray[Any]) -> None:
        """Add a batch of rows with the bucket of each. The last columns may be left out and written later."""
        order = np.argsort(buckets.astype(np.uint16), kind="stable")
        self._append(np.bincount(buckets, minlength=self.buckets_count), [column[order] for column in columns])

    def append(self, *columns: NDArray[Any]) -> None:
        """Add a batch of rows to a file with one bucket."""
        self._append(np.array([len(columns[0])]), columns)

    def _append(self, counts: I64, columns: Any) -> None:
        batch = _Batch(self._end, np.concatenate([[0], np.cumsum(counts)]))
        self._batches.append(batch)
        self._end += sum(dtype.itemsize for dtype in self._dtypes) * int(batch.edges[-1])
        for number, column in enumerate(columns):
            self._file.write(self._position(batch, number), column.astype(self._dtypes[number], copy=False))

    def _position(self, batch: _Batch, column: int, row: int = 0) -> int:
        """Return where a value stands in the file."""
        before = sum(dtype.itemsize for dtype in self._dtypes[:column])
        found: int = batch.position + before * int(batch.edges[-1]) + self._dtypes[column].itemsize * row
        return found

    def read(self, bucket: int, column: int) -> NDArray[Any]:
        """Return a column of all rows of a bucket."""
        slices = [(batch, *batch.edges[bucket : bucket + 2].tolist()) for batch in self._batches]
        found = np.empty(sum(end - first for _, first, end in slices), self._dtypes[column])
        filled = 0
        for batch, first, end in slices:
            self._file.read(self._position(batch, column, first), found[filled : filled + end - first])
            filled += end - first
        return found

    def write(self, bucket: int, column: int, values: NDArray[Any]) -> None:
        """Write a column of all rows of a bucket."""
        values = values.astype(self._dtypes[column], copy=False)
        for batch in self._batches:
            first, end = batch.edges[bucket : bucket + 2].tolist()
            self._file.write(self._position(batch, column, first), values[: end - first])
            values = values[end - first :]

    def batch(self, number: int, column: int) -> NDArray[Any]:
        """Return a column of a batch, bucket by bucket."""
        batch = self._batches[number]
        found = np.empty(int(batch.edges[-1]), self._dtypes[column])
        self._file.read(self._position(batch, column), found)
        return found

    def batches(self, column: int) -> Iterator[NDArray[Any]]:
        return (self.batch(number, column) for number in range(len(self._batches)))

    def close(self) -> None:
        self._file.close()
