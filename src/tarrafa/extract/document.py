"""Make the document that is indexed: title, text, language, dates, signature."""

from collections.abc import Iterable

from tarrafa.dates import parse_date
from tarrafa.extract import bounds
from tarrafa.extract.html import HtmlWalk, collapse
from tarrafa.extract.language import language_of
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
        language=language_of(languages, page.url, main or rest),
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
        language=language_of((page.header("content-language"),), page.url, text),
        modified_seconds=_first_date((page.header("last-modified"),)),
        signature=signature,
        similarity=similarity,
    )


def _first_date(texts: Iterable[str | None]) -> float | None:
    return next((found for text in texts if text and (found := parse_date(text)) is not None), None)
