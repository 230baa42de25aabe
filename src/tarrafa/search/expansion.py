"""Words that the best results have in common: what a question may have meant too. Pure and bounded.

Pseudo relevance feedback: a stem counts by in how many of the best documents it stands, and by how rare it is in all.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable

DOCUMENTS_LIMIT = 8  # of the best that are read
WORDS_LIMIT = 400  # of each: what a document is about, it says early
EXTRA_LIMIT = 10  # words that are added
EXTRA_BOOST = 0.3  # of the best of them, beside a word of the question
_DOCUMENTS_MIN = 2  # what only one of them says is its own affair


def expansion(
    documents: list[list[str]], known: Iterable[str], rarity: Callable[[str], float]
) -> tuple[tuple[str, float], ...]:
    """Stems with their boosts, from the stems of the best documents; `known` are those of the question."""
    left_out = frozenset(known)
    counts = Counter(stem for stems in documents for stem in set(stems[:WORDS_LIMIT]) if _is_telling(stem))
    common = [(stem, count) for stem, count in counts.items() if count >= _DOCUMENTS_MIN and stem not in left_out]
    weighed = sorted(((count * rarity(stem), stem) for stem, count in common), key=lambda each: (-each[0], each[1]))
    if not weighed or weighed[0][0] <= 0.0:
        return ()
    best = weighed[0][0]
    return tuple((stem, EXTRA_BOOST * weight / best) for weight, stem in weighed[:EXTRA_LIMIT] if weight > 0.0)


def inverse_frequency(with_it: int, count: int) -> float:
    """How rare a word is; nothing for one that half of all documents have."""
    return max(0.0, math.log((count - with_it + 0.5) / (with_it + 0.5)))


def _is_telling(stem: str) -> bool:
    return len(stem) > 2 and not stem.isdigit()
