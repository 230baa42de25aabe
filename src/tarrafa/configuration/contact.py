"""The contact in the user agent, without which public hosts are not visited.

The operator of a host that sees the crawler in a log must be able to ask for it to stop.
"""

import re
from collections.abc import Iterable

from tarrafa.addresses import is_public, parse_address
from tarrafa.configuration.tables import HostTables
from tarrafa.errors import ContactMissingError
from tarrafa.urls import host_name

_NO_TABLES = HostTables()

# Names that are never public (RFC 6761, RFC 6762, RFC 9476 and ICANN's .internal).
_OWN_SUFFIXES = (".localhost", ".test", ".example", ".invalid", ".local", ".internal")

_CONTACT = re.compile(r"\+https?://[^\s;,()]+\.[^\s;,()]+|[^\s@;,()<>]+@[^\s@;,()<>]+\.[A-Za-z]{2,}")


def contact(user_agent: str) -> str | None:
    """Return the first `+https://…` or e-mail address in the user agent, or None."""
    match = _CONTACT.search(user_agent)
    return match[0].removeprefix("+") if match else None


def is_public_name(name: str) -> bool:
    """Return True if the name or address of a host may be on the public web."""
    address = parse_address(name)
    if address is not None:
        return is_public(address)
    return not f".{name.lower().rstrip('.')}".endswith(_OWN_SUFFIXES)


def is_public_host(host: str, tables: HostTables) -> bool:
    """Return True if a host such as `http://example.org` may be on the public web; a table may say where it is."""
    return is_public_name(tables.of(host).address or host_name(host))


def require_contact(user_agent: str, hosts: Iterable[str], tables: HostTables = _NO_TABLES) -> None:
    """Raise `ContactMissingError` if one of the hosts is public and the user agent has no contact."""
    if contact(user_agent) is not None:
        return
    for host in hosts:
        if is_public_host(host, tables):
            raise ContactMissingError(
                f"{host_name(host)} is a public host and the user agent has no contact; set in tarrafa.toml "
                '[crawl] user_agent = "Name/1.0 (+https://your.site/bot; you@your.site)", or give --user-agent'
            )
