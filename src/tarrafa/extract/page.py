"""From a page to its extract: choose the format, read it, put the record together."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from tarrafa.extract import bounds, tame
from tarrafa.extract.blocks import all_collapsed, collapsed
from tarrafa.extract.charset import as_text, as_utf8, encoding_of
from tarrafa.extract.dates import moment
from tarrafa.extract.found import Document, Extract, Format, Links, Listing, Options
from tarrafa.extract.hrefs import Href, header_hrefs, tidy_rel
from tarrafa.extract.language import language_of
from tarrafa.extract.likeness import likeness
from tarrafa.extract.listings import listed, listed_lines, unpacked
from tarrafa.extract.sniff import format_of
from tarrafa.extract.walk import Walk
from tarrafa.records import Page
from tarrafa.urls import Base, resolve

_USUAL = Options()
_NO_DOCUMENT = Document()
_NO_LISTING = Listing()
_GZIP_MAGIC = b"\x1f\x8b"
_PUBLISHED = (
    *("article:published_time", "datepublished", "dcterms.issued", "dc.date.issued", "dcterms.created"),
    *("dc.date.created", "citation_publication_date", "pubdate", "publishdate", "date", "dcterms.date", "dc.date"),
)
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "dc.date.modified")
_TIMES = ("datepublished", "pubdate", "")  # what time elements are about, the plain ones last
_DESCRIPTIONS = ("description", "og:description", "dcterms.description", "dc.description")
_NO_BASE = ("data:", "javascript:")

T = TypeVar("T")
R = TypeVar("R")
# What is done a step at a time, and what comes of it in the end.
Steps: TypeAlias = Generator[None, None, R]


class _Html(NamedTuple):
    """A page that was walked through."""

    page: Page
    encoding: str
    walk: Walk


class _Linked(NamedTuple):
    base_url: str
    links: Links
    canonical_url: str | None


def extract(page: Page, body: bytes, options: Options = _USUAL) -> Extract:
    """What the page says and where it leads; `body` is its body without content coding. Never raises."""
    return extract_all([(page, body)], options)[0]


def extract_all(sources: Sequence[tuple[Page, bytes]], options: Options = _USUAL) -> list[Extract]:
    """The same for several pages."""
    steps = extracting(sources, options)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            extracts: list[Extract] = end.value
            return extracts


def extracting(sources: Sequence[tuple[Page, bytes]], options: Options = _USUAL) -> Steps[list[Extract]]:
    """The same in steps, each on one page, for whoever has others waiting.

    The same is done with many pages before something else is done with them: what has just run runs faster again.
    """
    begun = yield from _each(lambda source: _begun(*source, options), sources)
    walked = [each for each in begun if isinstance(each, _Html)]
    linked = yield from _each(_linked, walked)
    texts = yield from _each(_texts, walked)
    likenesses = yield from _each(_likeness, list(zip(walked, texts, strict=True)))
    finished = map(_finished, walked, linked, texts, likenesses)
    return [next(finished) if isinstance(each, _Html) else each for each in begun]


def _each(work: Callable[[T], R], items: Sequence[T]) -> Steps[list[R]]:
    done: list[R] = []
    for item in items:
        done.append(work(item))
        yield
    return done


def _begun(page: Page, body: bytes, options: Options) -> Extract | _Html:
    if 300 <= page.status < 400 and page.header("location") is not None:
        return _unread(page)
    if body.startswith(_GZIP_MAGIC):
        # A sitemap as a file. Whatever else is packed is not for reading.
        found = _read(page, unpacked(body), "", options)
        return found if isinstance(found, Extract) and found.listed else _unread(page)
    return _read(page, body, page.media_type, options)


def _read(page: Page, body: bytes, media_type: str, options: Options) -> Extract | _Html:
    match format_of(media_type, body):
        case Format.HTML:
            return _html(page, body, options)
        case Format.SITEMAP | Format.FEED as listing:
            return _listing(page, body, listing)
        case Format.TEXT:
            return _text(page, body)
    return _unread(page)


def _unread(page: Page) -> Extract:
    links = _links(header_hrefs(page), Base(page.url))
    return Extract(page.url, Format.OTHER, base_url=page.url, links=links)


def _html(page: Page, body: bytes, options: Options) -> _Html:
    encoding = encoding_of(page.header("content-type") or "", body)
    walk = Walk(options)
    for piece in tame.pieces(as_utf8(body, encoding)):
        walk.through(piece)
    return _Html(page, encoding, walk)


def _linked(html: _Html) -> _Linked:
    page, encoding, walk = html
    base_url = _base_url(page.url, walk.base_href, encoding)
    base = Base(base_url, encoding)
    in_header = header_hrefs(page)
    links = _links(in_header, Base(page.url)) if in_header else Links()
    return _Linked(base_url, links + _links(walk.hrefs, base), _canonical(walk, base, links))


def _texts(html: _Html) -> tuple[str, str]:
    return html.walk.blocks.joined()


def _likeness(source: tuple[_Html, tuple[str, str]]) -> tuple[int, int]:
    html, (main, rest) = source
    return likeness(f"{html.walk.title}\n{main}", rest)


def _finished(html: _Html, linked: _Linked, texts: tuple[str, str], likeness: tuple[int, int]) -> Extract:
    page, encoding, walk = html
    base_url, links, canonical_url = linked
    document = _document(page, walk, canonical_url, texts, likeness)
    return Extract(page.url, Format.HTML, encoding, base_url, document, links, robots=tuple(walk.robots))


def _base_url(url: str, href: str | None, encoding: str) -> str:
    address = resolve(href, url, encoding) if href is not None else None
    return url if address is None or address.startswith(_NO_BASE) else address


def _links(hrefs: list[Href], base: Base) -> Links:
    # A page often leads to the same place from its menu, its text and its foot.
    different = {href for href, _, _, _ in hrefs}
    target_of = {href: target for href in different if (target := base.link(href)) is not None}
    leading = [href for href in hrefs if href[0] in target_of]
    if not leading:
        return Links()
    addresses, texts, rels, kinds = zip(*leading, strict=True)
    return Links(
        targets=tuple(map(target_of.__getitem__, addresses)),
        texts=tuple([text[: bounds.ANCHOR_CHARS] for text in all_collapsed(texts)]),
        rels=tuple(map({rel: tidy_rel(rel) for rel in set(rels)}.__getitem__, rels)),
        kinds=kinds,
    )


def _canonical(walk: Walk, base: Base, in_header: Links) -> str | None:
    if walk.canonical_href is not None:
        return base.link(walk.canonical_href)
    return next((link.target for link in in_header if "canonical" in link.rel.split()), None)


def _document(
    page: Page, walk: Walk, canonical_url: str | None, texts: tuple[str, str], likeness: tuple[int, int]
) -> Document:
    main, rest = texts
    signature, similarity = likeness
    said = (walk.language, walk.meta.get("content-language"), page.header("content-language"))
    meta, times = walk.meta, walk.times
    published = [meta.get(name) for name in _PUBLISHED] + [times.get(about) for about in _TIMES]
    modified = [meta.get(name) for name in _MODIFIED] + [times.get("datemodified"), page.header("last-modified")]
    return Document(
        title=walk.title,
        description=collapsed(_first(walk.meta, _DESCRIPTIONS))[: bounds.DESCRIPTION_CHARS],
        headings=tuple(walk.headings),
        text=(main or rest)[: bounds.TEXT_CHARS],
        language=language_of(said, main or rest),
        canonical_url=canonical_url,
        published_seconds=_moment(published),
        modified_seconds=_moment(modified),
        signature=signature,
        similarity=similarity,
    )


def _first(meta: dict[str, str], names: Iterable[str]) -> str:
    return next((meta[name] for name in names if meta.get(name)), "")


def _moment(texts: Iterable[str | None]) -> float | None:
    return next((found for text in texts if text and (found := moment(text)) is not None), None)


def _listing(page: Page, body: bytes, form: Format) -> Extract:
    encoding = encoding_of(page.header("content-type") or "", body)
    base = Base(page.url, encoding)
    return _plain(page, form, encoding, listed=listed(as_text(body, encoding), base))


def _text(page: Page, body: bytes) -> Extract:
    encoding = encoding_of(page.header("content-type") or "", body)
    text = as_text(body, encoding)
    urls = listed_lines(text, Base(page.url, encoding))
    if urls:
        return _plain(page, Format.SITEMAP, encoding, listed=urls)
    signature, similarity = likeness(text, "")
    document = Document(
        text=text[: bounds.TEXT_CHARS].strip(),
        language=language_of((page.header("content-language"),), text),
        modified_seconds=_moment((page.header("last-modified"),)),
        signature=signature,
        similarity=similarity,
    )
    return _plain(page, Format.TEXT, encoding, document)


def _plain(
    page: Page, form: Format, encoding: str, document: Document = _NO_DOCUMENT, listed: Listing = _NO_LISTING
) -> Extract:
    links = _links(header_hrefs(page), Base(page.url))
    return Extract(page.url, form, encoding, page.url, document, links, listed)
