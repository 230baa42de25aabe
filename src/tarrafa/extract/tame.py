"""Make a page harmless for the tree builder, whose cost grows with the square of some things that a page may hold.

By the HTML standard, formatting elements that nobody closes are repeated in every block that follows: a page of
90 kilobytes becomes gigabytes of tree. Each attribute is compared with all others of its tag, and many tags look up
through everything that is open. Ordinary pages pass with one count of their tags.

1. Tags with far too many attributes lose them.
2. Where unclosed formatting could become large, all tags of formatting are dropped; links and text stay.
3. What has very many tags is cut into pieces, each parsed on its own; beyond the last piece nothing is read.
"""

import re

from tarrafa.extract import bounds

_FORMATTING = rb"(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)"
_DRESSED = re.compile(rb"<" + _FORMATTING + rb"[\s/]", re.IGNORECASE)
_FORMATTING_TAG = re.compile(rb"</?" + _FORMATTING + rb"(?=[\s/>])[^<>]{0,1000}>?", re.IGNORECASE)

# One attribute: name, and value if there is one. Each way to go on is told apart by its first character, so that
# a tag with fewer attributes fails without trying anything twice.
_ATTRIBUTE = rb"""
    [\s/]{0,100}+ [^\s/>] [^\s/>=]{0,100}+ \s{0,100}+
    (?: = \s{0,100}+ (?: "[^"]{0,1000}+" | '[^']{0,1000}+' | (?!["'])[^\s>]{0,1000}+ ) | (?!=) )
"""
_OVERGROWN = re.compile(rb"<[A-Za-z] [^\s/>]{0,100}+ (?:%b){%d,}" % (_ATTRIBUTE, bounds.ATTRIBUTES_LIMIT), re.VERBOSE)


def pieces(html: bytes) -> list[bytes]:
    """The page as it can be parsed: itself in one piece, if nothing speaks against it."""
    if len(html) > bounds.SMALL_BYTES:
        html = _OVERGROWN.sub(b"<p", html)
    tags = html.count(b"<")
    if tags <= bounds.CALM_TAGS:
        return [html]
    if len(_DRESSED.findall(html)) * tags > bounds.REBUILT_LIMIT:
        html = _FORMATTING_TAG.sub(b"", html)
    return [html] if tags <= bounds.PIECE_TAGS else _cut(html)


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
