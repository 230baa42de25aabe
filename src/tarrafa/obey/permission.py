"""Decide what a host allows from the outcome of fetching its robots.txt (RFC 9309, sections 2.3 and 2.4).

    first_request(host) ──► RobotsRequest ──► the caller fetches ──► settle
    settle ──► RobotsRequest    a redirect: fetch that next
          └──► RobotsAnswer     valid until it expires; kept in the store
    permission_of(RobotsAnswer) ──► Permission ──► refusal(url): None if it may be visited

1. A file (2xx) is valid for a day, or for the shorter time that it announces, but for an hour at least.
2. If there is none (4xx but 429, more than five redirects, a redirect to nowhere), everything is allowed.
3. If it is unreachable (5xx, 429, no answer, an answer that broke off), the last file stays valid. Without one nothing
   is allowed; after thirty days of retries, everything is.
4. A retry comes after five minutes, then at doubling intervals up to six hours, never before Retry-After.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from tarrafa.dates import parse_date
from tarrafa.obey.robots import EVERYTHING_ALLOWED, ROBOTS_MAX_BYTES, Rules, read_robots, whole_lines
from tarrafa.records import Failure, Page
from tarrafa.urls import BaseUrl

HOPS_MAX_COUNT = 5
HOUR_SECONDS = 3_600.0
DAY_SECONDS = 24 * HOUR_SECONDS
FILE_MIN_SECONDS = HOUR_SECONDS
FILE_MAX_SECONDS = DAY_SECONDS
RETRY_MIN_SECONDS = 300.0
RETRY_MAX_SECONDS = 6 * HOUR_SECONDS
GIVEN_UP_SECONDS = 30 * DAY_SECONDS
LONG_BYTES = 32_000  # a longer robots.txt takes milliseconds to parse: see `read_ahead`

_CLOCK_SECONDS = 60.0  # by which a clock may be corrected
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TOO_MANY_REQUESTS = 429
_MAX_AGE = re.compile(r"\bmax-age ?= ?\"?([0-9]{1,9})", re.IGNORECASE | re.ASCII)
_HEADER_MAX_CHARS = 1_000


class Basis(StrEnum):
    """The reason for a host's permission."""

    FILE = "file"  # a robots.txt, perhaps an old one while it is unreachable
    MISSING = "missing"  # there is none: everything is allowed
    UNREACHABLE = "unreachable"  # no answer: nothing is allowed


class RobotsRefusal(StrEnum):
    """The reason why a URL is not visited; stored with it."""

    DISALLOWED = "disallowed"  # by a line of robots.txt
    ROBOTS_UNREACHABLE = "robots-unreachable"  # robots.txt is unreachable, so nothing of the host is visited


class RobotsRequest(NamedTuple):
    """A robots.txt to fetch. After a redirect `url` may be on another host; the rules are still for `host`."""

    host: str
    url: str
    hops_count: int = 0


class RobotsAnswer(NamedTuple):
    """The outcome of fetching a host's robots.txt, as it is stored."""

    host: str
    basis: Basis
    reason: str  # `http-404`, `timeout`, …: the last answer in a word
    status: int  # of the last answer; zero where there was none
    fetched_at: float
    expires_at: float
    failing_since: float | None = None  # the first of the failures without a success between them
    body: bytes | None = None  # the last file, decoded and cut at its bound


class Permission(NamedTuple):
    """What a host allows to one visitor, until `expires_at`."""

    basis: Basis
    rules: Rules
    fetched_at: float
    expires_at: float

    def is_due(self, now: float) -> bool:
        """Return True if robots.txt must be fetched again before the next page; also if the clock was set back."""
        return not self.fetched_at - _CLOCK_SECONDS <= now < self.expires_at

    def refusal(self, url: str) -> RobotsRefusal | None:
        if self.basis is Basis.UNREACHABLE:
            return RobotsRefusal.ROBOTS_UNREACHABLE
        return None if self.rules.allows(url) else RobotsRefusal.DISALLOWED


def permission_of(answer: RobotsAnswer, token: str) -> Permission:
    """Return what the host allows to the visitor of that `product_token`."""
    rules = EVERYTHING_ALLOWED if answer.body is None else _rules_of(answer.body, token)
    return Permission(answer.basis, rules, answer.fetched_at, answer.expires_at)


def _rules_of(body: bytes, token: str) -> Rules:
    return _long_rules(body, token) if len(body) >= LONG_BYTES else read_robots(body, token)


# The files that were read ahead. The rules of each take 5 MB at most.
_long_rules = lru_cache(maxsize=4)(read_robots)


def read_ahead(page: Page, token: str) -> None:
    """Parse a long robots.txt in any thread, so that `permission_of` does not take long on the event loop."""
    _long_rules(whole_lines(page.body, is_cut=page.truncated), token)


def first_request(host: str) -> RobotsRequest:
    return RobotsRequest(host, f"{host}/robots.txt")


def settle(
    asked: RobotsRequest, got: Page | Failure, now: float, before: RobotsAnswer | None = None
) -> RobotsRequest | RobotsAnswer:
    """Return the next request, or the answer. `got` is without content coding; `before` is the host's last answer."""
    if isinstance(got, Failure):
        return _failed(asked.host, got.kind.value, None, now, before)
    reason = f"http-{got.status}"
    if got.status in _REDIRECTS:
        return _redirected(asked, got, now)
    if 200 <= got.status < 300:
        # The part that is missing may be the line that would refuse us.
        is_whole = not got.truncated or len(got.body) >= ROBOTS_MAX_BYTES
        return _file(asked.host, got, now) if is_whole else _failed(asked.host, "truncated", got, now, before)
    if 300 <= got.status < 500 and got.status != _TOO_MANY_REQUESTS:
        return _missing(asked.host, reason, got, now)
    return _failed(asked.host, reason, got, now, before)


def _redirected(asked: RobotsRequest, page: Page, now: float) -> RobotsRequest | RobotsAnswer:
    target = BaseUrl(page.url).link(page.header("location") or "")
    if target is None or target == page.url:
        return _missing(asked.host, "redirect-nowhere", page, now)
    if asked.hops_count >= HOPS_MAX_COUNT:
        return _missing(asked.host, "redirects", page, now)
    return RobotsRequest(asked.host, target, asked.hops_count + 1)


def _file(host: str, page: Page, now: float) -> RobotsAnswer:
    body = whole_lines(page.body, is_cut=page.truncated)
    return RobotsAnswer(
        host, Basis.FILE, f"http-{page.status}", page.status, now, now + _lifetime_seconds(page), body=body
    )


def _missing(host: str, reason: str, page: Page, now: float) -> RobotsAnswer:
    return RobotsAnswer(host, Basis.MISSING, reason, page.status, now, now + _lifetime_seconds(page))


def _lifetime_seconds(page: Page) -> float:
    match = _MAX_AGE.search((page.header("cache-control") or "")[:_HEADER_MAX_CHARS])
    announced_seconds = float(match[1]) if match else FILE_MAX_SECONDS
    return min(max(announced_seconds, FILE_MIN_SECONDS), FILE_MAX_SECONDS)


def _failed(host: str, reason: str, page: Page | None, now: float, before: RobotsAnswer | None) -> RobotsAnswer:
    since = _failing_since(now, before)
    wait_seconds = min(max(now - since, RETRY_MIN_SECONDS), RETRY_MAX_SECONDS)
    expires_at = now + max(wait_seconds, retry_after_seconds(page, now) if page else 0.0)
    body = before.body if before else None
    basis = Basis.UNREACHABLE if now - since < GIVEN_UP_SECONDS else Basis.MISSING
    if body is not None:
        basis = Basis.FILE
    return RobotsAnswer(host, basis, reason, page.status if page else 0, now, expires_at, since, body)


def _failing_since(now: float, before: RobotsAnswer | None) -> float:
    """Return when the failures began. One long after the last says nothing about the time between."""
    if before is None or before.failing_since is None or now - before.expires_at > DAY_SECONDS:
        return now
    return before.failing_since


def retry_after_seconds(page: Page, now: float) -> float:
    """Return how long the host asks to be left alone, a day at most; 0 if it does not ask."""
    value = page.header("retry-after")
    if value is None:
        return 0.0
    text = value.strip()
    until = now + float(text[:9]) if text.isascii() and text.isdecimal() else parse_date(text)
    return min(max((until or now) - now, 0.0), DAY_SECONDS)
