"""LMDB: a B-tree in a file that is mapped into memory. One transaction a cycle, synced when it is committed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import lmdb

from tarrafa.lab.engines.pairs import Foreign, Pair
from tarrafa.lab.engines.points import Points

_MAP_BYTES = 2**40  # of addresses, not of disk: the file grows as it is filled


class Lmdb(Points):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Tree, FOREIGN)


def _is_damage(error: Exception) -> bool:
    return isinstance(error, lmdb.CorruptedError | lmdb.InvalidError | lmdb.PageNotFoundError)


FOREIGN = Foreign("tree", lmdb.Error, _is_damage, "tree/data.mdb")


class Tree:
    """Pairs in LMDB."""

    def __init__(self, folder: Path) -> None:
        self._environment = lmdb.open(str(folder / "tree"), map_size=_MAP_BYTES, readahead=False)

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._environment.begin() as transaction:
            found = dict(transaction.cursor().getmulti(keys))
        return [*map(found.get, keys)]

    def put(self, pairs: Sequence[Pair]) -> None:
        with self._environment.begin(write=True) as transaction:
            transaction.cursor().putmulti(pairs)

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        with self._environment.begin() as transaction:
            cursor = transaction.cursor()
            if not cursor.set_range(prefix):
                return
            for key, value in cursor:
                if not key.startswith(prefix):
                    return
                yield key, value

    def close(self) -> None:
        self._environment.close()
