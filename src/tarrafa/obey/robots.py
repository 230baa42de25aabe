"""One robots.txt, as bytes, and what it says to one visitor (RFC 9309, section 2.2).

1. `read_robots` never raises, whatever the bytes; it reads at most `ROBOTS_MAX_BYTES`.
2. The longest matching pattern decides; Allow wins a tie; what nothing matches is allowed; /robots.txt always is.
3. The groups that name the visitor are one group; where none does, those for `*` are; else everything is allowed.
4. Lines other than Allow and Disallow end no group: what is not understood cannot change what is.
5. Misspelt names of lines that are common and clear (`Dissallow`, `User agent`), and a missing colon, are understood.
"""

import codecs
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tarrafa.obey.patterns import spelt_path, spelt_pattern, split_pattern, tail_matches
from tarrafa.obey.usage import UsageRule, usage_rule
from tarrafa.urls import URL_MAX_CHARS, canonical

ROBOTS_MAX_BYTES = 500 * 1024
CRAWL_DELAY_MAX_SECONDS = 86_400.0
SITEMAPS_MAX_COUNT = 500
USAGE_MAX_COUNT = 32
# A path is searched for each part of each pattern that has a star, so their length is what a host can make us work.
# Real files have some hundreds of such patterns, of some thirty characters.
STARRED_MAX_CHARS = 50_000

_NAMES = {
    "user-agent": ("user-agent", "useragent", "user agent"),
    "disallow": ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    "allow": ("allow",),
    "crawl-delay": ("crawl-delay", "crawldelay"),
    "sitemap": ("sitemap", "site-map"),
    "content-usage": ("content-usage",),
    "content-signal": ("content-signal",),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}
_LINE = re.compile(rf"^[ \t]*+({'|'.join(_KINDS)})[ \t]*[: \t][ \t]*([^#\n]*)", re.MULTILINE | re.IGNORECASE | re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,6})?|\.[0-9]{1,6}", re.ASCII)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Rules(NamedTuple):
    """What a host allows to one visitor: a few tuples of short texts, because many hosts are kept in memory.

    `heads`, `tails` and `allows_each` belong together by place, the pattern that decides first standing first.
    """

    heads: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    allows_each: bytes = b""
    crawl_delay_seconds: float | None = None
    sitemaps: tuple[str, ...] = ()
    usage_rules: tuple[UsageRule, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether the visitor may ask for a canonical URL of the host, or for its path and query."""
        if not self.heads:
            return True
        path = spelt_path(url)
        # One call sorts out most paths, for most rules are plain beginnings of places where few links lead.
        if not path.startswith(self.heads) or path == "/robots.txt":
            return True
        for place, head in enumerate(self.heads):
            if path.startswith(head):
                tail = self.tails[place]
                if not tail or tail_matches(tail, path, len(head)):
                    return self.allows_each[place] == 1
        return True

    def usage(self, url: str) -> tuple[str, ...]:
        """The usage lines that hold for a URL: of each kind those with the longest path that matches."""
        if not self.usage_rules:
            return ()
        path = spelt_path(url)
        matching = [rule for rule in self.usage_rules if rule.matches(path)]
        longest: dict[str, int] = {}
        for rule in matching:
            longest[rule.kind] = max(rule.rank, longest.get(rule.kind, 0))
        return tuple(rule.line for rule in matching if rule.rank == longest[rule.kind])

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        texts = (*self.heads, *self.tails, *self.sitemaps, *(rule.line for rule in self.usage_rules))
        return 400 + sum(map(len, texts)) + 60 * len(texts)


EVERYTHING_ALLOWED = Rules()


@dataclass(slots=True, eq=False)
class _Group:
    """Filled line by line, emptied into `Rules`."""

    allows: dict[str, bool] = field(default_factory=dict)
    crawl_delay_seconds: float | None = None
    usage_rules: list[UsageRule] = field(default_factory=list)
    starred_chars: int = 0

    def take(self, kind: str, value: str) -> None:
        if kind == "crawl-delay":
            if self.crawl_delay_seconds is None:
                self.crawl_delay_seconds = _crawl_delay_seconds(value)
        elif kind in ("allow", "disallow"):
            self._take_rule(value, kind == "allow")
        elif len(self.usage_rules) < USAGE_MAX_COUNT:
            self.usage_rules.append(usage_rule(kind, value))

    def _take_rule(self, value: str, allow: bool) -> None:
        pattern = self._bounded(spelt_pattern(value), allow)
        # An empty line matches nothing, and one that is longer than any URL neither.
        if not value or pattern is None or len(pattern) > URL_MAX_CHARS:
            return
        self.allows[pattern] = allow or self.allows.get(pattern, False)
        folder, slash, name = pattern.rpartition("/")
        # Who allows the index of a folder means the folder too; hosts rely on it, since the large crawlers do so.
        if allow and slash and name.startswith("index.htm"):
            self.allows[f"{folder}/$"] = True

    def _bounded(self, pattern: str, allow: bool) -> str | None:
        """Beyond the bound we err on the host's side: more is disallowed, and less is allowed, than it says."""
        if "*" not in pattern[:-1]:
            return pattern
        self.starred_chars += len(pattern)
        if self.starred_chars <= STARRED_MAX_CHARS:
            return pattern
        return None if allow else pattern.partition("*")[0]


def product_token(user_agent: str) -> str:
    """The name by which a robots.txt calls us: `tarrafa` of `Tarrafa/0.1 (+https://example.org)`."""
    return next(iter(user_agent.partition("/")[0].split()), "").lower()


def whole_lines(body: bytes, is_cut: bool = False) -> bytes:
    """As much as is read. The rest of a line that was cut could say the contrary of the line, so it goes too."""
    if len(body) <= ROBOTS_MAX_BYTES and not is_cut:
        return body
    body = body[:ROBOTS_MAX_BYTES]
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def read_robots(body: bytes, token: str) -> Rules:
    """The rules for the visitor of that `product_token`."""
    reader = _Reader(token)
    sitemaps: list[str] = []
    for name, value in _LINE.findall(_text(body)):
        kind = _KINDS[name.lower()]
        if kind == "sitemap":
            sitemaps.append(value)
        else:
            reader.take(kind, value.strip())
    return _rules(reader.group(), _absolute(sitemaps[:SITEMAPS_MAX_COUNT]))


class _Reader:
    """Takes the lines in their order and hands them to the groups that concern us."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._groups: dict[str, _Group] = {}
        # Filled by the user agents of a group, emptied when the next group begins.
        self._open: list[_Group] = []
        self._is_naming = False

    def take(self, kind: str, value: str) -> None:
        if kind == "user-agent":
            self._name(product_token(value))
            return
        self._is_naming = self._is_naming and kind not in ("allow", "disallow")
        for group in self._open:
            group.take(kind, value)

    def _name(self, name: str) -> None:
        if not self._is_naming:
            self._open = []
            self._is_naming = True
        if name in (self._token, "*"):
            group = self._groups.setdefault(name, _Group())
            if group not in self._open:
                self._open.append(group)

    def group(self) -> _Group:
        return self._groups.get(self._token) or self._groups.get("*") or _Group()


def _rules(group: _Group, sitemaps: tuple[str, ...]) -> Rules:
    ordered = sorted(group.allows, key=lambda pattern: (-len(pattern), not group.allows[pattern]))
    split = [split_pattern(pattern) for pattern in ordered]
    return Rules(
        heads=tuple(head for head, _ in split),
        tails=tuple(tail for _, tail in split),
        allows_each=bytes(group.allows[pattern] for pattern in ordered),
        crawl_delay_seconds=group.crawl_delay_seconds,
        sitemaps=sitemaps,
        usage_rules=tuple(group.usage_rules),
    )


def _absolute(sitemaps: list[str]) -> tuple[str, ...]:
    found = (canonical(text) for text in sitemaps if text[:4].lower() == "http")
    return tuple(dict.fromkeys(url for url in found if url and url.startswith(("http://", "https://"))))


def _crawl_delay_seconds(value: str) -> float | None:
    match = _SECONDS.match(value)
    return min(float(match[0]), CRAWL_DELAY_MAX_SECONDS) if match else None


def _text(body: bytes) -> str:
    """Lines end with LF, CR or both. Bytes that are not UTF-8 stay, each as one lone surrogate."""
    body = whole_lines(body)
    if body.startswith(_UTF_16):
        text = body.decode("utf-16", "replace")
    else:
        text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    return text.replace("\r", "\n")
