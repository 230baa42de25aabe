"""Did you mean: a known word that is spelt nearly like one that no document has. Pure and bounded."""

from collections.abc import Iterable

WORD_MIN_CHARS = 4  # shorter ones are near too many others
_LONG_CHARS = 8  # from here on two edits are few


def best_spelling(word: str, known: Iterable[tuple[str, int]]) -> str | None:
    """The nearest of the known words; of equally near ones that of most documents."""
    limit = 2 if len(word) >= _LONG_CHARS else 1
    near = [
        (edits, -count, term)
        for term, count in known
        if abs(len(term) - len(word)) <= limit and (edits := distance(word, term, limit)) <= limit
    ]
    return min(near)[2] if near else None


def distance(first: str, second: str, limit: int) -> int:
    """How many letters to insert, delete, replace, or swap with their neighbour; anything beyond `limit` is more."""
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
