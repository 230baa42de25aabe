"""URLs by the URL standard: resolve an href, make it canonical, name its host and site, fingerprint it.

An href is any text in a page. `resolve` turns it into an address as a browser does; `canonical` gives the address its
one spelling, the only form that is called a URL here; `BaseUrl.link` does both for the hrefs of a page. Functions with
an argument named `url` or `host` trust it to be canonical.

1. `parse`, `resolve`, `canonical` and `BaseUrl` never raise: for a text that is no address they return None.
2. `canonical` is idempotent, and asks the server for the same thing as the text it was given.
3. `BaseUrl(url).link(href)` is `canonical(resolve(href, url))` if that is http or https, else None.
4. Fingerprints and hashes are the same on every machine and in every version: they are stored.

Not done here: deciding which URLs to visit (session parameters, depth, credentials), which is the scope's business.
The reasons for each choice are in docs/concepts/urls.md.
"""

import codecs
import re
from functools import cache, lru_cache
from typing import NamedTuple

import ada_url
import publicsuffixlist
import webencodings
import xxhash

# RFC 9110 asks for support of 8,000 octets; longer addresses are traps. The bound is for input and output.
URL_MAX_CHARS = 8000

# The first slash of a URL after these characters ends its host.
HOST_START = len("http://x")

_HTTP = ("http://", "https://")
# Schemes for which the standard encodes the query in the encoding of the page.
_ENCODED = (*_HTTP, "ftp:", "file:")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Url(NamedTuple):
    """The parts of a canonical http or https URL. `name` keeps the brackets of IPv6; `query` is None without a `?`."""

    url: str
    scheme: str
    userinfo: str
    name: str
    port: int
    path: str
    query: str | None


def parse(text: str) -> Url | None:
    url = canonical(text)
    if url is None or not url.startswith(_HTTP):
        return None
    host, rest = _cut(url)
    scheme = host.partition(":")[0]
    name = host_name(url)
    port = host.rpartition(name)[2][1:] or _DEFAULT_PORTS[scheme]
    userinfo, _, target = rest.partition("/")
    path, mark, query = target.partition("?")
    return Url(url, scheme, userinfo[:-1], name, int(port), "/" + path, query if mark else None)


def resolve(href: str, base: str | None, encoding: str = "utf-8") -> str | None:
    """Return the address of `href` in a page at `base` written in `encoding`, with its fragment."""
    return _resolve(href, base, _query_codec(encoding))


def _resolve(href: str, base: str | None, codec: webencodings.Encoding | None) -> str | None:
    if len(href) > URL_MAX_CHARS or (base is not None and len(base) > URL_MAX_CHARS):
        return None
    address = _join(href, base)
    if codec and address and address.startswith(_ENCODED) and not (href.isascii() and href.isprintable()):
        address = _join(_encode_query(href, codec), base)
    return address if address is None or len(address) <= URL_MAX_CHARS else None


def _join(href: str, base: str | None) -> str | None:
    try:
        joined: str = ada_url.normalize_url(href) if base is None else ada_url.join_url(base, href)
    except ValueError:
        scalars = _scalars(href), base and _scalars(base)
        # It is no address, or contains lone surrogates, which browsers replace by U+FFFD.
        return None if scalars == (href, base) else _join(*scalars)
    return joined


def _scalars(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# The output encoding of these is UTF-8, which the parser does by itself.
_AS_UTF8 = {"utf-8", "utf-16le", "utf-16be", "replacement"}

# The parser drops tabs and newlines before it encodes. The others are differences between Python's codecs and the
# standard's.
_DROPPED = dict.fromkeys(map(ord, "\t\n\r"))
_MISFITS: dict[str, dict[int, str | None]] = {
    "iso-2022-jp": {**_DROPPED, **dict.fromkeys((0x0E, 0x0F, 0x1B), "%26%2365533%3B")},
    "gb18030": {**_DROPPED, 0xE5E5: "%26%2358853%3B"},
    "shift_jis": {**_DROPPED, 0x2212: "\uff0d", 0xA5: "\\", 0x203E: "~"},
    "euc-jp": {**_DROPPED, 0x2212: "\uff0d"},
}

_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_QUERY_SPELLING = [
    chr(octet) if 0x20 < octet < 0x7F and chr(octet) not in "\"#<>'" else f"%{octet:02X}" for octet in range(256)
]


@lru_cache(maxsize=256)
def _query_codec(label: str) -> webencodings.Encoding | None:
    encoding = webencodings.lookup(label.encode("ascii", "replace").decode())
    return None if encoding is None or encoding.name in _AS_UTF8 else encoding


def _encode_query(href: str, encoding: webencodings.Encoding) -> str:
    """Return `href` with its query escaped in the page's encoding, so that the parser has nothing left to encode."""
    before, hash_, fragment = _scalars(href).strip(_C0_AND_SPACE).partition("#")
    path, mark, query = before.partition("?")
    query = query.translate(_MISFITS.get(encoding.name, _DROPPED))
    octets, _ = encoding.codec_info.encode(query, _CHARACTER_REFERENCES)
    return path + mark + "".join(map(_QUERY_SPELLING.__getitem__, octets)) + hash_ + fragment


def _character_references(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(f"%26%23{ord(char)}%3B" for char in error.object[error.start : error.end]), error.end


_CHARACTER_REFERENCES = "tarrafa.query"
codecs.register_error(_CHARACTER_REFERENCES, _character_references)


_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
# Characters that the standard leaves as they are though RFC 3986 forbids them. In a path or query they are escaped:
# `a[]=1` and `a%5B%5D=1` are one page. A host whose name has some of them can be neither resolved nor asked.
_RAW = r"\^`{|}[]" + '"'
_UNUSABLE_NAME = re.compile(r"[`{}\"]")
_HEX = "[0-9A-Fa-f]"
_NEEDED_OCTET = "(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[BCDF])"
# A raw character, or an escape that is needless or in lower case; the group is there when the escape follows a stray %.
_MISSPELT = re.compile(
    rf"[%{re.escape(_RAW)}](?:(?<!%)|(?!{_NEEDED_OCTET}){_HEX}{{2}}|({_HEX}?%)(?!{_NEEDED_OCTET}){_HEX}{{2}})"
)
_SPELLING = {
    **{f"%{ord(char):02X}": char for char in _UNRESERVED},
    **{char: f"%{ord(char):02X}" for char in _RAW},
}


def canonical(text: str) -> str | None:
    """Return the one spelling of an absolute address: the standard's, without fragment and needless escapes."""
    if _is_plainly_canonical(text):
        return text
    address = resolve(text, None)
    return None if address is None else _canonical_of(address)


def _canonical_of(address: str) -> str | None:
    """Return the canonical form of an address from the parser, which has removed dot segments, also those with %2E."""
    url = address.partition("#")[0]
    if _MISSPELT.search(url) and url.startswith(_HTTP):
        start = _path_start(url)
        host, target = url[:start], url[start:]
        url = "" if _UNUSABLE_NAME.search(host) else host + _MISSPELT.sub(_spell, target)
    return url if 0 < len(url) <= URL_MAX_CHARS else None


def _spell(match: re.Match[str]) -> str:
    text = match[0]
    if match[1]:
        # Decoded, %%34%31 would become %41 and mean something else.
        return text[:-2] + text[-2:].upper()
    return _SPELLING.get(text.upper(), text.upper())


_WORD_START = r"A-Za-z0-9_~!$&()*+,;=@\-"
_WORD = rf"{_WORD_START}."
# Only single characters repeat possessively: Python before 3.11.5 has a bug with possessive groups.
_PATH = rf"[{_WORD}:'/]*+(?:%{_NEEDED_OCTET}[{_WORD}:'/]*+)*"
_QUERY = rf"(?:\?[{_WORD}:/?]*+(?:%{_NEEDED_OCTET}[{_WORD}:/?]*+)*)"
_NAME = r"(?:[a-z0-9-]++\.)+[a-z]{2,}+"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
# A port of four digits, or of five below 60000, is in range and no default port.
_HOST = rf"(?:{_NAME}|(?:{_OCTET}\.){{3}}{_OCTET})(?::(?:[1-9][0-9]{{3}}|[1-5][0-9]{{4}}))?"

# An href that is canonical but for its beginning. The number of the last group that matched tells which part of the
# base comes before it (see `BaseUrl._before`); none stands for //host.
_PLAIN = re.compile(
    rf"""(?: (?: (/)(?!/)
               | (?:(https?:)|)//{_HOST}/
               | ([{_WORD_START}'])[{_WORD}']*+(?!:)
             ) {_PATH}{_QUERY}?
           | {_QUERY}()
           | ()
         ) (?:\#[{_WORD}:/?]*+)?""",
    re.VERBOSE,
)
_ABSOLUTE = 2  # the group of http: and https:
_PADDING = bytes(32)
_FOREIGN = ("javascript:", "mailto:", "tel:", "data:")


class BaseUrl:
    """Resolves the hrefs of a page. Most are canonical but for their beginning, which one regular expression tells."""

    __slots__ = ("_before", "_codec", "_is_http", "_room_chars", "_url")

    def __init__(self, url: str, encoding: str = "utf-8") -> None:
        known = canonical(url)
        self._is_http = known is not None and known.startswith(_HTTP)
        self._url = known or url
        self._codec = _query_codec(encoding)
        self._room_chars = URL_MAX_CHARS - len(self._url)
        scheme = self._url[: self._url.find(":") + 1]
        page = self._url.partition("?")[0]
        root = self._url[: _path_start(self._url)]
        self._before = (scheme, root, "", page[: page.rfind("/") + 1], page, self._url)

    def link(self, href: str) -> str | None:
        """Return the URL of `href`; None if it is no http or https address."""
        if not self._is_http or len(href) > self._room_chars or "/." in href:
            return self._resolved(href)
        match = _PLAIN.fullmatch(href)
        if match is None:
            return self._resolved(href)
        return self._before[match.lastindex or 0] + href.partition("#")[0]

    def _resolved(self, href: str) -> str | None:
        if href.startswith(_FOREIGN):
            return None
        address = _resolve(href, self._url, self._codec)
        return _canonical_of(address) if address is not None and address.startswith(_HTTP) else None


def _is_plainly_canonical(url: str) -> bool:
    """Return True if one regular expression can tell that an absolute URL is canonical. Most are."""
    if len(url) > URL_MAX_CHARS or "/." in url or "#" in url:
        return False
    match = _PLAIN.fullmatch(url)
    return match is not None and match.lastindex == _ABSOLUTE


def host_of(url: str) -> str:
    """Return scheme, name and port, as in `http://example.org:8080`, without the default port of the scheme."""
    return _cut(url)[0]


def host_name(url: str) -> str:
    name = host_of(url).partition("//")[2]
    return name[: name.index("]") + 1] if name.startswith("[") else name.partition(":")[0]


def path_of(url: str) -> str:
    """Return path and query, as in the request line."""
    return url[_path_start(url) :]


@lru_cache(maxsize=1 << 14)
def site(name: str) -> str:
    """Return the registrable domain of a host's name; the name itself for an address, a label, a public suffix."""
    is_address = name.startswith("[") or name.rstrip(".").rpartition(".")[2].isdigit()
    return name if is_address else _public_suffixes().privatesuffix(name) or name


def is_public_suffix(name: str) -> bool:
    """Return True if the name stands in the list of public suffixes, as `br` and `com.br` do."""
    found: str | None = _public_suffixes().publicsuffix(name, accept_unknown=False)
    return found == name


@cache
def _public_suffixes() -> publicsuffixlist.PublicSuffixList:
    """Load the list, with its private part: each blog of a blog host is a site."""
    return publicsuffixlist.PublicSuffixList()


def level(url: str) -> int:
    """Return the dots of the name beyond its site, plus ten times the slashes of the path. Low levels come first."""
    name = host_name(url).rstrip(".")
    return name.count(".") - site(name).count(".") + 10 * path_of(url).partition("?")[0].count("/")


def _path_start(url: str) -> int:
    # Past the slashes of the scheme; the shortest host has one character.
    start = url.find("/", len("http://x"))
    return len(url) if start < 0 else start


def _cut(url: str) -> tuple[str, str]:
    """Return the host, and the rest: path and query, after `user:password@` if there is one."""
    start = _path_start(url)
    at = url.rfind("@", 0, start)
    if at < 0:
        return url[:start], url[start:]
    scheme, slashes, _ = url.partition("//")
    name_start = at + 1
    return scheme + slashes + url[name_start:start], url[len(scheme + slashes) : name_start] + url[start:]


def host_hash(host: str, seed: int = 0) -> int:
    """Return 64 bits of a host. The secret `seed` of a crawl prevents hosts crafted to share one block."""
    return _hash(host, seed)


def fingerprint(url: str, seed: int = 0) -> int:
    """Return 64 bits of a URL, or of any text; `hashes` does so for a column."""
    return _hash(url, seed)


def _hash(text: str, seed: int) -> int:
    """Return XXH64 of a text that is padded with 1 to 32 zero bytes to a multiple of 32."""
    data = text.encode()
    return xxhash.xxh64_intdigest(data + _PADDING[len(data) % len(_PADDING) :], seed)
