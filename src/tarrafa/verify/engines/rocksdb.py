"""RocksDB: sorted runs on disk that are merged in the background. One batch of writes a cycle, synced.

Set up as its manual asks for point look-ups: Bloom filters of ten bits a key, a cache of blocks, larger buffers.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch, WriteOptions

from tarrafa.verify.engines.points import Pair, Points

_CACHE_BYTES = 256 * 2**20
_BUFFER_BYTES = 64 * 2**20
_BITS_PER_KEY = 10


class Rocksdb(Points):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _Runs)


class _Runs:
    def __init__(self, folder: Path) -> None:
        self._database = Rdict(str(folder / "runs"), _options())
        self._durable = WriteOptions()
        self._durable.sync = True

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return cast("list[bytes | None]", self._database.get([*keys])) if keys else []

    def put(self, pairs: Sequence[Pair]) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in pairs:
            batch.put(key, value)
        self._database.write(batch, self._durable)

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        for key, value in cast("Iterator[Pair]", self._database.items(from_key=prefix)):
            if not key.startswith(prefix):
                return
            yield key, value

    def close(self) -> None:
        self._database.close()


def _options() -> Options:
    table = BlockBasedOptions()
    table.set_bloom_filter(_BITS_PER_KEY, False)
    table.set_block_cache(Cache(_CACHE_BYTES))
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(_BUFFER_BYTES)
    options.increase_parallelism(2)
    return options
