"""Which documents match a query?

In: rows of documents, as Arrow record batches in the order of writing; then queries. Out: an index for each agent, and
results in order, each with a snippet.

The life of a document here:

1. `index_writer` takes its row. `fields` reads it and says which fields the index has; `words` splits its texts and
   makes two forms of each word. A later row of the same URL replaces the document or removes it. A page may name the
   moment when it expires (`expiry`).
2. A commit makes it visible, in this process and in others.

The life of a query:

1. `query` parses it; any text is valid. `terms` finds its words in the fields of the index, `pruning` decides how much
   of a large index is scanned, and `compiler` turns that into queries for tantivy.
2. `index_reader` searches one index, `search` all of them; the best thousand documents are candidates.
3. `scores` orders these by words, proximity, anchors and links, folds copies and spreads sites. On request, `rewrites`
   adds words that the best results share, and `semantic` raises results of similar meaning. `rewrites` also corrects
   the spelling of words that no document has.
4. `results` makes hits of one page of them, with `snippets` that mark the words; `facets` counts them by site,
   language, type and year.

Not done here: reading the crawl's files (the collection does it), computing ranks (they come in by `RankSource`),
displaying results.
"""

from tarrafa.search.facets import FacetCount, Facets
from tarrafa.search.fields import COLUMNS
from tarrafa.search.index_writer import AnchorSource, IndexWriter
from tarrafa.search.query import QUERY_MAX_CHARS, Clause, ClauseKind, Filter, Query, Sign, parse
from tarrafa.search.results import TOP_MAX, Hit, Results, SearchRequest
from tarrafa.search.scores import RankSource, RankValues
from tarrafa.search.search import Search
from tarrafa.search.semantic import Passage, SemanticModel, has_semantic_model
from tarrafa.search.snippets import Piece, mark_all

__all__ = [
    "COLUMNS",
    "QUERY_MAX_CHARS",
    "TOP_MAX",
    "AnchorSource",
    "Clause",
    "ClauseKind",
    "FacetCount",
    "Facets",
    "Filter",
    "Hit",
    "IndexWriter",
    "Passage",
    "Piece",
    "Query",
    "RankSource",
    "RankValues",
    "Results",
    "Search",
    "SearchRequest",
    "SemanticModel",
    "Sign",
    "has_semantic_model",
    "mark_all",
    "parse",
]
