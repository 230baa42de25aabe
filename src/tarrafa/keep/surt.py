"""The key under which indexes of web archives file a URL: the host's name from right to left, then the path.

`http://www.Example.org:8080/A/?b=2&a=1` becomes `org,example:8080)/a?a=1&b=2`. Different URLs may share a key on
purpose: those who look something up want the page, however it was linked. The rules are those of the Internet
Archive's indexes, so that its tools and pywb find what we write.
"""

import re
from urllib.parse import unquote_to_bytes

from tarrafa.urls import host_name, host_of, path_of

_WWW = re.compile(r"www[0-9]*\.(?=.)")
_SLASHES = re.compile("/{2,}")
_PATH_SESSION = re.compile(
    r";jsessionid=[0-9a-z]{32}$|\((?:[a-z]\([0-9a-z]{24}\)){1,9}\)/(?=[^?]+\.aspx)|\([0-9a-z]{24}\)/(?=[^?]+\.aspx)"
)
_QUERY_SESSION = re.compile(
    "(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
)


def surt(url: str) -> str:
    name = host_name(url)
    port = host_of(url).rpartition(name)[2]
    labels = _WWW.sub("", name, count=1) if _WWW.match(name) else name
    path, mark, query = path_of(url).partition("?")
    return ",".join(reversed(labels.split("."))) + port + ")" + _path(path) + (_query(query) if mark else "")


def _path(path: str) -> str:
    text = _SLASHES.sub("/", _PATH_SESSION.sub("", _plain(path), count=1))
    return text.rstrip("/") or "/"


def _query(query: str) -> str:
    text = _QUERY_SESSION.sub("", _plain(query))
    parts = sorted(text.split("&"), key=lambda part: part.split("=", 1))
    return "?" + "&".join(parts) if text else ""


def _plain(text: str) -> str:
    """In lower case, escaped once and only where it must be, however often it was escaped before."""
    before, octets = b"", text.encode()
    while octets != before:
        before, octets = octets, unquote_to_bytes(octets)
    return "".join(map(_SPELLING.__getitem__, octets)).lower()


_SPELLING = [chr(octet) if 0x20 < octet < 0x7F and octet not in b"#%" else f"%{octet:02x}" for octet in range(256)]
