"""A piece of a text that shows why it was found, with the words marked. Pure and bounded."""

from collections.abc import Mapping
from typing import NamedTuple

SNIPPET_CHARS = 240
_LEAD_CHARS = 60  # before the first marked word
_MARKS_LIMIT = 60  # of one word in one text
_ELLIPSIS = "…"

Piece = tuple[str, bool]  # text, and whether it is marked


class _Mark(NamedTuple):
    start: int
    end: int
    word: str


def snippet(text: str, meant: Mapping[str, str], limit_chars: int = SNIPPET_CHARS) -> list[Piece]:
    """`meant` are words of the text in lower case, and what word of the question each stands for.

    The piece with most different words is shown; where none is found, the beginning.
    """
    marks = _marks(text, meant)
    start = _best_start(text, marks, limit_chars)
    end = min(len(text), start + limit_chars)
    if end < len(text):
        space = text.rfind(" ", start, end)
        end = space if space > start + limit_chars // 2 else end
    pieces = _cut(text, [mark for mark in marks if mark.start >= start and mark.end <= end], start, end)
    return [*([(_ELLIPSIS, False)] if start else []), *pieces, *([(_ELLIPSIS, False)] if end < len(text) else [])]


def mark_all(text: str, meant: Mapping[str, str]) -> list[Piece]:
    return _cut(text, _marks(text, meant), 0, len(text))


def _marks(text: str, meant: Mapping[str, str]) -> list[_Mark]:
    """Finding few words in a long text is much faster than looking at each of its words."""
    low = text.lower()
    low = low if len(low) == len(text) else text
    return sorted(mark for word, sense in meant.items() for mark in _places(low, word, sense))


def _places(low: str, word: str, sense: str) -> list[_Mark]:
    found: list[_Mark] = []
    start = low.find(word)
    while start >= 0 and len(found) < _MARKS_LIMIT:
        end = start + len(word)
        if not low[max(0, start - 1) : start].isalnum() and not low[end : end + 1].isalnum():
            found.append(_Mark(start, end, sense))
        start = low.find(word, end)
    return found


def _best_start(text: str, marks: list[_Mark], limit_chars: int) -> int:
    """Where the window with most different words begins; of equals the one with most words, then the first."""
    best = (0, 0, 0)
    start = first = 0
    counts: dict[str, int] = {}
    for last, mark in enumerate(marks):
        counts[mark.word] = counts.get(mark.word, 0) + 1
        while mark.end - marks[first].start > limit_chars - _LEAD_CHARS and first < last:
            left = marks[first].word
            counts[left] -= 1
            if not counts[left]:
                del counts[left]
            first += 1
        value = (len(counts), last - first + 1, -marks[first].start)
        if value[:2] > best[:2]:
            best, start = value, marks[first].start
    return _word_start(text, start - _LEAD_CHARS) if start > _LEAD_CHARS else 0


def _word_start(text: str, near: int) -> int:
    space = text.find(" ", near, near + _LEAD_CHARS)
    return near if space < 0 else space + 1


def _cut(text: str, marks: list[_Mark], start: int, end: int) -> list[Piece]:
    pieces: list[Piece] = []
    place = start
    for mark in marks:
        if mark.start > place:
            pieces.append((_tidy(text[place : mark.start]), False))
        pieces.append((text[mark.start : mark.end], True))
        place = mark.end
    if place < end:
        pieces.append((_tidy(text[place:end]), False))
    return pieces


def _tidy(text: str) -> str:
    """Lines and runs of spaces become single spaces; those at the ends stay, for words stand beside them."""
    words = " ".join(text.split())
    lead = " " if text[:1].isspace() else ""
    trail = " " if words and text[-1:].isspace() else ""
    return f"{lead}{words}{trail}"
