"""A sorted file of keys with values, rewritten in one sequential pass.

The file consists of parts, one for each of equal ranges of keys. A part consists of columns: its keys, then each of its
values. So a part is read, changed and written as whole arrays, and only one part is in memory at a time. Each part has
a checksum that is verified whenever it is read.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.lab.engines.engine_folder import check_length, refuse, sync_file
from tarrafa.lab.engines.offers import U64, Bits

Values = tuple[NDArray[np.unsignedinteger], ...]
# Takes the present values and the offered ones, and returns the new ones.
Combine = Callable[[Values, Values], Values]


class PartLayout(NamedTuple):
    """The number of parts, as a power of two up to 256, and the types of the values."""

    part_bits: int
    kinds: tuple[np.dtype[np.unsignedinteger], ...]

    def parts_of(self, keys: U64) -> NDArray[np.uint8]:
        return (keys >> np.uint64(64 - self.part_bits)).astype(np.uint8)

    def row_bytes(self) -> int:
        return 8 + sum(kind.itemsize for kind in self.kinds)

    def read(self, file: BinaryIO, written: "PartSum") -> "SortedPart":
        keys = np.fromfile(file, np.uint64, written.rows)
        part = SortedPart(keys, tuple(np.fromfile(file, kind, written.rows) for kind in self.kinds))
        return part if part.written() == written else refuse(file.name)

    def empty_values(self) -> Values:
        return tuple(np.zeros(0, kind) for kind in self.kinds)


class SortedPart(NamedTuple):
    keys: U64
    values: Values

    def find(self, keys: U64) -> tuple[NDArray[np.intp], Bits]:
        """Return the position of each sorted key, and whether it is present."""
        places = np.searchsorted(self.keys, keys)
        inside = np.minimum(places, max(len(self.keys) - 1, 0))
        hit = self.keys[inside] == keys if len(self.keys) else np.zeros(len(keys), np.bool_)
        return places, hit

    def values_at(self, places: NDArray[np.intp], hit: Bits) -> Values:
        """Return the values of present keys, and zero for the others."""
        found = []
        for column in self.values:
            values = np.zeros(len(places), column.dtype)
            values[hit] = column[places[hit]]
            found.append(values)
        return tuple(found)

    def put(self, places: NDArray[np.intp], hit: Bits, keys: U64, values: Values) -> "SortedPart":
        """Change the values of present keys, and insert the others."""
        for column, new in zip(self.values, values, strict=True):
            column[places[hit]] = new[hit]
        at = places[~hit]
        if not len(at):
            return self
        old = np.ones(len(self.keys) + len(at), np.bool_)
        at = at + np.arange(len(at))
        old[at] = False
        columns = zip((self.keys, *self.values), (keys, *values), strict=True)
        whole = [_woven(old, at, column, new[~hit]) for column, new in columns]
        return SortedPart(whole[0], tuple(whole[1:]))

    def written(self) -> "PartSum":
        total = xxhash.xxh3_64()
        for column in (self.keys, *self.values):
            total.update(column.data)
        return PartSum(len(self.keys), total.intdigest())

    def write(self, file: BinaryIO) -> "PartSum":
        for column in (self.keys, *self.values):
            column.tofile(file)
        return self.written()


def _woven(
    old: Bits, at: NDArray[np.intp], column: NDArray[np.unsignedinteger], new: NDArray[np.unsignedinteger]
) -> NDArray[np.unsignedinteger]:
    whole = np.empty(len(old), column.dtype)
    whole[old] = column
    whole[at] = new
    return whole


class PartSum(NamedTuple):
    """A part in the manifest: its rows and checksum."""

    rows: int
    sum: int


class SortedFile(NamedTuple):
    path: Path
    written: list[PartSum]  # of its parts; empty if there is no file yet

    def parts(self, layout: PartLayout) -> Iterator[SortedPart]:
        """Yield the parts in order, each read once."""
        if not self.written:
            yield from (SortedPart(np.empty(0, np.uint64), layout.empty_values()) for _ in range(1 << layout.part_bits))
            return
        with self._open(layout) as file:
            for written in self.written:
                yield layout.read(file, written)

    def _open(self, layout: PartLayout) -> BinaryIO:
        return check_length(self.path, self._offset(layout, len(self.written))).open("rb")

    def _offset(self, layout: PartLayout, place: int) -> int:
        """Return the offset of a part."""
        return sum(each.rows for each in self.written[:place]) * layout.row_bytes()

    def lookup(self, layout: PartLayout, keys: U64) -> tuple[Bits, Values]:
        """Return which of these sorted keys are present, and their values. Only their parts are read."""
        hits, values = [np.zeros(0, np.bool_)], [layout.empty_values()]
        for part, some in self._parts_of(layout, keys):
            places, hit = part.find(some)
            hits.append(hit)
            values.append(part.values_at(places, hit))
        return np.concatenate(hits), tuple(np.concatenate(columns) for columns in zip(*values, strict=True))

    def _parts_of(self, layout: PartLayout, keys: U64) -> Iterator[tuple[SortedPart, U64]]:
        """Yield each part that has some of the keys, with these keys."""
        edges = np.searchsorted(layout.parts_of(keys), np.arange(len(self.written) + 1))
        if not edges[-1]:
            return
        with self._open(layout) as file:
            for place in np.flatnonzero(np.diff(edges)).tolist():
                file.seek(self._offset(layout, place))
                yield layout.read(file, self.written[place]), keys[edges[place] : edges[place + 1]]


def write_sorted(path: Path, parts: Iterable[SortedPart]) -> SortedFile:
    """Write a new file of the parts, one by one."""
    with path.open("wb") as file:
        written = [part.write(file) for part in parts]
        file.flush()
        sync_file(file.fileno())
    return SortedFile(path, written)
