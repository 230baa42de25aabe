"""The arrays of tables: `[[scope]]`, rules that include or exclude URLs, `[[host]]`, settings of some hosts, and
`[[budget]]`, bounds on the pages of some URLs.

The order matters. Of the scope rules the first that matches decides. Of the host tables that match a host, the
first that sets a key decides that key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from tarrafa.configuration.host_patterns import host_pattern, matches_glob
from tarrafa.configuration.value_types import (
    AddressType,
    BooleanType,
    CookiesType,
    DurationType,
    HeadersType,
    IntegerType,
    LoginType,
    PatternType,
    TextType,
    TokenType,
    ValueType,
)

_CACHE_LIMIT = 1 << 16  # hosts; a full cache is cleared
_NO_ORIGINS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """A rule as it is written; `schedule` parses its conditions."""

    is_included: bool
    text: str
    origin: str = field(default="", compare=False)  # `file tarrafa.toml:7` or `flag --exclude`

    @property
    def verdict(self) -> str:
        return "include" if self.is_included else "exclude"


RULE_TYPE = TextType(2_000)


@dataclass(frozen=True, slots=True)
class UrlBudget:
    """How many pages all URLs together may give that begin with a pattern."""

    match: str
    pages: int
    origin: str = field(default="", compare=False)


# The keys of a [[budget]] table.
BUDGET_KEYS: dict[str, ValueType] = {"match": TextType(2_000), "pages": IntegerType(0, 1_000_000_000)}


class UrlBudgets:
    """The budgets of patterns of URLs; of those that match a URL, the first counts."""

    def __init__(self, budgets: Sequence[UrlBudget] = ()) -> None:
        self._budgets = [(f"{each.match}*", "://" in each.match, each) for each in budgets]

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def of(self, url: str) -> UrlBudget | None:
        """Return the budget of a URL; None if it has none. A pattern without a scheme is for every scheme."""
        bare = url.partition("://")[2]
        for pattern, has_scheme, budget in self._budgets:
            if matches_glob(pattern, url if has_scheme else bare):
                return budget
        return None


def _setting(value_type: ValueType, text: str, is_secret: bool = False) -> Any:
    return field(default=None, metadata={"type": value_type, "help": text, "is_secret": is_secret})


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Settings of some hosts, laid over the general ones; a key that is None leaves the general setting."""

    match: str = field(
        default="glob:*",
        metadata={
            "type": PatternType(300),
            "help": "hosts that the table is for: host:NAME, site:NAME, suffix:NAME or glob:PATTERN",
            "is_secret": False,
        },
    )
    delay_seconds: float | None = _setting(
        DurationType("0s", "1d"), "delay between two visits, in place of politeness.delay and its policy"
    )
    connections: int | None = _setting(
        IntegerType(1, 32),
        "maximum number of concurrent requests, in place of one; the delay is then between their starts",
    )
    priority: int | None = _setting(
        IntegerType(-100, 100), "hosts of a higher number enter first, whatever the order; in place of 0"
    )
    pages: int | None = _setting(IntegerType(0, 1_000_000_000), "maximum number of pages, in place of crawl.host_pages")
    refresh_shortest_seconds: float | None = _setting(
        DurationType("1s", "3650d"), "shortest time between two visits to a page, in place of refresh.shortest"
    )
    refresh_longest_seconds: float | None = _setting(
        DurationType("1s", "3650d"), "time after which a page comes first, in place of refresh.longest"
    )
    address: str | None = _setting(AddressType(), "address to connect to; the name is not looked up")
    insecure: bool | None = _setting(BooleanType(), "accept invalid TLS certificates, in place of fetch.insecure")
    drop_parameters: str | None = _setting(
        TextType(10_000), "parameters that are dropped from URLs, or none, in place of urls.drop_parameters"
    )
    user_agent_suffix: str | None = _setting(TextType(200), "text added to the User-Agent, after a space")
    headers: tuple[tuple[str, str], ...] | None = _setting(HeadersType(), "headers to send", is_secret=True)
    cookies: str | None = _setting(CookiesType(4_000), "cookies to send; only with host:NAME", is_secret=True)
    basic_login: str | None = _setting(LoginType(500), "user and password; only with host:NAME", is_secret=True)
    bearer_token: str | None = _setting(TokenType(4_000), "token of a login; only with host:NAME", is_secret=True)
    # Filled by `load`: key to `file tarrafa.toml:7`.
    origins: Mapping[str, str] = field(default_factory=lambda: _NO_ORIGINS, compare=False, repr=False)

    def value(self, key: "HostKey") -> Any:
        return getattr(self, key.attribute)

    @property
    def has_secrets(self) -> bool:
        return any(key.is_secret and self.value(key) is not None for key in HOST_KEYS.values())


class HostKey(NamedTuple):
    """A key of `[[host]]`, without its value."""

    name: str
    attribute: str
    type: ValueType
    help: str
    is_secret: bool


def _host_keys() -> dict[str, HostKey]:
    found = {}
    for each in fields(HostSettings):
        if each.metadata:
            name = each.name.removesuffix("_seconds")
            found[name] = HostKey(
                name, each.name, each.metadata["type"], each.metadata["help"], each.metadata["is_secret"]
            )
    return found


HOST_KEYS: dict[str, HostKey] = _host_keys()
LOGIN_KEYS = ("cookies", "basic_login", "bearer_token")  # for one host only: a subdomain may be a stranger's
NO_SETTINGS = HostSettings()


class HostTables:
    """The settings of every host, from the tables that match it."""

    def __init__(self, tables: Sequence[HostSettings] = ()) -> None:
        self._tables = [(host_pattern(table.match), table) for table in tables]
        # A cache by scheme, name and port. Filled by of, cleared when full.
        self._found: dict[str, HostSettings] = {}

    def __bool__(self) -> bool:
        return bool(self._tables)

    def of(self, host: str) -> HostSettings:
        """Return the settings of a host such as `http://example.org`."""
        if not self._tables:
            return NO_SETTINGS
        found = self._found.get(host)
        if found is None:
            if len(self._found) >= _CACHE_LIMIT:
                self._found.clear()
            found = self._found[host] = joined([table for matches, table in self._tables if matches(host)])
        return found


def joined(tables: Sequence[HostSettings]) -> HostSettings:
    """Lay tables over each other: the first that sets a key decides it."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for table in tables:
        for key in HOST_KEYS.values():
            value = table.value(key)
            if key.name != "match" and value is not None and key.attribute not in values:
                values[key.attribute] = value
                origins[key.name] = table.origins.get(key.name, "")
    return replace(NO_SETTINGS, **values, origins=MappingProxyType(origins)) if values else NO_SETTINGS
