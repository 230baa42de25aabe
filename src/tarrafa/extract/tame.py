"""Make a page harmless for the tree builder, whose cost grows with the square of some things that a page may hold.

By the HTML standard, formatting elements that nobody closes are repeated in every block that follows: a page of
90 kilobytes becomes gigabytes of tree. Each attribute is compared with all others of its tag, and many tags look up
through everything that is open. Ordinary pages pass with some looks for the ends of tags and one count of their
beginnings.

1. Tags with far too many attributes lose them.
2. Where unclosed formatting could become large, all tags of formatting are dropped; links and text stay.
3. What has very many tags is cut into pieces, each parsed on its own; beyond the last piece nothing is read.
"""

import re

import numpy as np

from tarrafa.extract import bounds

_FORMATTING = rb"(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)"
_DRESSED = re.compile(rb"<" + _FORMATTING + rb"[\s/]", re.IGNORECASE)
_FORMATTING_TAG = re.compile(rb"</?" + _FORMATTING + rb"(?=[\s/>])[^<>]{0,1000}>?", re.IGNORECASE)

# One attribute: name, and value if there is one. Each way to go on is told apart by its first character, so that
# a tag with fewer attributes fails without trying anything twice. A long name counts as several, which does no harm.
_ATTRIBUTE = rb"""
    [\s/]*+ [^\s/>] [^\s/>=]{0,100}+ \s*+
    (?: = \s*+ (?: "[^"]*+" | '[^']*+' | (?!["'])[^\s>]{0,1000}+ ) | (?!=) )
"""
_OVERGROWN = re.compile(rb"<[A-Za-z] [^\s/>]{0,100}+ (?:%b){%d,}" % (_ATTRIBUTE, bounds.ATTRIBUTES_LIMIT), re.VERBOSE)
_LESS = ord("<")
_MARKS = (b'"', b"'")
_BEFORE_VALUE = b"= \t\n\f\r"


def pieces(html: bytes) -> list[bytes]:
    """The page as it can be parsed: itself in one piece, if nothing speaks against it."""
    if _may_have_long_tags(html):
        html = _OVERGROWN.sub(b"<p", html)
    tags = int(np.count_nonzero(np.frombuffer(html, np.uint8) == _LESS))  # half of the time that `count` takes
    if tags <= bounds.CALM_TAGS:
        return [html]
    if len(_DRESSED.findall(html)) * tags > bounds.REBUILT_LIMIT:
        html = _FORMATTING_TAG.sub(b"", html)
    return [html] if tags <= bounds.PIECE_TAGS else _cut(html)


def _may_have_long_tags(html: bytes) -> bool:
    """Goes from one > to the last one that is near enough. It ends whatever tag is open, so none is longer than a step.

    Unless it stands within a quoted value, which was opened since the last step. Then the last mark of its kind is the
    one that opened it, and follows an equals sign or white space.
    """
    step = min(bounds.TAG_BYTES, bounds.LONG_TAGS // (len(html) + 1))
    find, at, last = html.rfind, 0, len(html) - step
    while at < last:
        end = find(b">", at, at + step)
        if end < 0:
            return True
        for mark in _MARKS:
            opening = find(mark, at, end)
            if opening > 0 and html[opening - 1] in _BEFORE_VALUE:
                return True
        at = end + 1
    return False


def _cut(html: bytes) -> list[bytes]:
    found: list[bytes] = []
    start = at = 0
    while at >= 0 and len(found) < bounds.PIECES_LIMIT:
        for _ in range(bounds.PIECE_TAGS):
            at = html.find(b"<", at + 1)
            if at < 0:
                break
        found.append(html[start:at] if at >= 0 else html[start:])
        start = at
    return found
