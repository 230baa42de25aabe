"""What a row of documents says, as the index takes it. Pure.

A row is read from columns, since one value at a time is slow: no dictionaries, and moments as whole seconds since the
Unix epoch.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from tarrafa.search.index import KEPT_MARK
from tarrafa.search.until import is_over, until_facts
from tarrafa.search.words import lowered
from tarrafa.urls import fingerprint, host_name

COLUMNS = (
    *("url", "host", "site", "fetched_at", "outcome", "media_type", "language", "title", "description"),
    *("headings", "text", "canonical", "published_at", "modified_at", "signature", "directives"),
)
TEXT_KEPT_CHARS = 10_000  # of a text, to show pieces of
ADDED_OUTCOME = "fetched"
LEFT_OUTCOMES = ("failed", "unchanged", "refused")
_TITLE_WITHIN_CHARS = 500  # of a text that shows its title
_REMEMBERED_HOSTS = 20_000  # whose pages mostly have the same facts

Row = dict[str, Any]


class Lowered(NamedTuple):
    """The texts of a row whose words are indexed."""

    title: str
    headings: str
    anchors: str
    shown: list[str]  # title, description and text, those that there are

    def stemmed(self) -> list[str]:
        """Those that are indexed as stems, the shown ones last."""
        return [self.title, self.headings, self.anchors, *self.shown]


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    columns = [_plain(batch.column(name)).to_pylist() for name in COLUMNS]
    return (dict(zip(COLUMNS, values, strict=True)) for values in zip(*columns, strict=True))


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("s", column.type.tz), safe=False).cast(pa.int64())
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def is_shown(row: Row, now: float) -> bool:
    is_fetched = row["outcome"] == ADDED_OUTCOME and "noindex" not in row["directives"]
    return is_fetched and bool(row["title"] or row["text"]) and not is_over(row["directives"], now)


def lowered_row(row: Row, anchors: str) -> Lowered:
    title = lowered(row["title"])
    shown = ["" if _begins_with_title(row) else title, lowered(row["description"]), lowered(row["text"])]
    return Lowered(title, lowered(" ".join(row["headings"])), lowered(anchors), [text for text in shown if text])


def _begins_with_title(row: Row) -> bool:
    """Most pages show their title as the first heading; counted twice, it would outweigh what short pages say."""
    return bool(row["title"]) and row["title"] in row["text"][: _TITLE_WITHIN_CHARS + len(row["title"])]


def dated(row: Row) -> int:
    """When it was published, else changed, else fetched."""
    moments: tuple[int | None, ...] = (row["published_at"], row["modified_at"], row["fetched_at"])
    return next(moment for moment in moments if moment is not None)


def facts(row: Row) -> list[str]:
    known = _host_facts(row["site"], row["host"], row["language"], row["media_type"])
    return [*known, *until_facts(row["directives"])]


@lru_cache(_REMEMBERED_HOSTS)
def _host_facts(site: str, host: str, language: str, media_type: str) -> tuple[str, ...]:
    found = [f"site:{site}", f"host:{host}", f"host:{host_name(host)}", f"host:{host.partition('//')[2]}"]
    found += [f"lang:{language}", f"type:{media_type}", f"type:{media_type.rpartition('/')[2]}"]
    return tuple(dict.fromkeys(found))


@lru_cache(_REMEMBERED_HOSTS)
def site_key(site: str) -> int:
    return fingerprint(site)


def kept_of(row: Row) -> bytes:
    """What a result shows; `shard.Kept` reads it. Composed, as words are, so that words are found in it."""
    published_at = row["published_at"]
    values = (
        *(row["url"], row["title"], row["site"], row["host"], row["language"], row["canonical"]),
        *(str(row["fetched_at"]), "" if published_at is None else str(published_at), row["description"]),
    )
    shown = KEPT_MARK.join(values)
    if shown.count(KEPT_MARK) >= len(values):
        # Only the text, which is last, may hold the mark that parts them.
        shown = KEPT_MARK.join([value.replace(KEPT_MARK, " ") for value in values])
    text = f"{shown}{KEPT_MARK}{row['text'][:TEXT_KEPT_CHARS]}"
    return unicodedata.normalize("NFC", text).encode(errors="replace")
