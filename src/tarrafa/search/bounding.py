"""How much of an index a question looks at. What a small index holds is all looked at.

Where any of the words will do, the commonest follow where the others lead (`leading`). Where words or phrases are
required, a sample is looked at (`sampling`) if too many documents have them.
"""

import math
from collections.abc import Iterator

from tarrafa.search.compiling import Question, plain_words
from tarrafa.search.index import FACTS
from tarrafa.search.leading import following
from tarrafa.search.query import Clause, ClauseKind, Sign
from tarrafa.search.sampling import NEAR_SIZE, PHRASE_SIZE, WORDS_SIZE, Called, Sample, make_sample
from tarrafa.search.terms import FOLDED_FIELDS, Term, Terms
from tarrafa.search.words import telling

_DATES = ("before", "after")


class Bounds:
    """For one state of one index."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def bounded(self, question: Question) -> Question:
        """The same question, with the documents that are looked at, or the words that follow."""
        if question.required:
            return question._replace(sample=self._sample(question))
        return question._replace(following=self._following(question))

    def _following(self, question: Question) -> frozenset[str]:
        """None where filters narrow what is looked for."""
        if question.extra or not all(each.is_excluded for each in question.query.filters):
            return frozenset()
        words = {word: Clause(ClauseKind.WORD, (word,)) for word in telling(plain_words(question.query, Sign.ANY))}
        counts = {word: self._terms.documents_with(clause, question.language) for word, clause in words.items()}
        known = {word: count for word, count in counts.items() if count}
        return following(known, self._terms.documents_count)

    def _sample(self, question: Question) -> Sample | None:
        if question.is_thorough:
            return None
        slops = [clause.slop for clause in question.required if clause.kind is ClauseKind.PHRASE]
        size = WORDS_SIZE if not slops else NEAR_SIZE if all(slops) else PHRASE_SIZE
        return make_sample(self.expected_count(question), self._terms.documents_count, self._called(question), size)

    def expected_count(self, question: Question) -> float:
        """How many documents have all that is required, as if words were independent; dates are not known."""
        total = self._terms.documents_count
        counts = [count for clause in question.required for count in self._counts(clause, question.language)]
        facts = [each for each in question.query.filters if not each.is_excluded and each.name not in _DATES]
        counts += [self._terms.count(FACTS, f"{each.name}:{each.value}") for each in facts]
        return total * math.prod(count / total for count in counts) if total else 0.0

    def _counts(self, clause: Clause, language: str | None) -> list[int]:
        if clause.kind is ClauseKind.PHRASE:
            return [self._terms.count(FOLDED_FIELDS[clause.field], fold) for fold in {*self._terms.folds(clause)}]
        return [self._terms.documents_with(clause, language)]

    def _called(self, question: Question) -> Iterator[Called]:
        """Who is called by each word; and who has a word that is not required."""
        for clause in question.query.clauses:
            if clause.kind is ClauseKind.PREFIX or clause.field or clause.sign is Sign.NOT:
                continue
            for word in clause.words:
                one = Clause(ClauseKind.WORD, (word,))
                is_required = clause.sign is Sign.MUST
                among = self._terms.documents_with(one, question.language) if is_required else 0
                yield from self._documents(self._terms.calling(word, question.language), among)
                if not is_required:
                    yield from self._documents(self._terms.having(one, question.language), among)

    def _documents(self, terms: list[Term], among: int) -> Iterator[Called]:
        """Those with one of the terms, as a share of `among`, or of all if that is not known."""
        if terms:
            count = sum(self._terms.count(field, word) for field, word, _ in terms)
            share = min(1.0, count / (among or self._terms.documents_count))
            yield Called(count, tuple((field, word) for field, word, _ in terms), share)
