"""What one page says about itself: X-Robots-Tag, meta robots, and what its author wants of its use.

    X-Robots-Tag: noindex                     for everybody
    X-Robots-Tag: otherbot: noindex, nofollow for others: ignored
    X-Robots-Tag: tarrafa: noarchive          for us
    <meta name="robots" content="none">       for everybody; name="tarrafa" for us

All that concerns us is taken together, so the strictest wins. Whatever the text, nothing here raises.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tarrafa.dates import parse_date
from tarrafa.obey.usage import usage_line
from tarrafa.records import Headers

# Bounds on what one page can make us read and keep.
TEXT_MAX_CHARS = 2_000
TEXTS_MAX_COUNT = 20

_USAGE_HEADERS = frozenset({"content-usage", "content-signal", "tdm-reservation", "tdm-policy"})
_USAGE_METAS = frozenset({"tdm-reservation", "tdm-policy"})
_EVERYBODY = frozenset({"robots", "*"})
_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
# The comma of a date, `Friday, 25-Jun-10`, separates nothing.
_SEPARATOR = re.compile(r"(?<!mon)(?<!day)(?<!tue)(?<!wed)(?<!thu)(?<!fri)(?<!sat)(?<!sun)[,;]")
_AGAINST_FOLLOWING = frozenset({"nofollow", "ugc", "sponsored"})


class Directives(NamedTuple):
    """What holds for us. `usage` is read by `preferences`."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    unavailable_after: float | None = None  # seconds since the Unix epoch
    usage: tuple[str, ...] = ()


NO_DIRECTIVES = Directives()


def read_directives(headers: Headers, metas: Iterable[tuple[str, str]], token: str) -> Directives:
    """`metas` are names and contents of meta elements, in any case of letters; `token` is our `product_token`."""
    texts: list[str] = []
    usage: list[str] = []
    for name, value in headers:
        name = name.lower()
        if name == "x-robots-tag":
            texts.append(value)
        elif name in _USAGE_HEADERS:
            usage.append(usage_line(name, value))
    ours = _EVERYBODY | {token}
    for name, value in metas:
        name = name.strip().lower()
        if name in ours:
            texts.append(value)
        elif name in _USAGE_METAS:
            usage.append(usage_line(name, value))
    if not texts and not usage:
        return NO_DIRECTIVES
    return _joined(texts[:TEXTS_MAX_COUNT], usage[:TEXTS_MAX_COUNT], ours)


def _joined(texts: list[str], usage: list[str], ours: frozenset[str]) -> Directives:
    found = [directive for text in texts for directive in _for_us(text[:TEXT_MAX_CHARS].lower(), ours)]
    words = {name for name, _ in found}
    moments = [parse_date(value) for name, value in found if name == "unavailable_after"]
    return Directives(
        noindex=not words.isdisjoint({"noindex", "none"}),
        nofollow=not words.isdisjoint({"nofollow", "none"}),
        noarchive=not words.isdisjoint({"noarchive", "nocache"}),
        unavailable_after=min((moment for moment in moments if moment is not None), default=None),
        usage=tuple(usage),
    )


def _for_us(text: str, ours: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each directive of the text with its value. A name before a colon is a user agent, for all that follows."""
    is_for_us = True
    for part in _SEPARATOR.split(text):
        name, colon, value = (piece.strip() for piece in part.partition(":"))
        if colon and name not in _WITH_VALUE:
            is_for_us = name in ours
            name, colon, value = (piece.strip() for piece in value.partition(":"))
        if not is_for_us:
            continue
        if name in _WITH_VALUE:
            yield name, value
        else:
            # Authors leave commas out, too: `noindex nofollow`.
            yield from ((word, "") for word in name.split())


def is_nofollow(rel: str) -> bool:
    """Whether a link with this `rel` is not followed.

    `ugc` and `sponsored` were introduced as more exact ways to say nofollow; who writes them means no less.
    """
    return not _AGAINST_FOLLOWING.isdisjoint(rel[:TEXT_MAX_CHARS].lower().replace(",", " ").split())
