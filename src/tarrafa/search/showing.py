"""From documents with the same content to one result, with a piece of its text."""

from functools import cache

from tarrafa.search.answers import Hit
from tarrafa.search.compiling import Question
from tarrafa.search.ranking import Scores
from tarrafa.search.shard import Kept
from tarrafa.search.snippets import Piece, snippet
from tarrafa.search.words import Forms, Language, lowered, telling

_START_CHARS = 4  # by which words that may be meant are found


class Marker:
    """Which words of a text are words of the question, or of what was added to it.

    Looking at every word of a text takes long. Both forms of a word begin as the word does, but for its last letter: so
    only words are looked at that begin like one of the question.
    """

    def __init__(self, language: Language, question: Question) -> None:
        self._language = language
        words = telling([*question.query.words])
        self._folds = {fold: word for word in words if (fold := language.folded[word])}
        self._stems = {stem: word for word in words for stem in language.variants(word, question.language)}
        self._starts = _starts([*self._folds, *self._stems])

    def meant(self, text: str, language: str) -> dict[str, str]:
        """Words of the text, with the word of the question that each stands for."""
        forms, folded = self._language.stems(language), self._language.folded
        low = lowered(text)
        found: dict[str, str] = {}
        for word in _beginning(low, self._starts):
            sense = self._folds.get(folded[word]) or self._stems.get(forms[word])
            if sense:
                found[word] = sense
        return found


def _starts(forms: list[str]) -> list[str]:
    """Beginnings, none of which begins like another."""
    starts = sorted({form[: max(1, min(len(form) - 1, _START_CHARS))] for form in forms})
    found: list[str] = []
    for start in starts:
        if not found or not start.startswith(found[-1]):
            found.append(start)
    return found


def _beginning(low: str, starts: list[str]) -> set[str]:
    """Words of the text that begin so if their accents are left out. Letters that one byte cannot hold: all words."""
    try:
        plain = low if low.isascii() else low.encode("latin-1").translate(_plain_letters()).decode("latin-1")
    except UnicodeEncodeError:
        return set(low.split())
    padded = f" {plain} "
    found: set[str] = set()
    for start in starts:
        sought = f" {start}"
        place = padded.find(sought)
        while place >= 0:
            end = padded.find(" ", place + 1)
            found.add(low[place : end - 1])
            place = padded.find(sought, end)
    return found


@cache
def _plain_letters() -> bytes:
    """For each letter of one byte the one without accents; those that become two letters stay."""
    folded = Forms(None)
    return bytes(ord(fold) if len(fold := folded[chr(code)]) == 1 else code for code in range(256))


def make_hit(copies: list[Kept], marker: Marker, scores: Scores, place: int, is_explained: bool) -> Hit:
    """One result from documents with the same content; `place` is that of its score."""
    kept = _shown(copies)
    return Hit(
        url=kept.url,
        title=kept.title,
        snippet=_snippet(kept, marker),
        site=kept.site,
        host=kept.host,
        language=kept.language,
        fetched_at=kept.fetched_at,
        published_at=kept.published_at,
        score=float(scores.total[place]),
        rank=float(scores.rank[place]),
        copies=tuple(sorted(each.url for each in copies if each is not kept)),
        explanation=_parts(scores, place) if is_explained else {},
    )


def _shown(copies: list[Kept]) -> Kept:
    """Of copies the one that they call canonical, else the one with the shortest URL."""
    canonical = {each.canonical for each in copies if each.canonical}
    return min(copies, key=lambda each: (each.url not in canonical, len(each.url), each.url))


def _snippet(kept: Kept, marker: Marker) -> list[Piece]:
    pieces = snippet(kept.text, marker.meant(kept.text, kept.language))
    if kept.description and not any(is_marked for _, is_marked in pieces):
        return snippet(kept.description, marker.meant(kept.description, kept.language))
    return pieces


def _parts(scores: Scores, place: int) -> dict[str, float]:
    return {name: float(values[place]) for name, values in zip(scores._fields, scores, strict=True)}
