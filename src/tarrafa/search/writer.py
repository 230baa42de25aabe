"""From rows of documents to the index.

1. A row replaces what the index holds of the same URL, so applying rows again changes nothing.
2. What was applied is found once `commit` has returned, and `rows_count` of it is remembered after that. Killed between
   the two, the index is given some rows again, and by 1 that is harmless.
3. One process writes: the second is refused.

A page that was fetched and may be indexed is added. One that is gone, leads elsewhere or asks not to be indexed is
removed. One that failed, or has not changed, stays as it was.
"""

import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tantivy import Document, Query

from tarrafa.disk import Hold, remove_unfinished, translated, whole_file
from tarrafa.errors import DamagedError, WorkError
from tarrafa.search.index import (
    ADDRESS,
    ANCHORS,
    DATED,
    FACTS,
    FINGERPRINT,
    FORMAT,
    HEADINGS,
    KEPT,
    KEPT_MARK,
    SIGNATURE,
    SITE,
    STEMS,
    TITLE,
    TITLES,
    WORDS,
    make_schema,
    open_index,
)
from tarrafa.search.words import Language, lowered, split
from tarrafa.urls import fingerprint, host_name

COLUMNS = (
    *("url", "host", "site", "fetched_at", "outcome", "media_type", "language", "title", "description"),
    *("headings", "text", "canonical", "published_at", "modified_at", "signature", "directives"),
)
TEXT_KEPT_CHARS = 10_000  # of a text, to show pieces of
_ANCHOR_TEXTS = 20
_TITLE_WITHIN_CHARS = 500  # of a text that shows its title
_HEAP_BYTES = 100_000_000
_MARK = "mark.json"
_HELD = "held-by"
_ADDED, _LEFT = "fetched", ("failed", "unchanged", "refused")

Row = dict[str, Any]
AnchorSource = Callable[[NDArray[np.uint64]], Sequence[Sequence[tuple[str, int]]]]


class Writer:
    """The index of one agent, to be written. Close it to let another process in."""

    def __init__(self, folder: Path, anchors: AnchorSource | None = None, is_new: bool = False) -> None:
        """`anchors` tells how others call the pages with these fingerprints; with `is_new`, what is there goes."""
        self._folder = folder
        self._anchors = anchors
        self._language = Language()
        self._schema = make_schema()
        with translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._hold = Hold(folder)
            try:
                self._open(is_new)
            except BaseException:
                self._hold.release()
                raise

    def _open(self, is_new: bool) -> None:
        if is_new:
            _empty(self._folder)
        remove_unfinished(self._folder)
        self.rows_count = _read_mark(self._folder)
        self._index = open_index(self._folder)
        try:
            self._writer = self._index.writer(_HEAP_BYTES, 1)
        except ValueError as error:
            raise WorkError(f"{self._folder} cannot be written: {error}") from error

    def apply(self, batch: pa.RecordBatch) -> None:
        """The rows that follow those applied so far, with at least `COLUMNS`. Found after the next commit."""
        last = {row["url"]: row for row in _rows(batch) if row["outcome"] not in _LEFT}
        keys = [fingerprint(url) for url in last]
        if keys:
            self._writer.delete_documents_by_query(Query.term_set_query(self._schema, FINGERPRINT, keys))
        kept = [(key, row) for key, row in zip(keys, last.values(), strict=True) if _is_shown(row)]
        for (key, row), anchors in zip(kept, self._anchor_texts([key for key, _ in kept]), strict=True):
            self._writer.add_document(Document.from_dict(self._fields(key, row, anchors), self._schema))
        self.rows_count += batch.num_rows

    def _anchor_texts(self, keys: list[int]) -> list[str]:
        if self._anchors is None or not keys:
            return [""] * len(keys)
        found = self._anchors(np.array(keys, np.uint64))
        return [" ".join(text for text, _ in texts[:_ANCHOR_TEXTS]) for texts in found]

    def _fields(self, key: int, row: Row, anchors: str) -> Row:
        fold, stems = self._language.fold, self._language.stems(row["language"])
        title = lowered(row["title"])
        shown = ["" if _begins_with_title(row) else title, lowered(row["description"]), lowered(row["text"])]
        texts = [text for text in shown if text]
        return {
            FINGERPRINT: key,
            SIGNATURE: row["signature"],
            SITE: fingerprint(row["site"]),
            DATED: _seconds(row["published_at"] or row["modified_at"] or row["fetched_at"]),
            FACTS: _facts(row),
            WORDS: [fold(text) for text in texts],
            STEMS: [stems.of(text.split()) for text in texts],
            TITLE: fold(title),
            TITLES: stems.of(title.split()),
            HEADINGS: stems.of(split(" ".join(row["headings"]))),
            ANCHORS: stems.of(split(anchors)),
            ADDRESS: fold(lowered(row["url"])),
            KEPT: _kept(row),
        }

    def commit(self) -> None:
        """What was applied is found from now on, also after a loss of power."""
        with translated(self._folder):
            try:
                self._writer.commit()
            except ValueError as error:
                raise WorkError(f"{self._folder}: {error}; go on when there is room, nothing was damaged") from error
            with whole_file(self._folder / _MARK) as file:
                file.write(json.dumps({"format": FORMAT, "rows": self.rows_count}).encode())

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


def _read_mark(folder: Path) -> int:
    path = folder / _MARK
    if not path.exists():
        return 0
    try:
        mark = json.loads(path.read_bytes())
        is_known, rows_count = mark["format"] == FORMAT, int(mark["rows"])
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedError(f"{path} cannot be read; make the index anew with tarrafa index --rebuild") from error
    if not is_known:
        raise WorkError(f"{folder} is of another version of Tarrafa; make it anew with tarrafa index --rebuild")
    return rows_count


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    columns = [_plain(batch.column(name)).to_pylist() for name in COLUMNS]
    return (dict(zip(COLUMNS, values, strict=True)) for values in zip(*columns, strict=True))


def _plain(column: pa.Array) -> pa.Array:
    """Without a dictionary; one value at a time it would be slow."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_shown(row: Row) -> bool:
    is_fetched = row["outcome"] == _ADDED and "noindex" not in row["directives"]
    return is_fetched and bool(row["title"] or row["text"])


def _begins_with_title(row: Row) -> bool:
    """Most pages show their title as the first heading; counted twice, it would outweigh what short pages say."""
    return bool(row["title"]) and row["title"] in row["text"][: _TITLE_WITHIN_CHARS + len(row["title"])]


def _seconds(moment: Any) -> int:
    return int(moment.timestamp())


def _facts(row: Row) -> list[str]:
    media_type = row["media_type"]
    host, name = row["host"], host_name(row["url"])
    found = [f"site:{row['site']}", f"host:{host}", f"host:{name}", f"host:{host.partition('//')[2]}"]
    found += [f"lang:{row['language']}", f"type:{media_type}", f"type:{media_type.rpartition('/')[2]}"]
    return list(dict.fromkeys(found))


def _kept(row: Row) -> bytes:
    """What a result shows; `shard.Kept` reads it. Composed, as words are, so that words are found in it."""
    published = "" if row["published_at"] is None else str(_seconds(row["published_at"]))
    values = [
        *(row["url"], row["title"], row["site"], row["host"], row["language"], row["canonical"]),
        *(str(_seconds(row["fetched_at"])), published, row["description"]),
    ]
    # Only the text, which is last, may hold the mark that parts them.
    parted = [value.replace(KEPT_MARK, " ") for value in values]
    text = KEPT_MARK.join([*parted, row["text"][:TEXT_KEPT_CHARS]])
    return unicodedata.normalize("NFC", text).encode(errors="replace")
