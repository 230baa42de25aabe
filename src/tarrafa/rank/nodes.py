"""URLs merged into nodes.

Copies of one content, a page that names another page of the collection canonical, and a URL that redirects form one
node with what they lead to. All of them get the node's rank. One URL of a node is its *representative*, and only its
links count. Otherwise a page could copy a famous one, or name it canonical, and pass its rank on to other targets.
"""

from typing import NamedTuple

import numpy as np

from tarrafa.rank.arrays import I64, U32, Mask, chunks, runs
from tarrafa.rank.graph import Graph, LastVisits, LinkCounts, UrlPairs, join_pairs

_IS_FETCHED, _IS_NAMED = np.uint32(1 << 31), np.uint32(1 << 30)


class Nodes(NamedTuple):
    """Nodes are numbered by host: most links stay on a host, and so in the processor's cache."""

    nodes: U32  # for each URL: the number of its node
    representatives: U32  # for each node: the number of a URL


class MergedCounts(NamedTuple):
    pages: int  # fetched pages, copies included
    copies: int  # fetched pages that are not representatives
    redirects: int  # other URLs that are not representatives


def merge_nodes(graph: Graph, visits: LastVisits, redirects: UrlPairs, counts: LinkCounts) -> Nodes:
    """Merge URLs into nodes, and choose the representative of each."""
    leaders = merge_pairs(join_pairs([visits.canonicals, visits.copies, redirects]), graph.urls_count)
    worth = np.minimum(counts.links_outside, _IS_NAMED - np.uint32(1), out=counts.links_outside)
    worth[visits.canonicals.others] |= _IS_NAMED
    worth[redirects.others] |= _IS_NAMED
    worth[visits.is_fetched] |= _IS_FETCHED
    return number_by_host(choose_representatives(leaders, worth), graph.hosts(), len(graph.host_hashes))


def merge_pairs(pairs: UrlPairs, count: int) -> U32:
    """Return the first URL of each URL's connected component.

    In each round, all components take the least number among their neighbours; rounds grow by the logarithm only.
    """
    leaders = np.arange(count, dtype=np.uint32)
    urls, others = pairs
    while len(urls):
        left, right = leaders[urls], leaders[others]
        np.minimum.at(leaders, np.maximum(left, right), np.minimum(left, right))
        for column in pairs:
            while not np.array_equal(found := leaders[leaders[column]], leaders[column]):
                leaders[column] = found
        apart = leaders[urls] != leaders[others]
        urls, others = urls[apart], others[apart]
    return leaders


def choose_representatives(leaders: U32, worth: U32) -> U32:
    """Return the worthiest URL of each URL's component; among equals, the one with the least number.

    A fetched page comes first, then a URL that others name or redirect to, then the one with most links from other
    hosts.
    """
    best = np.zeros_like(worth)
    for chunk in chunks(len(leaders)):
        np.maximum.at(best, leaders[chunk], worth[chunk])
    # From the end: the last one that is written stays.
    chosen = np.zeros_like(leaders)
    for chunk in reversed(list(chunks(len(leaders)))):
        rows = chunk.start + np.flatnonzero(worth[chunk] == best[leaders[chunk]])[::-1]
        chosen[leaders[rows]] = rows
    for chunk in chunks(len(leaders)):
        leaders[chunk] = chosen[leaders[chunk]]
    return leaders


def number_by_host(chosen: U32, hosts: U32, hosts_count: int) -> Nodes:
    """Number the representatives, host by host, by a counting sort. `chosen` has the representative of each URL."""
    counts = np.zeros(hosts_count, np.int64)
    for chunk in chunks(len(chosen)):
        np.add.at(counts, hosts[_chosen_in(chosen, chunk)], 1)
    following = np.concatenate([[0], np.cumsum(counts)])
    representatives, numbers = np.empty(int(following[-1]), np.uint32), np.empty_like(chosen)
    for chunk in chunks(len(chosen)):
        urls = _chosen_in(chosen, chunk)
        urls = urls[np.argsort(hosts[urls], kind="stable")]
        numbers[urls] = _take_numbers(following, hosts[urls])
        representatives[numbers[urls]] = urls
    for chunk in chunks(len(chosen)):
        chosen[chunk] = numbers[chosen[chunk]]
    return Nodes(chosen, representatives)


def _chosen_in(chosen: U32, chunk: slice) -> I64:
    """Return the URLs of a chunk that are representatives."""
    urls = np.arange(chunk.start, chunk.stop)
    found: I64 = urls[chosen[chunk] == urls]
    return found


def _take_numbers(following: I64, hosts: U32) -> I64:
    """Return the next numbers of some hosts, which are sorted; `following` has the next number of each host."""
    starts, counts = runs(hosts)
    owners = hosts[starts]
    found = np.repeat(following[owners] - starts, counts) + np.arange(len(hosts))
    following[owners] += counts
    return found


def count_merged(nodes: Nodes, is_fetched: Mask) -> MergedCounts:
    pages = int(is_fetched.sum())
    copies = pages - int(is_fetched[nodes.representatives].sum())
    return MergedCounts(pages, copies, len(nodes.nodes) - len(nodes.representatives) - copies)
