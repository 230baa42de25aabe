"""The sections of the configuration: every key with its type, default, bounds and help.

A key is named as in the file; the field ends in its unit if it has one: key `timeout`, field `timeout_seconds`. Only
keys that have an effect are here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple

from tarrafa import __version__
from tarrafa.configuration.tables import HostSettings, ScopeRule, UrlBudget
from tarrafa.configuration.value_types import (
    BooleanType,
    ChoiceType,
    DurationType,
    IntegerType,
    NumberType,
    OptionalType,
    OrderType,
    SizeType,
    TextType,
    ValueType,
)
from tarrafa.logs import FORMATS, LEVELS

ORDER_NAMES = (
    *("level", "fifo", "lifo", "backlinks", "pagerank", "opic", "largest-host", "fastest-host", "best-hosts"),
    *("random", "mix"),
)
REFRESH_POLICIES = ("never", "uniform", "importance", "proportional", "optimal", "age")
_UNIT_SUFFIXES = ("_seconds", "_bytes")
DEPTH_MAX = (1 << 24) - 1  # as deep as a crawl can tell


def _key(value_type: ValueType, default: object, text: str, flag: str | None = None) -> Any:
    """Return a field whose default is given as a user would write it."""
    return field(default=value_type.read(default), metadata={"type": value_type, "help": text, "flag": flag})


@dataclass(frozen=True, slots=True)
class CrawlSection:
    """What is crawled, and under which name."""

    user_agent: str = _key(
        TextType(500), f"Tarrafa/{__version__}", "User-Agent sent to hosts; must hold a contact to crawl public hosts"
    )
    allow_private: bool = _key(BooleanType(), False, "also crawl loopback, private and link-local addresses")
    scope: str = _key(
        TextType(300), "seeds", "hosts to crawl: any, seeds (the sites of the seeds), or a suffix such as br"
    )
    order: str = _key(
        OrderType(ORDER_NAMES), "level", "policy: which hosts enter next, and which URLs of a host come next"
    )
    depth: int = _key(
        IntegerType(0, DEPTH_MAX), DEPTH_MAX, "maximum number of links between a seed and a page; by default any number"
    )
    hops_outside: int = _key(
        IntegerType(0, 100), 0, "maximum number of links, one after the other, that lead outside the scope"
    )
    follow: str = _key(
        ChoiceType(("all", "sitemaps", "nothing")),
        "all",
        "which URLs to follow: all, only those that sitemaps and feeds list, or nothing but redirects of the seeds",
    )
    url_chars: int = _key(IntegerType(20, 8_000), 2_000, "maximum length of a URL")
    repeated_segments: int = _key(
        IntegerType(1, 100), 3, "maximum number of times that a URL may repeat a segment of its path"
    )
    trap_watch: bool = _key(
        BooleanType(), True, "visit patterns of URLs that bring nothing new less and less, and refuse them in the end"
    )
    host_pages: int = _key(IntegerType(1, 1_000_000_000), 100_000, "maximum number of pages per host")
    budget: str = _key(
        ChoiceType(("fixed", "star")),
        "fixed",
        "pages of a host: host_pages for all; or star_pages times the sites that link to it, less for copies",
    )
    star_pages: int = _key(
        IntegerType(1, 1_000_000_000), 100, "star budget: pages of a host for itself and for each site that links to it"
    )
    site_pages: int | None = _key(
        OptionalType(IntegerType(1, 1_000_000_000)), "none", "maximum number of pages of all hosts of a site together"
    )
    address_pages: int | None = _key(
        OptionalType(IntegerType(1, 1_000_000_000)),
        "none",
        "maximum number of pages of all hosts at an address together",
    )
    in_flight: int = _key(IntegerType(1, 5_000), 300, "maximum number of concurrent requests, of all hosts")


@dataclass(frozen=True, slots=True)
class UrlsSection:
    """How URLs that are found are cleaned."""

    drop_parameters: str = _key(
        TextType(10_000),
        "utm_*, gclid, dclid, gbraid, wbraid, fbclid, msclkid, yclid, mc_cid, mc_eid, _hsenc, _hsmi, "
        "jsessionid, phpsessid, aspsessionid*, sid=hex",
        "comma-separated names of parameters that never change a page, dropped from URLs; or none",
    )


@dataclass(frozen=True, slots=True)
class OrderSection:
    """Settings of the policies of crawl.order."""

    longest_share: float = _key(
        NumberType(0.01, 1.0), 0.1, "share of entries that go to the host that has waited longest, whatever the policy"
    )
    best_hosts: int = _key(IntegerType(1, 10_000_000), 1_000, "best-hosts: number of hosts that are visited at a time")
    random_seed: int = _key(IntegerType(0, 2**32 - 1), 0, "random: seed of the order")
    weights: str = _key(
        TextType(500), "level 1, backlinks 1", "mix: weight of each policy, from level, fifo, backlinks, pagerank, ..."
    )
    suffixes: str = _key(TextType(2_000), "none", "mix: modifiers of hosts by suffix, such as br 2, gov.br 4; or none")
    languages: str = _key(
        TextType(1_000), "none", "mix: modifiers by language of the page that links, such as pt 2; or none"
    )


@dataclass(frozen=True, slots=True)
class RepositorySection:
    """How many URLs of a host are scheduled, and when a block of the repository is split."""

    scheduled: int = _key(IntegerType(1, 1_000_000), 1_000, "URLs of a host that are scheduled at a time")
    refill_below: int = _key(
        IntegerType(1, 1_000_000), 10, "scheduled URLs of a host below which more are scheduled; at most scheduled"
    )
    block_hosts: int = _key(IntegerType(2, 10_000_000), 100_000, "hosts of a block beyond which it is split")


@dataclass(frozen=True, slots=True)
class PolitenessSection:
    """How often a host is visited, and what happens when it fails."""

    delay_seconds: float = _key(
        DurationType("0s", "1d"), "5s", "delay between two visits to a host; below 1s only for own and private hosts"
    )
    policy: str = _key(
        ChoiceType(("constant", "ten-times", "density", "deadline")),
        "constant",
        "how the delay is chosen: constant, ten times the last download, or by the pages available at the host",
    )
    by: str = _key(
        ChoiceType(("host", "site")),
        "host",
        "what rests between two visits: each host, or also its whole site, with one visit at a time",
    )
    floor_seconds: float | None = _key(
        OptionalType(DurationType("0s", "1d")), "none", "ten-times policy: shortest delay"
    )
    ceiling_seconds: float | None = _key(
        OptionalType(DurationType("1s", "1d")), "none", "ten-times policy: longest delay"
    )
    longest_seconds: float = _key(
        DurationType("1s", "1d"),
        "15s",
        "density and deadline policies: longest delay, that of a host with a single page",
    )
    pages_max: int | None = _key(
        OptionalType(IntegerType(2, 1_000_000_000)),
        "none",
        "density policy: number of pages at which the delay reaches 1s; none for those of the largest host known",
    )
    deadline_seconds: float | None = _key(
        OptionalType(DurationType("1s", "3650d")),
        "none",
        "deadline policy: time for all pages of a host; none for a second for each page of the largest host known",
    )
    address_delay_seconds: float = _key(
        DurationType("0s", "1d"), "1s", "delay between visits to different hosts at the same address"
    )
    own_hosts: str = _key(TextType(10_000), "none", "comma-separated names of your own hosts, or none")
    tries: int = _key(IntegerType(1, 100), 3, "maximum number of attempts for a URL")
    failures: int = _key(IntegerType(1, 100), 5, "consecutive failures after which a host is suspended")
    suspensions: int = _key(IntegerType(0, 100), 3, "consecutive suspensions after which a host is given up")
    back_off_seconds: float = _key(
        DurationType("1ms", "1h"), "10s", "initial back-off after a failure; doubles with each consecutive failure"
    )
    back_off_ceiling_seconds: float = _key(DurationType("1ms", "1d"), "10m", "maximum back-off after a failure")
    suspension_seconds: float = _key(
        DurationType("1ms", "1d"), "1h", "length of the first suspension; each consecutive one is four times as long"
    )
    hosts_limit: int = _key(IntegerType(1, 10_000_000), 100_000, "maximum number of hosts in memory")


@dataclass(frozen=True, slots=True)
class RefreshSection:
    """Which collected pages are visited again, and how often."""

    policy: str = _key(
        ChoiceType(REFRESH_POLICIES),
        "optimal",
        "which collected pages are visited again first",
        flag="--refresh-policy",
    )
    share: float = _key(
        NumberType(0.0, 1.0),
        0.3,
        "share of the turns of a host that go to collected pages while it has new URLs",
        flag="--refresh-share",
    )
    rate: float = _key(
        NumberType(0.0001, 24.0),
        1.0,
        "visits a day that a page may get on average, if hosts and machine let through as many",
        flag="--refresh-rate",
    )
    pages: int | None = _key(
        OptionalType(IntegerType(1, 10_000_000_000)),
        "none",
        "pages that a collection keeps with --forever: beyond them the least important leave the index",
        flag="--collection-pages",
    )
    shortest_seconds: float = _key(
        DurationType("1s", "3650d"), "1h", "shortest time between two visits to a page", flag="--refresh-shortest"
    )
    longest_seconds: float = _key(
        DurationType("1s", "3650d"),
        "90d",
        "time after which a page comes first, for up to a fifth of the visits; at least shortest",
        flag="--refresh-longest",
    )
    tolerance_seconds: float = _key(
        DurationType("0s", "3650d"),
        "1d",
        "optimal policy: pages that change more often than this count as if they changed once in this time",
        flag="--refresh-tolerance",
    )


@dataclass(frozen=True, slots=True)
class FetchSection:
    """How a page is fetched."""

    timeout_seconds: float = _key(
        DurationType("1ms", "1h"), "30s", "timeout for a whole request, from name lookup to last byte"
    )
    connect_timeout_seconds: float = _key(
        DurationType("1ms", "1h"), "10s", "timeout for the name lookup, and for the connection"
    )
    body_limit_bytes: int = _key(
        SizeType("1B", "1GiB"), "5MB", "maximum size of a body, compressed or not; longer ones are truncated"
    )
    # libcurl itself fails at 300 KiB; the bound has to stay below.
    header_limit_bytes: int = _key(SizeType("1KiB", "256KiB"), "64KiB", "maximum size of a header; a larger one fails")
    first_byte_timeout_seconds: float = _key(
        DurationType("1ms", "1h"), "20s", "timeout from the connection to the first byte of the response"
    )
    slow_time_seconds: float = _key(
        DurationType("1ms", "1h"), "20s", "a transfer that is slower than slow_limit for this long fails"
    )
    slow_limit_bytes: int = _key(
        SizeType("1B", "1GB"), "100B", "minimum speed of a transfer, per second; see slow_time"
    )
    types: str = _key(
        TextType(2_000),
        "text/html, application/xhtml+xml, text/plain, application/xml, text/xml, "
        "application/rss+xml, application/atom+xml, application/rdf+xml",
        "media types whose body is downloaded, * for any; of others only the header is stored",
    )
    insecure: bool = _key(BooleanType(), False, "accept invalid TLS certificates, and store what is wrong with them")
    name_servers: str = _key(
        TextType(1_000),
        "system",
        "comma-separated addresses of name servers, each with an optional port, or system for those of this machine",
    )
    proxy: str = _key(TextType(500), "none", "HTTP proxy, as http://name:port, or none")
    idle_connections: int = _key(IntegerType(1, 100_000), 2_000, "maximum number of idle connections kept for reuse")


@dataclass(frozen=True, slots=True)
class ExtractSection:
    """What is extracted from a page."""

    images: bool = _key(BooleanType(), False, "also crawl images, including those of srcset")


@dataclass(frozen=True, slots=True)
class KeepSection:
    """How pages are stored."""

    file_limit_bytes: int = _key(SizeType("1MB", "100GB"), "1GB", "approximate size of an archive file")
    checkpoint_seconds: float = _key(DurationType("100ms", "1h"), "15s", "maximum time between two checkpoints")
    versions: int = _key(
        IntegerType(0, 1_000_000), 0, "versions of a page that tarrafa prune keeps, the newest; 0 for all"
    )
    version_age_seconds: float | None = _key(
        OptionalType(DurationType("1s", "36500d")),
        "none",
        "versions that were replaced longer ago than this are removed by tarrafa prune; none for never",
    )


@dataclass(frozen=True, slots=True)
class WebSection:
    """The synthetic web."""

    hosts: int = _key(IntegerType(1, 1_000_000), 100, "number of hosts")
    pages: int = _key(IntegerType(1, 1_000_000_000), 5_000, "number of pages of all hosts")
    rng_seed: int = _key(IntegerType(0, 2**63 - 1), 1, "random seed from which the whole web is computed")
    port: int = _key(IntegerType(0, 65_535), 8_800, "port on which every host listens; 0 for any free port")
    faults: str = _key(TextType(500), "plain", "a fault profile, or comma-separated names of faults")
    names: bool = _key(BooleanType(), False, "links use made-up host names instead of loopback addresses")
    speed: float = _key(NumberType(0, 1e9), 0.0, "seconds of the web per real second; at 0 no page changes")
    delay_seconds: float = _key(
        DurationType("0s", "1d"), "0s", "log visits to a host that are closer than this as early"
    )
    log_size: int = _key(IntegerType(0, 100_000_000), 200_000, "number of requests kept in the log")
    latency_seconds: float = _key(DurationType("0s", "1h"), "0s", "latency of every host")


@dataclass(frozen=True, slots=True)
class LogSection:
    """The log: events, one on each line."""

    level: str = _key(
        ChoiceType(LEVELS),
        "warning",
        "lowest level of events to show: debug, info, warning or error",
        flag="--log-level",
    )
    format: str = _key(ChoiceType(FORMATS), "text", "text, or json for one object per line", flag="--log-format")
    file: str = _key(
        TextType(2_000), "none", "file that events are appended to, or none for standard error", flag="--log-file"
    )


class Key(NamedTuple):
    """A configuration key, without its value."""

    section: str
    name: str
    attribute: str
    type: ValueType
    default: Any
    help: str
    flag: str  # the command-line option that sets it, on commands that have it

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every section, and where each value came from. Each room is given its own section only."""

    crawl: CrawlSection = field(default_factory=CrawlSection)
    urls: UrlsSection = field(default_factory=UrlsSection)
    order: OrderSection = field(default_factory=OrderSection)
    repository: RepositorySection = field(default_factory=RepositorySection)
    politeness: PolitenessSection = field(default_factory=PolitenessSection)
    refresh: RefreshSection = field(default_factory=RefreshSection)
    fetch: FetchSection = field(default_factory=FetchSection)
    extract: ExtractSection = field(default_factory=ExtractSection)
    keep: KeepSection = field(default_factory=KeepSection)
    web: WebSection = field(default_factory=WebSection)
    log: LogSection = field(default_factory=LogSection)
    scope_rules: tuple[ScopeRule, ...] = ()  # [[scope]]; the first that matches decides
    hosts: tuple[HostSettings, ...] = ()  # [[host]]; the first that sets a key decides it
    budgets: tuple[UrlBudget, ...] = ()  # [[budget]]; the first that matches a URL counts
    # Filled by `load`: key path to `file tarrafa.toml:7` or `flag --timeout`. A key that is missing has its default.
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)

    def value(self, key: Key) -> Any:
        return getattr(getattr(self, key.section), key.attribute)

    @property
    def has_secrets(self) -> bool:
        """True if it holds logins, cookies or headers, or a proxy that may have a password."""
        is_proxied = "@" in self.fetch.proxy
        return is_proxied or any(table.has_secrets for table in self.hosts)

    def origin(self, key: Key) -> str:
        return self.origins.get(key.path, "default")


SECTIONS: dict[str, type] = {
    "crawl": CrawlSection,
    "urls": UrlsSection,
    "order": OrderSection,
    "repository": RepositorySection,
    "politeness": PolitenessSection,
    "refresh": RefreshSection,
    "fetch": FetchSection,
    "extract": ExtractSection,
    "keep": KeepSection,
    "web": WebSection,
    "log": LogSection,
}


def _keys_of(section: str) -> dict[str, Key]:
    keys = {}
    for each in fields(SECTIONS[section]):
        name = each.name
        for suffix in _UNIT_SUFFIXES:
            name = name.removesuffix(suffix)
        flag = each.metadata["flag"] or "--" + name.replace("_", "-")
        key = Key(section, name, each.name, each.metadata["type"], each.default, each.metadata["help"], flag)
        keys[key.path] = key
    return keys


KEYS: dict[str, Key] = {path: key for section in SECTIONS for path, key in _keys_of(section).items()}
