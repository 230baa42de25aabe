"""Documents: a row for each page that was kept, with what was found in it."""

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tarrafa.keep.columns import SECONDS, column
from tarrafa.keep.segments import Layout, Segments
from tarrafa.urls import host_name, host_of, site

_TEXTS = pa.list_(pa.string())
# What a row takes beside its texts, roughly.
_ROW_BYTES = 500
# That become columns together. Texts are long, and memory that is used again costs less than memory that is new.
_TOGETHER_ROWS = 250


class DocumentRow(NamedTuple):
    """Empty texts stand for what is not known; host and site are worked out when the row is written."""

    url: str
    fetched_at: float  # seconds since the Unix epoch
    outcome: str
    status: int
    media_type: str = ""
    encoding: str = ""
    language: str = ""
    title: str = ""
    description: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""
    canonical: str = ""
    published_at: float | None = None
    modified_at: float | None = None
    signature: int = 0  # 64 bits of the content; 0 for none
    similarity: int = 0  # 64 bits that are close for contents that are alike; 0 for none
    directives: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()
    size_bytes: int = 0
    truncated: bool = False
    digest: str = ""
    archive_file: int | None = None
    archive_offset: int | None = None


_TYPES: dict[str, pa.DataType] = {
    "url": pa.string(),
    "host": pa.string(),
    "site": pa.string(),
    "fetched_at": SECONDS,
    "outcome": pa.string(),
    "status": pa.uint16(),
    "media_type": pa.string(),
    "encoding": pa.string(),
    "language": pa.string(),
    "title": pa.string(),
    "description": pa.string(),
    "headings": _TEXTS,
    "text": pa.string(),
    "canonical": pa.string(),
    "published_at": SECONDS,
    "modified_at": SECONDS,
    "signature": pa.uint64(),
    "similarity": pa.uint64(),
    "directives": _TEXTS,
    "usage": _TEXTS,
    "size_bytes": pa.uint64(),
    "truncated": pa.bool_(),
    "digest": pa.string(),
    "archive_file": pa.uint32(),
    "archive_offset": pa.uint64(),
}

DOCUMENTS = Layout(
    name="documents",
    version=1,
    columns=pa.schema(list(_TYPES.items())),
    dictionaries=("host", "site", "outcome", "status", "media_type", "encoding", "language", "archive_file"),
    statistics=("host", "site", "fetched_at", "status", "archive_file", "archive_offset"),
)


class Documents:
    """Rows gather in memory and become a segment when they are many, or when a checkpoint asks for it."""

    def __init__(self, folder: Path, checkpoint: int, rows_limit: int = 10_000, bytes_limit: int = 32_000_000) -> None:
        """`checkpoint` is the last that the caller has committed; later rows are removed."""
        self._segments = Segments(folder, DOCUMENTS, checkpoint)
        self._rows_limit = rows_limit
        self._bytes_limit = bytes_limit
        # Filled by add, emptied by _write.
        self._rows: list[DocumentRow] = []
        self._bytes = 0

    def add(self, row: DocumentRow) -> None:
        self._rows.append(row)
        self._bytes += _ROW_BYTES + len(row.text) + len(row.title) + sum(map(len, row.headings))
        if len(self._rows) >= self._rows_limit or self._bytes >= self._bytes_limit:
            self._write()

    def sync(self, checkpoint: int) -> None:
        """All rows so far are durable, and count once the caller has committed that checkpoint."""
        self._write()
        self._segments.passed(checkpoint)

    def _write(self) -> None:
        if self._rows:
            starts = range(0, len(self._rows), _TOGETHER_ROWS)
            self._segments.write(_table(self._rows[start : start + _TOGETHER_ROWS]) for start in starts)
            self._rows.clear()
            self._bytes = 0


def _table(rows: list[DocumentRow]) -> pa.Table:
    columns: dict[str, Any] = dict(zip(DocumentRow._fields, zip(*rows, strict=True), strict=True))
    columns["host"] = [host_of(url) for url in columns["url"]]
    columns["site"] = [site(host_name(url)) for url in columns["url"]]
    arrays = [column(columns[name], kind) for name, kind in _TYPES.items()]
    return pa.Table.from_arrays(arrays, schema=DOCUMENTS.columns)
