"""How much of an index a query scans. A small index is scanned wholly.

The time of a query grows with the number of documents that get a score. Two ways bound it:

1. A query for *any* of its words: the most common words cost the most and tell the least. So they are *deferred*: the
   rarer words, the *essential* ones, find the candidates, and deferred words only score the best of these. (This is the
   idea of MaxScore.)
2. A query with *required* words or phrases: where too many documents may match, only a sample of them is scanned. The
   sample is some slices of the index, always the same ones, and documents that have the words in their titles or
   anchors, because those are the best results.

Each document belongs to one of 64 slices. Rows are dealt to slices in stretches of a thousand, so that a slice is
spread over the whole index, and scanning it skips whole stretches of the others.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.search.fields import FACTS
from tarrafa.search.query import Clause, ClauseKind, Query, Sign
from tarrafa.search.terms import FOLDED_FIELDS, Term, TermLookup
from tarrafa.search.words import drop_stop_words

SLICES_COUNT = 64
STRETCH_ROWS = 1_024

ENOUGH_DOCUMENTS = 2_000  # twice the candidates that are wanted: some of these documents may be deleted
DEFERRED_DOCUMENTS = 20_000  # a word in fewer documents costs little, and is never deferred
_DEFERRED_SHARE = 0.25  # of the rarity of the last word that is needed; a word with less rarity is deferred

SINGLES_MAX = 20_000  # documents that are scanned because one word names them
_SAMPLE_WORDS = 4  # the rarest words of a query, which choose documents for the sample
_DATES = ("before", "after")


class TermGroup(NamedTuple):
    """The documents with any of these terms: how many, and which share of the matching documents they are."""

    documents_count: int
    terms: tuple[tuple[str, str], ...]  # field and word
    share: float


class DocumentSample(NamedTuple):
    """The documents that a query scans.

    They are the documents of the first `slices` slices, those of any group in `singles`, and, in the first
    `intersection_slices` slices, those that belong to all groups of one of the `intersections`.
    """

    slices: int
    singles: tuple[TermGroup, ...]
    intersections: tuple[tuple[TermGroup, ...], ...]
    intersection_slices: int
    seen_share: float  # of all matching documents, if words are independent


class SampleSize(NamedTuple):
    """When a sample is taken, and how large it is."""

    expected_min: int  # matching documents; fewer are all scanned
    sliced: int  # matching documents to scan in slices
    intersected: int  # documents to scan because several words name them
    enough: float = math.inf  # matching documents found by their names; then no slices are scanned


# Words of a phrase occur in many documents that do not have the phrase, so phrases need larger samples.
WORDS_SIZE = SampleSize(160_000, 20_000, 40_000, 2_000)
NEAR_SIZE = SampleSize(160_000, 40_000, 25_000)
PHRASE_SIZE = SampleSize(400_000, 120_000, 25_000)


class QueryPlan(NamedTuple):
    """What is searched for, and how much of the index is scanned for it."""

    query: Query
    language: str | None  # None for all languages
    now: float  # seconds since the Unix epoch
    extra: tuple[tuple[str, float], ...] = ()  # stems from query expansion, with boosts
    is_exhaustive: bool = False  # no sample is taken
    deferred: frozenset[str] = frozenset()  # words that only score the best candidates
    sample: DocumentSample | None = None  # None to scan all documents

    @property
    def required(self) -> list[Clause]:
        return [clause for clause in self.query.clauses if clause.sign is Sign.MUST]

    @property
    def is_cheap_to_count(self) -> bool:
        """True if counting the matching documents does not need the positions of words."""
        return all(clause.kind is not ClauseKind.PHRASE for clause in self.required)


def plain_words(query: Query, *signs: Sign) -> list[str]:
    """Return the single words of no particular field that have one of these signs."""
    plain = (each for each in query.clauses if each.kind is ClauseKind.WORD and not each.field)
    return [clause.words[0] for clause in plain if clause.sign in signs]


class Pruner:
    """Prunes plans for one snapshot of one index."""

    def __init__(self, terms: TermLookup) -> None:
        self._terms = terms

    def prune(self, plan: QueryPlan) -> QueryPlan:
        """Return the plan with a sample of the documents, or with deferred words."""
        if plan.required:
            return plan._replace(sample=self._sample(plan))
        return plan._replace(deferred=self._deferred(plan))

    def _deferred(self, plan: QueryPlan) -> frozenset[str]:
        """Return the words to defer; none if filters already narrow the search."""
        if plan.extra or not all(each.is_excluded for each in plan.query.filters):
            return frozenset()
        words = drop_stop_words(plain_words(plan.query, Sign.ANY))
        counts = {word: self.documents_with(word, plan.language) for word in words}
        known = {word: count for word, count in counts.items() if count}
        return deferred_words(known, self._terms.documents_count)

    def documents_with(self, word: str, language: str | None) -> int:
        return self._terms.documents_with(Clause(ClauseKind.WORD, (word,)), language)

    def _sample(self, plan: QueryPlan) -> DocumentSample | None:
        if plan.is_exhaustive:
            return None
        slops = [clause.slop for clause in plan.required if clause.kind is ClauseKind.PHRASE]
        size = WORDS_SIZE if not slops else NEAR_SIZE if all(slops) else PHRASE_SIZE
        return make_sample(self.expected_count(plan), self._terms.documents_count, self._groups(plan), size)

    def expected_count(self, plan: QueryPlan) -> float:
        """Estimate how many documents have all that is required, as if words were independent. Dates are ignored."""
        total = self._terms.documents_count
        counts = [count for clause in plan.required for count in self._counts(clause, plan.language)]
        facts = [each for each in plan.query.filters if not each.is_excluded and each.name not in _DATES]
        counts += [self._terms.count(FACTS, f"{each.name}:{each.value}") for each in facts]
        return total * math.prod(count / total for count in counts) if total else 0.0

    def _counts(self, clause: Clause, language: str | None) -> list[int]:
        if clause.kind is ClauseKind.PHRASE:
            return [self._terms.count(FOLDED_FIELDS[clause.field], fold) for fold in {*self._terms.folds(clause)}]
        return [self._terms.documents_with(clause, language)]

    def _groups(self, plan: QueryPlan) -> Iterator[TermGroup]:
        """Yield the documents that each word names, and those that have a word which is not required."""
        for clause in plan.query.clauses:
            if clause.kind is ClauseKind.PREFIX or clause.field or clause.sign is Sign.NOT:
                continue
            for word in clause.words:
                is_required = clause.sign is Sign.MUST
                among = self.documents_with(word, plan.language) if is_required else 0
                yield from self._group(self._terms.naming(word, plan.language), among)
                if not is_required:
                    having = self._terms.matching(Clause(ClauseKind.WORD, (word,)), plan.language)
                    yield from self._group(having, among)

    def _group(self, terms: list[Term], among: int) -> Iterator[TermGroup]:
        """Yield the documents with any of the terms, as a share of `among`, or of all documents if that is 0."""
        if terms:
            count = sum(self._terms.count(field, word) for field, word, _ in terms)
            share = min(1.0, count / (among or self._terms.documents_count))
            yield TermGroup(count, tuple((field, word) for field, word, _ in terms), share)


def deferred_words(documents_counts: Mapping[str, int], total: int) -> frozenset[str]:
    """Return the words to defer, from the number of documents that have each word, which is never 0."""
    rarest_first = sorted(documents_counts, key=lambda word: (documents_counts[word], word))
    enough = next((word for word in rarest_first if documents_counts[word] >= ENOUGH_DOCUMENTS), None)
    if enough is None:
        return frozenset()
    least = _DEFERRED_SHARE * rarity(documents_counts[enough], total)
    common = (word for word, count in documents_counts.items() if count >= DEFERRED_DOCUMENTS and word != enough)
    return frozenset(word for word in common if rarity(documents_counts[word], total) < least)


def rarity(documents_count: int, total: int) -> float:
    """Return the inverse document frequency of BM25."""
    return math.log(1.0 + (max(total - documents_count, 0) + 0.5) / (documents_count + 0.5))


def estimated_count(found: int, documents_counts: list[int], total: int) -> int:
    """Estimate how many documents match: those found, and those with deferred words, as if words were independent."""
    without = max(0.0, 1.0 - found / total) if total else 0.0
    for count in documents_counts:
        without *= max(0.0, 1.0 - count / total)
    return max([found, round(total * (1.0 - without)), *documents_counts])


def make_sample(
    expected_count: float, total: int, groups: Iterable[TermGroup], size: SampleSize
) -> DocumentSample | None:
    """Return the documents to scan if `expected_count` of `total` match; None to scan all of them."""
    if expected_count < size.expected_min:
        return None
    rarest_first = sorted(set(groups))[:_SAMPLE_WORDS]
    singles = _singles(rarest_first)
    intersections = _intersections(rarest_first[len(singles) :], total, size.intersected, 2 if singles else 1)
    intersection_slices = _slices(size.intersected, sum(_intersection_count(each, total) for each in intersections))
    intersected = min(1.0, sum(math.prod(group.share for group in each) for each in intersections))
    unseen = math.prod(1.0 - group.share for group in singles)
    unseen *= 1.0 - intersection_slices / SLICES_COUNT * intersected
    slices = _slices(size.sliced, expected_count) if (1.0 - unseen) * expected_count < size.enough else 0
    seen_share = 1.0 - (1.0 - slices / SLICES_COUNT) * unseen
    return DocumentSample(slices, singles, intersections, intersection_slices, seen_share)


def _slices(wanted: float, count: float) -> int:
    """Return how many slices hold `wanted` of `count` documents."""
    return max(1, min(SLICES_COUNT, math.floor(SLICES_COUNT * wanted / max(1.0, count))))


def _singles(rarest_first: Sequence[TermGroup]) -> tuple[TermGroup, ...]:
    """Return the rarest groups that together have few enough documents."""
    left, count = SINGLES_MAX, 0
    for group in rarest_first:
        left -= group.documents_count
        count += left >= 0
    return tuple(rarest_first[:count])


def _intersections(
    groups: Sequence[TermGroup], total: int, limit: int, groups_min: int
) -> tuple[tuple[TermGroup, ...], ...]:
    """Return all intersections of the fewest groups that leave few enough documents, or that of all groups."""
    for groups_count in range(groups_min, len(groups) + 1):
        found = tuple(combinations(groups, groups_count))
        if groups_count == len(groups) or sum(_intersection_count(each, total) for each in found) <= limit:
            return found
    return ()


def _intersection_count(groups: Iterable[TermGroup], total: int) -> float:
    """Estimate how many documents belong to all groups, as if words were independent."""
    return total * math.prod(group.documents_count / total for group in groups)


def slice_numbers(rows: NDArray[np.int64]) -> list[int]:
    """Return the slice of each row of documents."""
    numbers: list[int] = (rows // STRETCH_ROWS % SLICES_COUNT).tolist()
    return numbers


def slice_fact(number: int) -> str:
    """Return the fact by which the documents of a slice are found."""
    return f"slice:{number}"
