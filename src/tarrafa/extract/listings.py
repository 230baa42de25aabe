"""Sitemaps and feeds: files that list URLs. Read by expat, without entities of their own and within bounds.

Broken XML gives what was readable up to the break. The commonest break, an ampersand that nobody escaped, is mended.

Most sitemaps are entries of one plain form. These are taken out by a regular expression, and the parser, which calls us
for every element, is given one empty element for each row of them.
"""

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, NoReturn, cast
from xml.parsers import expat

from isal import isal_zlib

from tarrafa.extract import bounds
from tarrafa.extract.blocks import collapsed
from tarrafa.extract.dates import moment
from tarrafa.extract.found import Listing
from tarrafa.urls import Base

_STRAY = re.compile(r"&(?!#?\w{1,32};)")
_CDATA = "<![CDATA["
_ENTRIES = frozenset(("url", "sitemap", "item", "entry"))
_GZIP_WINDOW = 31
_ROW = "tarrafa-row"  # the element that stands for plain entries

_SPACE = r"[ \t\r\n]{0,100}+"
# Only what XML allows, and no white space beyond that of ASCII.
_ADDRESS = r"[!-%'-;=?-~\xa1-\u167f]"
_SAID = r"([ -%'-;=?-~]{0,64}+)"
# Compiled when the first sitemap is read, for most pages are none.
_PLAIN = (
    rf"<url>{_SPACE}<loc>{_SPACE}({_ADDRESS}{{1,500}}+(?:&amp;{_ADDRESS}{{0,200}}+){{0,20}}+){_SPACE}</loc>{_SPACE}"
    rf"(?:<lastmod>{_SAID}</lastmod>{_SPACE})?+"
    rf"(?:<changefreq>[A-Za-z]{{0,20}}+</changefreq>{_SPACE})?+"
    rf"(?:<priority>{_SAID}</priority>{_SPACE})?+"
    rf"</url>{_SPACE}"
)
# The package's type stubs take the class for an instance.
_DamagedError = cast("type[Exception]", isal_zlib.IsalError)


_Found = tuple[str, str, float | None, float | None, bool]  # the fields of `Listed`


class _EnoughError(Exception):
    """Raised within the parser's callbacks to end it: a bound is reached, or the file declares entities."""


class _Row(NamedTuple):
    """Plain entries that follow each other, by column, as they are written."""

    addresses: list[str]
    modified: list[str | None]
    priorities: list[str | None]


def listed(text: str, base: Base) -> Listing:
    """The URLs of a sitemap or feed, in its order. Never raises."""
    found = _Reader(base)
    if not found.read(text) and _STRAY.search(text):
        mended = _Reader(base)
        mended.read(_mended(text))
        found = mended if len(mended.found) > len(found.found) else found
    return Listing(*zip(*found.found, strict=True))


def listed_lines(text: str, base: Base) -> Listing:
    """A sitemap in plain text: every line is an address. If one is not, it is some other text and lists nothing."""
    lines = text.split("\n", bounds.LISTED_LIMIT)[: bounds.LISTED_LIMIT]
    addresses = [line.strip() for line in lines if line and not line.isspace()]
    if not all(address.startswith(("http://", "https://")) and " " not in address for address in addresses):
        return Listing()
    return Listing(tuple([url for url in map(base.link, addresses) if url]))


def unpacked(body: bytes) -> bytes:
    """gzip undone up to a bound; what came before damage is kept."""
    stream = isal_zlib.decompressobj(_GZIP_WINDOW)
    out = bytearray()
    while len(out) < bounds.UNPACKED_LIMIT_BYTES and not stream.eof:
        try:
            piece = stream.decompress(body, 1 << 18)
        except _DamagedError:
            break
        if not piece and not stream.eof:
            break
        out += piece
        body = stream.unconsumed_tail
    return bytes(out[: bounds.UNPACKED_LIMIT_BYTES])


def _mended(text: str) -> str:
    first, *others = text.split(_CDATA)
    parts = [_STRAY.sub("&amp;", first)]
    for other in others:
        inside, end, after = other.partition("]]>")
        parts.append(_CDATA + inside + end + _STRAY.sub("&amp;", after))
    return "".join(parts)


def _parted(text: str) -> tuple[str, list[_Row]]:
    """The text with an empty element in place of each row of plain entries, and the rows.

    Where an entry may stand such an element may; where one is in a comment, or breaks the file, it does the same. The
    root is none of them: it has told the format.
    """
    if _CDATA in text or _ROW in text:  # what looks like an element may be none, or one of ours
        return text, []
    pieces = re.split(_PLAIN, text)
    between = pieces[::4]
    starts = [at for at, before in enumerate(between[:-1]) if before or not at]
    columns = [pieces[column::4] for column in (1, 2, 3)]
    rows = [_Row(*(column[start:end] for column in columns)) for start, end in pairwise([*starts, len(between) - 1])]
    kept = [f'{between[start]}<{_ROW} at="{at}"/>' for at, start in enumerate(starts)]
    return "".join([*kept, between[-1]]), rows


class _Reader:
    """Follows the parser from element to element; only the name of the parent is kept, never a tree."""

    def __init__(self, base: Base) -> None:
        self.found: list[_Found] = []
        self._base = base
        # Names of the open elements without prefix; filled by _start, emptied by _end.
        self._open: list[str] = []
        self._entry: dict[str, str] = {}  # what the open entry says; the first of a name counts
        self._text: list[str] | None = None  # of the open element, if it is one of an entry's
        self._chars = 0
        self._rows: list[_Row] = []

    def read(self, text: str) -> bool:
        """Whether the file could be read to its end."""
        rest, self._rows = _parted(text)
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse
        # Entities that only a DTD elsewhere would declare, such as &nbsp;, are passed over instead of ending it all.
        parser.UseForeignDTD(True)
        parser.ExternalEntityRefHandler = _pass_over
        try:
            parser.Parse(rest.lstrip("\ufeff \t\r\n").encode("utf-8", "replace"), True)
        except expat.ExpatError:
            return False
        except _EnoughError:
            pass
        return True

    def _start(self, written: str, attributes: dict[str, str]) -> None:
        name = _local(written)
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        if name in _ENTRIES:
            self._entry = {}
        elif written == _ROW and self._rows:
            self._take(self._rows[int(attributes["at"])])
        elif parent in _ENTRIES:
            self._text, self._chars = [], 0
            if name == "link" and attributes.get("rel", "alternate") == "alternate" and "href" in attributes:
                self._entry.setdefault("link", attributes["href"])
            elif name == "guid" and attributes.get("isPermaLink") == "false":
                self._text = None

    def _characters(self, data: str) -> None:
        if self._text is not None and self._chars < bounds.HREF_CHARS:
            self._text.append(data)
            self._chars += len(data)

    def _end(self, _: str) -> None:
        name = self._open.pop()
        parent = self._open[-1] if self._open else ""
        if name in _ENTRIES:
            self._add(is_sitemap=name == "sitemap")
        elif parent in _ENTRIES and self._text is not None:
            text = "".join(self._text).strip()
            if text:
                self._entry.setdefault(name, text)
            self._text = None

    def _take(self, row: _Row) -> None:
        """Plain entries, which leave what they are in as others do."""
        self._entry, self._text = {}, None
        link, room = self._base.link, bounds.LISTED_LIMIT - len(self.found)
        urls = [link(address.replace("&amp;", "&")) for address in row.addresses]
        modified = [moment(text) if text else None for text in row.modified]
        priorities = [_priority(text) if text else None for text in row.priorities]
        entries = zip(urls, modified, priorities, strict=True)
        self.found += [(url, "", when, priority, False) for url, when, priority in entries if url][:room]
        self._stop_at_limit()

    def _add(self, is_sitemap: bool) -> None:
        entry, self._entry = self._entry, {}
        href = entry.get("loc") or entry.get("link") or entry.get("guid")
        url = self._base.link(href) if href else None
        if url is None:
            return
        title = collapsed(entry.get("title", ""))[: bounds.ANCHOR_CHARS]
        priority = _priority(entry.get("priority", ""))
        self.found.append((url, title, _modified(entry), priority, is_sitemap))
        self._stop_at_limit()

    def _stop_at_limit(self) -> None:
        if len(self.found) >= bounds.LISTED_LIMIT:
            raise _EnoughError


@lru_cache(maxsize=1 << 8)
def _local(name: str) -> str:
    """Without prefix. Files repeat a dozen names without end."""
    return name.rpartition(":")[2].lower()


_MOMENTS = ("lastmod", "updated", "pubdate", "published", "date", "issued", "modified")


def _modified(entry: dict[str, str]) -> float | None:
    for name in _MOMENTS:
        if name in entry:
            return moment(entry[name])
    return None


def _priority(text: str) -> float | None:
    try:
        priority = float(text)
    except ValueError:
        return None
    return priority if 0.0 <= priority <= 1.0 else None


def _refuse(*_: object) -> NoReturn:
    raise _EnoughError


def _pass_over(*_: object) -> int:
    return 1
