"""Read what a page says about itself: X-Robots-Tag, meta robots, and usage preferences.

    X-Robots-Tag: noindex                     for every crawler
    X-Robots-Tag: otherbot: noindex, nofollow for another one: ignored
    X-Robots-Tag: tarrafa: noarchive          for this one
    <meta name="robots" content="none">       for every crawler; name="tarrafa" for this one

All directives that apply are combined, so the strictest wins. Nothing here raises, whatever the text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tarrafa.dates import parse_date
from tarrafa.obey.usage import usage_line
from tarrafa.records import Headers

# Bounds on what is read and kept of one page.
TEXT_MAX_CHARS = 2_000
TEXTS_MAX_COUNT = 20

_USAGE_HEADERS = frozenset({"content-usage", "content-signal", "tdm-reservation", "tdm-policy"})
_USAGE_METAS = frozenset({"tdm-reservation", "tdm-policy"})
_EVERY_CRAWLER = frozenset({"robots", "*"})
_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
# The comma of a date, `Friday, 25-Jun-10`, is no separator.
_SEPARATOR = re.compile(r"(?<!mon)(?<!day)(?<!tue)(?<!wed)(?<!thu)(?<!fri)(?<!sat)(?<!sun)[,;]")
_AGAINST_FOLLOWING = frozenset({"nofollow", "ugc", "sponsored"})


class Directives(NamedTuple):
    """The directives that apply to this crawler. `usage` is interpreted by `preferences`."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    unavailable_after: float | None = None  # seconds since the Unix epoch
    usage: tuple[str, ...] = ()


NO_DIRECTIVES = Directives()


def read_directives(headers: Headers, metas: Iterable[tuple[str, str]], token: str) -> Directives:
    """Combine headers and meta elements (name and content, in any case); `token` is our `product_token`."""
    texts: list[str] = []
    usage: list[str] = []
    for name, value in headers:
        name = name.lower()
        if name == "x-robots-tag":
            texts.append(value)
        elif name in _USAGE_HEADERS:
            usage.append(usage_line(name, value))
    ours = _EVERY_CRAWLER | {token}
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
    found = [directive for text in texts for directive in _applicable(text[:TEXT_MAX_CHARS].lower(), ours)]
    words = {name for name, _ in found}
    moments = [parse_date(value) for name, value in found if name == "unavailable_after"]
    return Directives(
        noindex=not words.isdisjoint({"noindex", "none"}),
        nofollow=not words.isdisjoint({"nofollow", "none"}),
        noarchive=not words.isdisjoint({"noarchive", "nocache"}),
        unavailable_after=min((moment for moment in moments if moment is not None), default=None),
        usage=tuple(usage),
    )


def _applicable(text: str, ours: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield each directive with its value. A name before a colon is a user agent, for all that follows."""
    is_ours = True
    for part in _SEPARATOR.split(text):
        name, colon, value = (piece.strip() for piece in part.partition(":"))
        if colon and name not in _WITH_VALUE:
            is_ours = name in ours
            name, colon, value = (piece.strip() for piece in value.partition(":"))
        if not is_ours:
            continue
        if name in _WITH_VALUE:
            yield name, value
        else:
            # Some authors leave the commas out: `noindex nofollow`.
            yield from ((word, "") for word in name.split())


def is_nofollow(rel: str) -> bool:
    """Return True if a link with this `rel` is not followed.

    `ugc` and `sponsored` were introduced as more exact forms of nofollow, so they count as much.
    """
    return not _AGAINST_FOLLOWING.isdisjoint(rel[:TEXT_MAX_CHARS].lower().replace(",", " ").split())
