"""What is the link graph, and who is important in it?

In: rows of documents and links, as Arrow record batches, in the order in which a crawl wrote them. Out: a folder with
the rank of every URL and of its host, how many links lead to it, and what these say. The life of a link here:

1. `reducing` turns texts into 64-bit fingerprints and drops what never counts: nofollow, images, a page's links to
   itself. A million rows become a part, which `parts` keeps on disk; so no row is ever read twice.
2. `graph` joins all parts. Of each page only the last visit counts. `copies` tells which URLs are one node: copies of
   one content, those that name another one canonical, those that redirect.
3. `weights` damps what a template repeats: the same link on most pages of a host counts like a few.
4. `pagerank` finds the rank of each node, and of each host, starting from the ranks of last time.
5. `anchors` counts the words of links, one vote for each host.
6. `generation` writes all that as columns that are mapped into memory, and replaces those of last time in one step;
   `Ranks` reads them.

Killed at any moment, the folder holds the last generation whole, and all parts but the one that was being written.

Not done here: reading a crawl's folder, finding the text of a URL, deciding the order of results or of visits.
"""

from tarrafa.rank.columns import FINGERPRINT_SEED, U64, fingerprints_of
from tarrafa.rank.computing import RankCounts, RankSettings, compute
from tarrafa.rank.generation import AgentRows, RankColumns, Ranks, write_generation
from tarrafa.rank.pagerank import PageRankResult, pagerank
from tarrafa.rank.parts import PART_ROWS, GraphParts, RowKind
from tarrafa.rank.reducing import DOCUMENT_COLUMNS, LINK_COLUMNS, DocumentRows, LinkRows

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
