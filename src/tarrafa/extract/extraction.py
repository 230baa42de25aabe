"""Turn a page into its extract: recognise the format, read it, resolve the links."""

from collections.abc import Iterable

from tarrafa.extract import bounds
from tarrafa.extract.charset import as_text, as_utf8, encoding_of
from tarrafa.extract.document import html_document, text_document
from tarrafa.extract.formats import format_of
from tarrafa.extract.hrefs import Href, header_hrefs, normalize_rel
from tarrafa.extract.html import HtmlWalk, collapse_all
from tarrafa.extract.records import Cut, Document, Extract, ExtractOptions, ListedUrls, PageFormat, PageLinks
from tarrafa.extract.sanitize import sanitize
from tarrafa.extract.sitemaps import gunzip, listed_lines, listed_urls
from tarrafa.records import Page
from tarrafa.urls import BaseUrl, resolve

_DEFAULTS = ExtractOptions()
_NO_DOCUMENT = Document()
_NO_URLS = ListedUrls()
_GZIP_MAGIC = b"\x1f\x8b"
_NO_BASE = ("data:", "javascript:")


def extract(page: Page, body: bytes, options: ExtractOptions = _DEFAULTS) -> Extract:
    """Return what the page says and links to; `body` is its body without content coding. Never raises."""
    if 300 <= page.status < 400 and page.header("location") is not None:
        return _skip(page)
    if body.startswith(_GZIP_MAGIC):
        # Only sitemaps are read from gzip files.
        unpacked = gunzip(body)
        found = _read(page, unpacked, "", options)
        if len(unpacked) >= bounds.UNPACKED_LIMIT_BYTES:
            found = found._replace(cuts=(Cut.BODY, *found.cuts))
        return found if found.listed else _skip(page)
    return _read(page, body, page.media_type, options)


def extract_all(pages: Iterable[tuple[Page, bytes]], options: ExtractOptions = _DEFAULTS) -> list[Extract]:
    """Return the extract of each page with its body."""
    return [extract(page, body, options) for page, body in pages]


def _read(page: Page, body: bytes, media_type: str, options: ExtractOptions) -> Extract:
    match format_of(media_type, body):
        case PageFormat.HTML:
            return _read_html(page, body, options)
        case PageFormat.SITEMAP | PageFormat.FEED as form:
            return _read_list(page, body, form)
        case PageFormat.TEXT:
            return _read_text(page, body)
    return _skip(page)


def _skip(page: Page) -> Extract:
    return _extract_of(page, PageFormat.OTHER, "")


def _read_html(page: Page, body: bytes, options: ExtractOptions) -> Extract:
    encoding = encoding_of(page.header("content-type") or "", body)
    walk = HtmlWalk(options)
    pieces, rest = sanitize(as_utf8(body, encoding))
    for piece in pieces:
        walk.read(piece)
    if rest:
        walk.cuts.add(Cut.BODY)
    base_url = _base_url(page.url, walk.base_href, encoding)
    base = BaseUrl(base_url, encoding)
    in_header = _links(header_hrefs(page), BaseUrl(page.url))
    document = html_document(page, walk, _canonical_url(walk, base, in_header))
    links = in_header + _links(walk.hrefs, base)
    robots, cuts = tuple(walk.robots), tuple(sorted(walk.cuts))
    return Extract(page.url, PageFormat.HTML, encoding, base_url, document, links, robots=robots, cuts=cuts)


def _read_list(page: Page, body: bytes, form: PageFormat) -> Extract:
    encoding = encoding_of(page.header("content-type") or "", body)
    urls = listed_urls(as_text(body, encoding), BaseUrl(page.url, encoding))
    return _extract_of(page, form, encoding, listed=urls, cuts=_cuts_of(urls))


def _cuts_of(listed: ListedUrls) -> tuple[Cut, ...]:
    return (Cut.LISTED,) if listed.is_cut else ()


def _read_text(page: Page, body: bytes) -> Extract:
    encoding = encoding_of(page.header("content-type") or "", body)
    text = as_text(body, encoding)
    urls = listed_lines(text, BaseUrl(page.url, encoding))
    if urls:
        return _extract_of(page, PageFormat.SITEMAP, encoding, listed=urls, cuts=_cuts_of(urls))
    cuts = (Cut.TEXT,) if len(text) > bounds.TEXT_CHARS else ()
    return _extract_of(page, PageFormat.TEXT, encoding, text_document(page, text), cuts=cuts)


def _extract_of(
    page: Page,
    form: PageFormat,
    encoding: str,
    document: Document = _NO_DOCUMENT,
    listed: ListedUrls = _NO_URLS,
    cuts: tuple[Cut, ...] = (),
) -> Extract:
    """Return the extract of a page whose only links are in its header."""
    links = _links(header_hrefs(page), BaseUrl(page.url))
    return Extract(page.url, form, encoding, page.url, document, links, listed, cuts=cuts)


def _base_url(url: str, href: str | None, encoding: str) -> str:
    address = resolve(href, url, encoding) if href is not None else None
    return url if address is None or address.startswith(_NO_BASE) else address


def _links(hrefs: list[Href], base: BaseUrl) -> PageLinks:
    # Pages repeat the same hrefs in menu, text and footer.
    target_of = {href: base.link(href) for href in {href for href, _, _, _ in hrefs}}
    found = [(target, text, rel, kind) for href, text, rel, kind in hrefs if (target := target_of[href]) is not None]
    if not found:
        return PageLinks()
    targets, texts, rels, kinds = zip(*found, strict=True)
    return PageLinks(
        targets=targets,
        texts=tuple([text[: bounds.ANCHOR_CHARS] for text in collapse_all(texts)]),
        rels=tuple([normalize_rel(rel) if rel else "" for rel in rels]),
        kinds=kinds,
    )


def _canonical_url(walk: HtmlWalk, base: BaseUrl, in_header: PageLinks) -> str | None:
    if walk.canonical_href is not None:
        return base.link(walk.canonical_href)
    return next((link.target for link in in_header if "canonical" in link.rel.split()), None)
