"""From documents with the same content to one result, with a piece of its text."""

from tarrafa.search.answers import Hit
from tarrafa.search.compiling import Question
from tarrafa.search.ranking import Scores
from tarrafa.search.shard import Kept
from tarrafa.search.snippets import Piece, snippet
from tarrafa.search.words import Language, split, telling


class Marker:
    """Which words of a text are words of the question, or of what was added to it; the answers are remembered."""

    def __init__(self, language: Language, question: Question) -> None:
        self._language = language
        words = telling([*question.query.words])
        self._folds = {language.folded[word]: word for word in words}
        self._stems = {stem: word for word in words for stem in language.variants(word, question.language)}
        # By language: words that were looked at, and those of them that are meant.
        self._seen: dict[str, set[str]] = {}
        self._meant: dict[str, dict[str, str]] = {}

    def meant(self, text: str, language: str) -> dict[str, str]:
        """Words of the text, and maybe of texts before it, with the word of the question that each stands for."""
        seen, meant = self._seen.setdefault(language, set()), self._meant.setdefault(language, {})
        forms, folded = self._language.stems(language), self._language.folded
        fresh = set(split(text)) - seen
        seen |= fresh
        for word in fresh:
            sense = self._folds.get(folded[word]) or self._stems.get(forms[word])
            if sense:
                meant[word] = sense
        return meant


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
