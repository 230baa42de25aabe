"""Recognise the format of a page by its media type, corrected by its first bytes where hosts are often wrong."""

import re

from tarrafa.extract import bounds
from tarrafa.extract.records import PageFormat

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_VAGUE_TYPES = ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "application/unknown", "*/*")
_BINARY = (
    b"%PDF-",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"Rar!",
    b"OggS",
    b"ID3",
    b"\x7fELF",
)
_UTF_16_MARKS = (b"\xfe\xff", b"\xff\xfe")
_BEFORE_ROOT = re.compile(r"[\ufeff\s]++|<\?[^>]*+>|<!--.*?-->|<![^>]*+>", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]{1,40}:)?([A-Za-z][\w.-]{0,40})", re.ASCII)
_LIST_ROOTS = {
    "urlset": PageFormat.SITEMAP,
    "sitemapindex": PageFormat.SITEMAP,
    "rss": PageFormat.FEED,
    "feed": PageFormat.FEED,
    "rdf": PageFormat.FEED,
}
_HTML_ROOTS = frozenset(
    (
        *("html", "head", "body", "title", "meta", "link", "script", "style", "base", "p", "div", "span", "a"),
        *("table", "h1", "h2", "h3", "br", "ul", "ol", "form", "img", "center", "font", "iframe", "frameset"),
        *("noscript", "main", "article", "section", "nav", "header"),
    )
)


def format_of(media_type: str, body: bytes) -> PageFormat:
    head = body[: bounds.SNIFF_BYTES]
    if not head or _is_binary(head, media_type):
        return PageFormat.OTHER
    root = _root(head)
    if root in _LIST_ROOTS:
        return _LIST_ROOTS[root]
    if media_type in _HTML_TYPES or (root in _HTML_ROOTS and _may_be_html(media_type)):
        return PageFormat.HTML
    is_text = media_type == "text/plain" or (media_type in _VAGUE_TYPES and not root)
    return PageFormat.TEXT if is_text else PageFormat.OTHER


def _may_be_html(media_type: str) -> bool:
    return media_type in _VAGUE_TYPES or media_type.endswith("xml")


def _is_binary(head: bytes, media_type: str) -> bool:
    if head.startswith(_UTF_16_MARKS):
        return False
    # Browsers show a text that contains a stray zero. Without a type that says text, a zero means binary.
    return head.startswith(_BINARY) or (b"\x00" in head and not media_type.startswith("text/"))


def _root(head: bytes) -> str:
    """Return the name of the first element, in lower case and without prefix; empty if the page begins with text."""
    text = head.decode("utf-16" if head.startswith(_UTF_16_MARKS) else "utf-8", "replace")
    at = 0
    while match := _BEFORE_ROOT.match(text, at):
        at = match.end()
    root = _ROOT.match(text, at)
    return root[1].lower() if root else ""
