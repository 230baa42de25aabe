"""DRUM, as in IRLbot: pairs of key and value with auxiliary text, which are checked and updated a great many at a time.

What is given goes to one of k arrays in memory by its key. A full array is written behind its two buckets on disk, one
of keys and values and one of auxiliaries. When a bucket reaches its bound, all are merged with the central file in one
sequential pass: a bucket is loaded, sorted and merged with the part of the file that holds its range of keys, its order
is restored, and the answers are dispatched with their auxiliaries, first in, first out.

1. A check answers whether the key is in the central file or in an update that was given before it.
2. An update writes the value of a key, or combines it with the one that is there.
3. Answers come in the order in which the checks were given.
4. A merge reads and writes the central file once, from its beginning to its end.

A bucket on disk is only of use to the process that wrote it; whoever owns the central file says what is durable.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tarrafa.lab.engines.buckets import CHECK, UPDATE, Auxiliaries, Buckets, Operations
from tarrafa.lab.engines.merging import LAYOUT, Merging, combined
from tarrafa.lab.engines.offers import U64, Bits, Places
from tarrafa.lab.engines.sorted_file import Combine, Layout, Part, SortedFile, Values, write_sorted

ARRAY_ROWS = 2**15
BUCKET_ROWS = 2**17


class Answers(NamedTuple):
    """To checks, in their order."""

    known: Bits
    values: Values  # zero where the key was not known
    auxiliaries: Sequence[str]


class Drum:
    def __init__(
        self,
        target: Path,
        central: SortedFile,
        dispatch: Callable[[Answers], None],
        *,
        layout: Layout = LAYOUT,
        combine: Combine = combined,
        array_rows: int = ARRAY_ROWS,
        bucket_rows: int = BUCKET_ROWS,
    ) -> None:
        """Files are written beside `target`, and named after it."""
        self.central = central
        self._target, self._dispatch, self._layout, self._combine = target, dispatch, layout, combine
        self._merges = 0
        self._buckets = Buckets(target, layout, array_rows)
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
        """All buckets with the central file, in one pass; then the answers."""
        old, self._merges = self.central, self._merges + 1
        answered: list[tuple[Operations, Bits, Values]] = []
        target = self._target.with_name(f"{self._target.name}-{self._merges}")
        parts = enumerate(old.parts(self._layout))
        self.central = write_sorted(target, (self._merged(part, self._buckets.load(k), answered) for k, part in parts))
        if self._merges > 1:
            old.path.unlink()
        texts = self._buckets.auxiliaries()
        if answered:
            self._dispatch(_in_order(answered, texts))

    def _merged(self, part: Part, given: Operations, answered: list[tuple[Operations, Bits, Values]]) -> Part:
        if not len(given.keys):
            return part
        order, is_first = _sorted(given.keys)
        keys, firsts = given.keys[order[is_first]], np.flatnonzero(is_first)
        places, hit = part.find(keys)
        play = _Play(given, hit.copy(), part.values_at(places, hit), self._combine)
        answered.append((given, *play.all_turns(order, firsts)))
        there = np.flatnonzero(play.known)
        return part.put(places[there], hit[there], keys[there], tuple(column[there] for column in play.values))


def _sorted(keys: U64) -> tuple[Places, Bits]:
    """The order of the keys, equal ones as they were given; and where each begins. Distinct keys are sorted faster."""
    order = np.argsort(keys)
    is_first = np.append(True, keys[order[1:]] != keys[order[:-1]])
    return (order if is_first.all() else np.argsort(keys, kind="stable")), is_first


class _Play(NamedTuple):
    """Operations on distinct keys, played in turns: the first of each key, then the second, and so on."""

    given: Operations
    known: Bits  # by key: whether it is known by now
    values: Values
    combine: Combine

    def all_turns(self, order: Places, firsts: Places) -> tuple[Bits, Values]:
        """What each operation finds. `order` sorts them by key, and at `firsts` begins a key."""
        known = np.zeros(len(order), np.bool_)
        before = tuple(np.zeros(len(order), column.dtype) for column in self.values)
        counts = np.diff(np.append(firsts, len(order)))
        for turn in range(int(counts.max())):
            of_key = np.flatnonzero(counts > turn)
            self._turn(order[firsts[of_key] + turn], of_key, known, before)
        return known, before

    def _turn(self, places: Places, of_key: Places, known: Bits, before: Values) -> None:
        """Note what one operation of each key finds, then do the updates among them."""
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


def _in_order(answered: list[tuple[Operations, Bits, Values]], texts: Auxiliaries) -> Answers:
    numbers = np.concatenate([given.numbers for given, _, _ in answered])
    checks = np.flatnonzero(np.concatenate([given.operations for given, _, _ in answered]) & CHECK)
    order = checks[np.argsort(numbers[checks])]
    columns = zip(*((known, *values) for _, known, values in answered), strict=True)
    known, *values = (np.concatenate(column)[order] for column in columns)
    return Answers(known, tuple(values), texts.of(numbers[order]))


class DrumRepository(Merging):
    def __init__(self, folder: Path, *, array_rows: int = ARRAY_ROWS, bucket_rows: int = BUCKET_ROWS) -> None:
        self._array_rows, self._bucket_rows = array_rows, bucket_rows
        super().__init__(folder, self._check_update)

    def _check_update(
        self, central: SortedFile, target: Path, keys: U64, values: Values, texts: list[str]
    ) -> tuple[SortedFile, Bits, Values]:
        answers = [Answers(np.zeros(0, np.bool_), LAYOUT.nothing(), [])]
        drum = Drum(target, central, answers.append, array_rows=self._array_rows, bucket_rows=self._bucket_rows)
        drum.check_update(keys, values, texts)
        drum.merge()
        columns = zip(*((each.known, *each.values) for each in answers), strict=True)
        known, *before = (np.concatenate(column) for column in columns)
        return drum.central, known, tuple(before)
