"""Catalogues: find documents and links by URL without reading all rows.

A catalogue holds a few columns of a stretch of a segment, in memory or memory-mapped. URLs are found by binary search
in sorted fingerprints. Links are sorted by target, so the links to a page are together; each refers to the visit that
found it and to its anchor text.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.hashes import U64, hashes_of
from tarrafa.urls import fingerprint

U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]
ArrowColumns = Mapping[str, pa.Array]

_LINKS_AT_A_TIME = 2_048
VISITS_LIMIT = 1_000  # newest visits of one URL in a stretch
_VISITS_AT_A_TIME = 256


class UrlSet(NamedTuple):
    """URLs to find, with their fingerprints."""

    texts: frozenset[str]
    keys: U64

    @classmethod
    def of(cls, urls: Iterable[str]) -> Self:
        texts = frozenset(urls)
        return cls(texts, hashes_of(pa.array(texts, pa.large_string())))

    def without(self, urls: Collection[str]) -> Self:
        keys = np.fromiter((fingerprint(url) for url in urls), np.uint64, len(urls))
        return self._replace(texts=self.texts.difference(urls), keys=np.setdiff1d(self.keys, keys))


class VisitRow(NamedTuple):
    """The catalogued columns of a document: one visit of a URL."""

    row: int  # in the stretch
    url: str
    fetched_at: float  # seconds since the Unix epoch
    outcome: str
    status: int
    size_bytes: int
    signature: int
    archive_file: int | None
    archive_offset: int | None


class LinkedVisit(NamedTuple):
    """A visit that found links, and the rows of these links in the stretch."""

    fetched_at: float
    first: int
    end: int


class IncomingLink(NamedTuple):
    """A link to a page, from the page at `source`."""

    source: str
    text: str
    fetched_at: float  # when the source was visited


class DocumentCatalogue:
    """Find documents by URL and by the signature of their content."""

    COLUMNS = VisitRow._fields[1:]
    REPEATING = ("outcome",)

    def __init__(self, columns: ArrowColumns) -> None:
        self._columns = [columns[name] for name in self.COLUMNS]
        self._urls = _SortedKeys(columns["url_keys"], columns["url_rows"])
        self._signatures = _SortedKeys(columns["signature_keys"], columns["signature_rows"])

    @classmethod
    def columns_of(cls, groups: Iterable[pa.Table]) -> ArrowColumns:
        table = pa.concat_tables(groups)
        columns = {name: _whole(table.column(name)) for name in cls.COLUMNS}
        signatures: U64 = columns["signature"].to_numpy()
        with_content = np.flatnonzero(signatures).astype(np.uint32)
        return {
            **columns,
            **_sorted_columns("url", hashes_of(columns["url"])),
            **_sorted_columns("signature", signatures[with_content], with_content),
        }

    def visits_of(self, urls: UrlSet) -> list[VisitRow]:
        """Return the visits of these URLs, in the order of writing."""
        rows = self._urls.rows(urls.keys, VISITS_LIMIT)
        return [visit for visit in self._visits(rows) if visit.url in urls.texts] if len(rows) else []

    def newest_visits(self, url: str) -> Iterator[VisitRow]:
        """Yield the visits of a URL, newest first. There may be very many, and the caller may stop early."""
        rows = self._urls.span(fingerprint(url))
        for end in range(len(rows), 0, -_VISITS_AT_A_TIME):
            some = self._visits(rows[max(0, end - _VISITS_AT_A_TIME) : end])
            yield from (visit for visit in reversed(some) if visit.url == url)

    def _visits(self, rows: U32) -> list[VisitRow]:
        columns = [_values(column, rows) for column in self._columns]
        return [VisitRow(*values) for values in zip(rows.tolist(), *columns, strict=True)]

    def urls_with(self, signature: int, limit: int) -> list[str]:
        """Return at most `limit` URLs that had that content in some visit."""
        rows = self._signatures.rows(np.array([signature], np.uint64), limit)
        return _values(self._columns[0], rows)


class LinkCatalogue:
    """Find links by source and by target."""

    COLUMNS = ("source", "fetched_at", "target", "text")
    REPEATING = ("source",)

    def __init__(self, columns: ArrowColumns) -> None:
        self._sources = columns["source"]
        self._moments = columns["fetched_at"]
        self._first_rows = columns["first_row"].to_numpy()
        self._by_source = _SortedKeys(columns["source_keys"], columns["source_rows"])
        self._targets = columns["target"].to_numpy()
        self._first_links = columns["first_link"].to_numpy()
        self._visits = columns["visit"].to_numpy()
        self._text_numbers = columns["text_number"].to_numpy()
        self._texts = columns["text"]

    @classmethod
    def columns_of(cls, groups: Iterable[pa.Table]) -> ArrowColumns:
        builder = _LinkCatalogueBuilder()
        for group in groups:
            builder.add(group)
        return builder.columns()

    def last_visit(self, url: str) -> LinkedVisit | None:
        """Return the last visit of the page that found links."""
        return self._linked(url, self._by_source.span(fingerprint(url))[-VISITS_LIMIT:])

    def visit_at(self, url: str, fetched_at: float) -> LinkedVisit | None:
        """Return the visit of the page at that moment, if it found links."""
        visits = self._by_source.span(fingerprint(url))
        moments = np.array(_values(self._moments, visits), np.float64)
        return self._linked(url, visits[moments == fetched_at])

    def _linked(self, url: str, visits: U32) -> LinkedVisit | None:
        own = [visit for visit in visits.tolist() if self._sources[visit].as_py() == url]
        if not own:
            return None
        # A visit whose links continue in the next row group is listed twice.
        moments = _values(self._moments, own)
        first = own[moments.index(moments[-1])]
        return LinkedVisit(moments[-1], int(self._first_rows[first]), int(self._first_rows[own[-1] + 1]))

    def links_to(self, url: str) -> Iterator[IncomingLink]:
        """Yield the links to a page, newest first. Targets are compared by fingerprint only."""
        place = int(np.searchsorted(self._targets, np.uint64(fingerprint(url))))
        if place == len(self._targets) or int(self._targets[place]) != fingerprint(url):
            return
        start, end = self._first_links[place : place + 2].tolist()
        # There may be very many, and the caller may stop early.
        for stop in range(end, start, -_LINKS_AT_A_TIME):
            links = slice(max(start, stop - _LINKS_AT_A_TIME), stop)
            visits, texts = self._visits[links][::-1], self._text_numbers[links][::-1]
            columns = (self._sources, visits), (self._texts, texts), (self._moments, visits)
            yield from map(IncomingLink, *(_values(column, rows) for column, rows in columns))


class _LinkCatalogueBuilder:
    """Collect links, one row group at a time."""

    def __init__(self) -> None:
        # Filled by add, joined by columns: the visits of each row group; target and text number of each link.
        self._sources: list[pa.Array] = []
        self._moments: list[pa.Array] = []
        self._first_rows: list[U32] = []
        self._targets: list[U64] = []
        self._visits: list[U32] = []
        self._text_numbers: list[I64] = []
        self._texts: list[pa.Array] = []
        self._rows_count = self._visits_count = self._texts_count = 0

    def add(self, group: pa.Table) -> None:
        source, moments, target, text = (_whole(group.column(name)) for name in LinkCatalogue.COLUMNS)
        firsts = _beginnings(source.indices.to_numpy(), moments.cast(pa.int64()).to_numpy())
        self._sources.append(source.take(pa.array(firsts)).cast(pa.large_string()))
        self._moments.append(moments.take(pa.array(firsts)))
        self._first_rows.append((firsts + self._rows_count).astype(np.uint32))
        lengths = np.diff(np.append(firsts, len(source)))
        numbers = np.arange(self._visits_count, self._visits_count + len(firsts), dtype=np.uint32)
        self._visits.append(np.repeat(numbers, lengths))
        self._targets.append(hashes_of(target))
        _, text_rows, text_numbers = np.unique(hashes_of(text), return_index=True, return_inverse=True)
        self._texts.append(text.take(pa.array(text_rows)))
        self._text_numbers.append(text_numbers + self._texts_count)
        self._rows_count += len(source)
        self._visits_count += len(firsts)
        self._texts_count += len(text_rows)

    def columns(self) -> ArrowColumns:
        sources = pa.concat_arrays(self._sources)
        order, targets, first_links = self._by_target()
        text_numbers, texts = self._unique_texts()
        return {
            "source": sources,
            "fetched_at": pa.concat_arrays(self._moments),
            "first_row": pa.array(np.append(np.concatenate(self._first_rows), np.uint32(self._rows_count))),
            **_sorted_columns("source", hashes_of(sources)),
            "target": pa.array(targets),
            "first_link": pa.array(first_links),
            "visit": pa.array(np.concatenate(self._visits)[order]),
            "text_number": pa.array(text_numbers[order]),
            "text": texts,
        }

    def _by_target(self) -> tuple[I64, U64, U32]:
        """Return the order of links by target, each target, and where its links begin."""
        prints = np.concatenate(self._targets)
        order = np.argsort(prints, kind="stable")
        prints = prints[order]
        firsts = _beginnings(prints)
        return order, prints[firsts], np.append(firsts, len(prints)).astype(np.uint32)

    def _unique_texts(self) -> tuple[U32, pa.Array]:
        """Return the text number of each link and the texts, without repetition across row groups."""
        texts = pa.concat_arrays(self._texts)
        _, rows, numbers = np.unique(hashes_of(texts), return_index=True, return_inverse=True)
        return numbers.astype(np.uint32)[np.concatenate(self._text_numbers)], texts.take(pa.array(rows))


class _SortedKeys:
    """Sorted keys, and the row of each."""

    def __init__(self, keys: pa.Array, rows: pa.Array) -> None:
        self._keys: U64 = keys.to_numpy()
        self._rows: U32 = rows.to_numpy()

    def span(self, key: int) -> U32:
        """Return all rows with this key, in the order of writing."""
        first, end = np.searchsorted(self._keys, np.uint64(key)), np.searchsorted(self._keys, np.uint64(key), "right")
        return self._rows[first:end]

    def rows(self, wanted: U64, limit: int) -> U32:
        """Return the rows with one of these keys, in the order of writing; the last `limit` of each key."""
        firsts, ends = np.searchsorted(self._keys, wanted), np.searchsorted(self._keys, wanted, "right")
        spans = zip(np.maximum(firsts, ends - limit).tolist(), ends.tolist(), strict=True)
        found = [self._rows[first:end] for first, end in spans if first < end]
        return np.sort(np.concatenate(found)) if found else np.zeros(0, np.uint32)


def _sorted_columns(name: str, keys: U64, rows: U32 | None = None) -> ArrowColumns:
    """Return the columns of `_SortedKeys`; without `rows` there is a key for every row."""
    order = np.argsort(keys, kind="stable")
    sorted_rows = order.astype(np.uint32) if rows is None else rows[order]
    return {f"{name}_keys": pa.array(keys[order]), f"{name}_rows": pa.array(sorted_rows)}


def _values(column: pa.Array, rows: U32 | list[int]) -> list[Any]:
    """Return values of a column; moments in seconds, since making a `datetime` is slow."""
    taken = column.take(pa.array(rows))
    if pa.types.is_timestamp(taken.type):
        seconds: list[float] = (taken.cast(pa.int64()).to_numpy() / 1e6).tolist()
        return seconds
    values: list[Any] = taken.to_pylist()
    return values


def _beginnings(*columns: NDArray[Any]) -> I64:
    """Return the first of each run of equal rows."""
    is_first = np.ones(len(columns[0]), np.bool_)
    if len(is_first):
        is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(is_first)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array, with 64-bit offsets for texts."""
    if column.type == pa.string():
        column = column.cast(pa.large_string())
    found = column.unify_dictionaries().combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found
