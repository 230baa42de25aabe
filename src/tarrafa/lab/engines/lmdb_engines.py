"""LMDB, a B-tree in a memory-mapped file; and Mercator-A, which caches popular URLs before it.

A cycle is one transaction, synced by its commit. The cache has two generations: used pairs go to the young one, and
when that is full the old one is dropped. So a pair that is used again within a generation is not looked up twice.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import lmdb

from tarrafa.lab.engines.key_value import KeyValue, KeyValueRepository, StoreTraits

_MAP_BYTES = 2**40  # address space, not disk: the file grows as needed


class LmdbRepository(KeyValueRepository):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, LmdbStore, LMDB_TRAITS)


def _is_damage(error: Exception) -> bool:
    return isinstance(error, lmdb.CorruptedError | lmdb.InvalidError | lmdb.PageNotFoundError)


LMDB_TRAITS = StoreTraits("tree", lmdb.Error, _is_damage, "tree/data.mdb")


class LmdbStore:
    """A store in LMDB."""

    def __init__(self, folder: Path) -> None:
        self._environment = lmdb.open(str(folder / "tree"), map_size=_MAP_BYTES, readahead=False)

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._environment.begin() as transaction:
            found = dict(transaction.cursor().getmulti(keys))
        return [*map(found.get, keys)]

    def put(self, pairs: Sequence[KeyValue]) -> None:
        with self._environment.begin(write=True) as transaction:
            transaction.cursor().putmulti(pairs)

    def scan(self, prefix: bytes) -> Iterator[KeyValue]:
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


GENERATION_PAIRS = 2**19


class MercatorA(KeyValueRepository):
    def __init__(self, folder: Path, *, generation_pairs: int = GENERATION_PAIRS) -> None:
        super().__init__(folder, lambda inside: CachedStore(inside, generation_pairs), LMDB_TRAITS)


class CachedStore:
    """A store in LMDB with a cache of popular pairs."""

    def __init__(self, folder: Path, generation_pairs: int) -> None:
        self._tree = LmdbStore(folder)
        self._generation_pairs = generation_pairs
        self._young: dict[bytes, bytes] = {}
        self._old: dict[bytes, bytes] = {}

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        found = {key: value for key in keys if (value := self._young.get(key) or self._old.get(key)) is not None}
        missing = [key for key in keys if key not in found]
        asked = zip(missing, self._tree.get(missing), strict=True)
        found.update({key: value for key, value in asked if value is not None})
        self._use(found)
        return [*map(found.get, keys)]

    def _use(self, pairs: dict[bytes, bytes]) -> None:
        self._young.update(pairs)
        if len(self._young) > self._generation_pairs:
            self._old, self._young = self._young, {}

    def put(self, pairs: Sequence[KeyValue]) -> None:
        self._tree.put(pairs)
        self._use({key: value for key, value in pairs if key[:1] != b"t"})

    def scan(self, prefix: bytes) -> Iterator[KeyValue]:
        return self._tree.scan(prefix)

    def close(self) -> None:
        self._tree.close()
