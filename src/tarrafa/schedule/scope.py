"""Which URLs may be visited at all.

Rules come first: the first that matches decides. Where none does, the short form decides by the host's name: any, the
sites of the seeds, or a suffix. Bounds end every crawler trap, because an endless site makes its URLs longer, more
repetitive, or more numerous on one host. Depth is no sign of a trap: an archive that leads from page to page is as deep
as it has pages.

A URL is judged when it is found. If rules ask for its address or its page, it is judged again when these are known.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tarrafa.errors import InputError
from tarrafa.schedule.distance import DEPTH_LIMIT, FROM_OUTSIDE, HOPS_MAX, depth_of, distance_of, hops_of
from tarrafa.schedule.scope_conditions import JudgedUrl, plain_suffix, sites_of
from tarrafa.schedule.scope_rules import (
    CompiledRule,
    ScopeVerdict,
    decide,
    needs_address,
    needs_page,
    needs_type,
    rules_of_host,
)
from tarrafa.urls import host_name

CACHE_LIMIT = 1 << 16  # hosts; a full cache is cleared


class Refusal(StrEnum):
    """Why a URL is not visited, if no rule is the reason."""

    OUTSIDE = "outside"  # the host is out of scope
    USERINFO = "userinfo"  # it contains a user name or password
    LENGTH = "length"
    DEPTH = "depth"  # more links from a seed than the user allows
    REPETITION = "repetition"  # a path segment is repeated too often


# Attributes of a slotted class are faster to read than those of a named tuple, and these are read for every link.
@dataclass(frozen=True, slots=True)
class UrlBounds:
    url_chars: int = 2_000
    depth: int = DEPTH_LIMIT  # links from a seed
    repeated_segments: int = 3  # how often one segment may occur in a path


# Takes a host's name; True if the host is in scope.
Rule = Callable[[str], bool]


def any_host(name: str) -> bool:  # noqa: ARG001 - the contract's
    return True


def suffix(text: str) -> Rule:
    """Accept every host whose name has this suffix: `br`, `.gov.br`, `example.org` with all its subdomains."""
    try:
        end = plain_suffix(text)
    except InputError as error:
        raise InputError(f'{error}; write "any", "seeds" or a suffix such as "br" or "example.org"') from error
    return lambda name: f".{name.rstrip('.')}".endswith(f".{end}")


def rule_of(text: str, seeds: Iterable[str]) -> Rule:
    """Parse a scope as a user writes it: `any`, `seeds`, or a suffix."""
    if text == "any":
        return any_host
    return sites_of(seeds) if text == "seeds" else suffix(text)


class ScopeRules(NamedTuple):
    """What a user says about the scope beside its short form."""

    rules: tuple[CompiledRule, ...] = ()
    hops_outside: int = 0  # links that may lead outside, one after the other
    # Takes a host such as `http://example.org`; False if it must never be visited, whatever the rules say.
    may_visit: Callable[[str], bool] = lambda _: True


_NO_RULES = ScopeRules()


class _HostVerdict(NamedTuple):
    """What is known of all URLs of a host that some rule may decide, or that lie outside and may be within reach."""

    rules: tuple[CompiledRule, ...]
    is_in: bool  # if no rule matches


class Scope:
    """Judges every URL that is found, so the verdict on each host is cached.

    A distance holds depth and hops: see `distance`. For a URL that is found it has the hops of the page that links to
    it; `place` returns that of the URL itself.
    """

    def __init__(
        self, rule: Rule, bounds: UrlBounds, cache_limit: int = CACHE_LIMIT, own: ScopeRules = _NO_RULES
    ) -> None:
        self._rule = rule
        self._bounds = bounds
        self._cache_limit = cache_limit
        self._rules, self._hops_outside, self._may_visit = own
        # A cache of verdicts by scheme, name and port. Filled by _judge_host, cleared when full.
        self._hosts: dict[str, str | _HostVerdict | None] = {}
        # With fewer slashes no segment can be repeated too often.
        self._few_slashes = len("//") + bounds.repeated_segments
        self.judges_visits = bool(self._rules) or self._hops_outside > 0
        self.judges_pages = needs_page(self._rules)
        self.judges_types = needs_type(self._rules)
        self.needs_address = needs_address(self._rules)

    @property
    def reaches_outside(self) -> bool:
        return self._hops_outside > 0

    def admits(self, host: str) -> bool:
        """Return True if URLs of a host such as `http://example.org` may be in scope."""
        verdict = self._verdict(host)
        return not isinstance(verdict, str)

    def judge(self, url: str, distance: int) -> str | None:
        """Return None if a URL that was found may be visited, else why not."""
        bounds = self._bounds
        if len(url) > bounds.url_chars:
            return Refusal.LENGTH
        before_path = url[: url.find("/", 8)]
        try:
            verdict = self._hosts[before_path]
        except KeyError:
            verdict = self._judge_host(before_path)
        if verdict is not None:
            refusal = self._refusal(verdict, JudgedUrl(url, depth_of(distance)), hops_of(distance) + 1)
            if refusal is not None:
                return refusal
        if distance > bounds.depth and depth_of(distance) > bounds.depth:
            return Refusal.DEPTH
        if url.count("/") > self._few_slashes and self._repeats(url):
            return Refusal.REPETITION
        return None

    def judge_known(self, url: str, distance: int) -> str | None:
        """Return None if a URL whose own distance is known may be visited, else why not."""
        hops = hops_of(distance)
        return self.judge(url, distance_of(depth_of(distance), hops - 1) if hops else distance | FROM_OUTSIDE)

    def place(self, url: str, distance: int) -> int:
        """Return the distance of a URL that was found and may be visited."""
        verdict, depth = self._verdict(url[: url.find("/", 8)]), depth_of(distance)
        if not isinstance(verdict, _HostVerdict) or self._decide(verdict, JudgedUrl(url, depth)).is_in:
            return distance_of(depth)
        return distance_of(depth, hops_of(distance) + 1)

    def judge_visit(self, url: str, distance: int, address: str) -> str | None:
        """Return None if a URL may be requested from an address, else why not. The distance is its own."""
        return self._judge_known(url, distance, JudgedUrl(url, depth_of(distance), address))

    def judge_page(self, url: str, distance: int, address: str, media_type: str, language: str | None) -> str | None:
        """Return None if a page is wanted, else why not. The distance is its own."""
        return self._judge_known(url, distance, JudgedUrl(url, depth_of(distance), address, media_type, language))

    def explain(self, url: str, distance: int = 0) -> ScopeVerdict | Refusal:
        """Return what the rules say about a URL, or the bound that it exceeds."""
        before_path = url[: url.find("/", 8)]
        refusal = self.judge(url, distance)
        if refusal in set(Refusal) - {Refusal.OUTSIDE} or not self._may_visit(before_path):
            return Refusal(refusal or Refusal.OUTSIDE)
        facts = JudgedUrl(url, depth_of(distance))
        return decide(self._rules, facts, otherwise=self._rule(host_name(before_path)))

    def _judge_known(self, url: str, distance: int, facts: JudgedUrl) -> str | None:
        verdict = self._verdict(url[: url.find("/", 8)])
        hops = hops_of(distance)
        return None if verdict is None else self._refusal(verdict, facts, hops or HOPS_MAX + 1)

    def _refusal(self, verdict: str | _HostVerdict, facts: JudgedUrl, hops: int) -> str | None:
        if isinstance(verdict, str):
            return verdict
        found = self._decide(verdict, facts)
        if found.is_in:
            return None
        if found.rule is not None:
            return found.rule.label
        return None if hops <= self._hops_outside else Refusal.OUTSIDE

    def _decide(self, verdict: _HostVerdict, facts: JudgedUrl) -> ScopeVerdict:
        return decide(verdict.rules, facts, otherwise=verdict.is_in)

    def _verdict(self, host: str) -> str | _HostVerdict | None:
        try:
            return self._hosts[host]
        except KeyError:
            return self._judge_host(host)

    def _judge_host(self, before_path: str) -> str | _HostVerdict | None:
        if len(self._hosts) >= self._cache_limit:
            self._hosts.clear()
        verdict = self._hosts[before_path] = self._verdict_on_host(before_path)
        return verdict

    def _verdict_on_host(self, host: str) -> str | _HostVerdict | None:
        if "@" in host:
            return Refusal.USERINFO
        if not self._may_visit(host):
            return Refusal.OUTSIDE
        is_in = self._rule(host_name(host))
        rules = rules_of_host(self._rules, host) if self._rules else ()
        first = rules[0] if rules else None
        if first is not None and not first.conditions:
            return None if first.rule.is_included else first.label
        if rules or (self._hops_outside and not is_in):
            return _HostVerdict(rules, is_in)
        return None if is_in else Refusal.OUTSIDE

    def _repeats(self, url: str) -> bool:
        segments = url.partition("?")[0].split("/")[3:]
        if len(set(segments)) + self._bounds.repeated_segments > len(segments):
            return False  # the usual case: too many distinct segments for one to be repeated too often
        return max(Counter(segments).values()) > self._bounds.repeated_segments
