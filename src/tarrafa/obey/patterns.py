"""Match paths with the patterns of robots.txt: one spelling for both sides, then `*` and `$`.

A URL is canonical, so its path has one spelling but for three characters. `spelt_pattern` gives a pattern the same
spelling: escapes of unreserved characters are undone, other escapes are in upper case, characters that are not allowed
in a URL are escaped (RFC 9309, section 2.2.2). In both, `%2A` and `%24` are the literal characters; any `*` and `$`
left in a pattern is special.
"""

import re

from tarrafa.urls import path_of

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
# Characters that a canonical path or query does not escape. The quote is escaped in queries only, so it is not here.
_KEPT = _UNRESERVED + b"/?:@!&()+,;=*$%"
_PLAIN = re.compile(r"[A-Za-z0-9\-._~/?:@!&()+,;=*]*\$?")
_ODD = re.compile(rb"%[0-9A-Fa-f]{2}|[^" + re.escape(_KEPT) + rb"]|\$(?=.)", re.DOTALL)
_STARS = re.compile(r"\*{2,}")


def spelt_path(url: str) -> str:
    """Return path and query of a canonical URL, or of such a path, in the spelling of patterns."""
    path = url if url.startswith("/") else path_of(url) or "/"
    if "*" in path:
        path = path.replace("*", "%2A")
    if "$" in path:
        path = path.replace("$", "%24")
    return path.replace("'", "%27") if "'" in path else path


def spelt_pattern(text: str) -> str:
    """Return a pattern in the spelling of `spelt_path`. Bytes that were not UTF-8 are escaped as they came."""
    if _PLAIN.fullmatch(text):
        return text
    return _ODD.sub(_spell, text.encode("utf-8", "surrogateescape")).decode("ascii")


def _spell(match: re.Match[bytes]) -> bytes:
    found = match[0]
    if len(found) == 1:
        return b"%%%02X" % found[0]
    octet = bytes.fromhex(found[1:].decode())
    return octet if octet in _UNRESERVED else found.upper()


def split_pattern(pattern: str) -> tuple[str, str]:
    """Return the literal beginning of a pattern, and the rest from its first `*`, or its `$`, on."""
    head, star, rest = pattern.partition("*")
    if star:
        tail = _STARS.sub("*", star + rest)
        return head, "" if tail == "*" else tail
    return (head[:-1], "$") if head.endswith("$") else (head, "")


def tail_matches(tail: str, path: str, start: int) -> bool:
    """Return True if the path matches the tail from `start` on.

    The leftmost match of each part leaves the most for those that follow, so there is no backtracking: the work grows
    with the length of the path, whatever the number of stars.
    """
    if tail == "$":
        return len(path) == start
    parts = tail.split("*")
    for part in parts[1:-1]:
        found = path.find(part, start)
        if found < 0:
            return False
        start = found + len(part)
    last = parts[-1]
    if last.endswith("$"):
        return len(path) - len(last) + 1 >= start and path.endswith(last[:-1])
    return path.find(last, start) >= 0
