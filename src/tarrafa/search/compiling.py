"""From what a question means to what tantivy is asked.

Candidates: every word in every field at one level. What must be there, must not, and filters stand around that. The
time it takes grows with how many documents have the words, since every one of them gets a score. So in a large index
words that most documents have, and that tell little beside the others, do not look for candidates: rarer words lead,
and the others count for the best of those candidates only.

That is asked afterwards, with nearness, which costs as much as a phrase: a question of five words has twenty phrases.
"""

from itertools import pairwise
from typing import NamedTuple

import tantivy
from tantivy import FieldType, Occur, Schema, Searcher

from tarrafa.search.index import (
    ADDRESS,
    ANCHORS,
    DATED,
    FACTS,
    FINGERPRINT,
    HEADINGS,
    SIGNATURE,
    STEMS,
    TITLE,
    TITLES,
    WORDS,
)
from tarrafa.search.leading import following
from tarrafa.search.query import Clause, Filter, Kind, Query, Sign, moment_of
from tarrafa.search.until import FACT, over_pattern
from tarrafa.search.words import Language, telling

# How much a word counts by where it stands. Text and title are in `stems` already: what is here comes on top.
STEMS_BOOST = 1.0
WORDS_BOOST = 0.3
TITLES_BOOST = 0.5
HEADINGS_BOOST = 0.1
ANCHORS_BOOST = 0.3
ADDRESS_BOOST = 0.1
# Two words of the question that follow each other in it: side by side, and near in either order.
BESIDE_BOOST = 0.2
NEAR_BOOST = 0.1
NEAR_SLOP = 8
_PAIRS_LIMIT = 24
_PAIRS_DOCUMENTS = 30_000  # that are looked at for all pairs
_FOLLOWING_TERMS = 60  # of words that follow; each is a query inside the other
_PREFIX_TERMS = 50  # the commonest words that begin so

_Terms = list[tuple[str, str, float]]  # field, word, boost
_FOLDED_FIELDS = {"": WORDS, "title": TITLE, "url": ADDRESS}


class Question(NamedTuple):
    """What is looked for, and in which languages.

    `extra` are stems that came from the best results; `following` are words that count for the best candidates only.
    """

    query: Query
    language: str | None
    now: float  # seconds since the Unix epoch
    extra: tuple[tuple[str, float], ...] = ()
    following: frozenset[str] = frozenset()


class Compiler:
    """For one state of one index."""

    def __init__(self, schema: Schema, searcher: Searcher, language: Language) -> None:
        self._schema = schema
        self._searcher = searcher
        self._language = language
        # Seldom does any page say until when it may be shown.
        self.has_ends = bool(searcher.terms_with_prefix(FACTS, FACT, limit=1))

    def candidates(self, question: Question, excluded_signatures: list[int]) -> tantivy.Query:
        """Whatever may be a result, with its score by words alone."""
        return self._around(question, self._scored(question), excluded_signatures)

    def led(self, question: Question) -> Question:
        """The same question, with the words that follow. Where something else is asked for, no word does."""
        query = question.query
        is_any = all(each.sign is not Sign.MUST for each in query.clauses) and all(f.is_excluded for f in query.filters)
        if not is_any or question.extra:
            return question
        counts = {word: self.documents_with(word, question.language) for word in telling(_plain_words(query))}
        known = {word: count for word, count in counts.items() if count}
        return question._replace(following=following(known, self._searcher.num_docs))

    def documents_with(self, word: str, language: str | None) -> int:
        """How many documents have the word in one of its forms, or a little fewer."""
        terms = self._clause_terms(Clause(Kind.WORD, (word,)), language)
        return max((self._searcher.doc_freq(field, form) for field, form, _ in terms), default=0)

    def beside(self, question: Question, fingerprints: list[int]) -> tantivy.Query | None:
        """Scores these documents by how near the words are, and by words that follow; each gets 1 more than that.

        One optional part inside the other: were they side by side, tantivy would work out each of them for all
        documents that lie between these.
        """
        parts = [self._term(*term) for term in self._following_terms(question)]
        words = telling(_plain_words(question.query, Sign.ANY, Sign.MUST))
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

    def _following_terms(self, question: Question) -> _Terms:
        terms: _Terms = []
        for word in sorted(question.following):
            terms += self._clause_terms(Clause(Kind.WORD, (word,)), question.language)
            terms += self._beside_terms(word, question.language)
        return terms[:_FOLLOWING_TERMS]

    def _cheap_pairs(self, words: list[str], language: str | None) -> list[list[str]]:
        """Stems that follow each other, the rarest first, as far as time allows: a pair costs as its rarer word does.

        So only pairs of words that are very common are left out, and these tell least.
        """
        pairs = [pair for first, second in pairwise(words) for pair in self._stem_pairs(first, second, language)]
        costs = sorted((min(self._searcher.doc_freq(STEMS, stem) for stem in pair), pair) for pair in pairs)
        found: list[list[str]] = []
        left = _PAIRS_DOCUMENTS
        for documents_count, pair in costs[:_PAIRS_LIMIT]:
            left -= documents_count
            if left >= 0:
                found.append(pair)
        return found

    def _stem_pairs(self, first: str, second: str, language: str | None) -> list[list[str]]:
        """A document is in one language, so both words are stemmed by the same rules; only pairs that can be there."""
        firsts, seconds = (self._language.by_language(word, language) for word in (first, second))
        pairs = dict.fromkeys(zip(firsts, seconds, strict=True))
        return [[a, b] for a, b in pairs if a != b and self._is_there(STEMS, a) and self._is_there(STEMS, b)]

    def _phrase(self, field: str, words: list[str], slop: int, boost: float) -> tantivy.Query:
        return tantivy.Query.boost_query(tantivy.Query.phrase_query(self._schema, field, [*words], slop), boost)

    def _around(self, question: Question, terms: _Terms, excluded_signatures: list[int]) -> tantivy.Query:
        must, must_not = self._required(question)
        if self.has_ends:
            # The index removes pages whose time is over, but perhaps nobody keeps it up any more.
            must_not.append(tantivy.Query.regex_query(self._schema, FACTS, over_pattern(question.now)))
        if excluded_signatures:
            must_not.append(tantivy.Query.term_set_query(self._schema, SIGNATURE, excluded_signatures))
        should = [(Occur.Should, self._term(*term)) for term in dict.fromkeys(terms)]
        is_any_needed = not any(clause.sign is Sign.MUST for clause in question.query.clauses)
        if is_any_needed and any(clause.sign is Sign.ANY for clause in question.query.clauses):
            if not must and not must_not:
                return _joined(should)
            must.append(_joined(should))
            should = []
        if not must:
            must.append(tantivy.Query.all_query())
        required = [(Occur.Must, each) for each in must] + [(Occur.MustNot, each) for each in must_not]
        return tantivy.Query.boolean_query([*required, *should])

    def _required(self, question: Question) -> tuple[list[tantivy.Query], list[tantivy.Query]]:
        """What must be there, and what must not."""
        must: list[tantivy.Query] = []
        must_not: list[tantivy.Query] = []
        for clause in question.query.clauses:
            if clause.sign is Sign.MUST:
                must.append(self._exactly(clause, question.language))
            elif clause.sign is Sign.NOT:
                must_not.append(self._excluded(clause))
        for each in question.query.filters:
            (must_not if each.is_excluded else must).append(self._filter(each))
        return must, must_not

    def _exactly(self, clause: Clause, language: str | None) -> tantivy.Query:
        if clause.kind is Kind.PHRASE:
            return self._folded_phrase(clause)
        return _joined([(Occur.Should, self._term(*term)) for term in self._clause_terms(clause, language)])

    def _excluded(self, clause: Clause) -> tantivy.Query:
        """Only the word as it stands: who excludes *nets* has not excluded *net*."""
        if clause.kind is Kind.PHRASE:
            return self._folded_phrase(clause)
        field = _FOLDED_FIELDS[clause.field]
        words = self._completed(field, clause.words[0]) if clause.kind is Kind.PREFIX else self._folds(clause)
        return _joined([(Occur.Should, self._term(field, word, 1.0)) for word in words])

    def _folded_phrase(self, clause: Clause) -> tantivy.Query:
        words, field = self._folds(clause), _FOLDED_FIELDS[clause.field]
        if len(words) < 2:
            return _joined([(Occur.Should, self._term(field, word, 1.0)) for word in words])
        return tantivy.Query.phrase_query(self._schema, field, [*words], clause.slop)

    def _folds(self, clause: Clause) -> list[str]:
        return [fold for word in clause.words if (fold := self._language.folded[word])]

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

    def _scored(self, question: Question) -> _Terms:
        """All that adds to a score: words of any sign but not, in every field, and words of expansion."""
        found = self._any_terms(question)
        for clause in question.query.clauses:
            if clause.sign is Sign.MUST and clause.kind is not Kind.PREFIX:
                for word in clause.words:
                    found += self._beside_terms(word, question.language)
        return found + [(STEMS, stem, boost) for stem, boost in question.extra]

    def _any_terms(self, question: Question) -> _Terms:
        loose = [clause for clause in question.query.clauses if clause.sign is Sign.ANY]
        told = set(telling(_plain_words(question.query))) - question.following
        found: _Terms = []
        for clause in loose:
            if clause.kind is Kind.WORD and not clause.field and clause.words[0] not in told:
                continue
            found += self._clause_terms(clause, question.language)
            if clause.kind is Kind.WORD and not clause.field:
                found += self._beside_terms(clause.words[0], question.language)
        return found

    def _clause_terms(self, clause: Clause, language: str | None) -> _Terms:
        """By which a document has the word."""
        field, word = _FOLDED_FIELDS[clause.field], clause.words[0]
        if clause.kind is Kind.PREFIX:
            return [(field, each, WORDS_BOOST) for each in self._completed(field, word)]
        fold = self._language.folded[word]
        if clause.field:
            return [(field, fold, 1.0)] if fold else []
        stems = self._present([(STEMS, stem, STEMS_BOOST) for stem in self._language.variants(word, language)])
        plain = self._present([(WORDS, fold, WORDS_BOOST)]) if fold else []
        if len(stems) == len(plain) == 1 and self._is_only_form(fold, stems[0][1]):
            # Both would find the same, so one counts for both: common words take half the time.
            return [(STEMS, stems[0][1], STEMS_BOOST + WORDS_BOOST)]
        return [*plain, *stems]

    def _beside_terms(self, word: str, language: str | None) -> _Terms:
        """By which a document that has the word is better."""
        stems, fold = self._language.variants(word, language), self._language.folded[word]
        boosts = ((TITLES, TITLES_BOOST), (HEADINGS, HEADINGS_BOOST), (ANCHORS, ANCHORS_BOOST))
        found = [(field, stem, boost) for field, boost in boosts for stem in stems]
        return self._present([*found, (ADDRESS, fold, ADDRESS_BOOST)] if fold else found)

    def _completed(self, field: str, word: str) -> list[str]:
        fold = self._language.folded[word]
        return [term for term, _ in self._searcher.terms_with_prefix(field, fold, limit=_PREFIX_TERMS)] if fold else []

    def _present(self, terms: _Terms) -> _Terms:
        """A word that no document has would only take time."""
        return [term for term in terms if self._is_there(term[0], term[1])]

    def _is_only_form(self, fold: str, stem: str) -> bool:
        """Whether all documents with this stem have it as this word."""
        return self._searcher.doc_freq(WORDS, fold) == self._searcher.doc_freq(STEMS, stem)

    def _is_there(self, field: str, word: str) -> bool:
        return self._searcher.doc_freq(field, word) > 0

    def _term(self, field: str, word: str, boost: float) -> tantivy.Query:
        return tantivy.Query.boost_query(tantivy.Query.term_query(self._schema, field, word, "freq"), boost)


def _plain_words(query: Query, *signs: Sign) -> list[str]:
    """Single words of no particular field, with one of these signs; those without a sign if none is given."""
    plain = (each for each in query.clauses if each.kind is Kind.WORD and not each.field)
    return [clause.words[0] for clause in plain if clause.sign in (signs or (Sign.ANY,))]


def _joined(should: list[tuple[Occur, tantivy.Query]]) -> tantivy.Query:
    return tantivy.Query.boolean_query(should) if should else tantivy.Query.empty_query()
