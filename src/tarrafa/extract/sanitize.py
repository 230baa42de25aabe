"""Bound what a page costs to parse.

The tree builder's cost grows with the square of some things that a page may hold. By the HTML standard, formatting
elements that stay open are repeated in every block that follows: 90 kilobytes become gigabytes of tree. Each attribute
is compared with all others of its tag, and many tags search through everything that is open. `sanitize` limits this:

1. Tags with far too many attributes lose them.
2. Where unclosed formatting could become large, all formatting tags are renamed, so that the tree builder takes them
   for elements that it does not know; links and text stay.
3. A page with very many tags is cut into pieces that are parsed one by one; what is left after a great many of them
   is not parsed.

An ordinary page is returned as it is. `is_expensive` says before which bodies take so long, even so, that they should
not be parsed on an event loop.
"""

import re
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from tarrafa.extract import bounds

_FORMATTING = (b"b", b"big", b"code", b"em", b"font", b"i", b"nobr", b"s", b"small", b"strike", b"strong", b"tt", b"u")
_NAME_BYTES = 8  # more than the longest of these names, and what ends it
_NAME_ENDS = b"\t\n\f\r />"
_OTHER_NAME = ord("x")  # instead of the first letter of a formatting tag

# One attribute: name, and value if there is one. Each alternative begins with another character, so that a tag with
# fewer attributes fails without backtracking. A long name counts as several attributes, which does no harm.
_ATTRIBUTE = rb"""
    [\s/]*+ [^\s/>] [^\s/>=]{0,100}+ \s*+
    (?: = \s*+ (?: "[^"]*+" | '[^']*+' | (?!["'])[^\s>]{0,1000}+ ) | (?!=) )
"""
_OVERGROWN = re.compile(rb"<[A-Za-z] [^\s/>]{0,100}+ (?:%b){%d,}" % (_ATTRIBUTE, bounds.ATTRIBUTES_LIMIT), re.VERBOSE)
_LESS, _SLASH, _MORE = b"</>"
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
    if tags * tags > bounds.REBUILT_LIMIT:
        formatting = _find_formatting(html)
        if formatting.with_attributes_count * tags > bounds.REBUILT_LIMIT:
            html = _rename(html, formatting.names)
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


class _Formatting(NamedTuple):
    names: NDArray[np.int64]  # where the name of each formatting tag begins, of closing ones too
    with_attributes_count: int  # of opening tags


def _find_formatting(html: bytes) -> _Formatting:
    """Find the formatting tags, many at a time: the name of each is compared as a number of eight bytes."""
    octets = np.frombuffer(html + bytes(_NAME_BYTES + 1), np.uint8)
    names = np.flatnonzero(octets[: len(html)] == _LESS) + 1
    is_closing = octets[names] == _SLASH
    names += is_closing
    which = _beginnings()[_windows(octets, "<u2")[names]]
    names, is_closing = names[which], is_closing[which]
    words = _windows(octets, "<u8")[names] | _LOWER_CASE
    lengths = np.zeros(len(names), np.int64)
    for name in _FORMATTING:
        mask = np.uint64((1 << 8 * len(name)) - 1)
        lengths[words & mask == int.from_bytes(name, "little")] = len(name)
    ends = octets[names + lengths]
    is_tag = _name_ends()[ends] & (lengths > 0)
    return _Formatting(names[is_tag], int(np.count_nonzero(is_tag & ~is_closing & (ends != _MORE))))


_LOWER_CASE = np.uint64(0x2020202020202020)


def _windows(octets: NDArray[np.uint8], type_name: str) -> NDArray[Any]:
    """Return the number that begins at each byte."""
    found: NDArray[Any] = np.ndarray(len(octets) - np.dtype(type_name).itemsize + 1, type_name, octets, strides=(1,))
    return found


@cache
def _beginnings() -> NDArray[np.bool_]:
    """Return for each pair of bytes whether a formatting tag may begin with it."""
    found = np.zeros((256, 256), np.bool_)
    for name in _FORMATTING:
        seconds = bytes([name[1]]) + bytes([name[1]]).upper() if len(name) > 1 else _NAME_ENDS
        for first in name[:1] + name[:1].upper():
            found[list(seconds), first] = True
    return found.ravel()


@cache
def _name_ends() -> NDArray[np.bool_]:
    """Return for each byte whether it may end a name."""
    return np.array([octet in _NAME_ENDS for octet in range(256)])


def _rename(html: bytes, names: NDArray[np.int64]) -> bytes:
    """Replace the first letters of names."""
    octets = np.frombuffer(html, np.uint8).copy()
    octets[names] = _OTHER_NAME
    return octets.tobytes()


def may_have_long_tags(html: bytes) -> bool:
    """Return False if no tag has more attributes than it may, or none is longer than a step.

    The scan goes from one `>` to the last one within a step. That one ends whatever tag is open, unless it stands in a
    quoted value that was opened since the last step. Then the last quote of its kind is the one that opened it, and
    follows an equals sign or white space. Prose has such quotes too, so the tags before it are looked at one by one.
    """
    step = min(bounds.TAG_BYTES, bounds.LONG_TAGS // (len(html) + 1))
    at, last = 0, len(html) - step
    while at < last:
        end = html.rfind(b">", at, at + step)
        if end < 0:
            if _has_overgrown(html, at, at + step):
                return True
            at += step
            continue
        for quote in _QUOTES:
            opening = html.rfind(quote, at, end)
            if opening > 0 and html[opening - 1] in _BEFORE_VALUE and _has_overgrown(html, at, opening):
                return True
        at = end + 1
    return False


def _has_overgrown(html: bytes, start: int, end: int) -> bool:
    """Return True if a tag that begins between two places has too many attributes."""
    at = html.find(b"<", start, end)
    while at >= 0:
        if _OVERGROWN.match(html, at):
            return True
        at = html.find(b"<", at + 1, end)
    return False


def _cut(html: bytes, pieces_limit: int) -> SafePieces:
    """Cut before every so many tags."""
    tags = np.flatnonzero(np.frombuffer(html, np.uint8) == _LESS)
    cuts = [0, *tags[bounds.PIECE_TAGS :: bounds.PIECE_TAGS].tolist(), len(html)]
    pieces = [html[start:end] for start, end in pairwise(cuts[: pieces_limit + 1])]
    return SafePieces(pieces, html[cuts[pieces_limit] :] if len(cuts) > pieces_limit + 1 else b"")


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
