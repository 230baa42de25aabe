"""From a word of a query to terms of the index: in which fields it may occur, in which forms, with which boosts.

Terms that no document has are dropped: searching for them would only take time.
"""

from tantivy import Searcher

from tarrafa.search.fields import ADDRESS, ANCHORS, HEADINGS, STEMS, TITLE, TITLES, WORDS
from tarrafa.search.query import Clause, ClauseKind
from tarrafa.search.words import WordAnalyzer

# How much a word counts by field. `stems` has text and title already; the boosts of other fields come on top.
STEMS_BOOST = 1.0
WORDS_BOOST = 0.3
TITLES_BOOST = 0.5
HEADINGS_BOOST = 0.1
ANCHORS_BOOST = 0.3
ADDRESS_BOOST = 0.1
COMMON_DOCUMENTS = 20_000  # a stem in so many documents is common
_USUAL_SHARE = 0.98  # of the documents with a stem; if so many have it as one word, that is its usual form
_PREFIX_TERMS = 50  # the most common words with a prefix

Term = tuple[str, str, float]  # field, word, boost
FOLDED_FIELDS = {"": WORDS, "title": TITLE, "url": ADDRESS}


class TermLookup:
    """Looks up terms in one snapshot of one index."""

    def __init__(self, searcher: Searcher, words: WordAnalyzer) -> None:
        self._searcher = searcher
        self._words = words
        self.documents_count = searcher.num_docs

    def count(self, field: str, word: str) -> int:
        """Return how many documents have the term, deleted ones included."""
        return self._searcher.doc_freq(field, word)

    def documents_with(self, clause: Clause, language: str | None) -> int:
        """Return about how many documents have the word in its most common form; never more than there are."""
        counts = (self.count(field, word) for field, word, _ in self.matching(clause, language))
        # Documents that were replaced are counted until tantivy merges their segments.
        return min(max(counts, default=0), self.documents_count)

    def matching(self, clause: Clause, language: str | None) -> list[Term]:
        """Return the terms by which a document matches a word or prefix."""
        field, word = FOLDED_FIELDS[clause.field], clause.words[0]
        if clause.kind is ClauseKind.PREFIX:
            return [(field, each, WORDS_BOOST) for each in self.completed(field, word)]
        fold = self._words.folded[word]
        if clause.field:
            return [(field, fold, 1.0)] if fold else []
        stems = self._present([(STEMS, stem, STEMS_BOOST) for stem in self._words.variants(word, language)])
        plain = self._present([(WORDS, fold, WORDS_BOOST)]) if fold else []
        if len(stems) == len(plain) == 1 and self.count(WORDS, fold) == self.count(STEMS, stems[0][1]):
            # Both terms match the same documents, so one stands for both: this halves the time for common words.
            return [(STEMS, stems[0][1], STEMS_BOOST + WORDS_BOOST)]
        return [*plain, *stems]

    def scoring(self, clause: Clause, language: str | None) -> list[Term]:
        """Return terms as `matching` does, but merge two that match nearly the same documents; a few may be missed."""
        terms = self.matching(clause, language)
        plain = [term for term in terms if term[0] == WORDS]
        stems = sorted((term for term in terms if term[0] == STEMS), key=lambda term: -self.count(STEMS, term[1]))
        if not plain or not stems or not self._is_usual_form(plain[0][1], stems[0][1]):
            return terms
        return [(STEMS, stems[0][1], STEMS_BOOST + WORDS_BOOST), *stems[1:]]

    def boosting(self, word: str, language: str | None) -> list[Term]:
        """Return the terms that raise the score of a document with the word."""
        stems, fold = self._words.variants(word, language), self._words.folded[word]
        headings = self._present([(HEADINGS, stem, HEADINGS_BOOST) for stem in stems])
        address = self._present([(ADDRESS, fold, ADDRESS_BOOST)]) if fold else []
        return [*self.naming(word, language), *headings, *address]

    def naming(self, word: str, language: str | None) -> list[Term]:
        """Return the terms by which a document is named: by its title or by anchors."""
        stems, boosts = self._words.variants(word, language), ((TITLES, TITLES_BOOST), (ANCHORS, ANCHORS_BOOST))
        return self._present([(field, stem, boost) for field, boost in boosts for stem in stems])

    def completed(self, field: str, word: str) -> list[str]:
        """Return the most common words of a field that have the word as their prefix."""
        fold = self._words.folded[word]
        return [term for term, _ in self._searcher.terms_with_prefix(field, fold, limit=_PREFIX_TERMS)] if fold else []

    def folds(self, clause: Clause) -> list[str]:
        return [fold for word in clause.words if (fold := self._words.folded[word])]

    def stem_pairs(self, first: str, second: str, language: str | None) -> list[tuple[str, str]]:
        """Return the pairs of stems of two words that documents may have.

        A document has one language, so both words of a pair are stemmed by the rules of the same language.
        """
        firsts, seconds = (self._words.stems_by_language(word, language) for word in (first, second))
        pairs = dict.fromkeys(zip(firsts, seconds, strict=True))
        return [(a, b) for a, b in pairs if a != b and self.count(STEMS, a) and self.count(STEMS, b)]

    def has_prefix(self, field: str, prefix: str) -> bool:
        return bool(self._searcher.terms_with_prefix(field, prefix, limit=1))

    def _present(self, terms: list[Term]) -> list[Term]:
        return [term for term in terms if self.count(term[0], term[1])]

    def _is_usual_form(self, fold: str, stem: str) -> bool:
        """Return True if the stem is common and nearly all documents with it have it as this word."""
        count, all_count = self.count(WORDS, fold), self.count(STEMS, stem)
        return all_count >= COMMON_DOCUMENTS and _USUAL_SHARE * all_count <= count <= all_count
