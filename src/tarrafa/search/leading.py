"""Which words of a question look for candidates, where any of them will do. Pure.

A score for every document that has the commonest word would cost the most and tell the least. So the rarest words lead,
as many as surely find enough candidates; and with them every word that tells not much less. The others follow: they
count only where the leading words found something.
"""

import math
from collections.abc import Mapping

_ENOUGH_DOCUMENTS = 2_000  # twice the candidates that are wanted: some of these documents may be deleted
_FOLLOWING_DOCUMENTS = 20_000  # a word of fewer costs little, so it may lead
_FOLLOWING_SHARE = 0.25  # of what the last word that had to lead tells; a word that tells less follows


def following(documents_counts: Mapping[str, int], total: int) -> frozenset[str]:
    """Words that follow, from how many of all documents have each word; a word that none has is not given."""
    rarest_first = sorted(documents_counts, key=lambda word: (documents_counts[word], word))
    enough = next((word for word in rarest_first if documents_counts[word] >= _ENOUGH_DOCUMENTS), None)
    if enough is None:
        return frozenset()
    least = _FOLLOWING_SHARE * rarity(documents_counts[enough], total)
    common = (word for word, count in documents_counts.items() if count >= _FOLLOWING_DOCUMENTS and word != enough)
    return frozenset(word for word in common if rarity(documents_counts[word], total) < least)


def rarity(documents_count: int, total: int) -> float:
    """What a word adds to the score of a document, but for how often it stands there."""
    return math.log(1.0 + (max(total - documents_count, 0) + 0.5) / (documents_count + 0.5))


def estimated_count(found: int, documents_counts: list[int], total: int) -> int:
    """How many match: those that were found, and those with the other words, as if words were independent."""
    without = max(0.0, 1.0 - found / total) if total else 0.0
    for count in documents_counts:
        without *= max(0.0, 1.0 - count / total)
    return max([found, round(total * (1.0 - without)), *documents_counts])
