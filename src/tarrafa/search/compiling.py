"""From what a question means to what tantivy is asked.

Candidates: every word in every field at one level. What must be there, must not, and filters stand around that. The
time it takes grows with how many documents have the words, since every one of them gets a score. So in a large index
not all words look for candidates, or not everywhere (`bounding`). Words that follow count for the best candidates only:
that is asked afterwards, with nearness, which costs as much as a phrase: a question of five words has twenty phrases.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import tantivy
from tantivy import FieldType, Occur, Schema

from tarrafa.search.index import DATED, FACTS, FINGERPRINT, SIGNATURE, STEMS
from tarrafa.search.query import Clause, ClauseKind, Filter, Query, Sign, moment_of
from tarrafa.search.sampling import Called, Sample
from tarrafa.search.slices import SLICES_COUNT, slice_fact
from tarrafa.search.terms import FOLDED_FIELDS, Term, Terms
from tarrafa.search.until import FACT, over_pattern
from tarrafa.search.words import telling

# Two words of the question that follow each other in it: side by side, and near in either order.
BESIDE_BOOST = 0.2
NEAR_BOOST = 0.1
NEAR_SLOP = 8
_PAIRS_LIMIT = 24
_PAIRS_DOCUMENTS = 30_000  # that are looked at for all pairs
_FOLLOWING_TERMS = 60  # of words that follow; each is a query inside the other


class Question(NamedTuple):
    """What is looked for, and in which languages.

    `extra` are stems that came from the best results; `following` are words that count for the best candidates only;
    `sample` are the documents that are looked at, where there are too many for all. `is_thorough` allows no sample.
    """

    query: Query
    language: str | None
    now: float  # seconds since the Unix epoch
    extra: tuple[tuple[str, float], ...] = ()
    following: frozenset[str] = frozenset()
    sample: Sample | None = None
    is_thorough: bool = False

    @property
    def required(self) -> list[Clause]:
        return [clause for clause in self.query.clauses if clause.sign is Sign.MUST]

    @property
    def is_cheap_to_count(self) -> bool:
        """Whether documents that match are counted without looking at the places of words."""
        return all(clause.kind is not ClauseKind.PHRASE for clause in self.required)


class Compiler:
    """For one state of one index."""

    def __init__(self, schema: Schema, terms: Terms) -> None:
        self._schema = schema
        self._terms = terms
        # Seldom does any page say until when it may be shown.
        self.has_ends = terms.has_prefix(FACTS, FACT)

    def candidates(self, question: Question, excluded_signatures: list[int]) -> tantivy.Query:
        """Whatever may be a result, with its score by words alone."""
        return self._around(question, self._scored(question), excluded_signatures)

    def matching(self, question: Question, excluded_signatures: list[int], slices: int) -> tantivy.Query:
        """The same documents of so many slices, without scores: they are counted several times faster."""
        found = self._around(question, [], excluded_signatures)
        if slices < SLICES_COUNT:
            some = _joined([(Occur.Should, each) for each in self._slices(slices)])
            found = tantivy.Query.boolean_query([(Occur.Must, found), (Occur.Must, some)])
        return tantivy.Query.const_score_query(found, 1.0)

    def beside(self, question: Question, fingerprints: list[int]) -> tantivy.Query | None:
        """Scores these documents by how near the words are, and by words that follow; each gets 1 more than that.

        One optional part inside the other: were they side by side, tantivy would work out each of them for all
        documents that lie between these.
        """
        parts = [self._term(*term) for term in self._following_terms(question)]
        words = telling(plain_words(question.query, Sign.ANY, Sign.MUST))
        for pair in self._cheap_pairs(words, question.language):
            parts.append(self._phrase(STEMS, pair, 0, BESIDE_BOOST))
            parts.append(self._phrase(STEMS, pair, NEAR_SLOP, NEAR_BOOST))
            parts.append(self._phrase(STEMS, pair[::-1], NEAR_SLOP, NEAR_BOOST))
        if not parts:
            return None
        found = self._among(fingerprints)
        for part in parts:
            found = tantivy.Query.boolean_query([(Occur.Must, found), (Occur.Should, part)])
        return found

    def _among(self, fingerprints: list[int]) -> tantivy.Query:
        """Looked up one by one; a query for the set would go through all fingerprints that there are."""
        ones = [tantivy.Query.term_query(self._schema, FINGERPRINT, each, "basic") for each in fingerprints]
        return tantivy.Query.const_score_query(_joined([(Occur.Should, each) for each in ones]), 1.0)

    def _following_terms(self, question: Question) -> list[Term]:
        terms: list[Term] = []
        for word in sorted(question.following):
            terms += self._terms.having(Clause(ClauseKind.WORD, (word,)), question.language)
            terms += self._terms.bettering(word, question.language)
        return terms[:_FOLLOWING_TERMS]

    def _cheap_pairs(self, words: list[str], language: str | None) -> list[tuple[str, str]]:
        """Stems that follow each other, the rarest first, as far as time allows: a pair costs as its rarer word does.

        So only pairs of words that are very common are left out, and these tell least.
        """
        pairs = [pair for first, second in pairwise(words) for pair in self._terms.stem_pairs(first, second, language)]
        costs = sorted((min(self._terms.count(STEMS, stem) for stem in pair), pair) for pair in pairs)
        found: list[tuple[str, str]] = []
        left = _PAIRS_DOCUMENTS
        for documents_count, pair in costs[:_PAIRS_LIMIT]:
            left -= documents_count
            if left >= 0:
                found.append(pair)
        return found

    def _phrase(self, field: str, words: Sequence[str], slop: int, boost: float) -> tantivy.Query:
        return tantivy.Query.boost_query(tantivy.Query.phrase_query(self._schema, field, [*words], slop), boost)

    def _around(self, question: Question, terms: list[Term], excluded_signatures: list[int]) -> tantivy.Query:
        must, must_not = self._required(question)
        if self.has_ends:
            # The index removes pages whose time is over, but perhaps nobody keeps it up any more.
            must_not.append(tantivy.Query.regex_query(self._schema, FACTS, over_pattern(question.now)))
        if excluded_signatures:
            must_not.append(tantivy.Query.term_set_query(self._schema, SIGNATURE, excluded_signatures))
        if question.sample is not None:
            must.append(self._sampled(question.sample))
        should = [(Occur.Should, self._term(*term)) for term in dict.fromkeys(terms)]
        if not question.required and any(clause.sign is Sign.ANY for clause in question.query.clauses):
            if not must and not must_not:
                return _joined(should)
            must.append(_joined(should))
            should = []
        if not must:
            must.append(tantivy.Query.all_query())
        required = [(Occur.Must, each) for each in must] + [(Occur.MustNot, each) for each in must_not]
        return tantivy.Query.boolean_query([*required, *should])

    def _sampled(self, sample: Sample) -> tantivy.Query:
        looked = [*self._slices(sample.slices), *map(self._called, sample.by_one)]
        for words in sample.together:
            together = [(Occur.Must, self._called(each)) for each in words]
            if sample.together_slices < SLICES_COUNT:
                some = _joined([(Occur.Should, each) for each in self._slices(sample.together_slices)])
                together.append((Occur.Must, some))
            looked.append(_joined(together))
        return tantivy.Query.const_score_query(_joined([(Occur.Should, each) for each in looked]), 0.0)

    def _slices(self, count: int) -> list[tantivy.Query]:
        """The first slices of the index, so many."""
        return [tantivy.Query.term_query(self._schema, FACTS, slice_fact(number), "basic") for number in range(count)]

    def _called(self, called: Called) -> tantivy.Query:
        return _joined([(Occur.Should, self._term(field, word, 1.0)) for field, word in called.terms])

    def _required(self, question: Question) -> tuple[list[tantivy.Query], list[tantivy.Query]]:
        """What must be there, and what must not."""
        must: list[tantivy.Query] = []
        must_not: list[tantivy.Query] = []
        for clause in question.query.clauses:
            if clause.sign is Sign.MUST:
                must.append(self._exactly(clause, question))
            elif clause.sign is Sign.NOT:
                must_not.append(self._excluded(clause))
        for each in question.query.filters:
            (must_not if each.is_excluded else must).append(self._filter(each))
        return must, must_not

    def _exactly(self, clause: Clause, question: Question) -> tantivy.Query:
        if clause.kind is ClauseKind.PHRASE:
            return self._folded_phrase(clause)
        found = self._terms.scoring if question.sample else self._terms.having
        return _joined([(Occur.Should, self._term(*term)) for term in found(clause, question.language)])

    def _excluded(self, clause: Clause) -> tantivy.Query:
        """Only the word as it stands: who excludes *nets* has not excluded *net*."""
        if clause.kind is ClauseKind.PHRASE:
            return self._folded_phrase(clause)
        field = FOLDED_FIELDS[clause.field]
        words = (
            self._terms.completed(field, clause.words[0])
            if clause.kind is ClauseKind.PREFIX
            else self._terms.folds(clause)
        )
        return _joined([(Occur.Should, self._term(field, word, 1.0)) for word in words])

    def _folded_phrase(self, clause: Clause) -> tantivy.Query:
        words, field = self._terms.folds(clause), FOLDED_FIELDS[clause.field]
        if len(words) < 2:
            return _joined([(Occur.Should, self._term(field, word, 1.0)) for word in words])
        return tantivy.Query.phrase_query(self._schema, field, [*words], clause.slop)

    def _filter(self, each: Filter) -> tantivy.Query:
        if each.name in ("before", "after"):
            moment = moment_of(each.value)
            since, until = (moment, None) if each.name == "after" else (None, moment)
            found = tantivy.Query.range_query(
                self._schema, DATED, FieldType.Integer, since, until, include_upper=until is None
            )
        else:
            found = tantivy.Query.term_query(self._schema, FACTS, f"{each.name}:{each.value}", "basic")
        return tantivy.Query.const_score_query(found, 0.0)

    def _scored(self, question: Question) -> list[Term]:
        """All that adds to a score: words of any sign but not, in every field, and words of expansion."""
        found = self._any_terms(question)
        for clause in question.query.clauses:
            if clause.sign is Sign.MUST and clause.kind is not ClauseKind.PREFIX:
                for word in clause.words:
                    found += self._terms.bettering(word, question.language)
        return found + [(STEMS, stem, boost) for stem, boost in question.extra]

    def _any_terms(self, question: Question) -> list[Term]:
        loose = [clause for clause in question.query.clauses if clause.sign is Sign.ANY]
        told = set(telling(plain_words(question.query, Sign.ANY))) - question.following
        found: list[Term] = []
        for clause in loose:
            if clause.kind is ClauseKind.WORD and not clause.field and clause.words[0] not in told:
                continue
            found += self._terms.scoring(clause, question.language)
            if clause.kind is ClauseKind.WORD and not clause.field:
                found += self._terms.bettering(clause.words[0], question.language)
        return found

    def _term(self, field: str, word: str, boost: float) -> tantivy.Query:
        return tantivy.Query.boost_query(tantivy.Query.term_query(self._schema, field, word, "freq"), boost)


def plain_words(query: Query, *signs: Sign) -> list[str]:
    """Single words of no particular field, with one of these signs."""
    plain = (each for each in query.clauses if each.kind is ClauseKind.WORD and not each.field)
    return [clause.words[0] for clause in plain if clause.sign in signs]


def _joined(should: list[tuple[Occur, tantivy.Query]]) -> tantivy.Query:
    return tantivy.Query.boolean_query(should) if should else tantivy.Query.empty_query()
