"""From parts to the columns of a generation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from tarrafa.rank import pagerank as iteration
from tarrafa.rank.anchors import Anchors, anchors_of
from tarrafa.rank.columns import F32, F64, I64, U32, U64, fingerprints_of, renumbering, rows_of_runs, runs, used_numbers
from tarrafa.rank.copies import Nodes, nodes_of
from tarrafa.rank.graph import Graph, LinkColumns, read_graph
from tarrafa.rank.pagerank import PageRankResult, link_matrix, pagerank
from tarrafa.rank.parts import GraphParts, RowKind
from tarrafa.rank.weights import Groups, weights_of

_PIECE_ROWS = 1 << 17  # that stay in the processor's cache

# Ranks of last time for fingerprints: 0 for those that are new.
Former = Callable[[U64], F32]
# Called with what is being done.
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RankSettings:
    damping: float = iteration.DAMPING
    tolerance: float = iteration.TOLERANCE
    iterations_max: int = iteration.ITERATIONS_MAX
    # A link on more than this share of a host's pages belongs to a template, and counts like a few.
    template_share: float = 0.5
    template_few: int = 5
    anchors_max: int = 20  # texts of one target
    anchor_targets_max: int = 20  # of one text of one host; a text that is used for more says nothing


class RankCounts(NamedTuple):
    pages: int  # that were fetched, copies included
    urls: int  # pages, and all that links lead to
    hosts: int
    links: int  # from one node to another, each once
    copies: int
    redirects: int
    anchors: int  # texts of a target
    iterations: int


class Columns(NamedTuple):
    """What a generation holds; each is a file of that name."""

    urls: U64  # fingerprints, sorted
    rank: F32
    host_rank: F32
    links_in: U32
    links_outside: U32
    nodes: U32  # of each URL
    homes: U64  # of each node: the fingerprint of the page that stands for it; 0 if none was fetched
    anchor_starts: I64  # of each node, and where the last ends
    anchor_texts: U32
    anchor_votes: U32
    text_edges: I64
    text_bytes: np.ndarray[tuple[int], np.dtype[np.uint8]]
    hosts: U64  # hashes, sorted
    host_ranks: F32
    host_pages: U32  # fetched ones


class _Linked(NamedTuple):
    """Links between nodes."""

    matrix: sparse.csr_array  # a row for each target
    groups: Groups
    node_hosts: U32


def compute(parts: GraphParts, settings: RankSettings, former: Former | None, told: Told) -> tuple[Columns, RankCounts]:
    """All that the parts hold. `former` makes it faster, and changes nothing else."""
    told("reading links")
    graph = read_graph(parts)
    told("merging copies")
    merged = nodes_of(graph)
    told("weighing links")
    links = _between_nodes(graph, merged)
    # Links are what takes most memory, so those of the graph are given back as soon as they are not needed.
    graph = graph._replace(links=graph.redirects)
    linked = _linked(links, graph.hosts[merged.homes], settings)
    del links
    told("ranking pages")
    start = None if former is None else former(graph.urls[merged.homes]).astype(np.float64)
    pages = _ranked(linked.matrix, settings, start)
    told("ranking hosts")
    hosts = _ranked(_host_matrix(linked, len(graph.host_hashes)), settings, None)
    told("counting anchor texts")
    links_in, links_count, groups = _links_in(linked), linked.matrix.nnz, linked.groups
    del linked
    anchors = _anchors(graph, groups, len(merged.homes), settings)
    columns = _columns(graph, merged, links_in, pages.ranks, hosts.ranks, anchors, parts)
    counts = RankCounts(
        pages=int(graph.visited.is_fetched.sum()),
        urls=len(graph.urls),
        hosts=len(graph.host_hashes),
        links=links_count,
        copies=merged.copies,
        redirects=merged.redirects,
        anchors=len(anchors.texts),
        iterations=pages.iterations,
    )
    return columns, counts


def _ranked(matrix: sparse.csr_array, settings: RankSettings, start: F64 | None) -> PageRankResult:
    return pagerank(matrix, start, settings.damping, settings.tolerance, settings.iterations_max)


def _between_nodes(graph: Graph, merged: Nodes) -> LinkColumns:
    """The links, from node to node, sorted by source. Only a node's home speaks, and to itself it says nothing."""
    starts, counts = runs(graph.links.sources)
    urls = graph.links.sources[starts]
    nodes = merged.nodes[urls]
    speaking = np.flatnonzero(merged.homes[nodes] == urls)
    speaking = speaking[np.argsort(nodes[speaking], kind="stable")]
    found = LinkColumns(*(np.empty(int(counts[speaking].sum()), np.uint32) for _ in LinkColumns._fields))
    end = 0
    for few in np.array_split(speaking, len(graph.links.sources) // _PIECE_ROWS + 1):
        rows = rows_of_runs(starts[few], counts[few])
        sources, targets = np.repeat(nodes[few], counts[few]), merged.nodes[graph.links.targets[rows]]
        others = np.flatnonzero(sources != targets)
        first, end = end, end + len(others)
        for column, own in zip(found, (sources, targets, graph.links.texts[rows]), strict=True):
            column[first:end] = own[others]
    return LinkColumns(*(column[:end] for column in found))


def _linked(links: LinkColumns, node_hosts: U32, settings: RankSettings) -> _Linked:
    weights, groups = weights_of(*links, node_hosts, settings.template_share, settings.template_few)
    # Seen as what scipy wants, they need not be copied.
    sources, targets = links.sources.view(np.int32), links.targets.view(np.int32)
    return _Linked(link_matrix(sources, targets, weights, len(node_hosts)), groups, node_hosts)


def _host_matrix(linked: _Linked, count: int) -> sparse.csr_array:
    """As many links as groups lead from one host to another: a text and a target count once for each host."""
    sources, targets = linked.groups.hosts, linked.node_hosts[linked.groups.targets]
    outside = np.flatnonzero(sources != targets)
    places = (targets[outside].astype(np.int32), sources[outside].astype(np.int32))
    return sparse.coo_array((np.ones(len(outside), np.float32), places), shape=(count, count)).tocsr()


def _anchors(graph: Graph, groups: Groups, nodes_count: int, settings: RankSettings) -> Anchors:
    empty = fingerprints_of([""])[0]
    place = int(np.searchsorted(graph.text_hashes, empty))
    is_there = place < len(graph.text_hashes) and graph.text_hashes[place] == empty
    return anchors_of(groups, place if is_there else -1, nodes_count, settings.anchors_max, settings.anchor_targets_max)


def _columns(
    graph: Graph,
    merged: Nodes,
    linking: tuple[U32, U32],
    page_ranks: F64,
    host_ranks: F64,
    anchors: Anchors,
    parts: GraphParts,
) -> Columns:
    nodes, fetched = merged.nodes, graph.visited.is_fetched
    links_in, links_outside = linking
    used = used_numbers(len(graph.text_hashes), anchors.texts)
    text_places = renumbering(len(graph.text_hashes), used)
    text_edges, text_bytes = _texts(parts, graph.text_numbers, text_places, used)
    return Columns(
        urls=graph.urls,
        rank=page_ranks.astype(np.float32)[nodes],
        host_rank=host_ranks.astype(np.float32)[graph.hosts],
        links_in=links_in[nodes],
        links_outside=links_outside[nodes],
        nodes=nodes,
        homes=np.where(fetched[merged.homes], graph.urls[merged.homes], np.uint64(0)),
        anchor_starts=anchors.starts,
        anchor_texts=text_places[anchors.texts],
        anchor_votes=anchors.votes,
        text_edges=text_edges,
        text_bytes=text_bytes,
        hosts=graph.host_hashes,
        host_ranks=host_ranks.astype(np.float32),
        host_pages=np.bincount(graph.hosts[fetched], minlength=len(graph.host_hashes)).astype(np.uint32),
    )


def _links_in(linked: _Linked) -> tuple[U32, U32]:
    """How many nodes link to each node, and how many of these are of other hosts."""
    counts = np.diff(linked.matrix.indptr)
    targets = np.repeat(np.arange(len(counts)), counts)
    outside = targets[linked.node_hosts[linked.matrix.indices] != linked.node_hosts[targets]]
    return counts.astype(np.uint32), np.bincount(outside, minlength=len(counts)).astype(np.uint32)


def _texts(
    parts: GraphParts, numbers: list[U32], places: U32, used: I64
) -> tuple[I64, np.ndarray[tuple[int], np.dtype[np.uint8]]]:
    """The texts that are used, in the order of their numbers: where each begins, and all of them one after the other.

    `numbers` are those of the texts of each part, `places` where a number stands among those that are used.
    """
    found: list[pa.LargeStringArray] = []
    is_wanted = np.zeros(len(places), np.bool_)
    is_wanted[used] = True
    order = np.zeros(len(used), np.int64)
    count = 0
    for own, (edges, data) in zip(numbers, parts.columns(RowKind.LINKS, "text_edges", "text_bytes"), strict=True):
        wanted = np.flatnonzero(is_wanted[own])
        is_wanted[own[wanted]] = False
        texts = pa.LargeStringArray.from_buffers(len(own), pa.py_buffer(edges), pa.py_buffer(data))
        found.append(texts.take(pa.array(wanted)))
        order[places[own[wanted]]] = np.arange(count, count + len(wanted))
        count += len(wanted)
    ordered = pa.concat_arrays([pa.array([], pa.large_string()), *found]).take(pa.array(order))
    edges = np.frombuffer(ordered.buffers()[1] or bytes(8), np.int64, len(ordered) + 1)
    return edges, np.frombuffer(ordered.buffers()[2] or b"", np.uint8)[: edges[-1]]
