"""From a word of a question to the words of an index: in which fields it may stand, in which forms, how much it counts.

What no document has is left out: to look for it would only take time.
"""

from tantivy import Searcher

from tarrafa.search.index import ADDRESS, ANCHORS, HEADINGS, STEMS, TITLE, TITLES, WORDS
from tarrafa.search.query import Clause, ClauseKind
from tarrafa.search.words import Language

# How much a word counts by where it stands. Text and title are in `stems` already: what is here comes on top.
STEMS_BOOST = 1.0
WORDS_BOOST = 0.3
TITLES_BOOST = 0.5
HEADINGS_BOOST = 0.1
ANCHORS_BOOST = 0.3
ADDRESS_BOOST = 0.1
_COMMON_DOCUMENTS, _USUAL_SHARE = 20_000, 0.98  # with a stem; of which so many have it as the same word
_PREFIX_TERMS = 50  # the commonest words that begin so

Term = tuple[str, str, float]  # field, word, boost
FOLDED_FIELDS = {"": WORDS, "title": TITLE, "url": ADDRESS}


class Terms:
    """For one state of one index."""

    def __init__(self, searcher: Searcher, language: Language) -> None:
        self._searcher = searcher
        self._language = language
        self.documents_count = searcher.num_docs

    def count(self, field: str, word: str) -> int:
        """How many documents have it, some of which may be deleted."""
        return self._searcher.doc_freq(field, word)

    def documents_with(self, clause: Clause, language: str | None) -> int:
        """How many documents have the word in one of its forms, or a little fewer."""
        return max((self.count(field, word) for field, word, _ in self.having(clause, language)), default=0)

    def having(self, clause: Clause, language: str | None) -> list[Term]:
        """By which a document has the word."""
        field, word = FOLDED_FIELDS[clause.field], clause.words[0]
        if clause.kind is ClauseKind.PREFIX:
            return [(field, each, WORDS_BOOST) for each in self.completed(field, word)]
        fold = self._language.folded[word]
        if clause.field:
            return [(field, fold, 1.0)] if fold else []
        stems = self._present([(STEMS, stem, STEMS_BOOST) for stem in self._language.variants(word, language)])
        plain = self._present([(WORDS, fold, WORDS_BOOST)]) if fold else []
        if len(stems) == len(plain) == 1 and self.count(WORDS, fold) == self.count(STEMS, stems[0][1]):
            # Both would find the same, so one counts for both: common words take half the time.
            return [(STEMS, stems[0][1], STEMS_BOOST + WORDS_BOOST)]
        return [*plain, *stems]

    def scoring(self, clause: Clause, language: str | None) -> list[Term]:
        """The same, where few documents of many may be missed: of two terms that find nearly the same, one counts."""
        terms = self.having(clause, language)
        plain = [term for term in terms if term[0] == WORDS]
        stems = sorted((term for term in terms if term[0] == STEMS), key=lambda term: -self.count(STEMS, term[1]))
        if not plain or not stems or not self._is_usual_form(plain[0][1], stems[0][1]):
            return terms
        return [(STEMS, stems[0][1], STEMS_BOOST + WORDS_BOOST), *stems[1:]]

    def bettering(self, word: str, language: str | None) -> list[Term]:
        """By which a document that has the word is better."""
        stems, fold = self._language.variants(word, language), self._language.folded[word]
        headings = self._present([(HEADINGS, stem, HEADINGS_BOOST) for stem in stems])
        address = self._present([(ADDRESS, fold, ADDRESS_BOOST)]) if fold else []
        return [*self.calling(word, language), *headings, *address]

    def calling(self, word: str, language: str | None) -> list[Term]:
        """By which a document is called by the word: in its title, or by others."""
        stems, boosts = self._language.variants(word, language), ((TITLES, TITLES_BOOST), (ANCHORS, ANCHORS_BOOST))
        return self._present([(field, stem, boost) for field, boost in boosts for stem in stems])

    def completed(self, field: str, word: str) -> list[str]:
        """Words that begin so."""
        fold = self._language.folded[word]
        return [term for term, _ in self._searcher.terms_with_prefix(field, fold, limit=_PREFIX_TERMS)] if fold else []

    def folds(self, clause: Clause) -> list[str]:
        return [fold for word in clause.words if (fold := self._language.folded[word])]

    def stem_pairs(self, first: str, second: str, language: str | None) -> list[tuple[str, str]]:
        """A document is in one language, so both words are stemmed by the same rules; only pairs that can be there."""
        firsts, seconds = (self._language.by_language(word, language) for word in (first, second))
        pairs = dict.fromkeys(zip(firsts, seconds, strict=True))
        return [(a, b) for a, b in pairs if a != b and self.count(STEMS, a) and self.count(STEMS, b)]

    def has_prefix(self, field: str, start: str) -> bool:
        return bool(self._searcher.terms_with_prefix(field, start, limit=1))

    def _present(self, terms: list[Term]) -> list[Term]:
        return [term for term in terms if self.count(term[0], term[1])]

    def _is_usual_form(self, fold: str, stem: str) -> bool:
        """Whether the stem is common, and nearly all documents with it have it as this word."""
        count, all_count = self.count(WORDS, fold), self.count(STEMS, stem)
        return all_count >= _COMMON_DOCUMENTS and _USUAL_SHARE * all_count <= count <= all_count
