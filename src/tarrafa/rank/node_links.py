"""Links between nodes: from the links of all parts to the matrices of pages and hosts, and to groups of links.

Links are split into buckets by their targets. So all links of a group, and all links of one page to another, are in
one bucket, and each bucket becomes a block of both matrices.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tarrafa.rank.arrays import I64, U32, Mask, chunks, pack_pairs
from tarrafa.rank.bucket_file import BucketFile, buckets_of_numbers, even_edges
from tarrafa.rank.generation import RankSettings
from tarrafa.rank.graph import Graph
from tarrafa.rank.link_groups import LinkGroups, weigh_links
from tarrafa.rank.link_matrix import LinkMatrix, link_block
from tarrafa.rank.nodes import Nodes
from tarrafa.rank.scratch import Scratch


class LinkBuckets(NamedTuple):
    """Links between nodes, by the bucket of their target."""

    file: BucketFile  # source, target, text
    edges: I64  # the node at which each bucket begins, and the number of nodes
    has_links: Mask  # for each node: True if links leave it


class NodeLinks(NamedTuple):
    pages: LinkMatrix  # links between nodes
    hosts: LinkMatrix  # links between hosts; each group counts as one
    counts: BucketFile  # for each node: nodes that link to it, and those of other hosts among them
    groups: BucketFile  # host, target, text of each group with a text; by host and text
    edges: I64  # the node at which each block begins, and the number of nodes


def target_edges(links_in: U32, nodes: Nodes) -> I64:
    """Return the nodes at which buckets of targets begin, and the number of nodes. `links_in` counts links by URL."""
    counts = np.zeros(len(nodes.representatives), np.int64)
    for chunk in chunks(len(links_in)):
        np.add.at(counts, nodes.nodes[chunk], links_in[chunk].astype(np.int64))
    return even_edges(counts)


def split_links(graph: Graph, nodes: Nodes, counted: list[Mask], edges: I64, scratch: Scratch) -> LinkBuckets:
    """Split the links from nodes to other nodes into buckets. Only links of representatives count."""
    file = BucketFile(scratch, len(edges) - 1, np.uint32, np.uint32, np.uint32)
    has_links = np.zeros(len(nodes.representatives), np.bool_)
    parts = graph.links("sources", "visits", "targets", "texts", "is_redirect")
    for part, (urls, (sources, visits, targets, texts, is_redirect)) in enumerate(parts):
        own_nodes, text_numbers = nodes.nodes[urls], graph.texts(part)
        is_representative = nodes.representatives[own_nodes[sources]] == urls[sources]
        rows = np.flatnonzero((counted[part] & is_representative)[visits] & ~is_redirect)
        from_nodes, to_nodes = own_nodes[sources][visits[rows]], own_nodes[targets[rows]]
        others = np.flatnonzero(from_nodes != to_nodes)
        rows, from_nodes, to_nodes = rows[others], from_nodes[others], to_nodes[others]
        has_links[from_nodes] = True
        url_buckets = np.searchsorted(edges, own_nodes, "right") - 1
        file.add(url_buckets[targets[rows]], from_nodes, to_nodes, text_numbers[texts[rows]])
    return LinkBuckets(file, edges, has_links)


def link_nodes(
    links: LinkBuckets, node_hosts: U32, hosts_count: int, no_text: int, settings: RankSettings, scratch: Scratch
) -> NodeLinks:
    """Weigh all links, bucket by bucket. `no_text` is the number of the empty text; -1 if there is none."""
    host_pages = _count_pages(links.has_links, node_hosts, hosts_count)
    found = NodeLinks(
        pages=LinkMatrix(scratch, len(node_hosts)),
        hosts=LinkMatrix(scratch, hosts_count),
        counts=BucketFile(scratch, 1, np.uint32, np.uint32),
        groups=BucketFile(scratch, links.file.buckets_count, np.uint32, np.uint32, np.uint32),
        edges=links.edges,
    )
    for bucket, (first, end) in enumerate(pairwise(links.edges.tolist())):
        sources, targets, texts = (links.file.read(bucket, column) for column in range(3))
        own_hosts = LinkGroups(node_hosts[sources], targets, texts)
        weights, groups = weigh_links(own_hosts, host_pages, settings.template_share, settings.template_few)
        block = link_block(sources, targets - np.uint32(first), weights, (end - first, len(node_hosts)))
        found.pages.add(first, block)
        found.counts.append(*_count_links(block, node_hosts, first))
        _add_host_links(found.hosts, groups, node_hosts)
        _add_groups(found.groups, groups, no_text)
    return found


def _count_pages(has_links: Mask, node_hosts: U32, hosts_count: int) -> I64:
    """Return how many nodes of each host have links."""
    found = np.zeros(hosts_count, np.int64)
    for chunk in chunks(len(node_hosts)):
        np.add.at(found, node_hosts[chunk][has_links[chunk]], 1)
    return found


def _count_links(block: sparse.csr_array, node_hosts: U32, first: int) -> tuple[I64, I64]:
    """Return how many nodes link to each node of a block, and how many of them are of other hosts."""
    counts = np.diff(block.indptr)
    targets = np.repeat(np.arange(len(counts)), counts)
    outside = targets[node_hosts[block.indices] != node_hosts[first:][targets]]
    return counts, np.bincount(outside, minlength=len(counts))


def _add_host_links(matrix: LinkMatrix, groups: LinkGroups, node_hosts: U32) -> None:
    """Add the links between hosts. Each group counts as one link."""
    targets = node_hosts[groups.targets]
    outside = np.flatnonzero(groups.hosts != targets)
    sources, targets = groups.hosts[outside], targets[outside]
    if len(targets):
        first, last = int(targets.min()), int(targets.max())
        shape = (last - first + 1, matrix.count)
        weights = np.ones(len(targets), np.float32)
        matrix.add(first, link_block(sources, targets - np.uint32(first), weights, shape, weight_max=float("inf")))


def _add_groups(file: BucketFile, groups: LinkGroups, no_text: int) -> None:
    """Split groups with a text by their hosts and texts."""
    rows = np.flatnonzero(groups.texts != no_text)
    kept = LinkGroups(*(column[rows] for column in groups))
    file.add(buckets_of_numbers(pack_pairs(kept.hosts, kept.texts), file.buckets_count), *kept)
