"""DRUM, as in IRLbot: keys with values and auxiliary texts, checked and updated in large batches.

An operation goes to one of k arrays in memory by its key. A full array is appended to its bucket: two files, one of
keys and values and one of auxiliary texts. When a bucket reaches its bound, all buckets are merged with the central
file in one sequential pass: a bucket is loaded, sorted and merged with the part of the file that holds its range of
keys, its order is restored, and the answers are dispatched with their texts, first in, first out.

1. A check answers whether the key is in the central file or in an update that was given before it.
2. An update writes the value of a key, or combines it with the one that is there.
3. Answers come in the order in which the checks were given.
4. A merge reads and writes the central file once, from its beginning to its end.

A bucket on disk is only used by the process that wrote it. The owner of the central file decides what is durable.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.lab.engines.merge_engines import LAYOUT, MergeRepository, combine_values
from tarrafa.lab.engines.offers import U64, Bits, Places
from tarrafa.lab.engines.sorted_file import Combine, PartLayout, SortedFile, SortedPart, Values, write_sorted

CHECK, UPDATE = 1, 2


class DrumOperations(NamedTuple):
    numbers: NDArray[np.int64]  # increasing, in the order of the operations
    operations: NDArray[np.uint8]
    keys: U64
    values: Values

    def columns(self) -> tuple[NDArray[Any], ...]:
        return (self.numbers, self.operations, self.keys, *self.values)

    def take(self, places: Places) -> "DrumOperations":
        return _from_columns([column[places] for column in self.columns()])


def _from_columns(columns: Sequence[NDArray[Any]]) -> DrumOperations:
    numbers, operations, keys, *values = columns
    return DrumOperations(numbers, operations, keys, tuple(values))


class AuxiliaryTexts:
    """Auxiliary texts by number: in the lists that were given, of at most `list_rows` texts each, or read from disk."""

    def __init__(self, list_rows: int) -> None:
        self._rows = list_rows
        self._lists: dict[int, Sequence[str]] = {}
        self._spilled: dict[int, str] = {}

    def add(self, place: int, texts: Sequence[str]) -> None:
        self._lists[place] = texts

    def add_spilled(self, numbers: NDArray[np.int64], texts: list[str]) -> None:
        self._spilled.update(zip(numbers.tolist(), texts, strict=True))

    def forget_before(self, place: int) -> None:
        """Drop the lists whose texts are all on disk."""
        for each in [each for each in self._lists if each < place]:
            del self._lists[each]

    def of(self, numbers: NDArray[np.int64]) -> Sequence[str]:
        """Return the texts of sorted numbers; if these are all texts, join the lists without looking each up."""
        if not self._spilled and len(numbers) == sum(map(len, self._lists.values())):
            return [text for place in sorted(self._lists) for text in self._lists[place]]
        return [self._one(number) for number in numbers.tolist()]

    def _one(self, number: int) -> str:
        spilled = self._spilled.get(number)
        return self._lists[number // self._rows][number % self._rows] if spilled is None else spilled


class DrumBuckets:
    def __init__(self, target: Path, layout: PartLayout, array_rows: int) -> None:
        self.array_rows = array_rows
        self._target, self._layout = target, layout
        self._given = 0  # lists of operations so far
        self._texts = AuxiliaryTexts(array_rows)
        # Filled by `give`, emptied by `_spill` and `load`.
        self._arrays: list[list[DrumOperations]] = [[] for _ in range(1 << layout.part_bits)]
        self._waiting = np.zeros(len(self._arrays), np.int64)  # operations in each array
        # Sizes of the arrays on disk. Filled by `_spill`, emptied by `load`.
        self._spilled: list[list[int]] = [[] for _ in self._arrays]

    def give(self, operation: int, keys: U64, values: Values, texts: Sequence[str]) -> None:
        """Add operations, at most as many as an array holds."""
        self._texts.add(self._given, texts)
        first = self._given * self.array_rows
        self._given += 1
        numbers = np.arange(first, first + len(keys))
        rows = DrumOperations(numbers, np.full(len(keys), operation, np.uint8), keys, values)
        parts = self._layout.parts_of(keys)
        order = np.argsort(parts, kind="stable")
        edges = np.searchsorted(parts[order], np.arange(len(self._arrays) + 1)).tolist()
        rows = rows.take(order)
        for bucket, (low, high) in enumerate(pairwise(edges)):
            if high > low:
                self._add(bucket, _from_columns([column[low:high] for column in rows.columns()]))

    def _add(self, bucket: int, rows: DrumOperations) -> None:
        self._arrays[bucket].append(rows)
        self._waiting[bucket] += len(rows.keys)
        if self._waiting[bucket] >= self.array_rows:
            self._spill(bucket)

    def largest(self) -> int:
        """Return the number of operations in the fullest bucket on disk."""
        return max(map(sum, self._spilled))

    def _path(self, kind: str, bucket: int) -> Path:
        return self._target.with_name(f"{self._target.name}-{kind}{bucket}")

    def _spill(self, bucket: int) -> None:
        rows = _join(self._arrays[bucket])
        with self._path("pairs", bucket).open("ab") as file:
            for column in rows.columns():
                column.tofile(file)
        with self._path("auxiliaries", bucket).open("a") as texts:
            texts.writelines(text + "\n" for text in self._texts.of(rows.numbers))
        self._spilled[bucket].append(len(rows.keys))
        self._arrays[bucket], self._waiting[bucket] = [], 0
        # The last list is not yet in all of its arrays.
        last = (self._given - 1) * self.array_rows
        oldest = min((int(each[0].numbers[0]) for each in self._arrays if each), default=last)
        self._texts.forget_before(oldest // self.array_rows)

    def load(self, bucket: int) -> DrumOperations:
        """Return all operations of a bucket, and empty it."""
        pieces = self._read(bucket) + self._arrays[bucket]
        self._arrays[bucket], self._waiting[bucket], self._spilled[bucket] = [], 0, []
        return _join(pieces) if pieces else _from_columns([np.empty(0, kind) for kind in self._kinds()])

    def _kinds(self) -> list[np.dtype[Any]]:
        return [np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.uint64), *self._layout.kinds]

    def _read(self, bucket: int) -> list[DrumOperations]:
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

    def auxiliaries(self) -> AuxiliaryTexts:
        """Return the texts of all loaded operations, and start with none."""
        texts, self._texts = self._texts, AuxiliaryTexts(self.array_rows)
        return texts


def _join(pieces: list[DrumOperations]) -> DrumOperations:
    columns = zip(*(piece.columns() for piece in pieces), strict=True)
    return _from_columns([np.concatenate(column) for column in columns])


ARRAY_ROWS = 2**15
BUCKET_ROWS = 2**17


class DrumAnswers(NamedTuple):
    """Answers to checks, in the order of the checks."""

    known: Bits
    values: Values  # zero if the key was not known
    auxiliaries: Sequence[str]


class Drum:
    def __init__(
        self,
        target: Path,
        central: SortedFile,
        dispatch: Callable[[DrumAnswers], None],
        *,
        layout: PartLayout = LAYOUT,
        combine: Combine = combine_values,
        array_rows: int = ARRAY_ROWS,
        bucket_rows: int = BUCKET_ROWS,
    ) -> None:
        """Write files beside `target`, named after it."""
        self.central = central
        self._target, self._dispatch, self._layout, self._combine = target, dispatch, layout, combine
        self._merges = 0
        self._buckets = DrumBuckets(target, layout, array_rows)
        self._bucket_rows = bucket_rows

    def check(self, keys: U64, auxiliaries: Sequence[str]) -> None:
        values = tuple(np.zeros(len(keys), kind) for kind in self._layout.kinds)
        self._give(CHECK, keys, values, auxiliaries)

    def update(self, keys: U64, values: Values) -> None:
        self._give(UPDATE, keys, values, [""] * len(keys))

    def check_update(self, keys: U64, values: Values, auxiliaries: Sequence[str]) -> None:
        self._give(CHECK | UPDATE, keys, values, auxiliaries)

    def _give(self, operation: int, keys: U64, values: Values, auxiliaries: Sequence[str]) -> None:
        rows = self._buckets.array_rows
        for some in (slice(first, first + rows) for first in range(0, len(keys), rows)):
            given = tuple(column[some] for column in values)
            self._buckets.give(operation, keys[some], given, auxiliaries[some])
            if self._buckets.largest() >= self._bucket_rows:
                self.merge()

    def merge(self) -> None:
        """Merge all buckets with the central file in one pass, then dispatch the answers."""
        old, self._merges = self.central, self._merges + 1
        answered: list[tuple[DrumOperations, Bits, Values]] = []
        target = self._target.with_name(f"{self._target.name}-{self._merges}")
        parts = enumerate(old.parts(self._layout))
        self.central = write_sorted(
            target, (self._merge_part(part, self._buckets.load(k), answered) for k, part in parts)
        )
        if self._merges > 1:
            old.path.unlink()
        texts = self._buckets.auxiliaries()
        if answered:
            self._dispatch(_in_order(answered, texts))

    def _merge_part(
        self, part: SortedPart, given: DrumOperations, answered: list[tuple[DrumOperations, Bits, Values]]
    ) -> SortedPart:
        if not len(given.keys):
            return part
        order, is_first = _sort_keys(given.keys)
        keys, firsts = given.keys[order[is_first]], np.flatnonzero(is_first)
        places, hit = part.find(keys)
        play = _Replay(given, hit.copy(), part.values_at(places, hit), self._combine)
        answered.append((given, *play.all_turns(order, firsts)))
        there = np.flatnonzero(play.known)
        return part.put(places[there], hit[there], keys[there], tuple(column[there] for column in play.values))


def _sort_keys(keys: U64) -> tuple[Places, Bits]:
    """Return the stable order of the keys, and where each distinct key begins. Distinct keys are sorted faster."""
    order = np.argsort(keys)
    is_first = np.append(True, keys[order[1:]] != keys[order[:-1]])
    return (order if is_first.all() else np.argsort(keys, kind="stable")), is_first


class _Replay(NamedTuple):
    """Replays the operations in turns: the first of each key, then the second, and so on."""

    given: DrumOperations
    known: Bits  # by key: True once it is known
    values: Values
    combine: Combine

    def all_turns(self, order: Places, firsts: Places) -> tuple[Bits, Values]:
        """Return what each operation finds. `order` sorts the operations by key; each key begins at one of `firsts`."""
        known = np.zeros(len(order), np.bool_)
        before = tuple(np.zeros(len(order), column.dtype) for column in self.values)
        counts = np.diff(np.append(firsts, len(order)))
        for turn in range(int(counts.max())):
            of_key = np.flatnonzero(counts > turn)
            self._turn(order[firsts[of_key] + turn], of_key, known, before)
        return known, before

    def _turn(self, places: Places, of_key: Places, known: Bits, before: Values) -> None:
        """Record what one operation of each key finds, then apply the updates among them."""
        known[places] = self.known[of_key]
        for noted, column in zip(before, self.values, strict=True):
            noted[places] = column[of_key]
        updates = np.flatnonzero(self.given.operations[places] & UPDATE)
        places, of_key = places[updates], of_key[updates]
        given = tuple(column[places] for column in self.given.values)
        there = tuple(column[of_key] for column in self.values)
        for column, combination, alone in zip(self.values, self.combine(there, given), given, strict=True):
            column[of_key] = np.where(self.known[of_key], combination, alone)
        self.known[of_key] = True


def _in_order(answered: list[tuple[DrumOperations, Bits, Values]], texts: AuxiliaryTexts) -> DrumAnswers:
    numbers = np.concatenate([given.numbers for given, _, _ in answered])
    checks = np.flatnonzero(np.concatenate([given.operations for given, _, _ in answered]) & CHECK)
    order = checks[np.argsort(numbers[checks])]
    columns = zip(*((known, *values) for _, known, values in answered), strict=True)
    known, *values = (np.concatenate(column)[order] for column in columns)
    return DrumAnswers(known, tuple(values), texts.of(numbers[order]))


class DrumRepository(MergeRepository):
    def __init__(self, folder: Path, *, array_rows: int = ARRAY_ROWS, bucket_rows: int = BUCKET_ROWS) -> None:
        self._array_rows, self._bucket_rows = array_rows, bucket_rows
        super().__init__(folder, self._check_update)

    def _check_update(
        self, central: SortedFile, target: Path, keys: U64, values: Values, texts: list[str]
    ) -> tuple[SortedFile, Bits, Values]:
        answers = [DrumAnswers(np.zeros(0, np.bool_), LAYOUT.empty_values(), [])]
        drum = Drum(target, central, answers.append, array_rows=self._array_rows, bucket_rows=self._bucket_rows)
        drum.check_update(keys, values, texts)
        drum.merge()
        columns = zip(*((each.known, *each.values) for each in answers), strict=True)
        known, *before = (np.concatenate(column) for column in columns)
        return drum.central, known, tuple(before)
