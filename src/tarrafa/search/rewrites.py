"""Query rewriting: expansion, spelling correction and completion. All of it is bounded.

*Expansion* is pseudo relevance feedback: it adds stems that the best results share, weighed by the number of results
that have them and by their rarity. *Correction* ("did you mean") replaces a word that no document has by the nearest
word that documents have. *Completion* offers words of titles.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tarrafa.search.index_reader import IndexSnapshot
from tarrafa.search.query import Query
from tarrafa.search.words import WordAnalyzer, split_words

EXPANSION_DOCUMENTS = 8  # best documents that are read
EXPANSION_WORDS = 400  # first words of each: a document says early what it is about
EXTRA_LIMIT = 10  # stems that are added
EXTRA_BOOST = 0.3  # of the best of them; a word of the query has 1
_SHARED_DOCUMENTS = 2  # documents that must share a stem

_CORRECTED_MIN_CHARS = 4  # shorter words are near too many others
_LONG_CHARS = 8  # a longer word may differ by two edits
_NEAR_TERMS = 2_000  # words that are compared, for each prefix

_PREFIX_MAX_CHARS = 200
_COMPLETIONS_MAX = 20


def expansion(
    documents: list[list[str]], known: Iterable[str], rarity: Callable[[str], float]
) -> tuple[tuple[str, float], ...]:
    """Return stems to add with their boosts, from the stems of the best documents; `known` are those of the query."""
    excluded = frozenset(known)
    counts = Counter(stem for stems in documents for stem in set(stems[:EXPANSION_WORDS]) if _is_meaningful(stem))
    shared = [(stem, count) for stem, count in counts.items() if count >= _SHARED_DOCUMENTS and stem not in excluded]
    weighed = sorted(((count * rarity(stem), stem) for stem, count in shared), key=lambda each: (-each[0], each[1]))
    if not weighed or weighed[0][0] <= 0.0:
        return ()
    best = weighed[0][0]
    return tuple((stem, EXTRA_BOOST * weight / best) for weight, stem in weighed[:EXTRA_LIMIT] if weight > 0.0)


def inverse_frequency(documents_count: int, total: int) -> float:
    """Return how rare a word is; 0 for a word in half of all documents or more."""
    return max(0.0, math.log((total - documents_count + 0.5) / (documents_count + 0.5)))


def _is_meaningful(stem: str) -> bool:
    return len(stem) > 2 and not stem.isdigit()


def correct(text: str, query: Query, snapshots: Sequence[IndexSnapshot], words: WordAnalyzer) -> str | None:
    """Return the text of a query as documents spell it; None if there is nothing to correct."""
    corrected = text
    for word in query.words:
        fold = words.folded[word]
        if len(fold) < _CORRECTED_MIN_CHARS or fold.isdigit() or _is_known(word, fold, snapshots, words):
            continue
        prefixes = [(snapshot, prefix) for snapshot in snapshots for prefix in _near_prefixes(fold)]
        known = [term for snapshot, prefix in prefixes for term in snapshot.words_with_prefix(prefix, _NEAR_TERMS)]
        spelling = best_spelling(fold, known)
        corrected = _replace_word(corrected, word, spelling) if spelling else corrected
    return corrected if corrected != text else None


def _is_known(word: str, fold: str, snapshots: Sequence[IndexSnapshot], words: WordAnalyzer) -> bool:
    """Return True if a document has the word or one of its stems."""
    stems = words.variants(word, None)
    return any(each.has_word(fold) or any(map(each.documents_with, stems)) for each in snapshots)


def _near_prefixes(fold: str) -> list[str]:
    """Return prefixes that the right spelling may have: the first two letters, or those with one edit."""
    return list(dict.fromkeys([fold[:2], fold[1] + fold[0], fold[0] + fold[2]]))


def best_spelling(word: str, known: Iterable[tuple[str, int]]) -> str | None:
    """Return the nearest of the known words; of equally near ones, that of most documents."""
    limit = 2 if len(word) >= _LONG_CHARS else 1
    near = [
        (edits, -count, term)
        for term, count in known
        if abs(len(term) - len(word)) <= limit and (edits := edit_distance(word, term, limit)) <= limit
    ]
    return min(near)[2] if near else None


def edit_distance(first: str, second: str, limit: int) -> int:
    """Count letters to insert, delete, replace or swap with their neighbour; beyond `limit` the count is not exact."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def _replace_word(text: str, word: str, spelling: str) -> str:
    low = text.lower()
    start = low.find(word)
    return f"{text[:start]}{spelling}{text[start + len(word) :]}" if start >= 0 and len(low) == len(text) else text


def complete(prefix: str, limit: int, snapshots: Sequence[IndexSnapshot], words: WordAnalyzer) -> list[str]:
    """Return queries that begin with the prefix, its last word completed from titles."""
    typed = split_words(prefix[:_PREFIX_MAX_CHARS])
    folds = [words.folded[word] for word in typed]
    if not folds or not all(folds) or prefix[-1:].isspace():
        return []
    limit = min(limit, _COMPLETIONS_MAX)
    counts: Counter[str] = Counter()
    for snapshot in snapshots:
        counts.update(dict(snapshot.title_words(folds[-1], folds[:-1], limit)))
    best = sorted(counts, key=lambda word: (-counts[word], word))[:limit]
    return [" ".join([*typed[:-1], word]) for word in best]
