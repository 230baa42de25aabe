"""Patterns of hosts, as `[[host]]` tables and scope rules write them: a word, a colon, and a name.

    host:example.org        this name, at any port; host:example.org:8080 at this port only
    site:example.org        a registrable domain with all its subdomains
    suffix:gov.br           every name with this ending
    glob:*.example.org      a star stands for any characters, also dots

A host is given as in `urls.host_of`: `https://example.org:8080`.
"""

from collections.abc import Callable

from tarrafa.errors import InputError
from tarrafa.texts import quoted
from tarrafa.urls import host_name, parse, site

# Takes a host such as `https://example.org`; returns True if the pattern matches.
HostPattern = Callable[[str], bool]

HOST_WORDS = ("host", "site", "suffix", "glob")


def host_pattern(text: str) -> HostPattern:
    """Parse a pattern of hosts."""
    word, colon, value = text.strip().partition(":")
    if not colon or word not in HOST_WORDS:
        known = ", ".join(f"{each}:" for each in HOST_WORDS)
        raise InputError(f'{quoted(text)} is not a pattern of hosts; write for example "host:example.org" ({known})')
    return _PARSERS[word](value)


def named_host(text: str) -> HostPattern:
    """Match the hosts of one name, at one port if it is given."""
    parsed = parse(f"http://{text}")
    if parsed is None or parsed.path != "/" or parsed.query is not None or parsed.userinfo or not text.strip("/"):
        raise InputError(f'{quoted(text)} is not the name of a host; write for example "example.org"')
    name = parsed.name.rstrip(".")
    if text.rstrip("/").endswith(f":{parsed.port}"):
        return lambda host: host_name(host).rstrip(".") == name and _port_of(host) == parsed.port
    return lambda host: host_name(host).rstrip(".") == name


def named_site(text: str) -> HostPattern:
    """Match every host of a site."""
    name = _plain_name(text)
    if site(name) != name:
        raise InputError(
            f"{quoted(text)} is not a site; its site is {quoted(site(name))}, or write {quoted('host:' + name)}"
        )
    return lambda host: site(host_name(host).rstrip(".")) == name


def named_suffix(text: str) -> HostPattern:
    """Match every host whose name has this suffix."""
    end = "." + _plain_name(text.removeprefix("."))
    return lambda host: f".{host_name(host).rstrip('.')}".endswith(end)


def glob_of_names(text: str) -> HostPattern:
    if not text or "/" in text or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(f'{quoted(text)} is not a glob of host names; write for example "*.example.org"')
    pattern = text.lower()
    return lambda host: matches_glob(pattern, host_name(host).rstrip("."))


def matches_glob(pattern: str, text: str) -> bool:
    """Return True if the text is the pattern, where each star stands for any characters. Takes linear time."""
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _plain_name(text: str) -> str:
    parsed = parse(f"http://{text}")
    is_name = parsed is not None and parsed.path == "/" and parsed.query is None and not parsed.userinfo
    if parsed is None or not is_name or ":" in text:
        raise InputError(f'{quoted(text)} is not a name; write for example "example.org"')
    return parsed.name.rstrip(".")


def _port_of(host: str) -> int:
    parsed = parse(host)
    return parsed.port if parsed else 0


_PARSERS: dict[str, Callable[[str], HostPattern]] = {
    "host": named_host,
    "site": named_site,
    "suffix": named_suffix,
    "glob": glob_of_names,
}
