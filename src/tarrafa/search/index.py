"""The index on disk: which fields there are, and how it is opened.

    fingerprint   of the URL: by it a later visit replaces an earlier one, and ranks are found
    signature     of the content: by it copies are folded
    site          hash of the site: by it results are spread over sites
    dated         when it was published, else changed, else fetched; seconds since the Unix epoch
    facts         site:…, host:…, lang:…, type:…, one word each, for filters; and slice:…, see `slices`
    words, stems  title, description and text, in both forms
    title         folded, for title:…
    titles, headings, anchors   stems
    address       words of the URL, folded
    kept          what a result shows

Ranks are not there: they change while documents do not. Every text is split by `words` beforehand, so the index itself
only parts at spaces.
"""

from pathlib import Path

import tantivy
from tantivy import Filter, Schema, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from tarrafa.errors import DamagedError
from tarrafa.search.words import WORD_MAX_CHARS

FORMAT = 3
FINGERPRINT, SIGNATURE, SITE, DATED = "fingerprint", "signature", "site", "dated"
FACTS, KEPT = "facts", "kept"
WORDS, STEMS, TITLE, TITLES, HEADINGS, ANCHORS, ADDRESS = (
    *("words", "stems", "title", "titles", "headings", "anchors", "address"),
)
KEPT_MARK = "\x1f"  # between what is kept
_SPACED = "spaced"
_COMMITTED = "meta.json"  # tantivy's own


def make_schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_unsigned_field(FINGERPRINT, indexed=True, fast=True)
    builder.add_unsigned_field(SIGNATURE, indexed=True, fast=True)
    builder.add_unsigned_field(SITE, fast=True)
    builder.add_integer_field(DATED, fast=True)
    builder.add_text_field(FACTS, tokenizer_name="raw", index_option="basic")
    for name in (WORDS, STEMS, TITLE, ADDRESS):
        builder.add_text_field(name, tokenizer_name=_SPACED)
    for name in (TITLES, HEADINGS, ANCHORS):
        builder.add_text_field(name, tokenizer_name=_SPACED, index_option="freq")
    builder.add_bytes_field(KEPT, stored=True)
    return builder.build()


def open_index(folder: Path) -> tantivy.Index:
    """The index of a folder that is there; a new one where there is none."""
    try:
        index = tantivy.Index(make_schema(), path=str(folder))
    except (ValueError, OSError) as error:
        raise DamagedError(f"{folder} cannot be opened: {error}; make it anew with tarrafa index --rebuild") from error
    spaced = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(WORD_MAX_CHARS + 1))
    index.register_tokenizer(_SPACED, spaced.build())
    return index


def has_index(folder: Path) -> bool:
    return (folder / _COMMITTED).is_file()


def index_stamp(folder: Path) -> tuple[int, int] | None:
    """Changes with every commit: each writes that file anew. None while there is none."""
    try:
        committed = (folder / _COMMITTED).stat()
    except OSError:
        return None
    return committed.st_ino, committed.st_mtime_ns
