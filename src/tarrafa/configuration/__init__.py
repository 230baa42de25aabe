"""The configuration: one TOML file plus flags, typed, closed, and with its units.

In: `tarrafa.toml` (or the file of `--config`) and what the user typed. Out: one frozen `Configuration`, of which each
room gets its own section. Every value knows its origin: a flag wins over the file, the file over the default. No
environment variable is read.

    sections   every key: type, default, bounds, help, flag
    kinds      how a value is read, checked and written
    load       file and flags to `Configuration`, or every problem with its place
    locate     the line of each key
    write      `Configuration` to TOML
    contact    whether public hosts may be visited

Not here: what a value does. That is for the room that is given it.
"""

from tarrafa.configuration.contact import contact, is_public_name, require_contact
from tarrafa.configuration.load import load
from tarrafa.configuration.sections import (
    KEYS,
    SECTIONS,
    Configuration,
    Crawl,
    Extract,
    Fetch,
    Keep,
    Key,
    Log,
    Politeness,
    Web,
)
from tarrafa.configuration.write import to_toml

__all__ = [
    "KEYS",
    "SECTIONS",
    "Configuration",
    "Crawl",
    "Extract",
    "Fetch",
    "Keep",
    "Key",
    "Log",
    "Politeness",
    "Web",
    "contact",
    "is_public_name",
    "load",
    "require_contact",
    "to_toml",
]
