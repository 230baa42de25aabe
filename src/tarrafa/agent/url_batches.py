"""Batches of URLs on their way to the repository: a file each, named by the checkpoint that wrote it.

A file holds two Arrow tables, collected and extracted URLs, and a checksum. It is removed when the repository has
committed it, or is found to have done so.
"""

import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from tarrafa.agent.unsaved import FoundUrls, Unsaved
from tarrafa.disk import make_folder, map_disk_errors, remove_unfinished, replace_file
from tarrafa.errors import DamagedError
from tarrafa.verify import Batch, Collected, Extracted

_COLLECTED = pa.schema(
    [
        ("url", pa.large_string()),
        ("at_seconds", pa.float64()),
        ("status", pa.uint16()),
        ("file", pa.uint32()),
        ("offset", pa.uint64()),
        ("change", pa.uint8()),
        ("signature", pa.uint64()),
        ("similarity", pa.uint64()),
        ("content_seconds", pa.float32()),
        ("cache_seconds", pa.float32()),
    ]
)
_EXTRACTED = pa.schema(
    [
        ("url", pa.large_string()),
        ("priority", pa.uint16()),
        ("links", pa.uint16()),
        ("outside", pa.uint16()),
        ("depth", pa.uint32()),
        ("kind", pa.uint8()),
        ("weight", pa.uint32()),
    ]
)
_CHECKSUM_BYTES = 8
# URLs converted at a time: each conversion holds the interpreter, and the event loop waits for it.
PART_URLS = 5_000
# Numbers for each found URL; its weight stands apart, because most crawls have none.
_FACTS = [np.dtype(kind.to_pandas_dtype()) for kind in _EXTRACTED.types[1:-1]]
_WEIGHT_MAX = np.iinfo(np.uint32).max


def batch_of(number: int, unsaved: Unsaved) -> Batch:
    """Return what was found since the last checkpoint as a batch for the repository."""
    return Batch(number, _collected_of(_collected_table(unsaved)), _extracted_of(_extracted_table(unsaved)))


def count_urls(batch: Batch) -> int:
    return len(batch.collected.urls) + len(batch.extracted.urls)


def is_offered(folder: Path, url: str) -> bool:
    """Return True if a URL stands in a batch that was written and not verified yet, also while the crawl runs."""
    with map_disk_errors(folder):
        for path in sorted(folder.glob("*.arrow")):
            # The repository may take the batch meanwhile.
            with contextlib.suppress(FileNotFoundError):
                if url in _read_tables(path)[1].column("url").to_pylist():
                    return True
    return False


class UrlBatches:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with map_disk_errors(folder):
            make_folder(folder)
            remove_unfinished(folder)

    def write(self, batch: Batch) -> None:
        """Write a batch. It is durable on return."""
        data = _packed(_table(_COLLECTED, batch.collected)) + _packed(_table(_EXTRACTED, batch.extracted))
        with map_disk_errors(self._folder):
            replace_file(self._path(batch.number), data + xxhash.xxh3_64_digest(data))

    def read(self, after: int, last: int) -> Batch:
        """Return all batches above `after`, up to `last`, as one."""
        with map_disk_errors(self._folder):
            parts = [_read_tables(path) for number, path in self._files() if after < number <= last]
        collected = _joined(_COLLECTED, [part[0] for part in parts])
        extracted = _joined(_EXTRACTED, [part[1] for part in parts])
        return Batch(last, _collected_of(collected), _extracted_of(extracted))

    def remove(self, last: int) -> None:
        """Remove the batches up to `last`: the repository has them."""
        with map_disk_errors(self._folder):
            for number, path in self._files():
                if number <= last:
                    path.unlink()

    def _files(self) -> list[tuple[int, Path]]:
        return sorted((int(path.stem), path) for path in self._folder.glob("*.arrow"))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.arrow"


def _read_tables(path: Path) -> tuple[pa.Table, pa.Table]:
    data = path.read_bytes()
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if len(checksum) < _CHECKSUM_BYTES or xxhash.xxh3_64_digest(body) != checksum:
        raise DamagedError(f"{path} is damaged: its checksum is wrong; restore it from a copy")
    stream = io.BytesIO(body)
    return pa.ipc.open_stream(stream).read_all(), pa.ipc.open_stream(stream).read_all()


def _collected_table(unsaved: Unsaved) -> pa.Table:
    if not unsaved.ended:
        return _COLLECTED.empty_table()
    columns = zip(zip(*unsaved.ended, strict=True), _COLLECTED.types, strict=True)
    return pa.Table.from_arrays([pa.array(values, kind) for values, kind in columns], schema=_COLLECTED)


def _extracted_table(unsaved: Unsaved) -> pa.Table:
    found = chain(_extracted([unsaved.found], unsaved.weights), _extracted(unsaved.listed, {}))
    parts = [pa.Table.from_arrays(arrays, schema=_EXTRACTED) for arrays in found]
    return _joined(_EXTRACTED, parts)


def _extracted(found: Iterable[FoundUrls], weights: Mapping[str, int]) -> Iterator[list[pa.Array]]:
    for urls_with_facts in found:
        urls, facts = iter(urls_with_facts), chain.from_iterable(urls_with_facts.values())
        while part := list(islice(urls, PART_URLS)):
            rows = np.fromiter(facts, np.uint64, len(_FACTS) * len(part)).reshape(-1, len(_FACTS))
            columns = [
                np.minimum(row, np.iinfo(kind).max).astype(kind) for row, kind in zip(rows.T, _FACTS, strict=True)
            ]
            columns.append(_weights(part, weights))
            yield [pa.array(part, pa.large_string()), *map(pa.array, columns)]


def _weights(urls: Sequence[str], weights: Mapping[str, int]) -> NDArray[np.uint32]:
    if not weights:
        return np.zeros(len(urls), np.uint32)
    return np.array([min(weights.get(url, 0), _WEIGHT_MAX) for url in urls], np.uint32)


def _packed(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _table(schema: pa.Schema, rows: Collected | Extracted) -> pa.Table:
    columns = [pa.array(column) for column in rows[1:]]
    return pa.Table.from_arrays([rows.urls, *columns], schema=schema)


def _joined(schema: pa.Schema, parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()


def _collected_of(table: pa.Table) -> Collected:
    return Collected(_urls(table), *(_column(table, name) for name in _COLLECTED.names[1:]))


def _extracted_of(table: pa.Table) -> Extracted:
    return Extracted(_urls(table), *(_column(table, name) for name in _EXTRACTED.names[1:]))


def _urls(table: pa.Table) -> pa.LargeStringArray:
    chunks = table["url"].chunks
    return chunks[0] if chunks else pa.array([], pa.large_string())


def _column(table: pa.Table, name: str) -> Any:
    return table[name].to_numpy()
