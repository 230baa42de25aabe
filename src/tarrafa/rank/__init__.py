"""What is the link graph, and which pages and hosts are important in it?

In: rows of documents and links, as Arrow record batches, in the order in which a crawl wrote them. Out: a folder with
the rank of every URL and its host, the number of links to it, and the texts of these links. The life of a link here:

1. `reduction` turns texts into 64-bit fingerprints and drops links that never count: nofollow, images, links of a page
   to itself. A million rows become a part, which `graph_parts` stores on disk, so that no row is read twice.
2. `pipeline` runs the other steps. `graph` joins all parts; only the last visit of each page counts. It merges URLs
   into nodes: copies of one content, pages with their canonical page, redirects with their targets.
3. `link_groups` weighs links, so that a link on most pages of a host counts like a few, and counts the votes of hosts
   for anchor texts.
4. `pagerank` computes the rank of each node, and of each host, starting from the former ranks.
5. `generation` writes all that as columns that are mapped into memory, and replaces the former ones in one step;
   `Ranks` reads them.

Killed at any moment, the folder has the last generation complete, and all parts but the one that was being written.

Not done here: reading a crawl's folder, finding the URL of a fingerprint, ordering results or visits.
"""

from tarrafa.rank.arrays import FINGERPRINT_SEED, U64, fingerprints_of
from tarrafa.rank.generation import AgentRows, RankColumns, Ranks, write_generation
from tarrafa.rank.graph_parts import PART_ROWS, GraphParts, RowKind
from tarrafa.rank.pagerank import PageRankResult, pagerank
from tarrafa.rank.pipeline import RankCounts, RankSettings, compute
from tarrafa.rank.reduction import DOCUMENT_COLUMNS, LINK_COLUMNS, DocumentRows, LinkRows

__all__ = [
    "DOCUMENT_COLUMNS",
    "FINGERPRINT_SEED",
    "LINK_COLUMNS",
    "PART_ROWS",
    "U64",
    "AgentRows",
    "DocumentRows",
    "GraphParts",
    "LinkRows",
    "PageRankResult",
    "RankColumns",
    "RankCounts",
    "RankSettings",
    "Ranks",
    "RowKind",
    "compute",
    "fingerprints_of",
    "pagerank",
    "write_generation",
]
