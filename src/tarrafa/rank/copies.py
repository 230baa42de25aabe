"""Which URLs are one node of the graph, and which URL of a node is its home.

Copies of one content, a page that names another one of the collection canonical, and a URL that redirects are one node
with what they lead to. All of them get the node's rank.

Only the links of the home count. Otherwise whoever copies a famous page, or names it canonical, could hand the rank of
the original on to whatever the copy links to.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from tarrafa.rank.columns import I64, U32, packed, sorted_rows, used_numbers
from tarrafa.rank.graph import Graph, LinkColumns, Visited

_MISSING = np.uint32(0xFFFFFFFF)


class Nodes(NamedTuple):
    """Nodes are numbered by the host of their home: most links stay on a host, and so in the processor's cache."""

    nodes: U32  # of each URL: the number of its node
    homes: U32  # of each node: the number of a URL
    copies: int  # pages beside the home of their node
    redirects: int  # URLs that are one with what they lead to, though no page was fetched there


def nodes_of(graph: Graph) -> Nodes:
    pairs = np.concatenate([_canonical(graph.visited), _same_content(graph.visited), _led(graph.redirects)])
    nodes = _components(pairs, len(graph.urls))
    homes = _homes(graph, nodes, pairs)
    nodes, homes = _by_host(nodes, homes, graph.hosts)
    fetched = graph.visited.is_fetched
    pages, fetched_nodes = int(fetched.sum()), len(used_numbers(len(homes), nodes[fetched]))
    merged = len(nodes) - len(homes)
    copies = pages - fetched_nodes
    return Nodes(nodes, homes, copies, merged - copies)


def _canonical(visited: Visited) -> I64:
    """Pairs of a page and the one that it names. What is not in the collection cannot stand for anything."""
    counts = (visited.canonicals != visited.pages) & visited.is_fetched[visited.canonicals]
    counts &= visited.is_fetched[visited.pages]
    return np.stack([visited.pages[counts], visited.canonicals[counts]], axis=1).astype(np.int64)


def _same_content(visited: Visited) -> I64:
    """Each page, in the order of signatures, with the next one that has the same."""
    rows = np.flatnonzero((visited.signatures != 0) & visited.is_fetched[visited.pages])
    rows = rows[sorted_rows(visited.signatures[rows])]
    equal = np.flatnonzero(visited.signatures[rows[1:]] == visited.signatures[rows[:-1]])
    pages = visited.pages[rows]
    return np.stack([pages[equal], pages[equal + 1]], axis=1).astype(np.int64)


def _led(redirects: LinkColumns) -> I64:
    return np.stack([redirects.sources, redirects.targets], axis=1).astype(np.int64)


def _components(pairs: I64, count: int) -> U32:
    if not len(pairs):
        return np.arange(count, dtype=np.uint32)
    # Only URLs in pairs are searched; each of the others is a node by itself.
    involved, ends = np.unique(pairs, return_inverse=True)
    ends = ends.reshape(-1, 2)
    places = (np.ones(len(ends), np.bool_), (ends[:, 0], ends[:, 1]))
    _, labels = connected_components(sparse.coo_array(places, shape=(len(involved), len(involved))), directed=False)
    _, firsts = np.unique(labels, return_index=True)
    leaders = np.arange(count, dtype=np.uint32)
    leaders[involved] = involved[firsts[labels]]
    is_leader = leaders == np.arange(count, dtype=np.uint32)
    return (np.cumsum(is_leader, dtype=np.uint32) - np.uint32(1))[leaders]


def _by_host(nodes: U32, homes: U32, hosts: U32) -> tuple[U32, U32]:
    order = np.argsort(hosts[homes], kind="stable")
    renumbered = np.empty(len(order), np.uint32)
    renumbered[order] = np.arange(len(order), dtype=np.uint32)
    return renumbered[nodes], homes[order]


def _homes(graph: Graph, nodes: U32, pairs: I64) -> U32:
    """A page that was fetched; that others name or lead to; with most links from other hosts; with the least number."""
    count = int(nodes.max()) + 1 if len(nodes) else 0
    homes = np.full(count, _MISSING)
    homes[nodes] = np.arange(len(nodes), dtype=np.uint32)
    urls = np.unique(pairs)
    if not len(urls):
        return homes
    outside = _links_outside(graph, urls)
    named = np.concatenate([_canonical(graph.visited)[:, 1], _led(graph.redirects)[:, 1]])
    is_named = np.isin(urls, named)
    worth = (graph.visited.is_fetched[urls].astype(np.uint64) << np.uint64(33)) + packed(is_named, 0)
    worth += np.minimum(outside, _MISSING).astype(np.uint64)
    # The last one that is written stands: the worthiest, and among equals the first.
    order = np.lexsort((-urls, worth))
    homes[nodes[urls[order]]] = urls[order]
    return homes


def _links_outside(graph: Graph, urls: I64) -> I64:
    """How many links from other hosts lead to each of these URLs."""
    is_asked = np.zeros(len(graph.urls), np.bool_)
    is_asked[urls] = True
    rows = np.flatnonzero(is_asked[graph.links.targets])
    sources, targets = graph.links.sources[rows], graph.links.targets[rows]
    outside = targets[graph.hosts[sources] != graph.hosts[targets]]
    return np.bincount(outside, minlength=len(graph.urls))[urls]
