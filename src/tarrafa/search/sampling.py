"""Which documents are looked at where more have all that is required than can be looked at in time. Pure.

A phrase of two of the commonest words is looked for in nearly every document, and stands in one of three. So of all
documents a sample is looked at, some slices of the index (`slices`): the same each time. And with it documents that are
called by the words, in their titles or by others, for among those are the best: all that are called by one of the
rarest words, and those that are called by several of the others.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from tarrafa.search.slices import SLICES_COUNT


class Size(NamedTuple):
    """How many documents must have all that is required for a sample to be taken, and how many of these it holds.

    Where so many are called by the words as is enough, those are all that is looked at.
    """

    expected_min: int
    looked: int
    called_together: int  # by several words: so many are looked at beside the sample
    called_enough: float = math.inf


# To look at one takes 0.1 to 0.3 µs. Words stand side by side in few documents that have them, so more are needed.
WORDS_SIZE = Size(160_000, 20_000, 40_000, 2_000)
NEAR_SIZE = Size(160_000, 40_000, 25_000)
PHRASE_SIZE = Size(400_000, 120_000, 25_000)
CALLED_BY_ONE = 20_000  # and so many that are called by one word
_WORDS_LIMIT = 4  # by which documents are called


class Called(NamedTuple):
    """Documents that are called by one word: how many, by which fields and forms, and of what is found which share."""

    documents_count: int
    terms: tuple[tuple[str, str], ...]
    share: float


class Sample(NamedTuple):
    """Some slices of all; documents that are called by one of some words; and some that are called by others.

    Of documents that are called by all words of one of the sets in `together`, it is those in `together_slices`. `seen`
    is the share of all that matches which is found so, if words are independent.
    """

    slices: int
    by_one: tuple[Called, ...]
    together: tuple[tuple[Called, ...], ...]
    together_slices: int
    seen: float


def make_sample(expected_count: float, total: int, called: Iterable[Called], size: Size) -> Sample | None:
    """None where all can be looked at; of `total`, `expected_count` documents have all that is required."""
    if expected_count < size.expected_min:
        return None
    rarest_first = sorted(set(called))[:_WORDS_LIMIT]
    by_one = _by_one(rarest_first)
    together = _together(rarest_first[len(by_one) :], total, size.called_together, words_min=2 if by_one else 1)
    together_count = sum(_count(words, total) for words in together)
    together_slices = _slices(size.called_together, together_count)
    by_several = sum(math.prod(each.share for each in words) for words in together)
    together_share = together_slices / SLICES_COUNT
    unseen = math.prod(1.0 - each.share for each in by_one) * (1.0 - together_share * min(1.0, by_several))
    slices = _slices(size.looked, expected_count) if (1.0 - unseen) * expected_count < size.called_enough else 0
    return Sample(slices, by_one, together, together_slices, 1.0 - (1.0 - slices / SLICES_COUNT) * unseen)


def _slices(wanted: float, count: float) -> int:
    """That hold so many of as many as there are in all."""
    return max(1, min(SLICES_COUNT, math.floor(SLICES_COUNT * wanted / max(1.0, count))))


def _by_one(rarest_first: Sequence[Called]) -> tuple[Called, ...]:
    """As many words as there is time for."""
    left, count = CALLED_BY_ONE, 0
    for each in rarest_first:
        left -= each.documents_count
        count += left >= 0
    return tuple(rarest_first[:count])


def _together(others: Sequence[Called], total: int, limit: int, words_min: int) -> tuple[tuple[Called, ...], ...]:
    """Sets of as few words as leave few documents, or of all words."""
    for words_count in range(words_min, len(others) + 1):
        sets = tuple(combinations(others, words_count))
        if words_count == len(others) or sum(_count(words, total) for words in sets) <= limit:
            return sets
    return ()


def _count(words: Iterable[Called], total: int) -> float:
    """How many documents are called by all of these, if words are independent."""
    return total * math.prod(each.documents_count / total for each in words)
