"""All parts as one graph: URLs, hosts, and the links of the last visit of each page.

URLs, hosts and texts get numbers that hold for all parts. Memory: about 20 bytes for each link, 40 for each URL.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.rank.columns import I64, U32, U64, Marks, joined
from tarrafa.rank.parts import Kind, Parts

_NEVER = np.iinfo(np.int64).min


class Visited(NamedTuple):
    """What the last visit of each page says of it."""

    pages: U32  # numbers of URLs
    signatures: U64
    canonicals: U32  # numbers of URLs
    is_fetched: Marks  # of each URL
    is_nofollow: Marks  # of each URL


class LinkColumns(NamedTuple):
    sources: U32  # numbers of URLs
    targets: U32  # numbers of URLs
    texts: U32  # numbers of texts


class Graph(NamedTuple):
    urls: U64  # fingerprints, sorted
    hosts: U32  # of each URL: the number of its host
    host_hashes: U64  # sorted
    text_hashes: U64  # sorted
    visited: Visited
    links: LinkColumns
    redirects: LinkColumns


def read_graph(parts: Parts) -> Graph:
    urls, host_of_urls = _urls(parts)
    host_hashes, hosts = np.unique(host_of_urls, return_inverse=True)
    last = _last_moments(parts, urls)
    visited = _visited(parts, urls, last)
    text_hashes = _sorted_union([hashes for (hashes,) in parts.columns(Kind.LINKS, "text_hashes")])
    last[visited.is_nofollow] = _NEVER
    links, redirects = _links(parts, urls, text_hashes, last)
    return Graph(urls, hosts.astype(np.uint32), host_hashes, text_hashes, visited, links, redirects)


def _sorted_union(columns: list[U64]) -> U64:
    found = joined(columns, np.uint64)
    found.sort()
    is_first = np.ones(len(found), np.bool_)
    np.not_equal(found[1:], found[:-1], out=is_first[1:])
    return found[is_first]


def _urls(parts: Parts) -> tuple[U64, U64]:
    """Every URL, and the hash of its host."""
    urls = _sorted_union([urls for (urls,) in parts.columns(None, "urls")])
    hosts = np.zeros(len(urls), np.uint64)
    for part_urls, part_hosts in parts.columns(None, "urls", "hosts"):
        hosts[np.searchsorted(urls, part_urls)] = part_hosts
    return urls, hosts


def _numbers(urls: U64, part_urls: U64) -> U32:
    """Of a part's numbers those that hold for all. Both columns are sorted, which makes the search fast."""
    return np.searchsorted(urls, part_urls).astype(np.uint32)


def _last_moments(parts: Parts, urls: U64) -> I64:
    """Of each URL when it was visited last."""
    last = np.full(len(urls), _NEVER)
    for kind, column in ((Kind.DOCUMENTS, "pages"), (Kind.LINKS, "sources")):
        for part_urls, visited, moments in parts.columns(kind, "urls", column, "moments"):
            np.maximum.at(last, _numbers(urls, part_urls)[visited], moments)
    return last


def _visited(parts: Parts, urls: U64, last: I64) -> Visited:
    found: list[tuple[NDArray[Any], ...]] = []
    is_fetched, is_nofollow = np.zeros(len(urls), np.bool_), np.zeros(len(urls), np.bool_)
    for part in parts.documents():
        numbers = _numbers(urls, part.urls)
        pages = numbers[part.pages]
        is_last = part.moments == last[pages]
        found.append((pages[is_last], part.signatures[is_last], numbers[part.canonicals[is_last]]))
        is_fetched[pages[is_last]] = part.is_fetched[is_last]
        is_nofollow[pages[is_last]] = part.is_nofollow[is_last]
    pages, signatures, canonicals = _joined_all(found, (np.uint32, np.uint64, np.uint32))
    return Visited(pages, signatures, canonicals, is_fetched, is_nofollow)


def _links(parts: Parts, urls: U64, text_hashes: U64, last: I64) -> tuple[LinkColumns, LinkColumns]:
    """Those of the last visits, and those of these that are redirects."""
    links: list[tuple[NDArray[Any], ...]] = []
    redirects: list[tuple[NDArray[Any], ...]] = []
    for part_urls, part_texts, sources, moments, *columns in parts.columns(
        Kind.LINKS, "urls", "text_hashes", "sources", "moments", "visits", "targets", "texts", "is_redirect"
    ):
        visits, targets, texts, is_redirect = columns
        numbers = _numbers(urls, part_urls)
        visited = numbers[sources]
        kept = np.flatnonzero((moments == last[visited])[visits])
        text_numbers = np.searchsorted(text_hashes, part_texts).astype(np.uint32)
        found = (visited[visits[kept]], numbers[targets[kept]], text_numbers[texts[kept]])
        leads = np.flatnonzero(is_redirect[kept])
        redirects.append(tuple(column[leads] for column in found))
        links.append(tuple(np.delete(column, leads) for column in found) if len(leads) else found)
    kinds = (np.uint32,) * 3
    return LinkColumns(*_joined_all(links, kinds)), LinkColumns(*_joined_all(redirects, kinds))


def _joined_all(rows: list[tuple[NDArray[Any], ...]], kinds: tuple[Any, ...]) -> list[NDArray[Any]]:
    """Column by column; what a part had is given back as soon as it is copied."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in kinds]
    rows.clear()
    return [joined(columns.pop(0), kind) for kind in kinds]
