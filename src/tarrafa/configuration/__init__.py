"""The configuration: one TOML file plus flags, typed, closed, and with units.

In: `tarrafa.toml` (or the file of `--config`), the file of an existing crawl, and command-line flags. Out: one frozen
`Configuration`; each room gets its own section. Every value has an origin: a flag overrides a file, a file overrides
the default. Environment variables are not read.

    sections      every key: type, default, bounds, help, flag
    value_types   how a value is read, checked and written
    toml_file     file and flags to `Configuration` and back, or every problem with its place
    toml_lines    the line of each key
    tables        the arrays of tables: scope rules, settings of some hosts, budgets of some URLs
    toml_tables   the tables of a file, or every problem with its place
    host_patterns which hosts a table or a rule is for
    contact       whether public hosts may be visited

Not here: what a value does. That belongs to the room that gets it.
"""

from tarrafa.configuration.contact import contact, is_public_host, is_public_name, require_contact
from tarrafa.configuration.host_patterns import HOST_WORDS, HostPattern, host_pattern, matches_glob
from tarrafa.configuration.sections import (
    KEYS,
    ORDER_NAMES,
    SECTIONS,
    Configuration,
    CrawlSection,
    ExtractSection,
    FetchSection,
    KeepSection,
    Key,
    LogSection,
    OrderSection,
    PolitenessSection,
    RefreshSection,
    RepositorySection,
    UrlsSection,
    WebSection,
)
from tarrafa.configuration.tables import (
    HOST_KEYS,
    NO_SETTINGS,
    HostKey,
    HostSettings,
    HostTables,
    ScopeRule,
    UrlBudget,
    UrlBudgets,
)
from tarrafa.configuration.toml_file import load, to_crawl_toml, to_toml

__all__ = [
    "HOST_KEYS",
    "HOST_WORDS",
    "KEYS",
    "NO_SETTINGS",
    "ORDER_NAMES",
    "SECTIONS",
    "Configuration",
    "CrawlSection",
    "ExtractSection",
    "FetchSection",
    "HostKey",
    "HostPattern",
    "HostSettings",
    "HostTables",
    "KeepSection",
    "Key",
    "LogSection",
    "OrderSection",
    "PolitenessSection",
    "RefreshSection",
    "RepositorySection",
    "ScopeRule",
    "UrlBudget",
    "UrlBudgets",
    "UrlsSection",
    "WebSection",
    "contact",
    "host_pattern",
    "is_public_host",
    "is_public_name",
    "load",
    "matches_glob",
    "require_contact",
    "to_crawl_toml",
    "to_toml",
]
