"""The conditions of a scope rule, as a user writes them: a word, a colon, and a value.

Each condition answers with True, False, or None for what cannot be told yet: an address is known when the name was
looked up, a media type with the header of a page, a language with its text.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import NamedTuple, Protocol

from tarrafa.addresses import parse_address
from tarrafa.configuration import host_pattern, matches_glob
from tarrafa.errors import InputError
from tarrafa.texts import quoted
from tarrafa.urls import canonical, host_name, host_of, is_public_suffix, parse, site

REPETITION_LIMIT = 100  # of one part of a regular expression; more makes each match slow
_COUNTS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_OWN_SUFFIXES = frozenset({"localhost", "test", "example", "invalid", "local", "internal"})
_COUNTRY, _LANGUAGE = re.compile(r"[a-z]{2}"), re.compile(r"[a-z]{2,3}")
_DEPTH = re.compile(r"(\d{1,9})(\+?)")
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/(?:\*|[a-z0-9!#$&^_.+-]+)")


class JudgedUrl(NamedTuple):
    """What is known of a URL when it is judged; None is not known yet."""

    url: str
    depth: int | None = None  # links from a seed
    address: str | None = None
    media_type: str | None = None
    language: str | None = None


class Condition(Protocol):
    @property
    def text(self) -> str:
        """Return the condition in its plain spelling. Conditions of one text are the same."""
        ...

    def of_host(self, host: str) -> bool | None:
        """Return the answer for all URLs of a host such as `http://example.org`; None if they differ."""
        ...

    def of(self, facts: JudgedUrl) -> bool | None:
        """Return the answer for one URL; None if it cannot be told yet."""
        ...

    def covers(self, other: "Condition") -> bool:
        """Return True if this holds wherever the other does. False may also mean that it is hard to tell."""
        ...


@dataclass(frozen=True, slots=True)
class HostCondition:
    """Decides by the host: `host:`, `site:`, `suffix:`, `seeds` and `any`."""

    text: str
    matches: Callable[[str], bool] = field(compare=False)

    def of_host(self, host: str) -> bool | None:
        return self.matches(host)

    def of(self, facts: JudgedUrl) -> bool | None:
        return self.matches(host_of(facts.url))

    def covers(self, other: Condition) -> bool:
        if self.text in (ANY, other.text):
            return True
        if isinstance(other, PrefixCondition):
            return self.matches(other.host)
        word, _, value = other.text.partition(":")
        if self.text.startswith("host:"):
            return other.text.startswith(f"{self.text}:")  # the same name at one port
        if word not in ("host", "site", "suffix"):
            return False
        # A name that ends like its suffix has the suffix of every name below.
        return self.matches(f"http://{value}") and (word != "suffix" or self.text.startswith("suffix:"))


@dataclass(frozen=True, slots=True)
class PrefixCondition:
    """Decides by the beginning of the URL."""

    prefix: str

    @property
    def text(self) -> str:
        return f"prefix:{self.prefix}"

    @property
    def host(self) -> str:
        return host_of(self.prefix)

    def of_host(self, host: str) -> bool | None:
        return None if host == self.host else False

    def of(self, facts: JudgedUrl) -> bool | None:
        return facts.url.startswith(self.prefix)

    def covers(self, other: Condition) -> bool:
        if isinstance(other, GlobCondition):
            return other.pattern.partition("*")[0].startswith(self.prefix)
        return isinstance(other, PrefixCondition) and other.prefix.startswith(self.prefix)


@dataclass(frozen=True, slots=True)
class GlobCondition:
    """Decides by the whole URL; a star stands for any characters."""

    pattern: str

    @property
    def text(self) -> str:
        return f"glob:{self.pattern}"

    def of_host(self, host: str) -> bool | None:  # noqa: ARG002 - the contract's
        return None

    def of(self, facts: JudgedUrl) -> bool | None:
        return matches_glob(self.pattern, facts.url)

    def covers(self, other: Condition) -> bool:
        # A star of the other is matched by a star of this one only, since no other part has one.
        if isinstance(other, PrefixCondition):
            return matches_glob(self.pattern, f"{other.prefix}*")
        return isinstance(other, GlobCondition) and matches_glob(self.pattern, other.pattern)


@dataclass(frozen=True, slots=True)
class RegexCondition:
    """Decides by a regular expression that is found somewhere in the URL. RE2 takes linear time, whatever it is."""

    pattern: str

    @property
    def text(self) -> str:
        return f"regex:{self.pattern}"

    def of_host(self, host: str) -> bool | None:  # noqa: ARG002 - the contract's
        return None

    def of(self, facts: JudgedUrl) -> bool | None:
        return _is_found(self.pattern, facts.url)

    def covers(self, other: Condition) -> bool:
        return self == other


@dataclass(frozen=True, slots=True)
class DepthCondition:
    """Decides by the number of links from a seed: `depth:5` up to that many, `depth:6+` that many or more."""

    least: int
    most: int | None

    @property
    def text(self) -> str:
        return f"depth:{self.least}+" if self.most is None else f"depth:{self.most}"

    def of_host(self, host: str) -> bool | None:  # noqa: ARG002 - the contract's
        return None

    def of(self, facts: JudgedUrl) -> bool | None:
        if facts.depth is None:
            return None
        return facts.depth >= self.least and (self.most is None or facts.depth <= self.most)

    def covers(self, other: Condition) -> bool:
        if not isinstance(other, DepthCondition) or other.least < self.least:
            return False
        return self.most is None or (other.most is not None and other.most <= self.most)


@dataclass(frozen=True, slots=True)
class NetworkCondition:
    """Decides by the network of the address."""

    network: IPv4Network | IPv6Network

    @property
    def text(self) -> str:
        return f"net:{self.network}"

    def of_host(self, host: str) -> bool | None:  # noqa: ARG002 - the contract's
        return None

    def of(self, facts: JudgedUrl) -> bool | None:
        address = parse_address(facts.address) if facts.address else None
        return None if facts.address is None else address is not None and address in self.network

    def covers(self, other: Condition) -> bool:
        if not isinstance(other, NetworkCondition) or other.network.version != self.network.version:
            return False
        return self.network.supernet_of(other.network)  # type: ignore[arg-type] # both are of one version


@dataclass(frozen=True, slots=True)
class CountryCondition:
    """Decides by the country to which the address was assigned."""

    country: str
    country_of: Callable[[str], str | None] = field(compare=False)

    @property
    def text(self) -> str:
        return f"country:{self.country}"

    def of_host(self, host: str) -> bool | None:  # noqa: ARG002 - the contract's
        return None

    def of(self, facts: JudgedUrl) -> bool | None:
        return None if facts.address is None else (self.country_of(facts.address) or "").lower() == self.country

    def covers(self, other: Condition) -> bool:
        return self == other


@dataclass(frozen=True, slots=True)
class TypeCondition:
    """Decides by the media type of the page: `type:application/pdf`, `type:image/*`."""

    media_type: str

    @property
    def text(self) -> str:
        return f"type:{self.media_type}"

    def of_host(self, host: str) -> bool | None:  # noqa: ARG002 - the contract's
        return None

    def of(self, facts: JudgedUrl) -> bool | None:
        return None if facts.media_type is None else matches_glob(self.media_type, facts.media_type)

    def covers(self, other: Condition) -> bool:
        return isinstance(other, TypeCondition) and matches_glob(self.media_type, other.media_type)


@dataclass(frozen=True, slots=True)
class LanguageCondition:
    """Decides by the language of the page."""

    language: str

    @property
    def text(self) -> str:
        return f"lang:{self.language}"

    def of_host(self, host: str) -> bool | None:  # noqa: ARG002 - the contract's
        return None

    def of(self, facts: JudgedUrl) -> bool | None:
        return None if facts.language is None else facts.language == self.language

    def covers(self, other: Condition) -> bool:
        return self == other


ANY, SEEDS = "any", "seeds"
ADDRESS_CONDITIONS = (NetworkCondition, CountryCondition)
PAGE_CONDITIONS = (TypeCondition, LanguageCondition)
CONDITION_WORDS = (
    *("any", "seeds", "suffix:", "site:", "host:", "prefix:", "glob:", "regex:", "net:", "country:", "lang:"),
    *("type:", "depth:"),
)


def sites_of(seeds: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of names: those of the sites of these URLs."""
    sites = frozenset(_site_of(host_name(url)) for url in seeds)
    return lambda name: _site_of(name) in sites


def _site_of(name: str) -> str:
    return site(name.rstrip("."))


def plain_suffix(text: str) -> str:
    """Return a suffix of names without dots around it: a public suffix, or a domain. Raise InputError for others."""
    parsed = parse(f"http://{text.strip().removeprefix('.')}")
    if parsed is None or parsed.path != "/" or parsed.query is not None or parsed.userinfo or ":" in text:
        raise InputError(f"{quoted(text)} is not a suffix of names")
    end = parsed.name.rstrip(".")
    if "." not in end and end not in _OWN_SUFFIXES and not is_public_suffix(end):
        raise InputError(f"{quoted(text)} is neither a public suffix, such as br, nor a domain, such as example.org")
    return end


def read_condition(text: str, seeds: Iterable[str]) -> Condition:
    """Parse one condition. `seeds` are URLs."""
    if text == ANY:
        return HostCondition(ANY, lambda _: True)
    if text == SEEDS:
        of_seeds = sites_of(seeds)
        return HostCondition(SEEDS, lambda host: of_seeds(host_name(host)))
    word, colon, value = text.partition(":")
    read = _READERS.get(word) if colon else None
    if read is None:
        raise InputError(f"{quoted(text)} is not a condition; write one of {', '.join(CONDITION_WORDS)}")
    if not value:
        raise InputError(f"{quoted(text)} has no value after the colon")
    return read(value)


def _host(value: str) -> Condition:
    return _host_condition("host", value)


def _site(value: str) -> Condition:
    return _host_condition("site", value)


def _suffix(value: str) -> Condition:
    return _host_condition("suffix", plain_suffix(value))


def _host_condition(word: str, value: str) -> Condition:
    plain = value.strip("/").rstrip(".")
    parsed = parse(f"http://{plain}")
    has_port = parsed is not None and plain.endswith(f":{parsed.port}")
    name = parsed.name if parsed is not None else plain
    matches = host_pattern(f"{word}:{plain}")
    return HostCondition(f"{word}:{name}{f':{parsed.port}' if parsed and has_port else ''}", matches)


def _prefix(value: str) -> Condition:
    url = canonical(value)
    if url is None or parse(url) is None or "@" in host_of(url):
        raise InputError(
            f'{quoted(value)} is not the beginning of a URL; write for example "https://example.org/docs/"'
        )
    return PrefixCondition(url)


def _glob(value: str) -> Condition:
    return GlobCondition(value)


def _regex(value: str) -> Condition:
    counts = [int(number) for pair in _COUNTS.findall(value) for number in pair if number]
    if max(counts, default=0) > REPETITION_LIMIT:
        raise InputError(f"{quoted(value)} repeats a part more than {REPETITION_LIMIT} times; write * or + instead")
    try:
        _is_found(value, "")
    except ValueError as error:
        hint = "; RE2 has no backreferences and no lookaround" if "(?" in value or "\\" in value else ""
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise InputError(f"{quoted(value)} is not a regular expression of RE2: {reason}{hint}") from error
    return RegexCondition(value)


def _is_found(pattern: str, text: str) -> bool:
    # Arrow brings RE2, whose time is linear in the text. It is only loaded where there is such a rule.
    import pyarrow as pa
    from pyarrow import compute

    return bool(compute.match_substring_regex(pa.scalar(text), pattern=pattern).as_py())


def _net(value: str) -> Condition:
    try:
        return NetworkCondition(ip_network(value))
    except ValueError as error:
        raise InputError(f'{quoted(value)} is not a network; write for example "192.0.2.0/24": {error}') from error


def _country(value: str) -> Condition:
    if not _COUNTRY.fullmatch(value.lower()):
        raise InputError(f'{quoted(value)} is not a country; write its two letters, for example "br"')
    try:
        from iptocc import country_code
    except ImportError as error:
        raise InputError("country: needs the package iptocc; install it: pip install iptocc") from error
    return CountryCondition(value.lower(), lru_cache(maxsize=1 << 14)(country_code))


def _lang(value: str) -> Condition:
    if not _LANGUAGE.fullmatch(value.lower()):
        raise InputError(f'{quoted(value)} is not a language; write its two or three letters, for example "pt"')
    return LanguageCondition(value.lower())


def _type(value: str) -> Condition:
    if not _TYPE.fullmatch(value.lower()):
        raise InputError(f'{quoted(value)} is not a media type; write for example "application/pdf" or "image/*"')
    return TypeCondition(value.lower())


def _depth(value: str) -> Condition:
    match = _DEPTH.fullmatch(value)
    if match is None:
        raise InputError(f'{quoted(value)} is not a depth; write "5" for up to five links from a seed, or "6+"')
    return DepthCondition(int(match[1]), None) if match[2] else DepthCondition(0, int(match[1]))


_READERS: dict[str, Callable[[str], Condition]] = {
    "suffix": _suffix,
    "site": _site,
    "host": _host,
    "prefix": _prefix,
    "glob": _glob,
    "regex": _regex,
    "net": _net,
    "country": _country,
    "lang": _lang,
    "type": _type,
    "depth": _depth,
}
