"""The steps from parts to the columns of a generation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from tarrafa.rank.arrays import (
    F32,
    F64,
    I64,
    U32,
    U64,
    find_rows,
    fingerprints_of,
    flatten_texts,
    renumbering,
    restore_texts,
    rows_of_runs,
    runs,
    used_numbers,
)
from tarrafa.rank.graph import Graph, LinkColumns, Nodes, merge_nodes, read_graph
from tarrafa.rank.graph_parts import GraphParts, RowKind
from tarrafa.rank.link_groups import Anchors, LinkGroups, count_anchors, weigh_links
from tarrafa.rank.pagerank import DAMPING, ITERATIONS_MAX, TOLERANCE, PageRankResult, link_matrix, pagerank

_CHUNK_ROWS = 1 << 17  # rows that fit into the processor's cache

# Returns the former ranks of URLs by their fingerprints; 0 for new URLs.
FormerRanks = Callable[[U64], F32]
# Called with the name of each step.
StepReport = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RankSettings:
    damping: float = DAMPING
    tolerance: float = TOLERANCE
    iterations_max: int = ITERATIONS_MAX
    # A link on more than this share of a host's pages belongs to a template, and counts like a few links.
    template_share: float = 0.5
    template_few: int = 5
    anchors_max: int = 20  # texts for one target
    anchor_targets_max: int = 20  # a text that one host uses for more targets says nothing


class RankCounts(NamedTuple):
    pages: int  # fetched pages, copies included
    urls: int  # pages, and all targets of links
    hosts: int
    links: int  # pairs of nodes with a link
    copies: int
    redirects: int
    anchors: int  # pairs of a target and a text
    iterations: int


class GenerationColumns(NamedTuple):
    """The columns of a generation; each is a file of that name."""

    urls: U64  # fingerprints, sorted
    rank: F32
    host_rank: F32
    links_in: U32
    links_outside: U32
    nodes: U32  # for each URL: the number of its node
    representatives: U64  # for each node: the fingerprint of its representative; 0 if that was not fetched
    anchor_starts: I64  # for each node, and where the last one ends
    anchor_texts: U32
    anchor_votes: U32
    text_edges: I64
    text_bytes: NDArray[np.uint8]
    hosts: U64  # hashes, sorted
    host_ranks: F32
    host_pages: U32  # fetched pages


class _NodeLinks(NamedTuple):
    """Links between nodes."""

    matrix: sparse.csr_array  # a row for each target
    groups: LinkGroups
    node_hosts: U32


class _LinkCounts(NamedTuple):
    """For each node: nodes that link to it, and those of other hosts among them."""

    links_in: U32
    links_outside: U32


def compute(
    parts: GraphParts, settings: RankSettings, former: FormerRanks | None, report: StepReport
) -> tuple[GenerationColumns, RankCounts]:
    """Rank everything in the parts. The former ranks only save iterations."""
    report("reading links")
    graph = read_graph(parts)
    report("merging copies")
    nodes = merge_nodes(graph)
    report("weighing links")
    links = _links_between(graph, nodes)
    # The links take most of the memory, so those of the graph are freed here.
    graph = graph._replace(links=graph.redirects)
    linked = _link_nodes(links, graph.hosts[nodes.representatives], settings)
    del links
    report("ranking pages")
    start = None if former is None else former(graph.urls[nodes.representatives]).astype(np.float64)
    pages = _rank(linked.matrix, settings, start)
    report("ranking hosts")
    hosts = _rank(_host_matrix(linked, len(graph.host_hashes)), settings, None)
    report("counting anchor texts")
    link_counts, links_count, groups = _count_links(linked), linked.matrix.nnz, linked.groups
    del linked
    anchors = _anchors(graph, groups, len(nodes.representatives), settings)
    columns = _columns(graph, nodes, link_counts, pages.ranks, hosts.ranks, anchors, parts)
    counts = RankCounts(
        pages=int(graph.visits.is_fetched.sum()),
        urls=len(graph.urls),
        hosts=len(graph.host_hashes),
        links=links_count,
        copies=nodes.copies_count,
        redirects=nodes.redirects_count,
        anchors=len(anchors.texts),
        iterations=pages.iterations,
    )
    return columns, counts


def _rank(matrix: sparse.csr_array, settings: RankSettings, start: F64 | None) -> PageRankResult:
    return pagerank(matrix, start, settings.damping, settings.tolerance, settings.iterations_max)


def _links_between(graph: Graph, nodes: Nodes) -> LinkColumns:
    """Return the links from node to other nodes, sorted by source. Only links of representatives count."""
    starts, counts = runs(graph.links.sources)
    urls = graph.links.sources[starts]
    url_nodes = nodes.nodes[urls]
    counted = np.flatnonzero(nodes.representatives[url_nodes] == urls)
    counted = counted[np.argsort(url_nodes[counted], kind="stable")]
    found = LinkColumns(*(np.empty(int(counts[counted].sum()), np.uint32) for _ in LinkColumns._fields))
    end = 0
    for chunk in np.array_split(counted, len(graph.links.sources) // _CHUNK_ROWS + 1):
        rows = rows_of_runs(starts[chunk], counts[chunk])
        sources, targets = np.repeat(url_nodes[chunk], counts[chunk]), nodes.nodes[graph.links.targets[rows]]
        others = np.flatnonzero(sources != targets)
        first, end = end, end + len(others)
        for column, own in zip(found, (sources, targets, graph.links.texts[rows]), strict=True):
            column[first:end] = own[others]
    return LinkColumns(*(column[:end] for column in found))


def _link_nodes(links: LinkColumns, node_hosts: U32, settings: RankSettings) -> _NodeLinks:
    weights, groups = weigh_links(*links, node_hosts, settings.template_share, settings.template_few)
    # Viewed as the type that scipy uses, they need not be copied.
    sources, targets = links.sources.view(np.int32), links.targets.view(np.int32)
    return _NodeLinks(link_matrix(sources, targets, weights, len(node_hosts)), groups, node_hosts)


def _host_matrix(linked: _NodeLinks, count: int) -> sparse.csr_array:
    """Return the links between hosts. Each group counts as one link."""
    sources, targets = linked.groups.hosts, linked.node_hosts[linked.groups.targets]
    outside = np.flatnonzero(sources != targets)
    places = (targets[outside].astype(np.int32), sources[outside].astype(np.int32))
    return sparse.coo_array((np.ones(len(outside), np.float32), places), shape=(count, count)).tocsr()


def _count_links(linked: _NodeLinks) -> _LinkCounts:
    counts = np.diff(linked.matrix.indptr)
    targets = np.repeat(np.arange(len(counts)), counts)
    outside = targets[linked.node_hosts[linked.matrix.indices] != linked.node_hosts[targets]]
    return _LinkCounts(counts.astype(np.uint32), np.bincount(outside, minlength=len(counts)).astype(np.uint32))


def _anchors(graph: Graph, groups: LinkGroups, nodes_count: int, settings: RankSettings) -> Anchors:
    rows, is_known = find_rows(graph.text_hashes, fingerprints_of(pa.array([""])))
    no_text = int(rows[0]) if is_known[0] else -1
    return count_anchors(groups, no_text, nodes_count, settings.anchors_max, settings.anchor_targets_max)


def _columns(
    graph: Graph,
    nodes: Nodes,
    link_counts: _LinkCounts,
    page_ranks: F64,
    host_ranks: F64,
    anchors: Anchors,
    parts: GraphParts,
) -> GenerationColumns:
    """Turn the values of nodes and hosts into columns by URL."""
    fetched, representatives = graph.visits.is_fetched, nodes.representatives
    used = used_numbers(len(graph.text_hashes), anchors.texts)
    text_places = renumbering(len(graph.text_hashes), used)
    text_edges, text_bytes = _read_texts(parts, graph.text_numbers, text_places, used)
    return GenerationColumns(
        urls=graph.urls,
        rank=page_ranks.astype(np.float32)[nodes.nodes],
        host_rank=host_ranks.astype(np.float32)[graph.hosts],
        links_in=link_counts.links_in[nodes.nodes],
        links_outside=link_counts.links_outside[nodes.nodes],
        nodes=nodes.nodes,
        representatives=np.where(fetched[representatives], graph.urls[representatives], np.uint64(0)),
        anchor_starts=anchors.starts,
        anchor_texts=text_places[anchors.texts],
        anchor_votes=anchors.votes,
        text_edges=text_edges,
        text_bytes=text_bytes,
        hosts=graph.host_hashes,
        host_ranks=host_ranks.astype(np.float32),
        host_pages=np.bincount(graph.hosts[fetched], minlength=len(graph.host_hashes)).astype(np.uint32),
    )


def _read_texts(parts: GraphParts, numbers: list[U32], places: U32, used: I64) -> tuple[I64, NDArray[np.uint8]]:
    """Read the used texts, in the order of their numbers; return where each begins, and the bytes of all.

    `numbers` has the numbers of the texts of each part, `places` the place of each number among the used ones.
    """
    found: list[pa.LargeStringArray] = []
    is_wanted = np.zeros(len(places), np.bool_)
    is_wanted[used] = True
    order = np.zeros(len(used), np.int64)
    count = 0
    for own, (edges, data) in zip(numbers, parts.columns(RowKind.LINKS, "text_edges", "text_bytes"), strict=True):
        wanted = np.flatnonzero(is_wanted[own])
        is_wanted[own[wanted]] = False
        found.append(restore_texts(edges, data).take(pa.array(wanted)))
        order[places[own[wanted]]] = np.arange(count, count + len(wanted))
        count += len(wanted)
    return flatten_texts(pa.concat_arrays([pa.array([], pa.large_string()), *found]).take(pa.array(order)))
