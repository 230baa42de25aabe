"""A kept page, made harmless: nothing of it runs, and it asks nobody for anything.

Three walls: what would run, load or lead away is taken out of the page here; the answer carries a policy that lets
nothing run or load, styles included; and the page that shows it does so in a frame without any permission. The first
wall is also there for what policies do not know, such as connections that a browser opens ahead of time.
"""

import html
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tarrafa.extract import as_text, encoding_of
from tarrafa.extract.tame import pieces
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


class Shown(StrEnum):
    """What is shown of a kept page."""

    HTML = "html"
    TEXT = "text"
    OTHER = "other"  # neither, so nothing
    FORBIDDEN = "noarchive"  # its author does not want it
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Copy:
    url: str
    title: str
    at: float  # when it was fetched, seconds since the Unix epoch
    shown: Shown
    media_type: str = ""
    html: str = ""


def copy_of(stored: StoredPage, row: dict[str, Any], limit_bytes: int) -> Copy:
    """`row` is the document's, of the same visit."""
    body = decode(stored.page, limit_bytes).body[:limit_bytes]
    media_type = row["media_type"] or stored.page.media_type
    text = as_text(body, row["encoding"] or encoding_of(stored.page.header("content-type") or "", body))
    shown, content = Shown.OTHER, ""
    if media_type in _HTML:
        shown, content = Shown.HTML, harmless(text)
    elif media_type.startswith("text/") or media_type in _TEXTS:
        shown, content = Shown.TEXT, _as_page(text)
    return Copy(stored.page.url, row["title"], stored.page.at, shown, media_type, content)


def harmless(text: str) -> str:
    """The page without what runs, loads or leads anywhere. Pictures that it carries itself stay."""
    tame = pieces(text.encode("utf-8", "replace"))
    tree = LexborHTMLParser(tame[0] if tame else b"")
    for node in tree.css(_ACTIVE):
        node.decompose()
    for node in tree.css("*"):
        _disarm(node)
    made = tree.html or ""
    return made if made[:9].lower() == "<!doctype" else f"<!doctype html>\n{made}"


def _disarm(node: LexborNode) -> None:
    for name, value in list(node.attributes.items()):
        low = name.lower()
        is_own_picture = low == "src" and node.tag == "img" and (value or "").startswith("data:image/")
        if (low.startswith("on") or low in _LOADING) and not is_own_picture:
            del node.attrs[name]


def _as_page(text: str) -> str:
    style = "white-space:pre-wrap;overflow-wrap:anywhere;font:14px/1.5 ui-monospace,monospace;margin:1em"
    return f'<!doctype html>\n<meta charset="utf-8"><title></title><pre style="{style}">{html.escape(text)}</pre>'
