"""From a query plan to queries for tantivy.

A candidate query has every word in every field at one level; required words, excluded words and filters stand around
that. The best candidates get a second query for proximity, because phrases are too expensive for all documents: a query
of five words has twenty of them. Deferred words (`pruning`) are scored there, too.
"""

from collections.abc import Sequence
from itertools import pairwise

import tantivy
from tantivy import FieldType, Occur, Schema

from tarrafa.search.expiry import EXPIRY_FACT, expired_pattern
from tarrafa.search.fields import DATE, FACTS, FINGERPRINT, SIGNATURE, STEMS, TITLE, WORDS
from tarrafa.search.pruning import SLICES_COUNT, DocumentSample, QueryPlan, TermGroup, plain_words, slice_fact
from tarrafa.search.query import Clause, ClauseKind, Filter, Sign, moment_of
from tarrafa.search.terms import FOLDED_FIELDS, Term, TermLookup
from tarrafa.search.words import drop_stop_words

# Two neighbouring words of the query: as a phrase, and near each other in either order.
PHRASE_BOOST = 0.2
NEAR_BOOST = 0.1
NEAR_SLOP = 8
IDENTIFIER_BOOST = 0.3  # of `os.path.join` as a whole
IDENTIFIER_TITLE_BOOST = 0.3
_IDENTIFIER_DOCUMENTS = 30_000  # documents with its rarest word, at most
_PAIRS_LIMIT = 24
_PAIRS_DOCUMENTS = 30_000  # documents that are scanned for all pairs
_DEFERRED_TERMS = 60  # each nests the query one level deeper


class QueryCompiler:
    """Compiles plans for one snapshot of one index."""

    def __init__(self, schema: Schema, terms: TermLookup) -> None:
        self._schema = schema
        self._terms = terms
        # Few crawls have pages that expire, so most queries need not check for expired ones.
        self.has_expiring = terms.has_prefix(FACTS, EXPIRY_FACT)

    def candidates(self, plan: QueryPlan, excluded_signatures: list[int]) -> tantivy.Query:
        """Return a query for all results, scored by words alone."""
        return self._constrain(plan, self._scoring_terms(plan), excluded_signatures, self._identifiers(plan))

    def matching(self, plan: QueryPlan, excluded_signatures: list[int], slices: int) -> tantivy.Query:
        """Return a query for the same documents in the first `slices` slices, without scores, to count them fast."""
        found = self._constrain(plan, [], excluded_signatures)
        if slices < SLICES_COUNT:
            found = _all_of([found, _any_of(self._slices(slices))])
        return tantivy.Query.const_score_query(found, 1.0)

    def in_slices(self, plan: QueryPlan, slices: int) -> tantivy.Query:
        """Return a query for all results in the first `slices` slices, without scores."""
        found = self._constrain(plan, self._scoring_terms(plan), [])
        if slices < SLICES_COUNT:
            found = _all_of([found, _any_of(self._slices(slices))])
        return tantivy.Query.const_score_query(found, 1.0)

    def proximity(self, plan: QueryPlan, fingerprints: list[int]) -> tantivy.Query | None:
        """Return a query that scores these documents by proximity and by deferred words, plus 1; None if neither apply.

        Each optional part wraps the query before it. Side by side, tantivy would score each part for all documents
        between these.
        """
        parts = [self._term(*term) for term in self._deferred_terms(plan)]
        words = drop_stop_words(plain_words(plan.query, Sign.ANY, Sign.MUST))
        for pair in self._cheap_pairs(words, plan.language):
            parts.append(self._phrase(STEMS, pair, 0, PHRASE_BOOST))
            parts.append(self._phrase(STEMS, pair, NEAR_SLOP, NEAR_BOOST))
            parts.append(self._phrase(STEMS, pair[::-1], NEAR_SLOP, NEAR_BOOST))
        if not parts:
            return None
        found = self._only(fingerprints)
        for part in parts:
            found = tantivy.Query.boolean_query([(Occur.Must, found), (Occur.Should, part)])
        return found

    def _only(self, fingerprints: list[int]) -> tantivy.Query:
        """Return a query for these documents, each looked up by itself; a set query would scan all fingerprints."""
        ones = [tantivy.Query.term_query(self._schema, FINGERPRINT, each, "basic") for each in fingerprints]
        return tantivy.Query.const_score_query(_any_of(ones), 1.0)

    def _deferred_terms(self, plan: QueryPlan) -> list[Term]:
        terms: list[Term] = []
        for word in sorted(plan.deferred):
            terms += self._terms.matching(Clause(ClauseKind.WORD, (word,)), plan.language)
            terms += self._terms.boosting(word, plan.language)
        return terms[:_DEFERRED_TERMS]

    def _cheap_pairs(self, words: list[str], language: str | None) -> list[tuple[str, str]]:
        """Return pairs of neighbouring stems, the rarest first, within a budget. A pair costs as its rarer word does.

        Only pairs of two very common words are left out.
        """
        pairs = [pair for first, second in pairwise(words) for pair in self._terms.stem_pairs(first, second, language)]
        costs = sorted((min(self._terms.count(STEMS, stem) for stem in pair), pair) for pair in pairs)
        found: list[tuple[str, str]] = []
        budget = _PAIRS_DOCUMENTS
        for documents_count, pair in costs[:_PAIRS_LIMIT]:
            budget -= documents_count
            if budget >= 0:
                found.append(pair)
        return found

    def _phrase(self, field: str, words: Sequence[str], slop: int, boost: float) -> tantivy.Query:
        return tantivy.Query.boost_query(tantivy.Query.phrase_query(self._schema, field, [*words], slop), boost)

    def _identifiers(self, plan: QueryPlan) -> list[tantivy.Query]:
        """Return a query for each identifier as a whole, in texts and titles, unless its words are too common."""
        found: list[tantivy.Query] = []
        for words in plan.query.identifiers:
            folds = self._terms.folds(Clause(ClauseKind.PHRASE, words))
            for field, boost in ((WORDS, IDENTIFIER_BOOST), (TITLE, IDENTIFIER_TITLE_BOOST)):
                counts = [self._terms.count(field, fold) for fold in folds]
                if len(folds) > 1 and 0 < min(counts) <= _IDENTIFIER_DOCUMENTS:
                    found.append(self._phrase(field, folds, 0, boost))
        return found

    def _constrain(
        self,
        plan: QueryPlan,
        terms: list[Term],
        excluded_signatures: list[int],
        identifiers: Sequence[tantivy.Query] = (),
    ) -> tantivy.Query:
        """Return a query for what fulfils all constraints of the plan; `terms` and `identifiers` add to its score."""
        must, must_not = self._constraints(plan, excluded_signatures)
        optional = [self._term(*term) for term in dict.fromkeys(terms)]
        should = [(Occur.Should, each) for each in (*optional, *identifiers)]
        if not plan.required and any(clause.sign is Sign.ANY for clause in plan.query.clauses):
            # No word is required by itself, but one of them is.
            if not must and not must_not:
                return _boolean(should)
            must.append(_boolean(should))
            should = []
        if not must:
            must.append(tantivy.Query.all_query())
        constraints = [(Occur.Must, each) for each in must] + [(Occur.MustNot, each) for each in must_not]
        return tantivy.Query.boolean_query([*constraints, *should])

    def _constraints(
        self, plan: QueryPlan, excluded_signatures: list[int]
    ) -> tuple[list[tantivy.Query], list[tantivy.Query]]:
        """Return what must match and what must not."""
        must = [self._required(clause, plan) for clause in plan.required]
        must_not = [self._excluded(clause) for clause in plan.query.clauses if clause.sign is Sign.NOT]
        for each in plan.query.filters:
            (must_not if each.is_excluded else must).append(self._filter(each))
        if self.has_expiring:
            # The writer removes expired pages, but only as long as it runs.
            must_not.append(tantivy.Query.regex_query(self._schema, FACTS, expired_pattern(plan.now)))
        if excluded_signatures:
            must_not.append(tantivy.Query.term_set_query(self._schema, SIGNATURE, excluded_signatures))
        if plan.sample is not None:
            must.append(self._sampled(plan.sample))
        return must, must_not

    def _sampled(self, sample: DocumentSample) -> tantivy.Query:
        scanned = [*self._slices(sample.slices), *map(self._in_group, sample.singles)]
        for groups in sample.intersections:
            intersection = list(map(self._in_group, groups))
            if sample.intersection_slices < SLICES_COUNT:
                intersection.append(_any_of(self._slices(sample.intersection_slices)))
            scanned.append(_all_of(intersection))
        return tantivy.Query.const_score_query(_any_of(scanned), 0.0)

    def _slices(self, count: int) -> list[tantivy.Query]:
        """Return queries for the first `count` slices of the index."""
        return [tantivy.Query.term_query(self._schema, FACTS, slice_fact(number), "basic") for number in range(count)]

    def _in_group(self, group: TermGroup) -> tantivy.Query:
        return _any_of([self._term(field, word, 1.0) for field, word in group.terms])

    def _required(self, clause: Clause, plan: QueryPlan) -> tantivy.Query:
        if clause.kind is ClauseKind.PHRASE:
            return self._folded_phrase(clause)
        find = self._terms.scoring if plan.sample else self._terms.matching
        return _any_of([self._term(*term) for term in find(clause, plan.language)])

    def _excluded(self, clause: Clause) -> tantivy.Query:
        """Return a query for the word as it is typed: excluding *nets* does not exclude *net*."""
        if clause.kind is ClauseKind.PHRASE:
            return self._folded_phrase(clause)
        field = FOLDED_FIELDS[clause.field]
        is_prefix = clause.kind is ClauseKind.PREFIX
        words = self._terms.completed(field, clause.words[0]) if is_prefix else self._terms.folds(clause)
        return _any_of([self._term(field, word, 1.0) for word in words])

    def _folded_phrase(self, clause: Clause) -> tantivy.Query:
        words, field = self._terms.folds(clause), FOLDED_FIELDS[clause.field]
        if len(words) < 2:
            return _any_of([self._term(field, word, 1.0) for word in words])
        return tantivy.Query.phrase_query(self._schema, field, [*words], clause.slop)

    def _filter(self, each: Filter) -> tantivy.Query:
        if each.name in ("before", "after"):
            moment = moment_of(each.value)
            since, until = (moment, None) if each.name == "after" else (None, moment)
            found = tantivy.Query.range_query(
                self._schema, DATE, FieldType.Integer, since, until, include_upper=until is None
            )
        else:
            found = tantivy.Query.term_query(self._schema, FACTS, f"{each.name}:{each.value}", "basic")
        return tantivy.Query.const_score_query(found, 0.0)

    def _scoring_terms(self, plan: QueryPlan) -> list[Term]:
        """Return all terms that add to a score: optional and required words in every field, and expansion."""
        found = self._optional_terms(plan)
        for clause in plan.required:
            if clause.kind is not ClauseKind.PREFIX:
                for word in clause.words:
                    found += self._terms.boosting(word, plan.language)
        return found + [(STEMS, stem, boost) for stem, boost in plan.extra]

    def _optional_terms(self, plan: QueryPlan) -> list[Term]:
        searched = set(drop_stop_words(plain_words(plan.query, Sign.ANY))) - plan.deferred
        found: list[Term] = []
        for clause in plan.query.clauses:
            is_plain = clause.kind is ClauseKind.WORD and not clause.field
            if clause.sign is not Sign.ANY or (is_plain and clause.words[0] not in searched):
                continue
            found += self._terms.scoring(clause, plan.language)
            if is_plain:
                found += self._terms.boosting(clause.words[0], plan.language)
        return found

    def _term(self, field: str, word: str, boost: float) -> tantivy.Query:
        return tantivy.Query.boost_query(tantivy.Query.term_query(self._schema, field, word, "freq"), boost)


def _any_of(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    return _boolean([(Occur.Should, each) for each in queries])


def _all_of(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    return _boolean([(Occur.Must, each) for each in queries])


def _boolean(clauses: list[tuple[Occur, tantivy.Query]]) -> tantivy.Query:
    return tantivy.Query.boolean_query(clauses) if clauses else tantivy.Query.empty_query()
