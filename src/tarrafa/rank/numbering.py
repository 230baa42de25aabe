"""Numbers for the hashes of all parts: equal hashes get one number, in the order of the hashes.

The hashes are sorted bucket by bucket, and the numbers wait on disk until their part is read again. So neither URLs nor
texts are in memory all at once.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarrafa.rank.arrays import U32, U64, distinct_hashes
from tarrafa.rank.bucket_file import BucketFile, buckets_of_hashes, count_buckets
from tarrafa.rank.scratch import Scratch

_HASH, _ROW, _NUMBER, _FACT = range(4)


class Numbering:
    """Filled by add, once for each part; then distinct must be run through before numbers are read."""

    def __init__(self, scratch: Scratch, rows_max: int, fact: Any = np.bool_) -> None:
        """`fact` is the type of what is known about each hash."""
        self.count = 0
        self._file = BucketFile(scratch, count_buckets(rows_max), np.uint64, np.uint32, np.uint32, fact)

    def add(self, hashes: U64, facts: NDArray[Any]) -> None:
        rows = np.arange(len(hashes), dtype=np.uint32)
        self._file.add(buckets_of_hashes(hashes, self._file.buckets_count), hashes, rows, rows, facts)

    def distinct(self) -> Iterator[tuple[U64, NDArray[Any]]]:
        """Yield all hashes in order, each once, with what is known about it; those of one bucket at a time."""
        for bucket in range(self._file.buckets_count):
            hashes, firsts, numbers = distinct_hashes(self._file.read(bucket, _HASH))
            self._file.write(bucket, _NUMBER, numbers + np.uint32(self.count))
            self.count += len(hashes)
            yield hashes, self._file.read(bucket, _FACT)[firsts]

    def numbers(self, part: int) -> U32:
        """Return the number of each hash of a part."""
        numbers = self._file.batch(part, _NUMBER)
        found = np.empty_like(numbers)
        found[self._file.batch(part, _ROW)] = numbers
        return found
