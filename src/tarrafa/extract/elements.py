"""The elements of a page by CSS selectors, for functions of a user. The tree is built on first use.

A selector that matches nothing gives an empty element: it is false, and its texts are empty. So a page that lacks a
price needs no special case.
"""

from collections.abc import Iterator
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from tarrafa.errors import InputError
from tarrafa.extract.charset import as_utf8, encoding_of
from tarrafa.extract.html import collapse
from tarrafa.extract.sanitize import sanitize
from tarrafa.records import Page
from tarrafa.texts import quoted


class Element:
    """An element of a page, or an empty one."""

    def __init__(self, node: LexborNode | None = None) -> None:
        self._node = node

    def __bool__(self) -> bool:
        return self._node is not None

    def __repr__(self) -> str:
        return f"<Element {self.tag or 'that is empty'}>"

    @property
    def tag(self) -> str:
        """Return the name in lower case."""
        return "" if self._node is None else str(self._node.tag)

    def text(self, separator: str = "") -> str:
        """Return the text of all that is inside, with single spaces. `separator` goes between neighbouring elements."""
        return "" if self._node is None else collapse(self._node.text(separator=separator))

    @property
    def attributes(self) -> dict[str, str]:
        return {} if self._node is None else {name: value or "" for name, value in self._node.attributes.items()}

    def attribute(self, name: str, default: str = "") -> str:
        return self.attributes.get(name, default)

    @property
    def html(self) -> str:
        return "" if self._node is None else str(self._node.html or "")

    def select(self, css: str) -> "Element":
        """Return the first element inside that matches, or an empty one."""
        return next(iter(self.select_all(css)), Element())

    def select_all(self, css: str) -> list["Element"]:
        return [] if self._node is None else _matches(self._node, css)


class PageTree:
    """The tree of a page, within the bounds that extraction has. A very large page is parsed in pieces."""

    def __init__(self, page: Page, body: bytes) -> None:
        self._page, self._body = page, body

    @cached_property
    def _roots(self) -> list[LexborNode]:
        return list(roots_of(self._body, encoding_of(self._page.header("content-type") or "", self._body)))

    def select(self, css: str) -> Element:
        """Return the first element that matches, or an empty one."""
        return next((found for root in self._roots for found in _matches(root, css)), Element())

    def select_all(self, css: str) -> list[Element]:
        return [found for root in self._roots for found in _matches(root, css)]


def roots_of(body: bytes, encoding: str) -> Iterator[LexborNode]:
    """Yield the root of each piece of a page; one for an ordinary page."""
    for piece in sanitize(as_utf8(body, encoding)).pieces:
        parser = LexborHTMLParser(piece)
        if parser.root is not None:
            yield parser.root


def _matches(node: LexborNode, css: str) -> list[Element]:
    try:
        return [Element(found) for found in node.css(css)]
    except (SelectolaxError, ValueError) as error:
        raise InputError(f"{quoted(css)} is not a CSS selector; write for example span.price") from error
