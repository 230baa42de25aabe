"""The sections of the configuration: every key with its type, default, bounds and help, in one place.

A key is named as in the file; the field inside ends in its unit if it has one: key `timeout`, field `timeout_seconds`.
Only keys that have an effect stand here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple

from tarrafa import __version__
from tarrafa.configuration.kinds import Choice, Duration, Kind, Number, Size, Switch, Text, Whole
from tarrafa.logs import FORMATS, LEVELS

_UNIT_SUFFIXES = ("_seconds", "_bytes")


def _key(kind: Kind, default: object, text: str, flag: str | None = None) -> Any:
    """A field whose default is written as a user would write it."""
    return field(default=kind.read(default), metadata={"kind": kind, "help": text, "flag": flag})


@dataclass(frozen=True, slots=True)
class Crawl:
    """Who crawls, and where it may go."""

    user_agent: str = _key(
        Text(500), f"Tarrafa/{__version__}", "how hosts are told who visits; needs a contact for public hosts"
    )
    allow_private: bool = _key(Switch(), False, "visit loopback, private and link-local addresses too")
    scope: str = _key(
        Text(300), "seeds", "which hosts are visited: any, those of the seeds' sites, or a suffix such as br"
    )
    order: str = _key(
        Choice(("level", "fifo")), "level", "which URLs of a host come first: shallow ones, or older ones"
    )
    depth: int = _key(Whole(0, 60), 30, "links from a seed; what is further away is not visited")
    url_chars: int = _key(Whole(20, 8_000), 2_000, "longer URLs are not visited")
    repeated_segments: int = _key(
        Whole(1, 100), 3, "URLs that repeat a segment of their path more often are not visited"
    )
    host_pages: int = _key(Whole(1, 1_000_000_000), 100_000, "pages of one host")
    in_flight: int = _key(Whole(1, 5_000), 300, "pages that are fetched at the same time, each from another host")


@dataclass(frozen=True, slots=True)
class Politeness:
    """How long hosts are left alone."""

    delay_seconds: float = _key(
        Duration("0s", "1d"), "5s", "between two pages of a host; less than 1s for own and private hosts only"
    )
    policy: str = _key(
        Choice(("constant", "ten-times", "density")),
        "constant",
        "the delay: always the same, ten times the last download, or by the number of pages of the host",
    )
    floor_seconds: float = _key(Duration("0s", "1d"), "1s", "the shortest delay of the policy ten-times")
    ceiling_seconds: float = _key(Duration("1s", "1d"), "60s", "the longest delay of the policy ten-times")
    longest_seconds: float = _key(
        Duration("1s", "1d"), "15s", "the delay of a host of one page, for the policy density"
    )
    pages_max: int = _key(
        Whole(2, 1_000_000_000), 100_000, "hosts of so many pages have a delay of 1s, for the policy density"
    )
    address_delay_seconds: float = _key(Duration("0s", "1d"), "1s", "between pages of different hosts at one address")
    own_hosts: str = _key(Text(10_000), "none", "names of hosts that are your own, with commas between, or none")
    tries: int = _key(Whole(1, 100), 3, "of a page, before its failure is final")
    failures: int = _key(Whole(1, 100), 5, "consecutive failures of a host before it is suspended")
    suspensions: int = _key(Whole(0, 100), 3, "consecutive suspensions of a host before it is given up")
    back_off_seconds: float = _key(Duration("1ms", "1h"), "10s", "wait after a failure; twice as long after each other")
    back_off_ceiling_seconds: float = _key(Duration("1ms", "1d"), "10m", "the longest such wait")
    suspension_seconds: float = _key(Duration("1ms", "1d"), "1h", "length of the first suspension of a host")
    hosts_limit: int = _key(Whole(1, 10_000_000), 100_000, "hosts that are held in memory at the same time")


@dataclass(frozen=True, slots=True)
class Fetch:
    """How a page is fetched."""

    timeout_seconds: float = _key(Duration("1ms", "1h"), "30s", "longest time for one page, from name to last byte")
    connect_timeout_seconds: float = _key(Duration("1ms", "1h"), "10s", "longest time to find and reach an address")
    body_limit_bytes: int = _key(
        Size("1B", "1GiB"), "5MB", "a longer body is cut there and marked, as received and as decoded"
    )
    # libcurl gives up at 300 KiB by itself; below that the bound is ours.
    header_limit_bytes: int = _key(Size("1KiB", "256KiB"), "64KiB", "a page with a larger header is a failure")
    first_byte_timeout_seconds: float = _key(
        Duration("1ms", "1h"), "20s", "longest time from connecting to the first byte of the answer"
    )
    slow_time_seconds: float = _key(
        Duration("1ms", "1h"), "20s", "a page slower than slow_limit for so many whole seconds is a failure"
    )
    slow_limit_bytes: int = _key(Size("1B", "1GB"), "100B", "bytes in a second that a page must bring, see slow_time")
    types: str = _key(
        Text(2_000),
        "text/html, application/xhtml+xml, text/plain, application/xml, text/xml, "
        "application/rss+xml, application/atom+xml, application/rdf+xml",
        "media types whose body is read, an asterisk means any; of others only the header is kept",
    )
    insecure: bool = _key(Switch(), False, "accept broken certificates, and record with the page what is wrong")
    proxy: str = _key(Text(500), "none", "http://name:port of a proxy that fetches for us, or none")
    idle_connections: int = _key(Whole(1, 100_000), 2_000, "connections that are kept open to be used again")


@dataclass(frozen=True, slots=True)
class Extract:
    """What is taken from a page."""

    images: bool = _key(Switch(), False, "visit images too, those of srcset included")


@dataclass(frozen=True, slots=True)
class Keep:
    """How pages are kept."""

    file_limit_bytes: int = _key(Size("1MB", "100GB"), "1GB", "size of a file of the archive, roughly")
    checkpoint_seconds: float = _key(Duration("100ms", "1h"), "15s", "how often what was found is saved, at least")


@dataclass(frozen=True, slots=True)
class Web:
    """The synthetic web."""

    hosts: int = _key(Whole(1, 1_000_000), 100, "number of hosts")
    pages: int = _key(Whole(1, 1_000_000_000), 5_000, "number of pages, over all hosts")
    rng_seed: int = _key(Whole(0, 2**63 - 1), 1, "the number that the whole web follows from")
    port: int = _key(Whole(0, 65_535), 8_800, "the port that every host listens on; 0 takes a free one")
    faults: str = _key(Text(500), "plain", "a profile or faults by name, with commas between")
    names: bool = _key(Switch(), False, "links use made-up host names instead of loopback addresses")
    speed: float = _key(Number(0, 1e9), 0.0, "web seconds that pass in a real second; at 0 nothing changes")
    delay_seconds: float = _key(Duration("0s", "1d"), "0s", "visits of a host closer than this are logged as too early")
    log_size: int = _key(Whole(0, 100_000_000), 200_000, "number of requests that the web remembers")
    latency_seconds: float = _key(Duration("0s", "1h"), "0s", "how long every host waits before it answers")


@dataclass(frozen=True, slots=True)
class Log:
    """What is told while working, on standard error."""

    level: str = _key(Choice(LEVELS), "warning", "least important events that are shown", flag="--log-level")
    format: str = _key(Choice(FORMATS), "text", "readable text, or one JSON object a line", flag="--log-format")


class Key(NamedTuple):
    """Everything about one key but its value."""

    section: str
    name: str
    attribute: str
    kind: Kind
    default: Any
    help: str
    flag: str  # the command-line option that sets it, on commands that have it

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every section, and where each value came from. Each room is given its own section only."""

    crawl: Crawl = field(default_factory=Crawl)
    politeness: Politeness = field(default_factory=Politeness)
    fetch: Fetch = field(default_factory=Fetch)
    extract: Extract = field(default_factory=Extract)
    keep: Keep = field(default_factory=Keep)
    web: Web = field(default_factory=Web)
    log: Log = field(default_factory=Log)
    # Filled by `load`: key path to `file tarrafa.toml:7` or `flag --timeout`; what is missing is a default.
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)

    def value(self, key: Key) -> Any:
        return getattr(getattr(self, key.section), key.attribute)

    def origin(self, key: Key) -> str:
        return self.origins.get(key.path, "default")


SECTIONS: dict[str, type] = {
    "crawl": Crawl,
    "politeness": Politeness,
    "fetch": Fetch,
    "extract": Extract,
    "keep": Keep,
    "web": Web,
    "log": Log,
}


def _keys_of(section: str) -> dict[str, Key]:
    keys = {}
    for each in fields(SECTIONS[section]):
        name = each.name
        for suffix in _UNIT_SUFFIXES:
            name = name.removesuffix(suffix)
        flag = each.metadata["flag"] or "--" + name.replace("_", "-")
        key = Key(section, name, each.name, each.metadata["kind"], each.default, each.metadata["help"], flag)
        keys[key.path] = key
    return keys


KEYS: dict[str, Key] = {path: key for section in SECTIONS for path, key in _keys_of(section).items()}
