"""From rows of documents to the index.

1. A row replaces what the index holds of the same URL, so applying rows again changes nothing.
2. What was applied is found once `commit` has returned, and `rows_count` of it is remembered after that. Killed between
   the two, the index is given some rows again, and by 1 that is harmless.
3. One process writes: the second is refused.
4. Of every row it is known with which anchors it was applied: see `anchored`.

A page that was fetched and may be indexed is added. One that is gone, leads elsewhere, asks not to be indexed or is not
to be shown any more is removed. One that failed, or has not changed, stays as it was.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from tantivy import Document, Query

from tarrafa.clock import Clock, SystemClock
from tarrafa.disk import FolderLock, atomic_file, map_disk_errors, remove_unfinished
from tarrafa.errors import DamagedError, WorkError
from tarrafa.search.anchored import I64, U64, UNKNOWN, AnchorSums, anchor_sum
from tarrafa.search.fields import (
    LEFT_OUTCOMES,
    Lowered,
    Row,
    dated,
    facts,
    is_shown,
    kept_of,
    lowered_row,
    rows_of,
    site_key,
)
from tarrafa.search.index import (
    ADDRESS,
    ANCHORS,
    DATED,
    FACTS,
    FINGERPRINT,
    FORMAT,
    HEADINGS,
    KEPT,
    SIGNATURE,
    SITE,
    STEMS,
    TITLE,
    TITLES,
    WORDS,
    make_schema,
    open_index,
)
from tarrafa.search.slices import slice_fact, slice_numbers
from tarrafa.search.until import over_pattern
from tarrafa.search.words import Language, lowered
from tarrafa.urls import fingerprint

_ANCHOR_TEXTS = 20
_ANCHOR_ROWS = 10_000  # whose anchors are asked for at once
_HEAP_BYTES = 600_000_000  # that documents may take in memory before they become a part of the index
_MARK = "mark.json"
_HELD = "held-by"
_CLOCK = SystemClock()

AnchorSource = Callable[[U64], Sequence[Sequence[tuple[str, int]]]]


class _Mark(NamedTuple):
    """What is remembered of an index: rows taken, and the name of the ranks whose anchors all of them have."""

    rows: int = 0
    anchors: str = ""


class IndexWriter:
    """The index of one agent, to be written. Close it to let another process in."""

    def __init__(
        self, folder: Path, anchors: AnchorSource | None = None, is_new: bool = False, clock: Clock = _CLOCK
    ) -> None:
        """`anchors` tells how others call the pages with these fingerprints; with `is_new`, what is there goes."""
        self._folder = folder
        self.anchors = anchors
        self._clock = clock
        self._language = Language()
        self._schema = make_schema()
        # Filled by renew, emptied by commit: rows by number, and the sums of their anchors.
        self._renewed: list[tuple[I64, U64]] = []
        with map_disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._hold = FolderLock(folder)
            try:
                self._open(is_new)
            except BaseException:
                self._hold.release()
                raise

    def _open(self, is_new: bool) -> None:
        if is_new:
            _empty(self._folder)
        remove_unfinished(self._folder)
        self.rows_count, self.anchors_name = _read_mark(self._folder)
        self._sums = AnchorSums(self._folder, self.rows_count)
        self._index = open_index(self._folder)
        try:
            self._writer = self._index.writer(_HEAP_BYTES, 1)
        except ValueError as error:
            raise WorkError(f"{self._folder} cannot be written: {error}") from error

    def apply(self, batch: pa.RecordBatch) -> None:
        """The rows that follow those applied so far, with at least `fields.COLUMNS`. Found after the next commit."""
        self._sums.append(self._put(batch, np.arange(self.rows_count, self.rows_count + batch.num_rows)))
        self.rows_count += batch.num_rows

    def renew(self, batch: pa.RecordBatch, rows: I64) -> None:
        """The same for rows that `expect_anchors` named: each was applied before, and is the last of its URL."""
        self._renewed.append((rows, self._put(batch, rows)))

    def _put(self, batch: pa.RecordBatch, rows: I64) -> U64:
        """The sums of the anchors with which each row was put in; `rows` are their numbers."""
        sums, now = np.zeros(batch.num_rows, np.uint64), self._clock.now()
        last = {
            row["url"]: (place, row) for place, row in enumerate(rows_of(batch)) if row["outcome"] not in LEFT_OUTCOMES
        }
        keys = [fingerprint(url) for url in last]
        if keys:
            self._writer.delete_documents_by_query(Query.term_set_query(self._schema, FINGERPRINT, keys))
        kept = [(key, *each) for key, each in zip(keys, last.values(), strict=True) if is_shown(each[1], now)]
        anchors = self._anchor_texts(np.array([key for key, _, _ in kept], np.uint64))
        slices = slice_numbers(rows[[place for _, place, _ in kept]])
        self._add([(key, row) for key, _, row in kept], anchors, slices)
        sums[[place for _, place, _ in kept]] = list(map(anchor_sum, anchors))
        return sums

    def _anchor_texts(self, keys: U64) -> list[str]:
        if self.anchors is None or not len(keys):
            return [""] * len(keys)
        return [" ".join(text for text, _ in texts[:_ANCHOR_TEXTS]) for texts in self.anchors(keys)]

    def _add(self, kept: Sequence[tuple[int, Row]], anchors: Sequence[str], slices: Sequence[int]) -> None:
        lows = [lowered_row(row, text) for (_, row), text in zip(kept, anchors, strict=True)]
        texts = [(row["language"], text) for (_, row), low in zip(kept, lows, strict=True) for text in low.stemmed()]
        stems = iter(self._language.stemmed(texts))
        for (key, row), low, number in zip(kept, lows, slices, strict=True):
            fields = self._fields(key, row, low, [next(stems) for _ in low.stemmed()])
            fields[FACTS].append(slice_fact(number))
            self._writer.add_document(Document.from_dict(fields, self._schema))

    def _fields(self, key: int, row: Row, low: Lowered, stems: list[str]) -> Row:
        fold = self._language.fold
        titles, headings, anchors, *shown = stems
        return {
            FINGERPRINT: key,
            SIGNATURE: row["signature"],
            SITE: site_key(row["site"]),
            DATED: dated(row),
            FACTS: facts(row),
            WORDS: [fold(text) for text in low.shown],
            STEMS: shown,
            TITLE: fold(low.title),
            TITLES: titles,
            HEADINGS: headings,
            ANCHORS: anchors,
            ADDRESS: fold(lowered(row["url"])),
            KEPT: kept_of(row),
        }

    def expect_anchors(self, rows: I64, keys: U64) -> I64:
        """Which of these rows must be renewed, because others call the page differently now.

        `rows` are the numbers of the last row of each page that the index may show, `keys` the page's fingerprints.
        """
        changed = [np.zeros(0, np.int64)]
        for start in range(0, len(rows), _ANCHOR_ROWS):
            some = rows[start : start + _ANCHOR_ROWS]
            sums = np.array(list(map(anchor_sum, self._anchor_texts(keys[start : start + _ANCHOR_ROWS]))), np.uint64)
            changed.append(some[self._sums.of(some) != sums])
        found = np.concatenate(changed)
        with map_disk_errors(self._folder):
            self._sums.change(found, UNKNOWN)
        return np.sort(found)

    def remove_unavailable(self) -> bool:
        """Remove pages that are not to be shown any more; whether there are any. Gone after the next commit."""
        query = Query.regex_query(self._schema, FACTS, over_pattern(self._clock.now()))
        self._index.reload()
        answer: Any = self._index.searcher().search(query, 1, count=True)
        if answer.count:
            self._writer.delete_documents_by_query(query)
        return bool(answer.count)

    def commit(self) -> None:
        """What was applied is found from now on, also after a loss of power."""
        with map_disk_errors(self._folder):
            self._sums.sync()
            try:
                self._writer.commit()
            except ValueError as error:
                raise WorkError(f"{self._folder}: {error}; go on when there is room, nothing was damaged") from error
            for rows, sums in self._renewed:
                self._sums.change(rows, sums)
            self._renewed.clear()
            _write_mark(self._folder, _Mark(self.rows_count, self.anchors_name))

    def close(self) -> None:
        """Ends when small parts of the index are joined; what was not committed is forgotten."""
        self._writer.wait_merging_threads()
        self._hold.release()


def _empty(folder: Path) -> None:
    """The mark goes first: without it, whatever else a kill leaves is made anew."""
    (folder / _MARK).unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.name != _HELD:
            path.unlink()


def _read_mark(folder: Path) -> _Mark:
    path = folder / _MARK
    if not path.exists():
        return _Mark()
    try:
        told = json.loads(path.read_bytes())
        is_known, mark = told["format"] == FORMAT, _Mark(int(told["rows"]), str(told["anchors"]))
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedError(f"{path} cannot be read; make the index anew with tarrafa index --rebuild") from error
    if not is_known:
        raise WorkError(f"{folder} is of another version of Tarrafa; make it anew with tarrafa index --rebuild")
    return mark


def _write_mark(folder: Path, mark: _Mark) -> None:
    with atomic_file(folder / _MARK) as file:
        file.write(json.dumps({"format": FORMAT, **mark._asdict()}).encode())
