"""The index of one agent, open for reading: a snapshot of it, and what can be asked of a snapshot."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tantivy
from tantivy import DocAddress, Occur, Query, Searcher

from tarrafa.errors import WorkError
from tarrafa.search.compiler import QueryCompiler
from tarrafa.search.facets import aggregation, counts_of, slices_for
from tarrafa.search.fields import (
    DATE,
    FINGERPRINT,
    SIGNATURE,
    SITE,
    STEMS,
    STORED,
    TITLE,
    WORDS,
    StoredDocument,
    index_stamp,
    open_index_reader,
    unpack_stored,
)
from tarrafa.search.pruning import SLICES_COUNT, Pruner, QueryPlan, estimated_count
from tarrafa.search.scores import CANDIDATES_LIMIT, F64, U64, Candidates
from tarrafa.search.terms import TermLookup
from tarrafa.search.words import WordAnalyzer

COUNTED_DOCUMENTS = 400_000  # more matching documents are counted in some slices only
_COUNTED_SLICES = 8


class IndexMatches(NamedTuple):
    """The candidates of one index, and the pruned plan that found them."""

    candidates: Candidates
    addresses: list[DocAddress]  # of the candidates' documents in the index
    matches_count: int
    is_estimated: bool  # True if not all matching documents were counted
    plan: QueryPlan


class IndexSnapshot:
    """One index as of one commit. It never changes, so any number of threads may read it."""

    def __init__(self, index: tantivy.Index, words: WordAnalyzer, number: int) -> None:
        self._searcher: Searcher = index.searcher()
        self._schema = index.schema
        self._compiler = QueryCompiler(self._schema, terms := TermLookup(self._searcher, words))
        self._pruner = Pruner(terms)
        self._number = number
        self.documents_count = self._searcher.num_docs
        self.has_expiring = self._compiler.has_expiring  # True if some pages will expire

    def candidates(self, plan: QueryPlan, excluded_signatures: list[int]) -> IndexMatches:
        """Return the best candidates by words. Deferred words find some, too, if the others find too few."""
        pruned = self._pruner.prune(plan)
        found = self._candidates(pruned, excluded_signatures)
        if pruned.deferred and len(found.addresses) < CANDIDATES_LIMIT:
            return self._candidates(plan, excluded_signatures)
        return found

    def _candidates(self, plan: QueryPlan, excluded_signatures: list[int]) -> IndexMatches:
        query = self._compiler.candidates(plan, excluded_signatures)
        # Counting is free here: every match gets a score to find the best ones.
        answer: Any = self._searcher.search(query, CANDIDATES_LIMIT, count=True)
        hits = answer.hits
        addresses = [address for _, address in hits]
        count = len(hits)
        found = Candidates(
            words=np.array([score for score, _ in hits], np.float64),
            index=np.full(count, self._number, np.int64),
            place=np.arange(count, dtype=np.int64),
            fingerprint=np.array(self._values(FINGERPRINT, addresses), np.uint64),
            signature=np.array(self._values(SIGNATURE, addresses), np.uint64),
            site=np.array(self._values(SITE, addresses), np.uint64),
            date=np.array(self._values(DATE, addresses), np.int64),
        )
        matches_count, is_estimated = self._count(plan, answer.count, excluded_signatures)
        return IndexMatches(found, addresses, matches_count, is_estimated, plan)

    def _values(self, field: str, addresses: list[DocAddress]) -> list[Any]:
        return list(self._searcher.fast_field_values(field, addresses))

    def _count(self, plan: QueryPlan, found: int, excluded_signatures: list[int]) -> tuple[int, bool]:
        """Return how many documents match, and True if that is an estimate."""
        if plan.deferred:
            counts = [self._pruner.documents_with(word, plan.language) for word in sorted(plan.deferred)]
            return estimated_count(found, counts, self.documents_count), True
        if plan.sample is None:
            return found, False
        if plan.is_cheap_to_count:
            is_estimated = self._pruner.expected_count(plan) > COUNTED_DOCUMENTS
            slices = _COUNTED_SLICES if is_estimated else SLICES_COUNT
            matching = self._compiler.matching(plan._replace(sample=None), excluded_signatures, slices)
            answer: Any = self._searcher.search(matching, 1, count=True)
            return max(found, answer.count * SLICES_COUNT // slices), is_estimated
        return max(found, min(self.documents_count, round(found / plan.sample.seen_share))), True

    def proximity(self, plan: QueryPlan, fingerprints: U64) -> F64:
        """Return what proximity and deferred words add to the score of each of these documents."""
        query = self._compiler.proximity(plan, fingerprints.tolist()) if len(fingerprints) else None
        if query is None:
            return np.zeros(len(fingerprints))
        hits = self._searcher.search(query, len(fingerprints), count=False).hits
        keys = self._searcher.fast_field_values(FINGERPRINT, [address for _, address in hits])
        scores = {key: score - 1.0 for key, (score, _) in zip(keys, hits, strict=True)}
        return np.array([scores.get(key, 0.0) for key in fingerprints.tolist()], np.float64)

    def facets(self, matches: IndexMatches, now: float) -> dict[str, Counter[str]]:
        """Count the matching documents by site, language, media type and year."""
        slices = slices_for(matches.matches_count)
        query = self._compiler.in_slices(matches.plan._replace(sample=None), slices)
        return counts_of(self._searcher.aggregate(query, aggregation(now)), slices)

    def stored(self, address: DocAddress) -> StoredDocument:
        """Read what a result shows from disk."""
        return unpack_stored(self._searcher.doc(address).get_first(STORED) or b"")

    def documents_with(self, stem: str) -> int:
        """Return how many documents have the stem."""
        return self._searcher.doc_freq(STEMS, stem)

    def has_word(self, fold: str) -> bool:
        return self._searcher.doc_freq(WORDS, fold) > 0

    def words_with_prefix(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Return the words of documents with a prefix, and how many documents have each, most first."""
        return self._searcher.terms_with_prefix(WORDS, prefix, limit=limit)

    def title_words(self, prefix: str, other_words: Sequence[str], limit: int) -> list[tuple[str, int]]:
        """Return the words with a prefix from titles that have the other words, too, and their counts, most first."""
        required = [(Occur.Must, Query.term_query(self._schema, TITLE, word, "freq")) for word in other_words]
        only = Query.boolean_query(required) if required else None
        return self._searcher.terms_with_prefix(TITLE, prefix, filter_query=only, limit=limit)


class IndexReader:
    """An index on disk, and the latest snapshot of it. Writes nothing, so it reads the index of another user, too."""

    def __init__(self, folder: Path, words: WordAnalyzer, number: int) -> None:
        self._folder = folder
        self._stamp = index_stamp(folder)
        self._words = words
        self._number = number
        self._snapshot = self._open()

    def _open(self) -> IndexSnapshot:
        return IndexSnapshot(open_index_reader(self._folder), self._words, self._number)

    def snapshot(self) -> IndexSnapshot:
        """Return the index with all commits of other processes; the same object if there are none since.

        While the index is being rebuilt, the last snapshot stays.
        """
        stamp = index_stamp(self._folder)
        if stamp != self._stamp:
            with contextlib.suppress(WorkError):
                self._snapshot = self._open()
                self._stamp = stamp
        return self._snapshot
