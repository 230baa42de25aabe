"""The buckets of DRUM: operations that wait for the part of the central file to which their keys belong.

Those of a bucket are in an array in memory; a full array is written behind what its two files hold, and forgotten. The
texts of operations that are in memory stay in the lists in which they were given, and are found by number.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.lab.engines.offers import U64, Places
from tarrafa.lab.engines.sorted_file import Layout, Values

CHECK, UPDATE = 1, 2


class Operations(NamedTuple):
    numbers: NDArray[np.int64]  # in the order in which they were given
    operations: NDArray[np.uint8]
    keys: U64
    values: Values

    def columns(self) -> tuple[NDArray[Any], ...]:
        return (self.numbers, self.operations, self.keys, *self.values)

    def take(self, places: Places) -> "Operations":
        return _from_columns([column[places] for column in self.columns()])


def _from_columns(columns: Sequence[NDArray[Any]]) -> Operations:
    numbers, operations, keys, *values = columns
    return Operations(numbers, operations, keys, tuple(values))


class Auxiliaries:
    """Texts by number; the lists in which they were given are numbered too, and have at most so many."""

    def __init__(self, list_rows: int) -> None:
        self._rows = list_rows
        self._lists: dict[int, Sequence[str]] = {}
        self._spilled: dict[int, str] = {}

    def add(self, place: int, texts: Sequence[str]) -> None:
        self._lists[place] = texts

    def add_spilled(self, numbers: NDArray[np.int64], texts: list[str]) -> None:
        self._spilled.update(zip(numbers.tolist(), texts, strict=True))

    def forget_before(self, place: int) -> None:
        """Lists whose texts are all on disk."""
        for each in [each for each in self._lists if each < place]:
            del self._lists[each]

    def of(self, numbers: NDArray[np.int64]) -> Sequence[str]:
        """The texts of sorted numbers; if these are all that there are, without looking each up."""
        if not self._spilled and len(numbers) == sum(map(len, self._lists.values())):
            return [text for place in sorted(self._lists) for text in self._lists[place]]
        return [self._one(number) for number in numbers.tolist()]

    def _one(self, number: int) -> str:
        spilled = self._spilled.get(number)
        return self._lists[number // self._rows][number % self._rows] if spilled is None else spilled


class Buckets:
    def __init__(self, target: Path, layout: Layout, array_rows: int) -> None:
        self.array_rows = array_rows
        self._target, self._layout = target, layout
        self._given = 0  # lists of operations
        self._texts = Auxiliaries(array_rows)
        # Filled by `give`, emptied by `_spill` and `load`.
        self._arrays: list[list[Operations]] = [[] for _ in range(1 << layout.part_bits)]
        self._waiting = np.zeros(len(self._arrays), np.int64)  # operations in each array
        # Filled by `_spill`, emptied by `load`: how many operations each time.
        self._spilled: list[list[int]] = [[] for _ in self._arrays]

    def give(self, operation: int, keys: U64, values: Values, texts: Sequence[str]) -> None:
        """At most as many as an array holds."""
        self._texts.add(self._given, texts)
        first = self._given * self.array_rows
        self._given += 1
        numbers = np.arange(first, first + len(keys))
        rows = Operations(numbers, np.full(len(keys), operation, np.uint8), keys, values)
        parts = self._layout.parts_of(keys)
        order = np.argsort(parts, kind="stable")
        edges = np.searchsorted(parts[order], np.arange(len(self._arrays) + 1)).tolist()
        rows = rows.take(order)
        for bucket, (low, high) in enumerate(pairwise(edges)):
            if high > low:
                self._add(bucket, _from_columns([column[low:high] for column in rows.columns()]))

    def _add(self, bucket: int, rows: Operations) -> None:
        self._arrays[bucket].append(rows)
        self._waiting[bucket] += len(rows.keys)
        if self._waiting[bucket] >= self.array_rows:
            self._spill(bucket)

    def largest(self) -> int:
        """Operations in the fullest bucket on disk."""
        return max(map(sum, self._spilled))

    def _path(self, kind: str, bucket: int) -> Path:
        return self._target.with_name(f"{self._target.name}-{kind}{bucket}")

    def _spill(self, bucket: int) -> None:
        rows = _joined(self._arrays[bucket])
        with self._path("pairs", bucket).open("ab") as file:
            for column in rows.columns():
                column.tofile(file)
        with self._path("auxiliaries", bucket).open("a") as texts:
            texts.writelines(text + "\n" for text in self._texts.of(rows.numbers))
        self._spilled[bucket].append(len(rows.keys))
        self._arrays[bucket], self._waiting[bucket] = [], 0
        oldest = min((int(each[0].numbers[0]) for each in self._arrays if each), default=self._given * self.array_rows)
        self._texts.forget_before(oldest // self.array_rows)

    def load(self, bucket: int) -> Operations:
        """All that waits in a bucket; nothing waits there then."""
        pieces = self._read(bucket) + self._arrays[bucket]
        self._arrays[bucket], self._waiting[bucket], self._spilled[bucket] = [], 0, []
        return _joined(pieces) if pieces else _from_columns([np.empty(0, kind) for kind in self._kinds()])

    def _kinds(self) -> list[np.dtype[Any]]:
        return [np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.uint64), *self._layout.kinds]

    def _read(self, bucket: int) -> list[Operations]:
        if not self._spilled[bucket]:
            return []
        pairs, texts = self._path("pairs", bucket), self._path("auxiliaries", bucket)
        with pairs.open("rb") as file:
            found = [
                _from_columns([np.fromfile(file, kind, count) for kind in self._kinds()])
                for count in self._spilled[bucket]
            ]
        numbers = np.concatenate([piece.numbers for piece in found])
        self._texts.add_spilled(numbers, texts.read_text().split("\n")[:-1])
        pairs.unlink()
        texts.unlink()
        return found

    def auxiliaries(self) -> Auxiliaries:
        """The texts of all that was loaded; they are the caller's then."""
        texts, self._texts = self._texts, Auxiliaries(self.array_rows)
        return texts


def _joined(pieces: list[Operations]) -> Operations:
    columns = zip(*(piece.columns() for piece in pieces), strict=True)
    return _from_columns([np.concatenate(column) for column in columns])
