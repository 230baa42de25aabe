"""What format is it? By the media type, corrected by the first bytes where hosts are often wrong."""

import re

from tarrafa.extract import bounds
from tarrafa.extract.found import Format

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_UNTOLD_TYPES = ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "application/unknown", "*/*")
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
_WIDE_MARKS = (b"\xfe\xff", b"\xff\xfe")
_BEFORE_ROOT = re.compile(r"[\ufeff\s]++|<\?[^>]*+>|<!--.*?-->|<![^>]*+>", re.DOTALL)
# How most pages begin, told without decoding.
_PLAINLY_HTML = re.compile(rb"\s*+(?:<!doctype[^>]*+>\s*+)?<html[\s>]", re.IGNORECASE)
_ROOT = re.compile(r"<(?:[\w.-]{1,40}:)?([A-Za-z][\w.-]{0,40})", re.ASCII)
_LISTINGS = {
    "urlset": Format.SITEMAP,
    "sitemapindex": Format.SITEMAP,
    "rss": Format.FEED,
    "feed": Format.FEED,
    "rdf": Format.FEED,
}
_HTML_ROOTS = frozenset(
    (
        *("html", "head", "body", "title", "meta", "link", "script", "style", "base", "p", "div", "span", "a"),
        *("table", "h1", "h2", "h3", "br", "ul", "ol", "form", "img", "center", "font", "iframe", "frameset"),
        *("noscript", "main", "article", "section", "nav", "header"),
    )
)


def format_of(media_type: str, body: bytes) -> Format:
    head = body[: bounds.SNIFF_BYTES]
    if not head or _is_binary(head, media_type):
        return Format.OTHER
    if media_type in _HTML_TYPES and _PLAINLY_HTML.match(head):
        return Format.HTML
    root = _root(head)
    if root in _LISTINGS:
        return _LISTINGS[root]
    if media_type in _HTML_TYPES or (root in _HTML_ROOTS and _may_be_html(media_type)):
        return Format.HTML
    return Format.TEXT if media_type == "text/plain" or (media_type in _UNTOLD_TYPES and not root) else Format.OTHER


def _may_be_html(media_type: str) -> bool:
    return media_type in _UNTOLD_TYPES or media_type.endswith("xml")


def _is_binary(head: bytes, media_type: str) -> bool:
    if head.startswith(_WIDE_MARKS):
        return False
    # Browsers show a text in which a zero has strayed; where nobody says that it is text, a zero says that it is not.
    return head.startswith(_BINARY) or (b"\x00" in head and not media_type.startswith("text/"))


def _root(head: bytes) -> str:
    """The name of the first element, in lower case and without its prefix; empty where the head begins otherwise."""
    text = head.decode("utf-16" if head.startswith(_WIDE_MARKS) else "utf-8", "replace")
    at = 0
    while match := _BEFORE_ROOT.match(text, at):
        at = match.end()
    root = _ROOT.match(text, at)
    return root[1].lower() if root else ""
