"""Mercator-A: popular URLs are kept in memory, and the disk is asked for the others, one by one.

The cache is two generations of pairs: what is used goes to the young one, and when that is full the old one is
forgotten. So a pair that is used again before a whole generation has passed is never asked for twice.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tarrafa.lab.engines.lmdb import FOREIGN, Tree
from tarrafa.lab.engines.pairs import Pair
from tarrafa.lab.engines.points import Points

GENERATION_PAIRS = 2**19


class MercatorA(Points):
    def __init__(self, folder: Path, *, generation_pairs: int = GENERATION_PAIRS) -> None:
        super().__init__(folder, lambda inside: Cached(inside, generation_pairs), FOREIGN)


class Cached:
    """Pairs in LMDB, the popular ones in memory too."""

    def __init__(self, folder: Path, generation_pairs: int) -> None:
        self._tree = Tree(folder)
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

    def put(self, pairs: Sequence[Pair]) -> None:
        self._tree.put(pairs)
        self._use({key: value for key, value in pairs if key[:1] != b"t"})

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        return self._tree.scan(prefix)

    def close(self) -> None:
        self._tree.close()
