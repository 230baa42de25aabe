"""Batches of URLs on their way to the repository: a file each, named by the checkpoint that wrote it.

A file is two tables of Arrow, what was collected and what was extracted, and a sum. It is removed when the repository
has committed it, or is found to have done so.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from tarrafa.agent.gathering import Found, Gathering
from tarrafa.disk import atomic_file, map_disk_errors, remove_unfinished
from tarrafa.errors import DamagedError
from tarrafa.numbers import as_column
from tarrafa.verify import Batch, Collected, Extracted

_COLLECTED = pa.schema(
    [
        ("url", pa.large_string()),
        ("at_seconds", pa.float64()),
        ("status", pa.uint16()),
        ("file", pa.uint32()),
        ("offset", pa.uint64()),
    ]
)
_EXTRACTED = pa.schema(
    [("url", pa.large_string()), ("priority", pa.uint16()), ("links", pa.uint16()), ("outside", pa.uint16())]
)
_COUNT_MAX = 2**16 - 1
_SUM_BYTES = 8
_PART_URLS = 5_000
_FACTS_COUNT = len(_EXTRACTED) - 1  # that are known of each URL that was found


class Batches:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with map_disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            remove_unfinished(folder)

    def write(self, number: int, gathered: Gathering) -> int:
        """How many URLs wait in it. Durable when it returns."""
        collected = [_collected(gathered.ended)] if gathered.ended else []
        data = _packed(_COLLECTED, collected) + _packed(_EXTRACTED, _extracted([gathered.found, *gathered.listed]))
        with map_disk_errors(self._folder), atomic_file(self._path(number)) as file:
            file.write(data)
            file.write(xxhash.xxh3_64_digest(data))
        return len(gathered.ended) + gathered.found_count

    def read(self, after: int, last: int) -> Batch:
        """All batches above `after`, up to `last`, as one."""
        with map_disk_errors(self._folder):
            parts = [self._read(path) for number, path in self._files() if after < number <= last]
        collected = _joined(_COLLECTED, [part[0] for part in parts])
        extracted = _joined(_EXTRACTED, [part[1] for part in parts])
        return Batch(
            last,
            Collected(_texts(collected), *(_column(collected, name) for name in _COLLECTED.names[1:])),
            Extracted(_texts(extracted), *(_column(extracted, name) for name in _EXTRACTED.names[1:])),
        )

    def remove(self, last: int) -> None:
        """Those up to `last` are in the repository."""
        with map_disk_errors(self._folder):
            for number, path in self._files():
                if number <= last:
                    path.unlink()

    def _files(self) -> list[tuple[int, Path]]:
        return sorted((int(path.stem), path) for path in self._folder.glob("*.arrow"))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.arrow"

    def _read(self, path: Path) -> tuple[pa.Table, pa.Table]:
        data = path.read_bytes()
        body, found = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
        if len(found) < _SUM_BYTES or xxhash.xxh3_64_digest(body) != found:
            raise DamagedError(f"{path} is not what was written: its sum is wrong; restore it from a copy")
        stream = io.BytesIO(body)
        return pa.ipc.open_stream(stream).read_all(), pa.ipc.open_stream(stream).read_all()


def _collected(ended: Sequence[tuple[Any, ...]]) -> list[pa.Array]:
    return [pa.array(values, kind) for values, kind in zip(zip(*ended, strict=True), _COLLECTED.types, strict=True)]


def _extracted(gathered: Iterable[Found]) -> Iterator[list[pa.Array]]:
    """By column, some at a time: each step holds the interpreter, and the loop waits for it."""
    for found in gathered:
        urls, facts = iter(found), chain.from_iterable(found.values())
        while part := list(islice(urls, _PART_URLS)):
            rows = np.fromiter(facts, np.uint64, _FACTS_COUNT * len(part)).reshape(-1, _FACTS_COUNT)
            columns = np.minimum(rows, _COUNT_MAX).astype(np.uint16).T
            yield [pa.array(part, pa.large_string()), *map(as_column, columns)]


def _packed(schema: pa.Schema, parts: Iterable[list[pa.Array]]) -> bytes:
    """Columns of the same table, one part after the other."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, schema) as writer:
        for arrays in parts:
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return out.getvalue()


def _joined(schema: pa.Schema, parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()


def _texts(table: pa.Table) -> pa.LargeStringArray:
    chunks = table["url"].chunks
    return chunks[0] if chunks else pa.array([], pa.large_string())


def _column(table: pa.Table, name: str) -> Any:
    return table[name].to_numpy()
