"""URLs by the URL standard: resolve an href, make it canonical, name its host and site, give it a stable fingerprint.

An href is whatever text a page holds. `resolve` turns it into an address as a browser does; `canonical` gives that
address its one spelling, the only form that is called a URL here; `BaseUrl.link` does both for the hrefs of a page.
Functions whose argument is named `url` or `host` trust it to be canonical.

1. `parse`, `resolve`, `canonical` and `BaseUrl` never raise, whatever the text: what is not an address is None.
2. `canonical` is idempotent, and asks the server for the same thing as the text it was given.
3. `BaseUrl(url).link(href)` is `canonical(resolve(href, url))` where that is http or https, and None elsewhere.
4. Fingerprints and blocks are the same on every machine and in every version: they are stored.

Not done here: deciding what is worth visiting (session parameters, depth, credentials): that is the scope's business.
The reasons for each choice stand in docs/concepts/urls.md.
"""

import codecs
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import ada_url
import publicsuffixlist
import webencodings
import xxhash

# RFC 9110 asks everyone to support 8,000 octets; longer addresses are traps. Bounds what enters and what leaves.
URL_MAX_CHARS = 8000

_HTTP = ("http://", "https://")
# Where the standard encodes the query as the page is encoded.
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
    """The address that `href` means in a page at `base` written in `encoding`, fragment included."""
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
        # Either it is no address, or it holds lone surrogates, for which browsers read U+FFFD.
        return None if scalars == (href, base) else _join(*scalars)
    return joined


def _scalars(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# The output encoding of these labels is UTF-8, which is what the parser does by itself.
_AS_UTF8 = {"utf-8", "utf-16le", "utf-16be", "replacement"}

# The parser drops tabs and newlines before it encodes. The others are where Python's codecs and the standard's differ.
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
    """`href` with its query spelt in the page's encoding, so that the parser has nothing left to encode in it."""
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
# What the standard leaves raw though RFC 3986 forbids it. In a path or query it is escaped, for `a[]=1` and `a%5B%5D=1`
# are one page; a host whose name holds it can be neither looked up nor asked.
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
    """The one spelling of an absolute address: the standard's, without fragment and without needless escapes."""
    if _is_usual_url(text):
        return text
    address = resolve(text, None)
    return None if address is None else _canonical_of(address)


def _canonical_of(address: str) -> str | None:
    """`address` comes from the parser, so its dot segments are gone, those written with %2E too."""
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
# Possessive where single characters repeat; groups are not, because Python before 3.11.5 gets those wrong.
_PATH = rf"[{_WORD}:'/]*+(?:%{_NEEDED_OCTET}[{_WORD}:'/]*+)*"
_QUERY = rf"(?:\?[{_WORD}:/?]*+(?:%{_NEEDED_OCTET}[{_WORD}:/?]*+)*)"
_NAME = r"(?:[a-z0-9-]++\.)+[a-z]{2,}+"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
# A port of four digits, or of five below 60000, is in range and no scheme's own.
_HOST = rf"(?:{_NAME}|(?:{_OCTET}\.){{3}}{_OCTET})(?::(?:[1-9][0-9]{{3}}|[1-5][0-9]{{4}}))?"

# An href that is canonical already but for what stands before it. The number of the group that matched says what does;
# that none did means //host. Each kind begins otherwise, so most can share what follows: to compile it takes long.
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
# Most hrefs: of the first two kinds, without escape and fragment. Without groups it costs less to tell.
_USUAL = re.compile(rf"(?:/(?!/)|https?://{_HOST}/)[{_WORD}:'/]*+(?:\?[{_WORD}:/?]*+)?")
_FOREIGN = ("javascript:", "mailto:", "tel:", "data:")


class BaseUrl:
    """What the hrefs of a page resolve against, prepared once. Most hrefs are plain and cost one regular expression."""

    __slots__ = ("_before", "_codec", "_plain", "_room_chars", "_root", "_url", "_usual")

    def __init__(self, url: str, encoding: str = "utf-8") -> None:
        known = canonical(url)
        is_http = known is not None and known.startswith(_HTTP)
        self._url = known or url
        self._codec = _query_codec(encoding)
        self._usual = _USUAL.fullmatch if is_http else _never
        self._plain = _PLAIN.fullmatch if is_http else _never
        self._room_chars = URL_MAX_CHARS - len(self._url)
        scheme = self._url[: self._url.find(":") + 1]
        page = self._url.partition("?")[0]
        self._root = self._url[: _path_start(self._url)]
        self._before = (scheme, self._root, "", page[: page.rfind("/") + 1], page, self._url)

    def link(self, href: str) -> str | None:
        """The URL that `href` leads to, or None if it is no http or https address."""
        if len(href) > self._room_chars or "/." in href:
            return self._resolved(href)
        if self._usual(href):
            return self._root + href if href[0] == "/" else href
        match = self._plain(href)
        if match is None:
            return self._resolved(href)
        return self._before[match.lastindex or 0] + href.partition("#")[0]

    def _resolved(self, href: str) -> str | None:
        if href.startswith(_FOREIGN):
            return None
        address = _resolve(href, self._url, self._codec)
        return _canonical_of(address) if address is not None and address.startswith(_HTTP) else None


def _never(_: str) -> None:
    """Stands for `fullmatch` when the base itself is not an http address."""


def _is_usual_url(url: str) -> bool:
    """Whether it can be told at a glance that the URL is canonical."""
    return len(url) <= URL_MAX_CHARS and url[:1] != "/" and "/." not in url and _USUAL.fullmatch(url) is not None


def host_of(url: str) -> str:
    """Scheme, name and port, as in `http://example.org:8080`; the scheme's own port is never written."""
    return _cut(url)[0]


def host_name(url: str) -> str:
    name = host_of(url).partition("//")[2]
    return name[: name.index("]") + 1] if name.startswith("[") else name.partition(":")[0]


def path_of(url: str) -> str:
    """Path and query: what a request line carries."""
    return url[_path_start(url) :]


@lru_cache(maxsize=1 << 14)
def site(name: str) -> str:
    """The registrable domain of a host's name. An IP address, a single label and a public suffix are their own site."""
    last = name.rstrip(".").rpartition(".")[2]
    is_address = name.startswith("[") or last.isdigit()
    return name if is_address else _suffixes(last if last in _suffix_lines() else "").privatesuffix(name) or name


@cache
def _suffixes(last: str) -> publicsuffixlist.PublicSuffixList:
    """The suffixes that end with this label. Private ones count: each blog of a blog host is a site."""
    return publicsuffixlist.PublicSuffixList(_suffix_lines().get(last, ()))


@lru_cache(maxsize=1)
def _suffix_lines() -> dict[str, list[str]]:
    """By their last label. To read all of them into one list takes a tenth of a second, and few are asked for."""
    lines: dict[str, list[str]] = {}
    for line in Path(publicsuffixlist.PSLFILE).read_text("utf-8").splitlines():
        if line and not line.startswith("//"):
            lines.setdefault(line.rpartition(".")[2].strip(), []).append(line)
    return {last if last.isascii() else publicsuffixlist.encode_idn(last): found for last, found in lines.items()}


def level(url: str) -> int:
    """Dots of the name beyond its site, plus ten times the slashes of the path. Low ones first: hosts before depth."""
    name = host_name(url).rstrip(".")
    return name.count(".") - site(name).count(".") + 10 * path_of(url).partition("?")[0].count("/")


def _path_start(url: str) -> int:
    # Past the slashes of the scheme; the shortest host has one character.
    start = url.find("/", len("http://x"))
    return len(url) if start < 0 else start


def _cut(url: str) -> tuple[str, str]:
    """The host, and the rest: path and query, after `user:password@` if there is one."""
    start = _path_start(url)
    at = url.rfind("@", 0, start)
    if at < 0:
        return url[:start], url[start:]
    scheme, slashes, _ = url.partition("//")
    name_start = at + 1
    return scheme + slashes + url[name_start:start], url[len(scheme + slashes) : name_start] + url[start:]


def host_hash(host: str, seed: int = 0) -> int:
    """64 bits of a host. A crawl's secret `seed` keeps anyone from crafting hosts that meet in one block."""
    return xxhash.xxh64_intdigest(host.encode(), seed)


def fingerprint(url: str, seed: int = 0) -> int:
    """64 bits of a URL."""
    return xxhash.xxh64_intdigest(url.encode(), seed)
