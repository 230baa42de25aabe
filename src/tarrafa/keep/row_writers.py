"""Documents and links: one row for each page that was stored, and one for each link of it.

Rows are buffered in memory and become a segment when they are many, or at a checkpoint.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.keep.segment_reader import TableLayout, whole_layout
from tarrafa.keep.segment_writer import SegmentWriter
from tarrafa.urls import host_name, host_of, site

# A moment; in Python, seconds since the Unix epoch.
_MOMENT = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.string())
# Approximate size of a row without its texts.
_DOCUMENT_BYTES = 500
_LINK_BYTES = 200
# Rows that are converted to columns at a time, so that the conversion reuses a small amount of memory.
_DOCUMENTS_TOGETHER = 250
_LINKS_TOGETHER = 10_000

_Values: TypeAlias = Sequence[Any] | NDArray[Any]

# What a hook may store with a document, and the column that it becomes.
FieldValue: TypeAlias = str | int | float | bool | datetime | tuple[str, ...]
_FIELD_COLUMNS: dict[type, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: _MOMENT,
    tuple: _TEXTS,
}


class DocumentRow(NamedTuple):
    """A document. Empty texts mean unknown; host and site are derived when the row is written."""

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
    similarity: int = 0  # 64 bits that are close for near-duplicates; 0 for none
    directives: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()
    size_bytes: int = 0
    cuts: tuple[str, ...] = ()  # parts of which something was left out, such as links
    digest: str = ""
    archive_file: int | None = None
    archive_offset: int | None = None
    # Columns of their own, beside those above. All values of a name have the same type in a crawl.
    fields: Mapping[str, FieldValue] = MappingProxyType({})


DOCUMENTS = TableLayout(
    name="documents",
    version=2,
    columns=pa.schema(
        {
            "url": pa.string(),
            "host": pa.string(),
            "site": pa.string(),
            "fetched_at": _MOMENT,
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
            "published_at": _MOMENT,
            "modified_at": _MOMENT,
            "signature": pa.uint64(),
            "similarity": pa.uint64(),
            "directives": _TEXTS,
            "usage": _TEXTS,
            "size_bytes": pa.uint64(),
            "cuts": _TEXTS,
            "digest": pa.string(),
            "archive_file": pa.uint32(),
            "archive_offset": pa.uint64(),
        }
    ),
    dictionaries=("host", "site", "outcome", "status", "media_type", "encoding", "language", "archive_file"),
    statistics=("host", "site", "fetched_at", "status", "archive_file", "archive_offset"),
)

# Target URL, anchor text, rel, kind, position.
Link: TypeAlias = tuple[str, str, str, str, int]

LINKS = TableLayout(
    name="links",
    version=1,
    columns=pa.schema(
        {
            "source": pa.string(),
            "fetched_at": _MOMENT,
            "target": pa.string(),
            "text": pa.string(),
            "rel": pa.string(),
            "kind": pa.string(),
            "position": pa.uint32(),
        }
    ),
    dictionaries=("source", "fetched_at", "target", "text", "rel", "kind"),
    statistics=("source", "fetched_at"),
)
_LINK_COLUMNS = LINKS.columns.names[2:]


class DocumentWriter:
    def __init__(self, folder: Path, checkpoint: int, rows_limit: int = 10_000, bytes_limit: int = 32_000_000) -> None:
        """`checkpoint` is the last that the caller has committed; later rows are removed."""
        self._segments = SegmentWriter(folder, DOCUMENTS, checkpoint)
        self._rows_limit = rows_limit
        self._bytes_limit = bytes_limit
        # Filled by add, emptied by _write.
        self._rows: list[DocumentRow] = []
        self._bytes = 0

    def add(self, row: DocumentRow) -> None:
        self._rows.append(row)
        self._bytes += _DOCUMENT_BYTES + len(row.text) + len(row.title) + sum(map(len, row.headings))
        if len(self._rows) >= self._rows_limit or self._bytes >= self._bytes_limit:
            self._write()

    def sync(self, checkpoint: int) -> None:
        """Make all rows durable; they count once the caller has committed that checkpoint."""
        self._write()
        self._segments.advance(checkpoint)

    def _write(self) -> None:
        if self._rows:
            starts, added = range(0, len(self._rows), _DOCUMENTS_TOGETHER), field_columns(self._rows)
            parts = (self._rows[start : start + _DOCUMENTS_TOGETHER] for start in starts)
            self._segments.write((document_table(part, added) for part in parts), added)
            self._rows.clear()
            self._bytes = 0


def field_columns(rows: Sequence[DocumentRow]) -> list[pa.Field]:
    """Return a column for each field that one of the rows has."""
    kinds = {name: _FIELD_COLUMNS[type(value)] for row in rows if row.fields for name, value in row.fields.items()}
    return [pa.field(name, kind) for name, kind in sorted(kinds.items())]


def field_types(folder: Path, checkpoint: int) -> dict[str, type]:
    """Return the fields that documents have up to a checkpoint, each with the type of its values."""
    columns = [*whole_layout(folder, DOCUMENTS, checkpoint).columns][len(DOCUMENTS.columns) :]
    return {each.name: kind for each in columns for kind, column in _FIELD_COLUMNS.items() if column == each.type}


def document_table(rows: Sequence[DocumentRow], added: Sequence[pa.Field] = ()) -> pa.Table:
    columns: dict[str, Any] = dict(zip(DocumentRow._fields, zip(*rows, strict=True), strict=True))
    columns["host"] = [host_of(url) for url in columns["url"]]
    columns["site"] = [site(host_name(url)) for url in columns["url"]]
    table = _table(DOCUMENTS, [columns[name] for name in DOCUMENTS.columns.names])
    for each in added:
        values = [row.fields.get(each.name) for row in rows]
        table = table.append_column(
            each, _column(values, each.type) if each.type != _MOMENT else pa.array(values, _MOMENT)
        )
    return table


class LinkWriter:
    def __init__(self, folder: Path, checkpoint: int, rows_limit: int = 200_000, bytes_limit: int = 64_000_000) -> None:
        """`checkpoint` is the last that the caller has committed; later rows are removed."""
        self._segments = SegmentWriter(folder, LINKS, checkpoint)
        self._rows_limit = rows_limit
        self._bytes_limit = bytes_limit
        # Filled by _convert, emptied by _write.
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._bytes = 0
        self._clear()

    def _clear(self) -> None:
        # Filled by add, emptied by _convert: URL, time and number of links of each page; the columns of each link.
        self._sources: list[str] = []
        self._times: list[float] = []
        self._counts: list[int] = []
        self._columns: list[list[Any]] = [[] for _ in _LINK_COLUMNS]

    def add(self, source: str, fetched_at: float, links: Sequence[Link]) -> None:
        """Add the links of one page, in order."""
        if links:
            self.add_columns(source, fetched_at, list(zip(*links, strict=True)))

    def add_columns(self, source: str, fetched_at: float, columns: Sequence[Sequence[Any]]) -> None:
        """Add the links of one page, given as columns: all targets, all texts, and so on."""
        targets, texts = columns[:2]
        if not targets:
            return
        self._sources.append(source)
        self._times.append(fetched_at)
        self._counts.append(len(targets))
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)
        self._rows += len(targets)
        self._bytes += len(targets) * _LINK_BYTES + sum(map(len, targets)) + sum(map(len, texts))
        if len(self._columns[0]) >= _LINKS_TOGETHER:
            self._convert()
        if self._rows >= self._rows_limit or self._bytes >= self._bytes_limit:
            self._write()

    def sync(self, checkpoint: int) -> None:
        """Make all rows durable; they count once the caller has committed that checkpoint."""
        self._write()
        self._segments.advance(checkpoint)

    def _convert(self) -> None:
        if self._sources:
            sources = chain.from_iterable(map(repeat, self._sources, self._counts))
            self._tables.append(_table(LINKS, [list(sources), np.repeat(self._times, self._counts), *self._columns]))
            self._clear()

    def _write(self) -> None:
        self._convert()
        if self._tables:
            self._segments.write(self._tables)
            self._tables.clear()
            self._rows = self._bytes = 0


def _table(layout: TableLayout, columns: Sequence[_Values]) -> pa.Table:
    arrays = [_column(values, kind) for values, kind in zip(columns, layout.columns.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=layout.columns)


def _column(values: _Values, kind: pa.DataType) -> pa.Array:
    if kind == _MOMENT:
        return _moments(values)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # A lone surrogate cannot be encoded; it is replaced.
        return pa.array([_scrubbed(value) for value in values], kind)


def _moments(values: _Values) -> pa.Array:
    seconds = np.array(values, np.float64)  # None becomes NaN
    is_missing = np.isnan(seconds)
    microseconds = np.where(is_missing, 0, np.rint(seconds * 1e6)).astype(np.int64)
    return pa.array(microseconds, mask=is_missing).view(_MOMENT)


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return [_scrubbed(each) for each in value] if isinstance(value, tuple) else value
