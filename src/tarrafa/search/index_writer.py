"""From rows of documents to the index of one agent.

1. A row replaces what the index has of the same URL, so applying rows again changes nothing.
2. Applied rows are found once `commit` has returned, and only then does the state file count them. After a kill between
   the two, some rows are applied again, which is harmless by 1.
3. One process writes: a second one is refused.
4. The anchors with which each row was applied are known: see `AnchorSums`.

The index holds the current version of each page (`versions`), if it may be indexed. A page that is gone, redirects, is
refused, was dropped, asks not to be indexed or has expired is removed. One that failed or is unchanged stays as it was.
"""

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tantivy import Document, Query

from tarrafa.clock import Clock, SystemClock
from tarrafa.disk import LOCK_FILE, FolderLock, make_folder, map_disk_errors, remove_unfinished, replace_file
from tarrafa.errors import DamagedError, WorkError
from tarrafa.search.expiry import expired_pattern
from tarrafa.search.fields import (
    ADDRESS,
    ANCHORS,
    DATE,
    FACTS,
    FINGERPRINT,
    FORMAT,
    HEADINGS,
    LANGUAGE,
    MEDIA,
    SIGNATURE,
    SITE,
    SITE_NAME,
    STEMS,
    STORED,
    TANTIVY_LISTS,
    TITLE,
    TITLES,
    WORDS,
    LoweredTexts,
    Row,
    date_of,
    facts_of,
    is_indexable,
    lower_row,
    make_schema,
    open_index,
    pack_stored,
    read_rows,
    site_hash,
)
from tarrafa.search.pruning import slice_fact, slice_numbers
from tarrafa.search.words import WordAnalyzer, lower_words
from tarrafa.urls import fingerprint
from tarrafa.versions import is_mere_visit

_ANCHOR_TEXTS = 20
_ANCHOR_ROWS = 10_000  # rows whose anchors are looked up at once
_HEAP_BYTES = 600_000_000  # buffered documents, before tantivy writes a segment
_STATE = "state.json"
_SUMS = "anchors.u64"
_SUM_BYTES = 8
UNKNOWN_SUM = 0xFFFFFFFFFFFFFFFF
_CLOCK = SystemClock()

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
# Returns the anchor texts of pages by their fingerprints, each text with its votes, best first.
AnchorSource = Callable[[U64], Sequence[Sequence[tuple[str, int]]]]


class _IndexState(NamedTuple):
    """What the state file says: rows applied, and the name of the ranks whose anchors all of them have."""

    rows: int = 0
    anchors: str = ""


class IndexWriter:
    """The index of one agent, open for writing. Close it to unlock the folder."""

    def __init__(
        self, folder: Path, anchors: AnchorSource | None = None, is_new: bool = False, clock: Clock = _CLOCK
    ) -> None:
        """Open the index; with `is_new`, remove what is there first."""
        self._folder = folder
        self.anchors = anchors
        self.field_names: Sequence[str] = ()  # columns of rows that hooks have added
        self._clock = clock
        self._words = WordAnalyzer()
        self._schema = make_schema()
        # Filled by renew, emptied by commit: numbers of rows, and the sums of their anchors.
        self._renewed: list[tuple[I64, U64]] = []
        with map_disk_errors(folder):
            make_folder(folder)
            self._lock = FolderLock(folder)
            try:
                self._open(is_new)
            except BaseException:
                self._lock.release()
                raise

    def _open(self, is_new: bool) -> None:
        if is_new:
            _clear(self._folder)
        remove_unfinished(self._folder)
        self.rows_count, self.anchors_name = _read_state(self._folder)
        self._sums = AnchorSums(self._folder, self.rows_count)
        self._index = open_index(self._folder)
        try:
            self._writer = self._index.writer(_HEAP_BYTES, 1)
        except ValueError as error:
            raise WorkError(f"{self._folder} cannot be written: {error}") from error

    def apply(self, batch: pa.RecordBatch, is_current: NDArray[np.bool_] | None = None) -> None:
        """Apply the next rows, with at least `fields.COLUMNS`. They are found after the next commit.

        Rows that are not current are passed over: a later row will replace them.
        """
        sums, chosen = np.zeros(batch.num_rows, np.uint64), np.arange(batch.num_rows)
        if is_current is not None and not is_current.all():
            # Rows that were joined meanwhile are beyond the mask.
            chosen = np.delete(chosen, np.flatnonzero(~is_current))
            batch = batch.take(pa.array(chosen))
        sums[chosen] = self._put(batch, self.rows_count + chosen)
        self._sums.append(sums)
        self.rows_count += len(sums)

    def renew(self, batch: pa.RecordBatch, rows: I64) -> None:
        """Apply rows that `expect_anchors` returned. Each was applied before and is the last one of its URL."""
        self._renewed.append((rows, self._put(batch, rows)))

    def _put(self, batch: pa.RecordBatch, rows: I64) -> U64:
        """Write the rows with these numbers; return the sum of the anchors of each."""
        sums, now = np.zeros(batch.num_rows, np.uint64), self._clock.now()
        numbered = enumerate(read_rows(batch, self.field_names))
        last = {row["url"]: (place, row) for place, row in numbered if not is_mere_visit(row["outcome"])}
        keys = [fingerprint(url) for url in last]
        if keys:
            self._writer.delete_documents_by_query(Query.term_set_query(self._schema, FINGERPRINT, keys))
        added = [(key, *each) for key, each in zip(keys, last.values(), strict=True) if is_indexable(each[1], now)]
        places = [place for _, place, _ in added]
        anchors = self._anchor_texts(np.array([key for key, _, _ in added], np.uint64))
        self._add([(key, row) for key, _, row in added], anchors, slice_numbers(rows[places]))
        sums[places] = list(map(anchor_sum, anchors))
        return sums

    def _anchor_texts(self, keys: U64) -> list[str]:
        if self.anchors is None or not len(keys):
            return [""] * len(keys)
        return [" ".join(text for text, _ in texts[:_ANCHOR_TEXTS]) for texts in self.anchors(keys)]

    def _add(self, rows: Sequence[tuple[int, Row]], anchors: Sequence[str], slices: Sequence[int]) -> None:
        lows = [lower_row(row, text) for (_, row), text in zip(rows, anchors, strict=True)]
        texts = [(row["language"], text) for (_, row), low in zip(rows, lows, strict=True) for text in low.in_order()]
        stems = iter(self._words.stem_texts(texts))
        for (key, row), low, number in zip(rows, lows, slices, strict=True):
            fields = self._fields(key, row, low, [next(stems) for _ in low.in_order()])
            fields[FACTS].append(slice_fact(number))
            self._writer.add_document(Document.from_dict(fields, self._schema))

    def _fields(self, key: int, row: Row, low: LoweredTexts, stems: list[str]) -> Row:
        fold = self._words.fold
        titles, headings, anchors, *body = stems
        return {
            FINGERPRINT: key,
            SIGNATURE: row["signature"],
            SITE: site_hash(row["site"]),
            SITE_NAME: row["site"],
            LANGUAGE: row["language"] or "",
            MEDIA: row["media_type"],
            DATE: date_of(row),
            FACTS: facts_of(row),
            WORDS: [fold(text) for text in low.body],
            STEMS: body,
            TITLE: fold(low.title),
            TITLES: titles,
            HEADINGS: headings,
            ANCHORS: anchors,
            ADDRESS: fold(lower_words(row["url"])),
            STORED: pack_stored(row),
        }

    def expect_anchors(self, rows: I64, keys: U64) -> I64:
        """Return those of these rows whose anchors have changed, sorted; they must be renewed.

        `rows` are the numbers of the last row of each page that the index may hold, `keys` the pages' fingerprints.
        """
        changed = [np.zeros(0, np.int64)]
        for start in range(0, len(rows), _ANCHOR_ROWS):
            some = rows[start : start + _ANCHOR_ROWS]
            sums = np.array(list(map(anchor_sum, self._anchor_texts(keys[start : start + _ANCHOR_ROWS]))), np.uint64)
            changed.append(some[self._sums.of(some) != sums])
        found = np.concatenate(changed)
        with map_disk_errors(self._folder):
            self._sums.change(found, UNKNOWN_SUM)
        return np.sort(found)

    def remove_expired(self) -> bool:
        """Remove expired pages with the next commit; return True if there are any."""
        query = Query.regex_query(self._schema, FACTS, expired_pattern(self._clock.now()))
        self._index.reload()
        answer: Any = self._index.searcher().search(query, 1, count=True)
        if answer.count:
            self._writer.delete_documents_by_query(query)
        return bool(answer.count)

    def commit(self) -> None:
        """Make what was applied durable and visible to searches."""
        with map_disk_errors(self._folder):
            self._sums.sync()
            try:
                self._writer.commit()
            except ValueError as error:
                raise WorkError(f"{self._folder}: {error}; nothing was damaged, go on when there is room") from error
            _give_usual_modes(self._folder)
            for rows, sums in self._renewed:
                self._sums.change(rows, sums)
            self._renewed.clear()
            _write_state(self._folder, _IndexState(self.rows_count, self.anchors_name))

    def close(self) -> None:
        """Wait for tantivy to merge segments, then unlock the folder. Uncommitted rows are dropped."""
        self._writer.wait_merging_threads()
        with map_disk_errors(self._folder):
            _give_usual_modes(self._folder)
        self._lock.release()


def _give_usual_modes(folder: Path) -> None:
    """Let others read the files that tantivy replaces, as they may read those of the state file.

    Tantivy makes them as temporary files, which only their owner may read.
    """
    mode = (folder / LOCK_FILE).stat().st_mode
    for name in TANTIVY_LISTS:
        with contextlib.suppress(FileNotFoundError):
            (folder / name).chmod(mode)


def _clear(folder: Path) -> None:
    """Remove everything. The state goes first: without it, whatever a kill leaves is written again."""
    (folder / _STATE).unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.name != LOCK_FILE:
            path.unlink()


def _read_state(folder: Path) -> _IndexState:
    path = folder / _STATE
    if not path.exists():
        return _IndexState()
    try:
        stored = json.loads(path.read_bytes())
        is_known, state = stored["format"] == FORMAT, _IndexState(int(stored["rows"]), str(stored["anchors"]))
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedError(f"{path} cannot be read; rebuild the index with tarrafa index --rebuild") from error
    if not is_known:
        raise WorkError(f"{folder} is of another version of Tarrafa; rebuild it with tarrafa index --rebuild")
    return state


def _write_state(folder: Path, state: _IndexState) -> None:
    replace_file(folder / _STATE, json.dumps({"format": FORMAT, **state._asdict()}).encode())


def anchor_sum(text: str) -> int:
    """Return the checksum of a page's anchors; 0 if it has none, and never `UNKNOWN_SUM`."""
    return min(fingerprint(text), UNKNOWN_SUM - 1) if text else 0


class AnchorSums:
    """A checksum of the anchors with which each row was applied, in a file beside the index.

    1. There is a sum for every row that the state file counts. Sums that follow are of uncommitted rows; they are cut.
    2. A sum is that of the anchors in the index, or `UNKNOWN_SUM`. It becomes unknown before a row is applied with
       other anchors, and known after the commit. After a kill between the two, the row is applied once more.

    Old ranks are removed when new ones are made, so no other file tells which anchors the index has.
    """

    def __init__(self, folder: Path, rows_count: int) -> None:
        self._path = folder / _SUMS
        self._path.touch()
        if self._path.stat().st_size < rows_count * _SUM_BYTES:
            raise DamagedError(f"{self._path} is too short; rebuild the index with tarrafa index --rebuild")
        os.truncate(self._path, rows_count * _SUM_BYTES)
        # Filled by append, emptied by sync.
        self._buffered: list[U64] = []

    def append(self, sums: U64) -> None:
        """Add the sums of the next rows; durable after `sync`."""
        self._buffered.append(sums)

    def sync(self) -> None:
        if self._buffered:
            with self._path.open("ab") as file:
                for sums in self._buffered:
                    file.write(sums.astype("<u8").tobytes())
                file.flush()
                os.fsync(file.fileno())
            self._buffered.clear()

    def of(self, rows: I64) -> U64:
        """Return the sums of synced rows by their numbers."""
        return self._mapped("r")[rows].astype(np.uint64) if len(rows) else np.zeros(0, np.uint64)

    def change(self, rows: I64, sums: U64 | int) -> None:
        """Replace the sums of synced rows; durable when it returns."""
        if len(rows):
            mapped = self._mapped("r+")
            mapped[rows] = sums
            mapped.flush()

    def _mapped(self, mode: str) -> np.memmap[tuple[int], np.dtype[np.uint64]]:
        return np.memmap(self._path, "<u8", mode)  # type: ignore[call-overload, no-any-return]
