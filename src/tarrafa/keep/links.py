"""Links: a row for each link of each page, with the words that one clicks on."""

from collections.abc import Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tarrafa.keep.columns import SECONDS, Values, column
from tarrafa.keep.segments import Layout, Segments

# Target URL, anchor text, rel, kind, position: the order in which a page's links come here.
Link: TypeAlias = tuple[str, str, str, str, int]

# Of each link: those columns that differ from link to link of a page.
_OWN: dict[str, pa.DataType] = {
    "target": pa.string(),
    "text": pa.string(),
    "rel": pa.string(),
    "kind": pa.string(),
    "position": pa.uint32(),
}
# What a row takes beside its texts, roughly.
_ROW_BYTES = 200
# That become columns together: in memory that is used again, which costs less than memory that is new.
_TOGETHER_ROWS = 10_000

LINKS = Layout(
    name="links",
    version=1,
    columns=pa.schema([("source", pa.string()), ("fetched_at", SECONDS), *_OWN.items()]),
    dictionaries=("source", "fetched_at", "target", "text", "rel", "kind"),
    statistics=("source", "fetched_at"),
)


class Links:
    """Rows gather in memory and become a segment when they are many, or when a checkpoint asks for it."""

    def __init__(self, folder: Path, checkpoint: int, rows_limit: int = 200_000, bytes_limit: int = 64_000_000) -> None:
        """`checkpoint` is the last that the caller has committed; later rows are removed."""
        self._segments = Segments(folder, LINKS, checkpoint)
        self._rows_limit = rows_limit
        self._bytes_limit = bytes_limit
        # Filled by _gather, emptied by _write.
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._bytes = 0
        self._clear()

    def _clear(self) -> None:
        # Filled by add, emptied by _gather: of each page its URL, its time and the number of its links; of each link
        # its own columns.
        self._sources: list[str] = []
        self._times: list[float] = []
        self._counts: list[int] = []
        self._own: list[list[Any]] = [[] for _ in _OWN]

    def add(self, source: str, fetched_at: float, links: Sequence[Link]) -> None:
        """The links of one page, in its order."""
        if links:
            self.add_columns(source, fetched_at, list(zip(*links, strict=True)))

    def add_columns(self, source: str, fetched_at: float, columns: Sequence[Sequence[Any]]) -> None:
        """The same, by what a link is made of: all targets, all texts, and so on."""
        targets, texts = columns[:2]
        if not targets:
            return
        self._sources.append(source)
        self._times.append(fetched_at)
        self._counts.append(len(targets))
        for gathered, values in zip(self._own, columns, strict=True):
            gathered.extend(values)
        self._rows += len(targets)
        self._bytes += len(targets) * _ROW_BYTES + sum(map(len, targets)) + sum(map(len, texts))
        if len(self._own[0]) >= _TOGETHER_ROWS:
            self._gather()
        if self._rows >= self._rows_limit or self._bytes >= self._bytes_limit:
            self._write()

    def sync(self, checkpoint: int) -> None:
        """All rows so far are durable, and count once the caller has committed that checkpoint."""
        self._write()
        self._segments.passed(checkpoint)

    def _gather(self) -> None:
        if self._sources:
            self._tables.append(self._table())
            self._clear()

    def _write(self) -> None:
        self._gather()
        if self._tables:
            self._segments.write(self._tables)
            self._tables.clear()
            self._rows = self._bytes = 0

    def _table(self) -> pa.Table:
        sources = chain.from_iterable(map(repeat, self._sources, self._counts))
        columns: list[Values] = [list(sources), np.repeat(self._times, self._counts), *self._own]
        arrays = [column(values, kind) for values, kind in zip(columns, LINKS.columns.types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=LINKS.columns)
