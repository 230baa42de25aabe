"""Which documents answer these words?

In: rows of documents, as Arrow record batches in the order of writing; then questions. Out: an index for each agent,
and results in order, with a piece of each text.

The life of a document here:

1. `writer` takes its row. `fields` reads it, `words` splits its texts and gives each word its two forms; `index` says
   which fields there are. A later row of the same URL replaces it, or removes it.
2. A commit makes it found, in this process and in others.

The life of a question:

1. `query` says what it means, whatever was typed. `terms` finds its words in the fields of the index; `compiling` turns
   that into what tantivy is asked.
2. `shard` asks one index, `search` all of them; the best thousand are candidates. In a large index `bounding` keeps the
   work within bounds: `leading` says which words look for candidates, `sampling` which documents are looked at where
   very many have all that is required. What was found for the last questions is remembered (`remembering`).
3. `ranking` puts these in order by words, nearness, anchors and links, folds copies and spreads sites. `expansion` adds
   words of the best results, and `semantic` raises what means the like, if that is asked for; `spelling` finds what
   was meant by a word that nobody writes.
4. `showing` makes results of one page of them; `snippets` finds a piece of the text and marks the words.

Not done here: reading the crawl's files (the collection does it), working out ranks (they come in by `RankSource`),
showing results to people.
"""

from tarrafa.search.answers import TOP_MAX, Hit, Results, SearchRequest
from tarrafa.search.fields import COLUMNS
from tarrafa.search.query import Clause, ClauseKind, Filter, Query, Sign, parse
from tarrafa.search.ranking import RankSource, RankValues
from tarrafa.search.search import Search
from tarrafa.search.semantic import Passage, SemanticModel, has_semantic_model
from tarrafa.search.snippets import Piece, mark_all
from tarrafa.search.writer import AnchorSource, IndexWriter

__all__ = [
    "COLUMNS",
    "TOP_MAX",
    "AnchorSource",
    "Clause",
    "ClauseKind",
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
