"""A page as a hook sees it, and a URL as a hook sees it.

A hook may change fields and links of a page, or drop it, until all hooks have seen it. The page that a program gets
from `async for` is stored already, so it can only be read.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tarrafa.agent import DecodedPage, HookedPage, ParsedPage
from tarrafa.errors import InputError
from tarrafa.extract import Document, Element, Link, LinkKind, PageLinks, PageTree, as_text, encoding_of, markdown_of
from tarrafa.records import Headers
from tarrafa.texts import quoted
from tarrafa.urls import BaseUrl, Url, host_of, parse, site

_ADDED_LIMIT = 200_000  # links that hooks may add to a page
_STORED = "the page is stored already; change it in a function with @crawl.on_page"


class FoundUrl(str):
    """A URL that the crawl has found: a text, with its parts."""

    __slots__ = ()

    @property
    def host(self) -> str:
        """Return scheme, name and port, as in `https://example.org`."""
        return host_of(self)

    @property
    def name(self) -> str:
        """Return the name of the host, as in `www.example.org`."""
        return self._parts.name

    @property
    def site(self) -> str:
        """Return the registrable domain, as in `example.org`."""
        return site(self.name)

    @property
    def path(self) -> str:
        return self._parts.path

    @property
    def query(self) -> str:
        return self._parts.query or ""

    @property
    def _parts(self) -> Url:
        parts = parse(self)
        assert parts is not None, "a URL of the crawl is canonical"
        return parts


class LinkEditor:
    """The links of a page, in document order. Those that are added come last."""

    def __init__(self, found: PageLinks, base: BaseUrl) -> None:
        self._found = found
        self._base = base
        # None while nothing was changed.
        self._changed: list[Link] | None = None
        self._added_count = 0
        self._is_closed = False

    def __iter__(self) -> Iterator[Link]:
        return iter(self._found if self._changed is None else list(self._changed))

    def __len__(self) -> int:
        return len(self._found if self._changed is None else self._changed)

    def __contains__(self, href: object) -> bool:
        return isinstance(href, str) and any(link.target == self._base.link(href) for link in self)

    def add(self, href: str, text: str = "") -> str:
        """Add a link, relative to the page or absolute; return its URL."""
        url = self._base.link(href)
        if url is None:
            raise InputError(f"{quoted(href)} is not an http or https URL")
        links = self._open()
        if self._added_count >= _ADDED_LIMIT:
            raise InputError(f"a hook may add {_ADDED_LIMIT:,} links to a page, not more")
        self._added_count += 1
        links.append(Link(url, text, "", LinkKind.A, len(links)))
        return url

    def remove(self, href: str) -> int:
        """Remove all links to a URL; return how many there were."""
        url = self._base.link(href)
        return self.keep(lambda link: link.target != url)

    def keep(self, is_kept: Callable[[Link], bool]) -> int:
        """Keep only the links for which the function returns True; return how many were removed."""
        links = self._open()
        count = len(links)
        links[:] = [link for link in links if is_kept(link)]
        return count - len(links)

    def clear(self) -> None:
        self._open().clear()

    def _open(self) -> list[Link]:
        if self._is_closed:
            raise InputError(_STORED)
        if self._changed is None:
            self._changed = list(self._found)
        return self._changed

    def close(self) -> PageLinks:
        """Return the links, which cannot be changed any more."""
        self._is_closed = True
        if self._changed is None:
            return self._found
        if not self._changed:
            return PageLinks()
        targets, texts, rels, kinds, _ = zip(*self._changed, strict=True)
        return PageLinks(targets, texts, rels, kinds)


class CrawledPage:
    """A page of a crawl, as it was fetched: text, elements, links, and the fields that hooks add."""

    def __init__(self, decoded: DecodedPage, parsed: ParsedPage, depth: int) -> None:
        self._decoded, self._parsed = decoded, parsed
        self._tree = PageTree(parsed.page, decoded.body)
        self._fields: dict[str, Any] = {}
        self._is_closed = False
        self._is_dropped = False
        self.depth = depth  # links from a seed
        found = parsed.extract
        self.links = LinkEditor(found.links, BaseUrl(found.base_url, found.encoding or "utf-8"))

    def __repr__(self) -> str:
        return f"<CrawledPage {self.url}>"

    @property
    def url(self) -> FoundUrl:
        return FoundUrl(self._parsed.page.url)

    @property
    def status(self) -> int:
        return self._parsed.page.status

    @property
    def headers(self) -> Headers:
        """Return the headers of the response, as pairs in the order of the host."""
        return self._parsed.page.headers

    def header(self, name: str) -> str | None:
        return self._parsed.page.header(name)

    @property
    def media_type(self) -> str:
        return self._parsed.page.media_type

    @property
    def fetched_at(self) -> float:
        """Return when the fetch began, in seconds since the Unix epoch."""
        return self._parsed.page.at

    @property
    def document(self) -> Document:
        """Return what is indexed: title, text, description, headings, language, dates."""
        return self._parsed.extract.document

    @property
    def title(self) -> str:
        return self.document.title

    @property
    def text(self) -> str:
        """Return the main text, without menus and footers; one block on each line."""
        return self.document.text

    @property
    def language(self) -> str:
        return self.document.language

    @property
    def body(self) -> bytes:
        """Return the body, decompressed."""
        return self._decoded.body

    @property
    def html(self) -> str:
        """Return the body as text, in the encoding that a browser would use."""
        return as_text(self.body, encoding_of(self.header("content-type") or "", self.body))

    @property
    def markdown(self) -> str:
        """Return the main content as Markdown, with absolute links."""
        return markdown_of(self._parsed.page, self.body, self.title)

    def select(self, css: str) -> Element:
        """Return the first element that matches a CSS selector; an empty one, which is false, if none does."""
        return self._tree.select(css)

    def select_all(self, css: str) -> list[Element]:
        return self._tree.select_all(css)

    @property
    def fields(self) -> Any:
        """Return the fields that are stored with the document: a dictionary, read-only once the page is stored."""
        return MappingProxyType(self._fields) if self._is_closed else self._fields

    @property
    def is_dropped(self) -> bool:
        return self._is_dropped

    def drop(self) -> None:
        """Store no document and no links for this page. Its links are followed all the same; see `links.clear`."""
        if self._is_closed:
            raise InputError(_STORED)
        self._is_dropped = True


def close_page(page: CrawledPage, checked: Mapping[str, Any]) -> HookedPage:
    """Return what hooks made of a page, with these fields, and let nothing change it any more."""
    page._fields = dict(checked)
    page._is_closed = True
    found = page._parsed.extract._replace(links=page.links.close())
    return HookedPage(page._parsed._replace(extract=found), page._fields, page._is_dropped)
