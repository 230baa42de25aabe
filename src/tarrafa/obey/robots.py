"""Parse a robots.txt into the rules for one visitor (RFC 9309, section 2.2).

1. `read_robots` never raises, whatever the bytes; it reads at most `ROBOTS_MAX_BYTES`.
2. The longest matching pattern decides; Allow wins a tie; a path that no pattern matches is allowed; /robots.txt is.
3. The groups that name the visitor form one group; if there are none, those for `*`; else everything is allowed.
4. Only Allow and Disallow end the list of user agents of a group: an unknown line changes nothing.
5. Common misspellings of line names (`Dissallow`, `User agent`), and a missing colon, are accepted.
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
# A path is searched for each part of each pattern with a star, so their total length bounds the work for one URL.
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
    """What a host allows to one visitor, in a compact form, because many hosts are kept in memory.

    `heads`, `tails` and `allows_each` have one entry for each pattern, in the order of precedence.
    """

    heads: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    allows_each: bytes = b""
    crawl_delay_seconds: float | None = None
    sitemaps: tuple[str, ...] = ()
    usage_rules: tuple[UsageRule, ...] = ()

    def allows(self, url: str) -> bool:
        """Return True if the visitor may fetch a canonical URL of the host; its path and query will do."""
        if not self.heads:
            return True
        place = self.deciding_place(url)
        return place is None or self.allows_each[place] == 1

    def deciding_place(self, url: str) -> int | None:
        """Return the place of the pattern that decides about a URL; None if no pattern does."""
        path = spelt_path(url)
        # Most paths match no pattern, which one call finds out.
        if not path.startswith(self.heads) or path == "/robots.txt":
            return None
        for place, head in enumerate(self.heads):
            if path.startswith(head):
                tail = self.tails[place]
                if not tail or tail_matches(tail, path, len(head)):
                    return place
        return None

    def usage(self, url: str) -> tuple[str, ...]:
        """Return the usage lines for a URL: of each kind those with the longest path that matches."""
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
        """Return roughly the size in memory."""
        texts = (*self.heads, *self.tails, *self.sitemaps, *(rule.line for rule in self.usage_rules))
        return 400 + sum(map(len, texts)) + 60 * len(texts)


EVERYTHING_ALLOWED = Rules()


@dataclass(slots=True, eq=False)
class _Group:
    """A group of lines, filled line by line and turned into `Rules`."""

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
        # An empty pattern, or one that is longer than any URL, matches nothing.
        if not value or pattern is None or len(pattern) > URL_MAX_CHARS:
            return
        self.allows[pattern] = allow or self.allows.get(pattern, False)
        folder, slash, name = pattern.rpartition("/")
        # To allow the index of a folder is to allow the folder. Hosts rely on it, since the large crawlers do so.
        if allow and slash and name.startswith("index.htm"):
            self.allows[f"{folder}/$"] = True

    def _bounded(self, pattern: str, allow: bool) -> str | None:
        """Bound a long pattern on the side of the host: drop an Allow, and cut a Disallow at its first star."""
        if "*" not in pattern[:-1]:
            return pattern
        self.starred_chars += len(pattern)
        if self.starred_chars <= STARRED_MAX_CHARS:
            return pattern
        return None if allow else pattern.partition("*")[0]


def product_token(user_agent: str) -> str:
    """Return the name used in robots.txt: `tarrafa` of `Tarrafa/0.1 (+https://example.org)`."""
    return next(iter(user_agent.partition("/")[0].split()), "").lower()


def whole_lines(body: bytes, is_cut: bool = False) -> bytes:
    """Return the part that is read. A line that was cut is dropped: its end could reverse its meaning."""
    if len(body) <= ROBOTS_MAX_BYTES and not is_cut:
        return body
    body = body[:ROBOTS_MAX_BYTES]
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def read_robots(body: bytes, token: str) -> Rules:
    """Return the rules for the visitor of that `product_token`."""
    reader = _GroupReader(token)
    sitemaps: list[str] = []
    for name, value in _LINE.findall(_text(body)):
        kind = _KINDS[name.lower()]
        if kind == "sitemap":
            sitemaps.append(value)
        else:
            reader.take(kind, value.strip())
    return _rules(reader.group(), _absolute(sitemaps[:SITEMAPS_MAX_COUNT]))


class RobotsLine(NamedTuple):
    """A line of a robots.txt, as it stands there."""

    number: int  # from 1
    text: str


def deciding_line(body: bytes, token: str, url: str) -> RobotsLine | None:
    """Return the Allow or Disallow line that decides about a URL of the host; None if no line does."""
    rules = read_robots(body, token)
    place = rules.deciding_place(url)
    if place is None:
        return None
    wanted = (rules.heads[place], rules.tails[place], rules.allows_each[place] == 1)
    text, reader = _text(body), _GroupReader(token)
    found: list[tuple[re.Match[str], list[_Group]]] = []
    for match in _LINE.finditer(text):
        kind, value = _KINDS[match[1].lower()], match[2].strip()
        reader.take(kind, value)
        if kind in ("allow", "disallow") and (*split_pattern(spelt_pattern(value)), kind == "allow") == wanted:
            found.append((match, reader.open_groups))
    group = reader.group()
    line = next((match for match, groups in found if any(each is group for each in groups)), None)
    return None if line is None else RobotsLine(1 + text.count("\n", 0, line.start()), line[0].strip())


class _GroupReader:
    """Passes each line to the open groups that apply to the visitor."""

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

    @property
    def open_groups(self) -> list[_Group]:
        """The groups that the last line belongs to."""
        return list(self._open)

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
    """Decode the file; lines may end with LF, CR or both. Bytes that are not UTF-8 become lone surrogates."""
    body = whole_lines(body)
    if body.startswith(_UTF_16):
        text = body.decode("utf-16", "replace")
    else:
        text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")
