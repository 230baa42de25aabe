"""What the head of a page says about its age: validators for conditional requests, time of change, cache lifetime.

A host may be asked to send a page only if it has changed: by its ETag, else by its Last-Modified. Not all hosts tell
the truth, so some requests go without, and `ValidatorTrust` counts what they find.
"""

import math
import re

from tarrafa.chance import draws
from tarrafa.dates import parse_date
from tarrafa.lru import LruCache
from tarrafa.records import CONDITIONS, Headers, header

CACHE_MAX_SECONDS = 86_400.0
_TAG_MAX_CHARS = 1_000
# Apache adds a suffix to the tag of a compressed page, and knows only the tag without it.
_SENT_ALSO = re.compile(r"^((?:W/)?\".*)-(?:gzip|br|deflate)(\")$")
# A page that says it was changed just now is made for each request, or may change twice within a second.
_AGE_MIN_SECONDS = 5.0
_PLAIN_ONE_IN = 20  # refreshes without conditions
_CLOCK_SECONDS = 60.0  # by which the clock of a host may differ
_HOSTS_LIMIT = 20_000
_LIES_MIN, _LIES_ONE_IN = 3, 10
_COUNT_MAX = 100
_DIRECTIVE = re.compile(r"([a-z-]+)\s*(?:=\s*\"?([^\",]*))?")


def conditions_of(headers: Headers, at: float) -> Headers:
    """Return the headers that ask for a page only if it has changed since it came with these headers."""
    tag, modified = header(headers, "etag"), header(headers, "last-modified")
    if tag and len(tag) <= _TAG_MAX_CHARS:
        return ((CONDITIONS[0], _SENT_ALSO.sub(r"\g<0>, \1\2", tag)),)
    if modified is not None and not math.isnan(content_seconds(headers, at)):
        return ((CONDITIONS[1], modified),)
    return ()


def is_plain_turn(url: str, visited_seconds: float) -> bool:
    """Return True if this refresh of a page goes without conditions: one in twenty does, always the same ones."""
    return draws(f"plain {url} {visited_seconds:.0f}", 1)[0] % _PLAIN_ONE_IN == 0


def content_seconds(headers: Headers, at: float) -> float:
    """Return how old the content of a page was when it was sent, by the clock of its host; NaN if it does not say."""
    modified = parse_date(header(headers, "last-modified") or "")
    if modified is None:
        return math.nan
    sent_at = parse_date(header(headers, "date") or "")
    seconds = (at if sent_at is None else sent_at) - modified
    return seconds if seconds >= _AGE_MIN_SECONDS else math.nan


def cache_seconds(headers: Headers) -> float:
    """Return for how long the host calls the page valid from now on, at most a day; 0 if it does not say."""
    directives = _cache_directives(headers)
    if "no-cache" in directives or "no-store" in directives:
        return 0.0
    lifetime = _seconds(directives["max-age"]) if "max-age" in directives else _seconds_until_expiry(headers)
    if "max-age" in directives:
        lifetime -= _seconds(header(headers, "age") or "")
    return min(max(lifetime, 0.0), CACHE_MAX_SECONDS)


def _cache_directives(headers: Headers) -> dict[str, str]:
    lines = [value.lower() for name, value in headers if name.lower() == "cache-control"]
    return {name: value.strip() for line in lines for name, value in _DIRECTIVE.findall(line)}


def _seconds(text: str) -> float:
    text = text.strip()
    return float(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else 0.0


def _seconds_until_expiry(headers: Headers) -> float:
    expires, sent_at = parse_date(header(headers, "expires") or ""), parse_date(header(headers, "date") or "")
    return 0.0 if expires is None or sent_at is None else expires - sent_at


def hides_change(old: Headers, new: Headers, new_at: float, visited_seconds: float) -> bool | None:
    """Return True if the validators of a changed page say that it has not changed; None if it has none to compare.

    `old` came with the former content, which was there still at the last visit.
    """
    tags = header(old, "etag"), header(new, "etag")
    if all(tags):
        return tags[0] == tags[1]
    age_seconds = content_seconds(new, new_at)
    if math.isnan(age_seconds):
        return None
    return new_at - age_seconds < visited_seconds - _CLOCK_SECONDS


class ValidatorTrust:
    """Counts, by host, how many of the changes that were found without conditions the validators would have hidden.

    Hosts that hide one change in ten, and at least three, are not believed. Old counts fade, and the least recently
    used hosts are forgotten.
    """

    def __init__(self, limit: int = _HOSTS_LIMIT) -> None:
        # Changes found and changes hidden, by host. Filled by note; drops the least recently used.
        self._counts: LruCache[str, tuple[int, int]] = LruCache(limit)

    def note(self, host: str, *, is_hidden: bool) -> None:
        """Note a change that was found, and whether the validators hide it."""
        changes, hidden = self._counts.get(host) or (0, 0)
        changes, hidden = changes + 1, hidden + is_hidden
        if changes > _COUNT_MAX:
            changes, hidden = changes // 2, hidden // 2
        self._counts.put(host, (changes, hidden))

    def is_trusted(self, host: str) -> bool:
        changes, hidden = self._counts.get(host) or (0, 0)
        return hidden < _LIES_MIN or hidden * _LIES_ONE_IN < changes
