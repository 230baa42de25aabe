"""One index as it was at one moment, and what can be asked of it."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tantivy
from tantivy import DocAddress, Occur, Query, Searcher

from tarrafa.search.bounding import Bounds
from tarrafa.search.compiling import Compiler, Question
from tarrafa.search.index import (
    DATED,
    FINGERPRINT,
    KEPT,
    KEPT_MARK,
    SIGNATURE,
    SITE,
    STEMS,
    TITLE,
    WORDS,
    index_stamp,
    open_index,
)
from tarrafa.search.leading import estimated_count
from tarrafa.search.query import Clause, ClauseKind
from tarrafa.search.ranking import CANDIDATES_LIMIT, F64, U64, Candidates
from tarrafa.search.slices import SLICES_COUNT
from tarrafa.search.terms import Terms
from tarrafa.search.words import Language

# Documents that are counted one by one; of more, those of some slices are.
_COUNTED_LIMIT = 400_000
_COUNTED_SLICES = 8


class Kept(NamedTuple):
    """What a result shows, as the writer wrote it."""

    url: str
    title: str
    site: str
    host: str
    language: str
    canonical: str
    fetched_at: int
    published_at: int | None
    description: str
    text: str


class Found(NamedTuple):
    """Candidates, where their documents stand in the index, how many match, and what they are the answer to."""

    candidates: Candidates
    addresses: list[DocAddress]
    matches_count: int
    is_estimated: bool
    question: Question


class Shard:
    """Read by any number of threads: it never changes."""

    def __init__(self, index: tantivy.Index, language: Language, number: int) -> None:
        self._searcher: Searcher = index.searcher()
        self._schema = index.schema
        self._terms = Terms(self._searcher, language)
        self._compiler = Compiler(self._schema, self._terms)
        self._bounds = Bounds(self._terms)
        self._number = number
        self.documents_count = self._searcher.num_docs
        self.has_ends = self._compiler.has_ends  # whether some pages will be found no more at a certain moment

    def candidates(self, question: Question, excluded_signatures: list[int]) -> Found:
        """Words that follow look for candidates too if the others do not find as many as there may be."""
        bounded = self._bounds.bounded(question)
        found = self._candidates(bounded, excluded_signatures)
        if bounded.following and len(found.addresses) < CANDIDATES_LIMIT:
            return self._candidates(question, excluded_signatures)
        return found

    def _candidates(self, question: Question, excluded_signatures: list[int]) -> Found:
        query = self._compiler.candidates(question, excluded_signatures)
        # To find the best, every match is looked at; so counting them costs nothing.
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
            dated=np.array(self._values(DATED, addresses), np.int64),
        )
        matches_count, is_estimated = self._count(question, answer.count, excluded_signatures)
        return Found(found, addresses, matches_count, is_estimated, question)

    def _values(self, field: str, addresses: list[DocAddress]) -> list[Any]:
        return list(self._searcher.fast_field_values(field, addresses))

    def _count(self, question: Question, found: int, excluded_signatures: list[int]) -> tuple[int, bool]:
        """How many match, and whether that is estimated: not all that may match were looked at."""
        if question.following:
            clauses = [Clause(ClauseKind.WORD, (word,)) for word in sorted(question.following)]
            counts = [self._terms.documents_with(clause, question.language) for clause in clauses]
            return estimated_count(found, counts, self.documents_count), True
        if question.sample is None:
            return found, False
        if question.is_cheap_to_count:
            is_estimated = self._bounds.expected_count(question) > _COUNTED_LIMIT
            slices = _COUNTED_SLICES if is_estimated else SLICES_COUNT
            matching = self._compiler.matching(question._replace(sample=None), excluded_signatures, slices)
            answer: Any = self._searcher.search(matching, 1, count=True)
            return max(found, answer.count * SLICES_COUNT // slices), is_estimated
        return max(found, min(self.documents_count, round(found / question.sample.seen))), True

    def beside(self, question: Question, fingerprints: U64) -> F64:
        """What nearness, and words that follow, add to the score of each of these documents."""
        query = self._compiler.beside(question, fingerprints.tolist()) if len(fingerprints) else None
        if query is None:
            return np.zeros(len(fingerprints))
        hits = self._searcher.search(query, len(fingerprints), count=False).hits
        keys = self._searcher.fast_field_values(FINGERPRINT, [address for _, address in hits])
        scores = {key: score - 1.0 for key, (score, _) in zip(keys, hits, strict=True)}
        return np.array([scores.get(key, 0.0) for key in fingerprints.tolist()], np.float64)

    def kept(self, address: DocAddress) -> Kept:
        kept: bytes = self._searcher.doc(address).get_first(KEPT) or b""
        *names, fetched_at, published_at, description, text = kept.decode().split(KEPT_MARK, len(Kept._fields) - 1)
        published = int(published_at) if published_at else None
        url, title, site, host, language, canonical = names
        return Kept(url, title, site, host, language, canonical, int(fetched_at), published, description, text)

    def documents_with(self, stem: str) -> int:
        return self._searcher.doc_freq(STEMS, stem)

    def has(self, fold: str) -> bool:
        return self._searcher.doc_freq(WORDS, fold) > 0

    def words_like(self, start: str, limit: int) -> list[tuple[str, int]]:
        """Words of documents that begin so, with how many documents have them, most first."""
        return self._searcher.terms_with_prefix(WORDS, start, limit=limit)

    def title_words(self, start: str, before: Sequence[str], limit: int) -> list[tuple[str, int]]:
        """Words of titles that begin so, of titles that have those words too."""
        among = [(Occur.Must, Query.term_query(self._schema, TITLE, word, "freq")) for word in before]
        only = Query.boolean_query(among) if among else None
        return self._searcher.terms_with_prefix(TITLE, start, filter_query=only, limit=limit)


class Opened:
    """An index on disk that is read again and again."""

    def __init__(self, folder: Path, language: Language, number: int) -> None:
        self._folder = folder
        self._stamp = index_stamp(folder)
        self._index = open_index(folder)
        self._language = language
        self._number = number
        self._shard = Shard(self._index, language, number)

    def shard(self) -> Shard:
        """As it is now, with all that other processes have committed; as it was, while it is being made anew.

        The same object if nothing was committed since.
        """
        stamp = index_stamp(self._folder)
        if stamp != self._stamp:
            with contextlib.suppress(ValueError, OSError):
                self._index.reload()
                self._shard = Shard(self._index, self._language, self._number)
                self._stamp = stamp
        return self._shard
