"""Find the hrefs in attributes and headers, and tell which of them lead to a page."""

import re
from collections.abc import Iterator

from tarrafa.extract import bounds
from tarrafa.extract.records import LinkKind
from tarrafa.records import Headers, Page

# A link before it is resolved: href, text, rel, kind.
Href = tuple[str, str, str, LinkKind]


# Relations of link elements and Link headers that lead to pages for a reader. All others load something (stylesheet,
# icon, preload), name a service (pingback, search) or only prepare a connection.
_PAGE_RELS = frozenset(
    (
        *("alternate", "amphtml", "archives", "author", "bookmark", "canonical", "chapter", "contents", "copyright"),
        *("first", "glossary", "help", "index", "last", "license", "me", "next", "prev", "previous"),
        *("privacy-policy", "section", "shortlink", "sitemap", "start", "tag", "terms-of-service", "up"),
    )
)
_READABLE_TYPES = frozenset(
    (
        *("text/html", "application/xhtml+xml", "application/rss+xml", "application/atom+xml"),
        *("application/rdf+xml", "application/xml", "text/xml", "text/plain"),
    )
)


def leads_to_page(rel: str, media_type: str) -> bool:
    """Return True if a link element with this rel (in lower case) and type leads to a page for a reader."""
    words = rel.split()
    if "stylesheet" in words or _PAGE_RELS.isdisjoint(words):
        return False
    plain_type = media_type.partition(";")[0].strip().lower()
    return not plain_type or plain_type in _READABLE_TYPES


def normalize_rel(rel: str) -> str:
    return " ".join(rel[: bounds.REL_CHARS].lower().split())


# By the HTML standard: a number, a separator, then the address, with or without `url=` and quotes.
_REFRESH = re.compile(
    r"\s*+ (?:[0-9]|(?=\.)) [0-9.]*+ (?: \s*+[;,] | \s++ ) \s*+ (?:url\s*+=\s*+)? (?: (['\"]) | ) (.*)",
    re.VERBOSE | re.IGNORECASE | re.ASCII | re.DOTALL,
)


def refresh_href(content: str) -> str | None:
    match = _REFRESH.fullmatch(content[: 2 * bounds.HREF_CHARS])
    if not match or not match[2]:
        return None
    return match[2].partition(match[1])[0] if match[1] else match[2]


_BETWEEN_IMAGES = ", \t\n\f\r"


def srcset_hrefs(srcset: str) -> list[str]:
    """Return the addresses of a srcset. Commas within an address belong to it; those around it do not."""
    found: list[str] = []
    rest = srcset[: bounds.SRCSET_LIMIT * bounds.HREF_CHARS].lstrip(_BETWEEN_IMAGES)
    while rest and len(found) < bounds.SRCSET_LIMIT:
        href, *after = rest.split(maxsplit=1)
        found.append(href.rstrip(","))
        rest = after[0] if after else ""
        if not href.endswith(","):
            rest = rest.partition(",")[2]
        rest = rest.lstrip(_BETWEEN_IMAGES)
    return found


_LINK_VALUE = re.compile(r"[\s,]*+<([^<>]*+)>([^<]*+)")
_LINK_RELS = re.compile(r";\s*+rel\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;,\"]++))", re.IGNORECASE)
_LINK_TYPE = re.compile(r";\s*+type\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;,\"]++))", re.IGNORECASE)
_LINK_ANCHOR = re.compile(r";\s*+anchor\s*+=", re.IGNORECASE)


def header_hrefs(page: Page) -> list[Href]:
    """Return the hrefs of the HTTP header: redirect, refresh, links."""
    found: list[Href] = []
    location = page.header("location")
    if location is not None and 300 <= page.status < 400:
        found.append((header_text(location), "", "", LinkKind.REDIRECT))
    refresh = refresh_href(header_text(page.header("refresh") or ""))
    if refresh is not None:
        found.append((refresh, "", "", LinkKind.REFRESH))
    return found + [(href, "", rel, LinkKind.HEADER) for href, rel in _link_header(page.headers)]


def _link_header(headers: Headers) -> Iterator[tuple[str, str]]:
    value = ",".join(value for name, value in headers if name.lower() == "link")
    at = 0
    for _ in range(bounds.HEADER_LINKS_LIMIT if value else 0):
        match = _LINK_VALUE.match(value, at)
        if match is None:
            return
        at = match.end()
        rel, media_type = _parameter(_LINK_RELS, match[2]), _parameter(_LINK_TYPE, match[2])
        # With an anchor it is the link of another page.
        if leads_to_page(rel, media_type) and not _LINK_ANCHOR.search(match[2]):
            yield header_text(match[1]), normalize_rel(rel)


def _parameter(pattern: re.Pattern[str], parameters: str) -> str:
    match = pattern.search(parameters)
    return (match[1] or match[2] or "").lower() if match else ""


def header_text(value: str) -> str:
    """Return a header's value, which arrives as Latin-1, as UTF-8 if it can be read so, as browsers do."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
