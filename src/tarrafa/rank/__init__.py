"""What is the link graph, and which pages and hosts are important in it?

In: rows of documents and links, as Arrow record batches, in the order in which a crawl wrote them. Out: a folder with
the rank of every URL and its host, the number of links to it, and the texts of these links. The life of a link here:

1. `reduction` turns texts into 64-bit fingerprints and drops links that never count: nofollow, images, links of a page
   to itself. A million rows become a part, which `graph_parts` stores on disk, so that no row is read twice.
2. `pipeline` runs the other steps. `graph` gives URLs, hosts and texts numbers that hold for all parts, and finds the
   last visit of each page, which alone counts. `nodes` merges URLs: copies of one content, pages with their canonical
   page, redirects with their targets.
3. `node_links` splits the links into buckets by target. `link_groups` weighs them, so that a link on most pages of a
   host counts like a few. Each bucket becomes a block of a `link_matrix` on disk.
4. `pagerank` computes the rank of each node, and of each host, starting from the former ranks. It reads the matrix once
   in each iteration. `anchors` counts the votes of hosts for the texts of links.
5. `generation_writer` writes all that as columns, and replaces the former ones in one step. `generation` maps them into
   memory for readers.

Memory goes by URLs: at most 24 bytes for each, and a fixed amount for the part or bucket at hand. Links are only on
disk, in a `bucket_file` where they are not in parts.

Killed at any moment, the folder has the last generation complete, and all parts but the one that was being written.

Not done here: reading a crawl's folder, finding the URL of a fingerprint, ordering results or visits.
"""

from tarrafa.rank.arrays import FINGERPRINT_SEED, U64, fingerprints_of
from tarrafa.rank.generation import AgentRows, RankColumns, RankCounts, Ranks, RankSettings
from tarrafa.rank.generation_writer import GenerationWriter
from tarrafa.rank.graph_parts import PART_ROWS, GraphParts, RowKind
from tarrafa.rank.link_matrix import LinkMatrix, link_block
from tarrafa.rank.pagerank import PageRankResult, pagerank
from tarrafa.rank.pipeline import compute
from tarrafa.rank.reduction import DOCUMENT_COLUMNS, LINK_COLUMNS, DocumentRows, LinkRows
from tarrafa.rank.scratch import Scratch

__all__ = [
    "DOCUMENT_COLUMNS",
    "FINGERPRINT_SEED",
    "LINK_COLUMNS",
    "PART_ROWS",
    "U64",
    "AgentRows",
    "DocumentRows",
    "GenerationWriter",
    "GraphParts",
    "LinkMatrix",
    "LinkRows",
    "PageRankResult",
    "RankColumns",
    "RankCounts",
    "RankSettings",
    "Ranks",
    "RowKind",
    "Scratch",
    "compute",
    "fingerprints_of",
    "link_block",
    "pagerank",
]
