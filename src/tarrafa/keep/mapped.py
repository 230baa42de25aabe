"""Columns of any length in one file that is mapped into memory: of large ones only what is looked at is read.

A file is an Arrow IPC stream of a single row in which every column is a list, and behind it eight bytes: the XXH3 sum
of all before. Its mark says of what it was made.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import xxhash

_MARK_KEY = b"made-of"
_SUM_BYTES = 8


def write_columns(file: BinaryIO, columns: Mapping[str, pa.Array], mark: str) -> None:
    lists = [pa.LargeListArray.from_arrays(pa.array([0, len(column)]), column) for column in columns.values()]
    row = pa.RecordBatch.from_arrays(lists, names=list(columns)).replace_schema_metadata({_MARK_KEY: mark.encode()})
    summing = _Summing(file)
    with pa.ipc.new_stream(pa.PythonFile(summing, "w"), row.schema) as stream:
        stream.write_batch(row)
    file.write(summing.total.digest())


def map_columns(path: Path, mark: str) -> dict[str, pa.Array] | None:
    """None if there is no file with that mark, or not as it was written."""
    try:
        whole = pa.memory_map(str(path)).read_buffer()
        if whole.size < _SUM_BYTES:
            return None
        content, total = whole[:-_SUM_BYTES], whole[-_SUM_BYTES:]
        if xxhash.xxh3_64_digest(content) != total.to_pybytes():
            return None
        row = pa.ipc.open_stream(content).read_next_batch()
    except (OSError, pa.ArrowException):
        return None
    if row.schema.metadata != {_MARK_KEY: mark.encode()}:
        return None
    return {name: row.column(name).values for name in row.schema.names}


class _Summing:
    """A file that sums what is written to it."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.total = xxhash.xxh3_64()

    def write(self, data: Any) -> int:
        self.total.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Its owner closes it."""
