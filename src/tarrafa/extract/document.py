"""Make the document that is indexed: title, text, language, dates, signature."""

import re
from collections.abc import Iterable

from resiliparse.parse.lang import detect_fast

from tarrafa.dates import parse_date
from tarrafa.extract import bounds
from tarrafa.extract.html import HtmlWalk, collapse
from tarrafa.extract.records import Cut, Document
from tarrafa.extract.signatures import sign
from tarrafa.records import Page

_PUBLISHED = (
    *("article:published_time", "datepublished", "dcterms.issued", "dc.date.issued", "dcterms.created"),
    *("dc.date.created", "citation_publication_date", "pubdate", "publishdate", "date", "dcterms.date", "dc.date"),
)
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "dc.date.modified")
_TIMES = ("datepublished", "pubdate", "")  # itemprops of time elements, those without one last
_DESCRIPTIONS = ("description", "og:description", "dcterms.description", "dc.description")

# Every text that is shorter looks like some language.
_DETECTED_CHARS_MIN = 40
_UNKNOWN = "unknown"
_LANGUAGE_TAG = re.compile(r"\s*+([A-Za-z]{2,3})(?![A-Za-z0-9])")
_NO_LANGUAGE = ("und", "mul", "zxx", "mis")


def html_document(page: Page, walk: HtmlWalk, canonical_url: str | None) -> Document:
    """Return the document; what it leaves out is added to the cuts of the walk."""
    main, rest = walk.blocks.join()
    signature, similarity = sign(f"{walk.title}\n{main}", rest)
    meta, times = walk.meta, walk.times
    languages = (walk.language, meta.get("content-language"), page.header("content-language"))
    published = [meta.get(name) for name in _PUBLISHED] + [times.get(itemprop) for itemprop in _TIMES]
    modified = [meta.get(name) for name in _MODIFIED] + [times.get("datemodified"), page.header("last-modified")]
    description = collapse(next((meta[name] for name in _DESCRIPTIONS if meta.get(name)), ""))
    if len(description) > bounds.DESCRIPTION_CHARS:
        walk.cuts.add(Cut.DESCRIPTION)
    if len(main or rest) > bounds.TEXT_CHARS:
        walk.cuts.add(Cut.TEXT)
    return Document(
        title=walk.title,
        description=description[: bounds.DESCRIPTION_CHARS],
        headings=tuple(walk.headings),
        text=(main or rest)[: bounds.TEXT_CHARS],
        language=_language(languages, main or rest),
        canonical_url=canonical_url,
        published_seconds=_first_date(published),
        modified_seconds=_first_date(modified),
        signature=signature,
        similarity=similarity,
    )


def text_document(page: Page, text: str) -> Document:
    signature, similarity = sign(text, "")
    return Document(
        text=text[: bounds.TEXT_CHARS].strip(),
        language=_language((page.header("content-language"),), text),
        modified_seconds=_first_date((page.header("last-modified"),)),
        signature=signature,
        similarity=similarity,
    )


def _language(declared: tuple[str | None, ...], text: str) -> str:
    """Return the primary subtag of the first declaration that has one, else the language detected in the text."""
    for tag in declared:
        match = _LANGUAGE_TAG.match(tag or "")
        if match and match[1].lower() not in _NO_LANGUAGE:
            return match[1].lower()
    sample = text[: bounds.LANGUAGE_CHARS]
    if len(sample) < _DETECTED_CHARS_MIN:
        return ""
    language = str(detect_fast(sample)[0])
    return "" if language == _UNKNOWN else language


def _first_date(texts: Iterable[str | None]) -> float | None:
    return next((found for text in texts if text and (found := parse_date(text)) is not None), None)
