"""What the pages of a host have said so far, to tell whether a page says anything new.

A page repeats what was said if its signature is known, or if it says the same but for numbers, as the months of a
calendar do. Nothing else makes a copy of a page with a plain path: templates with little text are pages too. A page
whose URL has parameters, or that is not to be indexed, must say more: it is also a copy if nearly all of its lines are
known, which finds sort orders, edit forms and histories.

A page that is fetched by fewer parameters than the one that said the same before counts as new: of `/page` and
`/page?sort=date`, the first is the page and the other is the copy, in whichever order they were visited.
"""

import re
from itertools import islice
from typing import NamedTuple

import xxhash

from tarrafa.schedule.url_patterns import parameters_count

MARKS_LIMIT = 20_000  # signatures and lines of a host that are remembered
_TEXT_CHARS, _LINES = 10_000, 400  # of a page that are compared
_LINE_CHARS_MIN = 3
# A page with less text that was never seen, both as a share and in characters, says nothing new.
_NEW_SHARE, _NEW_CHARS = 0.1, 40

_DIGITS = bytes.maketrans(b"0123456789", b"##########")
# Numbers with what joins them, as in dates and sizes, and what follows the first digit of an identifier.
_NUMBERS = re.compile(rb"#[#a-f .,:/-]*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SALT = 0x9E3779B97F4A7C15  # tells other marks from the signatures of pages


class PageText(NamedTuple):
    """What a page says."""

    signature: int  # of all of its text; 0 for none
    title: str
    text: str  # one block on each line
    is_indexed: bool = True  # the page does not ask to be left out of indexes


class SeenContents:
    """Remembers signatures and lines, each with the least number of parameters of a URL that brought it."""

    def __init__(self, limit: int = MARKS_LIMIT) -> None:
        self._limit = limit
        # Filled by is_new; the oldest are dropped at the limit.
        self._marks: dict[int, int] = {}
        self.has_variants = False  # pages of URLs with parameters may repeat any page, so lines of all are remembered

    def __len__(self) -> int:
        return len(self._marks)

    def is_new(self, url: str, page: PageText) -> bool:
        """Return True if the page says anything new, and remember it."""
        count = parameters_count(url)
        is_new = self.is_new_signature(url, page)
        title, text = masked(url, page)
        is_new &= self._note(_salted(title + b"\n" + text), count)
        if not (count or not page.is_indexed or self.has_variants):
            return is_new
        has_new_lines = self._has_new_lines(without_words_of(url, title), text, count)
        return is_new and (has_new_lines or (not count and page.is_indexed))

    def is_new_signature(self, url: str, page: PageText) -> bool:
        """Return True if no page had this signature, and remember it. Much faster than `is_new`."""
        return not page.signature or self._note(page.signature, parameters_count(url))

    def _has_new_lines(self, title: bytes, text: bytes, count: int) -> bool:
        """Return True if more than a small part of what the page says is new."""
        lines = {line for line in text.split(b"\n", _LINES)[:_LINES] if len(line) >= _LINE_CHARS_MIN}
        lines.add(title)
        new_chars = sum(len(line) for line in lines if self._note(_salted(line), count))
        return new_chars >= _NEW_CHARS or new_chars > _NEW_SHARE * sum(map(len, lines))

    def is_new_mark(self, text: str, parameters: int = 0) -> bool:
        """Return True if a text, such as where a redirect leads, was not met yet; remember it."""
        return self._note(_salted(b"mark %b" % text.encode("utf-8", "replace")), parameters)

    def _note(self, mark: int, parameters: int) -> bool:
        least = self._marks.get(mark)
        if least is not None and least <= parameters:
            return False
        if least is None and len(self._marks) >= self._limit:
            self._drop_oldest()
        self._marks[mark] = parameters
        return True

    def _drop_oldest(self) -> None:
        """Drop an eighth at once: to find the first key, a dictionary passes all that were dropped before it."""
        for mark in list(islice(self._marks, max(1, self._limit // 8))):
            del self._marks[mark]


def masked(url: str, page: PageText) -> tuple[bytes, bytes]:
    """Return the title and the text of a page with `#` for numbers and identifiers; the title without the path."""
    path = url[url.find("/", 8) :]
    title = page.title.replace(path, "") if len(path) > 1 else page.title
    return _masked(title), _masked(page.text[:_TEXT_CHARS])


def _masked(text: str) -> bytes:
    return _NUMBERS.sub(b"#", text.encode("utf-8", "replace").translate(_DIGITS))


def without_words_of(url: str, title: bytes) -> bytes:
    """Return the words of a title that are not in the URL."""
    named = {word.lower() for word in _WORD.findall(url)}
    words = _WORD.findall(title.decode())
    return " ".join(word for word in words if word.lower() not in named).encode()


def _salted(text: bytes) -> int:
    return _SALT ^ xxhash.xxh3_64_intdigest(text)
