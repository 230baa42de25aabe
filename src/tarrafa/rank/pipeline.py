"""The steps from parts to a generation.

Links are read from disk part by part or bucket by bucket. In memory there are at most 24 bytes for each URL at any
time; what a later step needs again waits on disk.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarrafa.rank.anchors import write_anchors
from tarrafa.rank.arrays import F32, F64, U64, Mask
from tarrafa.rank.generation import RankCounts, RankSettings
from tarrafa.rank.generation_writer import GenerationWriter
from tarrafa.rank.graph import Graph, count_links, read_visits
from tarrafa.rank.graph_parts import GraphParts
from tarrafa.rank.link_matrix import LinkMatrix
from tarrafa.rank.node_links import NodeLinks, link_nodes, split_links, target_edges
from tarrafa.rank.nodes import MergedCounts, Nodes, count_merged, merge_nodes
from tarrafa.rank.pagerank import PageRankResult, pagerank
from tarrafa.rank.scratch import Scratch

# Returns the former ranks of URLs by their fingerprints; 0 for new URLs.
FormerRanks = Callable[[U64], F32]
# Called with the name of each step.
StepReport = Callable[[str], None]


def compute(
    parts: GraphParts,
    generation: GenerationWriter,
    settings: RankSettings,
    former: FormerRanks | None,
    report: StepReport,
    scratch: Scratch,
) -> RankCounts:
    """Rank everything in the parts. The former ranks only save iterations. `scratch` takes temporary files."""
    report("reading links")
    graph = Graph(parts, scratch, lambda urls: generation.append("urls", urls))
    merged, linked = _link(graph, generation, settings, report, scratch)
    report("ranking pages")
    iterations = _rank_pages(linked, generation, settings, former)
    report("ranking hosts")
    _rank_hosts(linked.hosts, graph, generation, settings)
    report("counting anchor texts")
    anchors_count = write_anchors(graph, linked.groups, linked.edges, generation, settings, scratch)
    return RankCounts(
        pages=merged.pages,
        urls=graph.urls_count,
        hosts=len(graph.host_hashes),
        links=linked.pages.links_count,
        copies=merged.copies,
        redirects=merged.redirects,
        anchors=anchors_count,
        iterations=iterations,
    )


def _link(
    graph: Graph, generation: GenerationWriter, settings: RankSettings, report: StepReport, scratch: Scratch
) -> tuple[MergedCounts, NodeLinks]:
    """Merge URLs into nodes, and weigh the links between them."""
    visits = read_visits(graph, scratch)
    counts, redirects = count_links(graph, visits)
    report("merging copies")
    nodes = merge_nodes(graph, visits, redirects, counts)
    edges = target_edges(counts.links_in, nodes)
    merged, counted = count_merged(nodes, visits.is_fetched), visits.counted
    del counts, redirects
    _write_nodes(graph, nodes, visits.is_fetched, generation)
    del visits
    report("weighing links")
    links = split_links(graph, nodes, counted, edges, scratch)
    node_hosts = graph.hosts()[nodes.representatives]
    del nodes
    linked = link_nodes(links, node_hosts, len(graph.host_hashes), graph.no_text, settings, scratch)
    links.file.close()
    return merged, linked


def _write_nodes(graph: Graph, nodes: Nodes, is_fetched: Mask, generation: GenerationWriter) -> None:
    representatives, first = np.zeros(len(nodes.representatives), np.uint64), 0
    for (fingerprints,) in generation.chunks("urls"):
        urls = np.arange(first, first + len(fingerprints))
        own = nodes.nodes[urls]
        rows = np.flatnonzero((nodes.representatives[own] == urls) & is_fetched[urls])
        representatives[own[rows]] = fingerprints[rows]
        first += len(fingerprints)
    generation.append("representatives", representatives)
    generation.append("nodes", nodes.nodes)
    host_pages, first = np.zeros(len(graph.host_hashes), np.int64), 0
    for hosts in graph.host_batches():
        np.add.at(host_pages, hosts[is_fetched[first : first + len(hosts)]], 1)
        first += len(hosts)
    generation.append("hosts", graph.host_hashes)
    generation.append("host_pages", host_pages)


def _rank_pages(
    linked: NodeLinks, generation: GenerationWriter, settings: RankSettings, former: FormerRanks | None
) -> int:
    """Write the columns of pages; return how many iterations were needed."""
    start = None if former is None else _former_ranks(generation, former, linked.pages.count)
    ranks, iterations = _rank(linked.pages, settings, start)
    linked.pages.close()
    _write_by_url(generation, "rank", ranks.astype(np.float32))
    del ranks
    for number, name in enumerate(("links_in", "links_outside")):
        _write_by_url(generation, name, linked.counts.read(0, number))
    return iterations


def _rank(matrix: LinkMatrix, settings: RankSettings, start: F64 | None) -> PageRankResult:
    return pagerank(matrix, start, settings.damping, settings.tolerance, settings.iterations_max)


def _former_ranks(generation: GenerationWriter, former: FormerRanks, nodes_count: int) -> F64:
    """Return the former rank of each node; 0 for new nodes."""
    found = np.zeros(nodes_count)
    for nodes, urls in generation.chunks("nodes", "urls"):
        np.maximum.at(found, nodes, former(urls).astype(np.float64))
    return found


def _write_by_url(generation: GenerationWriter, name: str, values: NDArray[Any]) -> None:
    """Write a column by URL. `values` has the value of each node."""
    for (nodes,) in generation.chunks("nodes"):
        generation.append(name, values[nodes])


def _rank_hosts(matrix: LinkMatrix, graph: Graph, generation: GenerationWriter, settings: RankSettings) -> None:
    ranks = _rank(matrix, settings, None).ranks.astype(np.float32)
    generation.append("host_ranks", ranks)
    for hosts in graph.host_batches():
        generation.append("host_rank", ranks[hosts])
