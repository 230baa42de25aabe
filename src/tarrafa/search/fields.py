"""The fields of the index: their schema, how a row of documents fills them, and what a result reads back.

    fingerprint   of the URL: a later visit replaces an earlier one by it, and ranks are looked up by it
    signature     of the content: copies are folded by it
    site          hash of the site: results are spread over sites by it
    date          when the page was published, else modified, else fetched; seconds since the Unix epoch
    facts         site:…, host:…, lang:…, type:…, field:…, for filters; expires:… (`expiry`) and slice:… (`pruning`)
    site_name, language, media   columns for counts (`facets`)
    words, stems  title, description, text and the texts of fields, in both forms
    title         folded, for title:…
    titles, headings, anchors   stems
    address       words of the URL, folded
    stored        what a result shows

Ranks are not stored: they change while documents do not. `words` splits every text beforehand, so the index itself only
splits at spaces.
"""

import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import tantivy
from tantivy import Filter, Schema, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from tarrafa.disk import describe_disk_error
from tarrafa.errors import DamagedError, WorkError
from tarrafa.search.expiry import expiry_facts, is_expired
from tarrafa.search.words import WORD_MAX_CHARS, lower_words
from tarrafa.urls import fingerprint, host_name
from tarrafa.versions import VERSION

FORMAT = 6
FINGERPRINT, SIGNATURE, SITE, DATE = "fingerprint", "signature", "site", "date"
FACTS, STORED = "facts", "stored"
SITE_NAME, LANGUAGE, MEDIA = "site_name", "language", "media"
WORDS, STEMS, TITLE, TITLES, HEADINGS, ANCHORS, ADDRESS = (
    *("words", "stems", "title", "titles", "headings", "anchors", "address"),
)
_SPACED = "spaced"
_TANTIVY_META = "meta.json"  # tantivy replaces it with every commit
TANTIVY_LISTS = (_TANTIVY_META, ".managed.json")
_TANTIVY_LOCK = ".lock"  # ends the names of its lock files
_READ_TRIES = 5
_REMEDY = "rebuild it with tarrafa index --rebuild"

# The columns of a row of documents that are read here.
COLUMNS = (
    *("url", "host", "site", "fetched_at", "outcome", "media_type", "language", "title", "description"),
    *("headings", "text", "canonical", "published_at", "modified_at", "signature", "directives"),
)
STORED_SEPARATOR = "\x1f"
_STORED_TEXT_CHARS = 10_000  # of a text, for snippets
_TITLE_WITHIN_CHARS = 500  # a text that shows its title does so within these first characters
_FACT_CHARS = 200  # of the text of a field, for filters
_CACHED_HOSTS = 20_000  # pages of a host mostly have the same facts

Row = dict[str, Any]


def make_schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_unsigned_field(FINGERPRINT, indexed=True, fast=True)
    builder.add_unsigned_field(SIGNATURE, indexed=True, fast=True)
    builder.add_unsigned_field(SITE, fast=True)
    builder.add_integer_field(DATE, fast=True)
    builder.add_text_field(FACTS, tokenizer_name="raw", index_option="basic")
    for name in (SITE_NAME, LANGUAGE, MEDIA):
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    for name in (WORDS, STEMS, TITLE, ADDRESS):
        builder.add_text_field(name, tokenizer_name=_SPACED)
    for name in (TITLES, HEADINGS, ANCHORS):
        builder.add_text_field(name, tokenizer_name=_SPACED, index_option="freq")
    builder.add_bytes_field(STORED, stored=True)
    return builder.build()


def open_index(folder: Path) -> tantivy.Index:
    """Open the index in a folder that exists, for writing; create it if there is none."""
    try:
        index = tantivy.Index(make_schema(), path=str(folder))
    except (ValueError, OSError) as error:
        raise DamagedError(f"{folder} cannot be opened: {error}; {_REMEDY}") from error
    _register_tokenizer(index)
    return index


def open_index_reader(folder: Path) -> tantivy.Index:
    """Open the last commit of an index, and write nothing in its folder.

    Tantivy creates a lock file where it opens an index. So it opens a temporary folder of links to the files. They are
    mapped into memory then, and the temporary folder is removed.
    """
    for _ in range(_READ_TRIES):
        stamp = index_stamp(folder)
        try:
            with _temporary_folder() as links:
                _link_files(folder, links)
                index = tantivy.Index.open(str(links))
        except PermissionError as error:
            raise WorkError(describe_disk_error(error, folder)) from error
        except (ValueError, OSError) as error:
            # The writer may have removed files in the meantime, with a new commit.
            if index_stamp(folder) == stamp:
                raise DamagedError(f"{folder} cannot be opened: {error}; {_REMEDY}") from error
            continue
        if index.schema != make_schema():
            raise DamagedError(f"{folder} has other fields; {_REMEDY}")
        _register_tokenizer(index)
        return index
    raise WorkError(f"{folder} changes faster than it can be read; try again")


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder. A thread of tantivy may create a lock file there while it is removed, once."""
    with tempfile.TemporaryDirectory(prefix="tarrafa-index-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _link_files(folder: Path, links: Path) -> None:
    # Copied, and first: a later commit would name files that have no link yet.
    shutil.copyfile(folder / _TANTIVY_META, links / _TANTIVY_META)
    for path in folder.absolute().iterdir():
        if path.name != _TANTIVY_META and path.suffix != _TANTIVY_LOCK:
            (links / path.name).symlink_to(path)


def _register_tokenizer(index: tantivy.Index) -> None:
    spaced = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(WORD_MAX_CHARS + 1))
    index.register_tokenizer(_SPACED, spaced.build())


def has_index(folder: Path) -> bool:
    return (folder / _TANTIVY_META).is_file()


def index_stamp(folder: Path) -> tuple[int, int] | None:
    """Return a value that changes with every commit; None if there is no index."""
    try:
        committed = (folder / _TANTIVY_META).stat()
    except OSError:
        return None
    return committed.st_ino, committed.st_mtime_ns


def read_rows(batch: pa.RecordBatch, field_names: Sequence[str] = ()) -> Iterator[Row]:
    """Read rows with `COLUMNS`, column by column; moments become whole seconds since the Unix epoch.

    `field_names` are columns that hooks have added, if the batch has them. They become one value, `fields`.
    """
    names = (*COLUMNS, "fields")
    columns = [_decode(batch.column(name)).to_pylist() for name in COLUMNS]
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, _fields(batch, field_names), strict=True))


def _fields(batch: pa.RecordBatch, names: Sequence[str]) -> list[Row]:
    own = [name for name in names if name in batch.schema.names]
    if not own:
        return [{}] * batch.num_rows
    rows: list[Row] = batch.select(own).to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _decode(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("s", column.type.tz), safe=False).cast(pa.int64())
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def is_indexable(row: Row, now: float) -> bool:
    """Return True if the page has content, may be indexed and has not expired."""
    may_index = row["outcome"] == VERSION and "noindex" not in row["directives"]
    return may_index and bool(row["title"] or row["text"]) and not is_expired(row["directives"], now)


class LoweredTexts(NamedTuple):
    """The texts of a row whose words are indexed, as `lower_words` returns them."""

    title: str
    headings: str
    anchors: str
    body: list[str]  # title, description and text, except empty ones

    def in_order(self) -> list[str]:
        """Return the texts that are indexed as stems, those of the body last."""
        return [self.title, self.headings, self.anchors, *self.body]


def lower_row(row: Row, anchors: str) -> LoweredTexts:
    title = lower_words(row["title"])
    body = ["" if _begins_with_title(row) else title, lower_words(row["description"]), lower_words(row["text"])]
    body += [lower_words(text) for value in row["fields"].values() for text in _texts_of(value)]
    headings = lower_words(" ".join(row["headings"]))
    return LoweredTexts(title, headings, lower_words(anchors), [text for text in body if text])


def _begins_with_title(row: Row) -> bool:
    """Return True if the text shows the title, which would otherwise count twice."""
    return bool(row["title"]) and row["title"] in row["text"][: _TITLE_WITHIN_CHARS + len(row["title"])]


def date_of(row: Row) -> int:
    moments: tuple[int | None, ...] = (row["published_at"], row["modified_at"], row["fetched_at"])
    return next(moment for moment in moments if moment is not None)


def facts_of(row: Row) -> list[str]:
    known = _host_facts(row["site"], row["host"], row["language"], row["media_type"])
    return [*known, *expiry_facts(row["directives"]), *_field_facts(row["fields"])]


def _texts_of(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value if isinstance(value, list) else []


def _field_facts(fields: Row) -> list[str]:
    """Return `field:price` and `field:price=2.5` for each field."""
    values = [(name, each) for name, own in fields.items() for each in (own if isinstance(own, list) else [own])]
    return [f"field:{name}" for name in fields] + [f"field:{name}={_fact_text(each)}" for name, each in values]


def _fact_text(value: object) -> str:
    """Return a value as a filter writes it: 2.5, 3, true, 2026-03-01, a short text in lower case."""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return unicodedata.normalize("NFC", str(value)[:_FACT_CHARS]).strip().lower()


@lru_cache(_CACHED_HOSTS)
def _host_facts(site: str, host: str, language: str, media_type: str) -> tuple[str, ...]:
    found = [f"site:{site}", f"host:{host}", f"host:{host_name(host)}", f"host:{host.partition('//')[2]}"]
    found += [f"lang:{language}", f"type:{media_type}", f"type:{media_type.rpartition('/')[2]}"]
    return tuple(dict.fromkeys(found))


@lru_cache(_CACHED_HOSTS)
def site_hash(site: str) -> int:
    return fingerprint(site)


class StoredDocument(NamedTuple):
    """What a result shows. Times are in seconds since the Unix epoch."""

    url: str
    title: str
    site: str
    host: str
    language: str
    canonical: str
    fetched_at: int
    published_at: int | None
    description: str
    text: str


def pack_stored(row: Row) -> bytes:
    """Return the bytes of a `StoredDocument`. They are in NFC, as words are, so that words are found in them."""
    published_at = row["published_at"]
    values = (
        *(row["url"], row["title"], row["site"], row["host"], row["language"], row["canonical"]),
        *(str(row["fetched_at"]), "" if published_at is None else str(published_at), row["description"]),
    )
    # Only the text, which is last, may contain the separator.
    clean = [value.replace(STORED_SEPARATOR, " ") for value in values]
    joined = STORED_SEPARATOR.join([*clean, row["text"][:_STORED_TEXT_CHARS]])
    return unicodedata.normalize("NFC", joined).encode(errors="replace")


def unpack_stored(stored: bytes) -> StoredDocument:
    """Read what `pack_stored` made."""
    values = stored.decode().split(STORED_SEPARATOR, len(StoredDocument._fields) - 1)
    *names, fetched_at, published_at, description, text = values
    url, title, site, host, language, canonical = names
    published = int(published_at) if published_at else None
    return StoredDocument(url, title, site, host, language, canonical, int(fetched_at), published, description, text)
