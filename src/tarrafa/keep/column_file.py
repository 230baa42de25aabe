"""A file of columns of different lengths that is memory-mapped, so only the parts in use are read.

The file is an Arrow IPC stream of a single row in which every column is a list, followed by eight bytes: the XXH3
checksum of everything before. Its mark identifies the data that it was made from.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import xxhash

_MARK_KEY = b"made-of"
_CHECKSUM_BYTES = 8


def write_columns(file: BinaryIO, columns: Mapping[str, pa.Array], mark: str) -> None:
    lists = [pa.LargeListArray.from_arrays(pa.array([0, len(column)]), column) for column in columns.values()]
    row = pa.RecordBatch.from_arrays(lists, names=list(columns)).replace_schema_metadata({_MARK_KEY: mark.encode()})
    checksummed = _ChecksumFile(file)
    with pa.ipc.new_stream(pa.PythonFile(checksummed, "w"), row.schema) as stream:
        stream.write_batch(row)
    file.write(checksummed.checksum.digest())


def map_columns(path: Path, mark: str) -> dict[str, pa.Array] | None:
    """Return the columns; None if the file is missing or damaged, or has another mark."""
    try:
        whole = pa.memory_map(str(path)).read_buffer()
        if whole.size < _CHECKSUM_BYTES:
            return None
        content, checksum = whole[:-_CHECKSUM_BYTES], whole[-_CHECKSUM_BYTES:]
        if xxhash.xxh3_64_digest(content) != checksum.to_pybytes():
            return None
        row = pa.ipc.open_stream(content).read_next_batch()
    except (OSError, pa.ArrowException):
        return None
    if row.schema.metadata != {_MARK_KEY: mark.encode()}:
        return None
    return {name: row.column(name).values for name in row.schema.names}


class _ChecksumFile:
    """Compute the checksum of what is written to a file."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.checksum = xxhash.xxh3_64()

    def write(self, data: Any) -> int:
        self.checksum.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Do nothing: the owner of the file closes it."""
