"""Which URLs may be visited at all.

A rule decides by the host's name: any, the sites of the seeds, or a suffix. Bounds end every crawler trap, because an
endless site makes its URLs longer, more repetitive, or more numerous on one host. Depth is no sign of a trap: an
archive that leads from page to page is as deep as it has pages.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from tarrafa.errors import InputError
from tarrafa.records import DEPTH_MAX
from tarrafa.texts import quoted
from tarrafa.urls import host_name, parse, site

CACHE_LIMIT = 1 << 16  # hosts; a full cache is cleared


class Refusal(StrEnum):
    """Why a URL is not visited."""

    OUTSIDE = "outside"  # the host is out of scope
    USERINFO = "userinfo"  # it contains a user name or password
    LENGTH = "length"
    DEPTH = "depth"  # more links from a seed than the user allows
    REPETITION = "repetition"  # a path segment is repeated too often


# Attributes of a slotted class are faster to read than those of a named tuple, and these are read for every link.
@dataclass(frozen=True, slots=True)
class UrlBounds:
    url_chars: int = 2_000
    depth: int = DEPTH_MAX  # links from a seed
    repeated_segments: int = 3  # how often one segment may occur in a path


# Takes a host's name; True if the host is in scope.
Rule = Callable[[str], bool]


def any_host(name: str) -> bool:  # noqa: ARG001 - the contract's
    return True


def sites_of(seeds: Iterable[str]) -> Rule:
    """Accept every host of the sites of these URLs."""
    sites = frozenset(_site_of(host_name(url)) for url in seeds)
    return lambda name: _site_of(name) in sites


def _site_of(name: str) -> str:
    return site(name.rstrip("."))


def suffix(text: str) -> Rule:
    """Accept every host whose name has this suffix: `br`, `.gov.br`, `example.org` with all its subdomains."""
    parsed = parse(f"http://{text.strip().removeprefix('.')}")
    if parsed is None or parsed.path != "/" or parsed.query is not None or parsed.userinfo or ":" in text:
        raise InputError(f'{quoted(text)} is not a scope; write "any", "seeds" or a suffix such as "br"')
    end = parsed.name.rstrip(".")
    return lambda name: f".{name.rstrip('.')}".endswith(f".{end}")


def rule_of(text: str, seeds: Iterable[str]) -> Rule:
    """Parse a scope as a user writes it: `any`, `seeds`, or a suffix."""
    if text == "any":
        return any_host
    return sites_of(seeds) if text == "seeds" else suffix(text)


class Scope:
    """Judges every URL that is found, so the verdict on each host is cached."""

    def __init__(self, rule: Rule, bounds: UrlBounds, cache_limit: int = CACHE_LIMIT) -> None:
        self._rule = rule
        self._bounds = bounds
        self._cache_limit = cache_limit
        # A cache of verdicts by scheme, name and port. Filled by _judge_host, cleared when full.
        self._hosts: dict[str, Refusal | None] = {}
        # With fewer slashes no segment can be repeated too often.
        self._few_slashes = len("//") + bounds.repeated_segments

    def admits(self, host: str) -> bool:
        """Return True if a host such as `http://example.org` is in scope."""
        try:
            return self._hosts[host] is None
        except KeyError:
            return self._judge_host(host) is None

    def judge(self, url: str, depth: int) -> Refusal | None:
        """Return None if the URL may be visited, else why not. `depth` is the number of links from a seed."""
        bounds = self._bounds
        if len(url) > bounds.url_chars:
            return Refusal.LENGTH
        before_path = url[: url.find("/", 8)]
        try:
            refusal = self._hosts[before_path]
        except KeyError:
            refusal = self._judge_host(before_path)
        if refusal is not None:
            return refusal
        if depth > bounds.depth:
            return Refusal.DEPTH
        if url.count("/") > self._few_slashes and self._repeats(url):
            return Refusal.REPETITION
        return None

    def _judge_host(self, before_path: str) -> Refusal | None:
        if len(self._hosts) >= self._cache_limit:
            self._hosts.clear()
        refusal = None if self._rule(host_name(before_path)) else Refusal.OUTSIDE
        refusal = self._hosts[before_path] = Refusal.USERINFO if "@" in before_path else refusal
        return refusal

    def _repeats(self, url: str) -> bool:
        segments = url.partition("?")[0].split("/")[3:]
        if len(set(segments)) + self._bounds.repeated_segments > len(segments):
            return False  # the usual case: too many distinct segments for one to be repeated too often
        return max(Counter(segments).values()) > self._bounds.repeated_segments
