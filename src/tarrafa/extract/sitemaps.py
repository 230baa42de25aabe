"""Sitemaps and feeds: files that list URLs.

They are scanned for entries and the fields within, not parsed as XML: many files in the wild are not well-formed, and
a scan expands no entity, reads no DTD, keeps no tree and takes time that grows with the length of the file. An entry
counts when it is closed; a file that breaks off gives the entries before the break.
"""

import re
from typing import Any, cast

from isal import isal_zlib

from tarrafa.dates import parse_date
from tarrafa.extract import bounds
from tarrafa.extract.records import ListedUrls
from tarrafa.urls import BaseUrl

_GZIP_WINDOW = 31
# The package's type stubs take the class for an instance.
_DamagedError = cast("type[Exception]", isal_zlib.IsalError)

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_ENTRY_END = re.compile(r"</((?:[\w.-]{1,40}:)?)(url|sitemap|item|entry)\s*>", re.ASCII)
# An element that holds nothing but text. Those of extensions, such as image:loc, have another prefix than the entry.
_FIELD = re.compile(r"<([\w:.-]{1,80}+)[^<>]*+>([^<]*+)</", re.ASCII)
_LINK = re.compile(r"<(?:[\w.-]{1,40}:)?link\s([^<>]*+)>", re.ASCII)
_ATTRIBUTE = re.compile(r"([\w:.-]{1,80}+)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')", re.ASCII)
_NO_PERMALINK = re.compile(r"<guid\s[^<>]*?isPermaLink\s*+=\s*+[\"']false", re.ASCII)

_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));", re.IGNORECASE)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
# The first that an entry has counts.
_DATES = (
    *("lastmod", "updated", "pubDate", "published", "date", "issued", "modified"),
    *("dc:date", "dcterms:modified", "dcterms:issued", "atom:updated"),
)

_ListedFields = tuple[str, str, float | None, float | None, bool]  # the fields of `ListedUrl`


def listed_urls(text: str, base: BaseUrl) -> ListedUrls:
    """Return the URLs of a sitemap or feed, in its order. Never raises."""
    text = _HIDDEN.sub(_show, text) if "<!" in text else text
    found: list[_ListedFields] = []
    at, is_cut = 0, False
    for end in _ENTRY_END.finditer(text):
        prefix, kind = end.groups()
        start, at = text.rfind(f"<{prefix}{kind}", at, end.start()), end.end()
        entry = _read_entry(text[start:at], prefix, base) if start >= 0 else None
        if entry is not None:
            if len(found) >= bounds.LISTED_LIMIT:
                is_cut = True
                break
            found.append((*entry, kind == "sitemap"))
    columns: list[tuple[Any, ...]] = list(zip(*found, strict=True)) or [()] * 5
    urls, titles, modified_seconds, priorities, are_sitemaps = columns
    return ListedUrls(urls, titles, modified_seconds, priorities, are_sitemaps, is_cut)


def listed_lines(text: str, base: BaseUrl) -> ListedUrls:
    """Return the URLs of a plain-text sitemap: one on each line. A text with any other line lists nothing."""
    lines = text.split("\n", bounds.LISTED_LIMIT)
    is_cut = len(lines) > bounds.LISTED_LIMIT and bool(lines.pop().strip())
    addresses = [line.strip() for line in lines if line and not line.isspace()]
    if not all(address.startswith(("http://", "https://")) and " " not in address for address in addresses):
        return ListedUrls()
    return ListedUrls(tuple([url for url in map(base.link, addresses) if url]), is_cut=is_cut)


def gunzip(body: bytes) -> bytes:
    """Decompress up to a bound; of a damaged file, return what comes before the damage."""
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


def _show(hidden: re.Match[str]) -> str:
    """Return nothing for a comment, and the escaped text of a CDATA section."""
    return (hidden[1] or "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _read_entry(xml: str, prefix: str, base: BaseUrl) -> tuple[str, str, float | None, float | None] | None:
    """Return URL, title, date and priority of an entry; None if it has no URL."""
    # The first field of a name counts, and a dictionary keeps the last.
    fields = dict(reversed(_FIELD.findall(xml)))
    if prefix:
        fields = {name.removeprefix(prefix): text for name, text in fields.items()}
    href = _text(fields, "loc") or _text(fields, "link") or _alternate_href(xml) or _permalink(fields, xml)
    url = base.link(href) if href else None
    if url is None:
        return None
    title = " ".join(_text(fields, "title").split())[: bounds.ANCHOR_CHARS] if "title" in fields else ""
    priority = _priority(fields["priority"]) if "priority" in fields else None
    return url, title, _date(fields), priority


def _text(fields: dict[str, str], name: str) -> str:
    text = fields.get(name, "")
    return (_REFERENCE.sub(_character, text) if "&" in text else text).strip()


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _NAMED[name.lower()]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def _alternate_href(xml: str) -> str:
    """Return the href of the first link element that leads to the entry itself, as Atom writes it."""
    for link in _LINK.finditer(xml):
        given = {name: double or single for name, double, single in _ATTRIBUTE.findall(link[1])}
        if given.get("rel", "alternate") == "alternate" and given.get("href"):
            return _text(given, "href")
    return ""


def _permalink(fields: dict[str, str], xml: str) -> str:
    guid = _text(fields, "guid")
    return guid if guid and not _NO_PERMALINK.search(xml) else ""


def _date(fields: dict[str, str]) -> float | None:
    for name in _DATES:
        if name in fields:
            return parse_date(fields[name])
    return None


def _priority(text: str) -> float | None:
    try:
        priority = float(text)
    except ValueError:
        return None
    return priority if 0.0 <= priority <= 1.0 else None
