"""Bound what a page costs to parse.

The tree builder's cost grows with the square of some things that a page may hold. By the HTML standard, formatting
elements that stay open are repeated in every block that follows: 90 kilobytes become gigabytes of tree. Each attribute
is compared with all others of its tag, and many tags search through everything that is open. `sanitize` limits this:

1. Tags with far too many attributes lose them.
2. Where unclosed formatting could become large, all formatting tags are dropped; links and text stay.
3. A page with very many tags is cut into pieces that are parsed one by one; what is left after a great many of them
   is not parsed.

An ordinary page is returned as it is. `is_expensive` says before which bodies take so long, even so, that they should
not be parsed on an event loop.
"""

import re
from typing import NamedTuple, cast

import numpy as np
from isal import isal_zlib

from tarrafa.extract import bounds

_FORMATTING = rb"(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)"
_FORMATTING_WITH_ATTRIBUTES = re.compile(rb"<" + _FORMATTING + rb"[\s/]", re.IGNORECASE)
_FORMATTING_TAG = re.compile(rb"</?" + _FORMATTING + rb"(?=[\s/>])[^<>]{0,1000}>?", re.IGNORECASE)

# One attribute: name, and value if there is one. Each alternative begins with another character, so that a tag with
# fewer attributes fails without backtracking. A long name counts as several attributes, which does no harm.
_ATTRIBUTE = rb"""
    [\s/]*+ [^\s/>] [^\s/>=]{0,100}+ \s*+
    (?: = \s*+ (?: "[^"]*+" | '[^']*+' | (?!["'])[^\s>]{0,1000}+ ) | (?!=) )
"""
_OVERGROWN = re.compile(rb"<[A-Za-z] [^\s/>]{0,100}+ (?:%b){%d,}" % (_ATTRIBUTE, bounds.ATTRIBUTES_LIMIT), re.VERBOSE)
_LESS = ord("<")
_QUOTES = (b'"', b"'")
_BEFORE_VALUE = b"= \t\n\f\r"

_IS_BEFORE_WORD = bytes(octet in b" \t\n\f\r/=" for octet in range(256))
_ADDRESSES = re.compile(rb"(?:\xef\xbb\xbf)?\s*+https?://")
_GZIP_MAGIC, _GZIP_WINDOW = b"\x1f\x8b", 31
# The package's type stubs take the class for an instance.
_DamagedError = cast("type[Exception]", isal_zlib.IsalError)


class SafePieces(NamedTuple):
    pieces: list[bytes]  # safe to parse; an ordinary page in one, unchanged
    rest: bytes = b""  # beyond the bounds


def sanitize(html: bytes) -> SafePieces:
    if may_have_long_tags(html):
        html = _OVERGROWN.sub(b"<p", html)
    tags = _count_tags(html)
    if tags <= bounds.CALM_TAGS:
        return SafePieces([html])
    if len(_FORMATTING_WITH_ATTRIBUTES.findall(html)) * tags > bounds.REBUILT_LIMIT:
        html = _FORMATTING_TAG.sub(b"", html)
    if tags <= bounds.PIECE_TAGS:
        return SafePieces([html])
    is_open = 4 * html.count(b"</") < tags
    return _cut(html, bounds.OPEN_PIECES_LIMIT if is_open else bounds.PIECES_LIMIT)


def is_expensive(body: bytes) -> bool:
    """Return True if extraction from this body takes more than a few milliseconds."""
    if body.startswith(_GZIP_MAGIC):
        return _is_large_unpacked(body)
    if len(body) < bounds.CHEAP_BYTES:
        return False
    return (
        len(body) >= bounds.LARGE_BYTES
        or _is_tag_heavy(body)
        or _is_attribute_heavy(body)
        or _ADDRESSES.match(body) is not None
    )


def _count_tags(html: bytes) -> int:
    # numpy takes half the time of `bytes.count` for a character that is frequent.
    return int(np.count_nonzero(np.frombuffer(html, np.uint8) == _LESS))


def may_have_long_tags(html: bytes) -> bool:
    """Return False if no tag is longer than a step.

    The scan goes from one `>` to the last one within a step. That one ends whatever tag is open, unless it stands in a
    quoted value that was opened since the last step. Then the last quote of its kind is the one that opened it, and
    follows an equals sign or white space.
    """
    step = min(bounds.TAG_BYTES, bounds.LONG_TAGS // (len(html) + 1))
    at, last = 0, len(html) - step
    while at < last:
        end = html.rfind(b">", at, at + step)
        if end < 0:
            return True
        for quote in _QUOTES:
            opening = html.rfind(quote, at, end)
            if opening > 0 and html[opening - 1] in _BEFORE_VALUE:
                return True
        at = end + 1
    return False


def _cut(html: bytes, pieces_limit: int) -> SafePieces:
    found: list[bytes] = []
    start = at = 0
    while at >= 0 and len(found) < pieces_limit:
        for _ in range(bounds.PIECE_TAGS):
            at = html.find(b"<", at + 1)
            if at < 0:
                break
        found.append(html[start:at] if at >= 0 else html[start:])
        start = at
    return SafePieces(found, html[start:] if at >= 0 else b"")


def _is_tag_heavy(body: bytes) -> bool:
    """Return True for very many tags, or for fewer that stay open: for each of those the parser searches all others."""
    tags = _count_tags(body)
    if tags <= bounds.FEW_TAGS:
        return False
    return tags > bounds.MANY_TAGS or tags - 2 * body.count(b"</") > bounds.UNCLOSED_TAGS


def _is_attribute_heavy(body: bytes) -> bool:
    """Return True for very many words: each may be an attribute. Of consecutive separators only the last counts."""
    if len(body) < bounds.WORDY_BYTES:
        return False
    is_before = np.frombuffer(body.translate(_IS_BEFORE_WORD), np.bool_)
    return int(np.count_nonzero(is_before[:-1] > is_before[1:])) > bounds.MANY_WORDS


def _is_large_unpacked(packed: bytes) -> bool:
    try:
        unpacked = isal_zlib.decompressobj(_GZIP_WINDOW).decompress(packed, bounds.LARGE_SITEMAP_BYTES)
    except _DamagedError:
        return False
    return len(unpacked) >= bounds.LARGE_SITEMAP_BYTES
