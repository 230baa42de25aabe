"""All parts as one graph: URLs, hosts, and the links of the last visit of each page.

URLs, hosts and texts get numbers that hold for all parts. Memory: about 20 bytes for each link, 40 for each URL.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.rank.columns import I64, U32, U64, Marks, distinct, joined
from tarrafa.rank.parts import GraphParts, RowKind

_NEVER = np.iinfo(np.int64).min
_LINK_COLUMNS = ("sources", "moments", "visits", "targets", "texts", "is_redirect")


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
    text_numbers: list[U32]  # of each part with links: the numbers of its texts
    visited: Visited
    links: LinkColumns
    redirects: LinkColumns


class _Names(NamedTuple):
    """What the numbers of parts are in the whole graph."""

    urls: U64  # sorted
    hosts: U64  # hash of each URL's host
    numbers: dict[RowKind, list[U32]]  # of the URLs of each part


def read_graph(parts: GraphParts) -> Graph:
    names = _names(parts)
    host_hashes, hosts = np.unique(names.hosts, return_inverse=True)
    last = _last_moments(parts, names)
    visited = _visited(parts, names, last)
    part_texts = [hashes for (hashes,) in parts.columns(RowKind.LINKS, "text_hashes")]
    text_hashes, _, numbers = distinct(joined(part_texts, np.uint64))
    text_numbers = _split(numbers, part_texts)
    last[visited.is_nofollow] = _NEVER
    links, redirects = _links(parts, names, text_numbers, last)
    return Graph(names.urls, hosts.astype(np.uint32), host_hashes, text_hashes, text_numbers, visited, links, redirects)


def _names(parts: GraphParts) -> _Names:
    columns = {kind: list(parts.columns(kind, "urls", "hosts")) for kind in RowKind}
    part_urls = [urls for kind in RowKind for urls, _ in columns[kind]]
    urls, firsts, numbers = distinct(joined(part_urls, np.uint64))
    hosts = joined([hosts for kind in RowKind for _, hosts in columns[kind]], np.uint64)[firsts]
    by_part = iter(_split(numbers, part_urls))
    return _Names(urls, hosts, {kind: [next(by_part) for _ in columns[kind]] for kind in RowKind})


def _split(numbers: U32, columns: list[U64]) -> list[U32]:
    """As the columns were before they were joined."""
    return np.split(numbers, np.cumsum([len(column) for column in columns]))[:-1] if columns else []


def _last_moments(parts: GraphParts, names: _Names) -> I64:
    """Of each URL when it was visited last."""
    last = np.full(len(names.urls), _NEVER)
    for kind, column in ((RowKind.DOCUMENTS, "pages"), (RowKind.LINKS, "sources")):
        for numbers, (visited, moments) in zip(
            names.numbers[kind], parts.columns(kind, column, "moments"), strict=True
        ):
            np.maximum.at(last, numbers[visited], moments)
    return last


def _visited(parts: GraphParts, names: _Names, last: I64) -> Visited:
    found: list[tuple[NDArray[Any], ...]] = []
    is_fetched, is_nofollow = np.zeros(len(last), np.bool_), np.zeros(len(last), np.bool_)
    for numbers, part in zip(names.numbers[RowKind.DOCUMENTS], parts.documents(), strict=True):
        pages = numbers[part.pages]
        is_last = part.moments == last[pages]
        found.append((pages[is_last], part.signatures[is_last], numbers[part.canonicals[is_last]]))
        is_fetched[pages[is_last]] = part.is_fetched[is_last]
        is_nofollow[pages[is_last]] = part.is_nofollow[is_last]
    pages, signatures, canonicals = _joined_all(found, (np.uint32, np.uint64, np.uint32))
    return Visited(pages, signatures, canonicals, is_fetched, is_nofollow)


def _links(parts: GraphParts, names: _Names, text_numbers: list[U32], last: I64) -> tuple[LinkColumns, LinkColumns]:
    """Those of the last visits, and those of these that are redirects."""
    # Filled in place: columns that are joined later would take twice the memory, and the time to copy them.
    links = LinkColumns(*(np.empty(parts.rows_in(RowKind.LINKS), np.uint32) for _ in LinkColumns._fields))
    redirects: list[tuple[NDArray[Any], ...]] = []
    end = 0
    columns = parts.columns(RowKind.LINKS, *_LINK_COLUMNS)
    for own_urls, own_texts, (sources, moments, visits, targets, texts, is_redirect) in zip(
        names.numbers[RowKind.LINKS], text_numbers, columns, strict=True
    ):
        visited = own_urls[sources]
        is_last = (moments == last[visited])[visits]
        numbers = ((visited, visits), (own_urls, targets), (own_texts, texts))
        leading = np.flatnonzero(is_last & is_redirect)
        redirects.append(tuple(of_all[own[leading]] for of_all, own in numbers))
        kept = np.flatnonzero(is_last & ~is_redirect)
        rows = slice(None) if len(kept) == len(visits) else kept
        first, end = end, end + len(kept)
        for column, (of_all, own) in zip(links, numbers, strict=True):
            column[first:end] = of_all[own[rows]]
    kinds = (np.uint32,) * 3
    return LinkColumns(*(column[:end] for column in links)), LinkColumns(*_joined_all(redirects, kinds))


def _joined_all(rows: list[tuple[NDArray[Any], ...]], kinds: tuple[Any, ...]) -> list[NDArray[Any]]:
    """Column by column; what a part had is given back as soon as it is copied."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in kinds]
    rows.clear()
    return [joined(columns.pop(0), kind) for kind in kinds]
