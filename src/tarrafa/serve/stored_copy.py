"""A stored page made harmless: nothing in it runs, and it requests nothing.

Three barriers: what would run, load or navigate is removed from the page here; the response has a content security
policy that lets nothing run or load but inline styles; and the page that shows it does so in a sandboxed frame. The
first one also covers what policies do not, such as connections that a browser opens ahead of time.
"""

import html
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tarrafa.extract import as_text, encoding_of
from tarrafa.extract.sanitize import sanitize
from tarrafa.fetch import decode
from tarrafa.keep import StoredPage

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'; sandbox"
)

_HTML = ("text/html", "application/xhtml+xml", "")
_TEXTS = ("application/json", "application/xml", "application/rss+xml", "application/atom+xml", "application/ld+json")
_ACTIVE = "script, link, meta, base, iframe, frame, frameset, object, embed, applet, template, portal, audio, video"
_LOADING = frozenset(
    (
        *("src", "srcset", "href", "xlink:href", "action", "formaction", "ping", "poster", "background", "data"),
        *("manifest", "target", "autofocus", "lowsrc", "dynsrc", "longdesc", "cite", "profile", "codebase", "archive"),
        *("imagesrcset", "attributionsrc", "shadowrootmode"),
    )
)


class CopyKind(StrEnum):
    """What can be shown of a stored page."""

    HTML = "html"
    TEXT = "text"
    OTHER = "other"  # a type that cannot be shown
    FORBIDDEN = "noarchive"  # the author forbids copies
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class StoredCopy:
    url: str
    title: str
    at: float  # when it was fetched, seconds since the Unix epoch
    kind: CopyKind
    media_type: str = ""
    html: str = ""


def make_copy(stored: StoredPage, row: dict[str, Any], limit_bytes: int) -> StoredCopy:
    """Return the copy of a stored page; `row` is the document row of the same visit."""
    body = decode(stored.page, limit_bytes).body[:limit_bytes]
    media_type = row["media_type"] or stored.page.media_type
    text = as_text(body, row["encoding"] or encoding_of(stored.page.header("content-type") or "", body))
    kind, content = CopyKind.OTHER, ""
    if media_type in _HTML:
        kind, content = CopyKind.HTML, make_harmless(text)
    elif media_type.startswith("text/") or media_type in _TEXTS:
        kind, content = CopyKind.TEXT, _text_page(text)
    return StoredCopy(stored.page.url, row["title"], stored.page.at, kind, media_type, content)


def make_harmless(text: str) -> str:
    """Return the page without anything that runs, loads or navigates. Images inlined as data: URLs stay."""
    tree = LexborHTMLParser(sanitize(text.encode("utf-8", "replace")).pieces[0])
    for node in tree.css(_ACTIVE):
        node.decompose()
    for node in tree.css("*"):
        _strip_attributes(node)
    page = tree.html or ""
    return page if page[:9].lower() == "<!doctype" else f"<!doctype html>\n{page}"


def _strip_attributes(node: LexborNode) -> None:
    for name, value in list(node.attributes.items()):
        lower = name.lower()
        is_inline_image = lower == "src" and node.tag == "img" and (value or "").startswith("data:image/")
        if (lower.startswith("on") or lower in _LOADING) and not is_inline_image:
            del node.attrs[name]


def _text_page(text: str) -> str:
    style = "white-space:pre-wrap;overflow-wrap:anywhere;font:14px/1.5 ui-monospace,monospace;margin:1em"
    return f'<!doctype html>\n<meta charset="utf-8"><title></title><pre style="{style}">{html.escape(text)}</pre>'
