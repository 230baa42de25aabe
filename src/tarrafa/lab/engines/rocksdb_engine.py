"""RocksDB: sorted runs on disk that are merged in the background. A cycle is one synced batch of writes.

Configured for point look-ups as its manual says: Bloom filters of ten bits a key, a block cache, larger buffers.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from rocksdict import BlockBasedOptions, Cache, DbClosedError, Options, Rdict, WriteBatch, WriteOptions

from tarrafa.lab.engines.key_value import KeyValue, KeyValueRepository, StoreTraits

_CACHE_BYTES = 256 * 2**20
_BUFFER_BYTES = 64 * 2**20
_BITS_PER_KEY = 10
_LOOK_SECONDS = 0.01
# Properties of RocksDB that count background work, running and pending.
_BACKGROUND = ("num-running-compactions", "num-running-flushes", "compaction-pending", "mem-table-flush-pending")


class RocksdbRepository(KeyValueRepository):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _RocksdbStore, StoreTraits("runs", _RocksdbError, _is_damage))

    def wait_for_merges(self) -> None:
        """Wait until no merge runs in the background, so that its cost is measured with its cause."""
        runs = self._folder.store
        assert isinstance(runs, _RocksdbStore)
        while runs.is_merging():
            time.sleep(_LOOK_SECONDS)


class _RocksdbError(Exception):
    """An error of the library, which raises plain `Exception`."""


def _is_damage(error: Exception) -> bool:
    return str(error).startswith("Corruption") or "No such file" in str(error)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if type(error) in (Exception, DbClosedError):
            raise _RocksdbError(str(error)) from error
        raise


class _RocksdbStore:
    def __init__(self, folder: Path) -> None:
        with _translate_errors():
            self._database = Rdict(str(folder / "runs"), _options())
        self._durable = WriteOptions()
        self._durable.sync = True

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with _translate_errors():
            return cast("list[bytes | None]", self._database.get([*keys])) if keys else []

    def put(self, pairs: Sequence[KeyValue]) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in pairs:
            batch.put(key, value)
        with _translate_errors():
            self._database.write(batch, self._durable)

    def scan(self, prefix: bytes) -> Iterator[KeyValue]:
        """Use the iterator with a status: the others end at a damaged block as if it were the end."""
        with _translate_errors():
            runs = self._database.iter()
            runs.seek(prefix)
            while runs.valid() and runs.key().startswith(prefix):
                yield runs.key(), runs.value()
                runs.next()
            runs.status()

    def is_merging(self) -> bool:
        return any(self._database.property_int_value(f"rocksdb.{name}") for name in _BACKGROUND)

    def close(self) -> None:
        """Close; what could not be merged is in the write-ahead log, which the next start replays."""
        with suppress(_RocksdbError), _translate_errors():
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
