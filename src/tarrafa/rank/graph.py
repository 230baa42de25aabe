"""The link graph: URLs, hosts and the links of each page's last visit from all parts, and URLs merged into nodes.

URLs, hosts and texts get numbers that hold for all parts. The graph takes about 20 bytes for each link and 40 for each
URL.

Copies of one content, a page that names another page of the collection canonical, and a URL that redirects form one
node with what they lead to. All of them get the node's rank. One URL of a node is its *representative*, and only its
links count. Otherwise a page could copy a famous one, or name it canonical, and pass its rank on to other targets.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from tarrafa.rank.arrays import I64, U32, U64, Mask, distinct_hashes, join_arrays, pack_pairs, sorted_rows, used_numbers
from tarrafa.rank.graph_parts import GraphParts, RowKind

_NEVER = np.iinfo(np.int64).min
_MISSING = np.uint32(0xFFFFFFFF)
_LINK_COLUMNS = ("sources", "moments", "visits", "targets", "texts", "is_redirect")


class LastVisits(NamedTuple):
    """What the last visit of each page says."""

    pages: U32  # numbers of URLs
    signatures: U64
    canonicals: U32  # numbers of URLs
    is_fetched: Mask  # for each URL
    is_nofollow: Mask  # for each URL


class LinkColumns(NamedTuple):
    sources: U32  # numbers of URLs
    targets: U32  # numbers of URLs
    texts: U32  # numbers of texts


class Graph(NamedTuple):
    urls: U64  # fingerprints, sorted
    hosts: U32  # for each URL: the number of its host
    host_hashes: U64  # sorted
    text_hashes: U64  # sorted
    text_numbers: list[U32]  # for each part with links: the numbers of its texts
    visits: LastVisits
    links: LinkColumns
    redirects: LinkColumns


class Nodes(NamedTuple):
    """Nodes are numbered by host: most links stay on a host, and so in the processor's cache."""

    nodes: U32  # for each URL: the number of its node
    representatives: U32  # for each node: the number of a URL
    copies_count: int  # fetched pages that are not representatives
    redirects_count: int  # other URLs that are not representatives


class _UrlNumbers(NamedTuple):
    """The URLs of all parts, and their numbers in the whole graph."""

    urls: U64  # sorted
    hosts: U64  # hash of each URL's host
    numbers: dict[RowKind, list[U32]]  # for the URLs of each part


def read_graph(parts: GraphParts) -> Graph:
    """Join all parts into one graph."""
    urls = _number_urls(parts)
    host_hashes, hosts = np.unique(urls.hosts, return_inverse=True)
    last = _last_moments(parts, urls)
    visits = _last_visits(parts, urls, last)
    part_texts = [hashes for (hashes,) in parts.columns(RowKind.LINKS, "text_hashes")]
    text_hashes, _, numbers = distinct_hashes(join_arrays(part_texts, np.uint64))
    text_numbers = _split(numbers, part_texts)
    last[visits.is_nofollow] = _NEVER
    links, redirects = _links(parts, urls, text_numbers, last)
    return Graph(urls.urls, hosts.astype(np.uint32), host_hashes, text_hashes, text_numbers, visits, links, redirects)


def _number_urls(parts: GraphParts) -> _UrlNumbers:
    columns = {kind: list(parts.columns(kind, "urls", "hosts")) for kind in RowKind}
    part_urls = [urls for kind in RowKind for urls, _ in columns[kind]]
    urls, firsts, numbers = distinct_hashes(join_arrays(part_urls, np.uint64))
    hosts = join_arrays([hosts for kind in RowKind for _, hosts in columns[kind]], np.uint64)[firsts]
    by_part = iter(_split(numbers, part_urls))
    return _UrlNumbers(urls, hosts, {kind: [next(by_part) for _ in columns[kind]] for kind in RowKind})


def _split(numbers: U32, columns: list[U64]) -> list[U32]:
    """Split joined columns into their former lengths."""
    return np.split(numbers, np.cumsum([len(column) for column in columns]))[:-1] if columns else []


def _last_moments(parts: GraphParts, urls: _UrlNumbers) -> I64:
    """Return when each URL was visited last."""
    last = np.full(len(urls.urls), _NEVER)
    for kind, column in ((RowKind.DOCUMENTS, "pages"), (RowKind.LINKS, "sources")):
        columns = parts.columns(kind, column, "moments")
        for numbers, (visited, moments) in zip(urls.numbers[kind], columns, strict=True):
            np.maximum.at(last, numbers[visited], moments)
    return last


def _last_visits(parts: GraphParts, urls: _UrlNumbers, last: I64) -> LastVisits:
    found: list[tuple[NDArray[Any], ...]] = []
    is_fetched, is_nofollow = np.zeros(len(last), np.bool_), np.zeros(len(last), np.bool_)
    for numbers, part in zip(urls.numbers[RowKind.DOCUMENTS], parts.documents(), strict=True):
        pages = numbers[part.pages]
        is_last = part.moments == last[pages]
        found.append((pages[is_last], part.signatures[is_last], numbers[part.canonicals[is_last]]))
        is_fetched[pages[is_last]] = part.is_fetched[is_last]
        is_nofollow[pages[is_last]] = part.is_nofollow[is_last]
    pages, signatures, canonicals = _join_columns(found, (np.uint32, np.uint64, np.uint32))
    return LastVisits(pages, signatures, canonicals, is_fetched, is_nofollow)


def _links(parts: GraphParts, urls: _UrlNumbers, text_numbers: list[U32], last: I64) -> tuple[LinkColumns, LinkColumns]:
    """Return the links of the last visits, and the redirects among them."""
    # Filled in place: joining columns afterwards would take twice the memory.
    links = LinkColumns(*(np.empty(parts.rows_in(RowKind.LINKS), np.uint32) for _ in LinkColumns._fields))
    redirects: list[tuple[NDArray[Any], ...]] = []
    end = 0
    columns = parts.columns(RowKind.LINKS, *_LINK_COLUMNS)
    for own_urls, own_texts, (sources, moments, visits, targets, texts, is_redirect) in zip(
        urls.numbers[RowKind.LINKS], text_numbers, columns, strict=True
    ):
        visited = own_urls[sources]
        is_last = (moments == last[visited])[visits]
        numbers = ((visited, visits), (own_urls, targets), (own_texts, texts))
        redirecting = np.flatnonzero(is_last & is_redirect)
        redirects.append(tuple(of_all[own[redirecting]] for of_all, own in numbers))
        rows = np.flatnonzero(is_last & ~is_redirect)
        first, end = end, end + len(rows)
        for column, (of_all, own) in zip(links, numbers, strict=True):
            column[first:end] = of_all[own[rows]]
    return (
        LinkColumns(*(column[:end] for column in links)),
        LinkColumns(*_join_columns(redirects, (np.uint32,) * 3)),
    )


def _join_columns(rows: list[tuple[NDArray[Any], ...]], dtypes: tuple[Any, ...]) -> list[NDArray[Any]]:
    columns = list(zip(*rows, strict=True)) or [() for _ in dtypes]
    return [join_arrays(list(column), dtype) for column, dtype in zip(columns, dtypes, strict=True)]


def merge_nodes(graph: Graph) -> Nodes:
    """Merge URLs into nodes, and choose the representative of each."""
    pairs = np.concatenate([_canonical_pairs(graph.visits), _copy_pairs(graph.visits), _pairs(graph.redirects)])
    nodes = _components(pairs, len(graph.urls))
    representatives = _representatives(graph, nodes, pairs)
    nodes, representatives = _number_by_host(nodes, representatives, graph.hosts)
    fetched = graph.visits.is_fetched
    pages_count, fetched_nodes = int(fetched.sum()), len(used_numbers(len(representatives), nodes[fetched]))
    copies_count = pages_count - fetched_nodes
    return Nodes(nodes, representatives, copies_count, len(nodes) - len(representatives) - copies_count)


def _canonical_pairs(visits: LastVisits) -> I64:
    """Return pairs of a page and the page that it names canonical, both of which must have been fetched."""
    counts = (visits.canonicals != visits.pages) & visits.is_fetched[visits.canonicals]
    counts &= visits.is_fetched[visits.pages]
    return np.stack([visits.pages[counts], visits.canonicals[counts]], axis=1).astype(np.int64)


def _copy_pairs(visits: LastVisits) -> I64:
    """Return pairs of pages with the same content: each one and the next one by signature."""
    rows = np.flatnonzero((visits.signatures != 0) & visits.is_fetched[visits.pages])
    rows = rows[sorted_rows(visits.signatures[rows])]
    equal = np.flatnonzero(visits.signatures[rows[1:]] == visits.signatures[rows[:-1]])
    pages = visits.pages[rows]
    return np.stack([pages[equal], pages[equal + 1]], axis=1).astype(np.int64)


def _pairs(redirects: LinkColumns) -> I64:
    return np.stack([redirects.sources, redirects.targets], axis=1).astype(np.int64)


def _components(pairs: I64, count: int) -> U32:
    """Return the number of each URL's connected component."""
    if not len(pairs):
        return np.arange(count, dtype=np.uint32)
    # Only URLs in pairs are searched; each of the others is a node by itself.
    involved, ends = np.unique(pairs, return_inverse=True)
    ends = ends.reshape(-1, 2)
    entries = (np.ones(len(ends), np.bool_), (ends[:, 0], ends[:, 1]))
    _, labels = connected_components(sparse.coo_array(entries, shape=(len(involved), len(involved))), directed=False)
    _, firsts = np.unique(labels, return_index=True)
    leaders = np.arange(count, dtype=np.uint32)
    leaders[involved] = involved[firsts[labels]]
    is_leader = leaders == np.arange(count, dtype=np.uint32)
    return (np.cumsum(is_leader, dtype=np.uint32) - np.uint32(1))[leaders]


def _number_by_host(nodes: U32, representatives: U32, hosts: U32) -> tuple[U32, U32]:
    order = np.argsort(hosts[representatives], kind="stable")
    renumbered = np.empty(len(order), np.uint32)
    renumbered[order] = np.arange(len(order), dtype=np.uint32)
    return renumbered[nodes], representatives[order]


def _representatives(graph: Graph, nodes: U32, pairs: I64) -> U32:
    """Choose a URL for each node.

    A fetched page comes first, then a URL that others name or redirect to, then the one with most links from other
    hosts, then the one with the least number.
    """
    count = int(nodes.max()) + 1 if len(nodes) else 0
    chosen = np.full(count, _MISSING)
    chosen[nodes] = np.arange(len(nodes), dtype=np.uint32)
    urls = np.unique(pairs)
    if not len(urls):
        return chosen
    outside = _links_outside(graph, urls)
    named = np.concatenate([_canonical_pairs(graph.visits)[:, 1], _pairs(graph.redirects)[:, 1]])
    is_named = np.isin(urls, named)
    worth = (graph.visits.is_fetched[urls].astype(np.uint64) << np.uint64(33)) + pack_pairs(is_named, 0)
    worth += np.minimum(outside, _MISSING).astype(np.uint64)
    # The last one that is written stays: the worthiest, and among equals the first.
    order = np.lexsort((-urls, worth))
    chosen[nodes[urls[order]]] = urls[order]
    return chosen


def _links_outside(graph: Graph, urls: I64) -> I64:
    """Return how many links from other hosts lead to each of these URLs."""
    is_asked = np.zeros(len(graph.urls), np.bool_)
    is_asked[urls] = True
    rows = np.flatnonzero(is_asked[graph.links.targets])
    sources, targets = graph.links.sources[rows], graph.links.targets[rows]
    outside = targets[graph.hosts[sources] != graph.hosts[targets]]
    return np.bincount(outside, minlength=len(graph.urls))[urls]
