"""Parameters that are identifiers, as of sessions: which only repeat a page, and which lead to another.

A host that gives each visitor URLs of their own offers each page again and again. The visits tell such parameters from
those that name a page, such as the hash of a commit: the first visit without regard to identifiers counts as the page,
and each further one either repeats it or does not.
"""

from dataclasses import dataclass

from tarrafa.schedule.pattern_yield import Fruit

PAGES_LIMIT = 20_000  # of a host that are remembered; then all are forgotten
_PATTERNS_LIMIT = 64
_REPEATS = 8  # visits that repeat a page before a parameter counts as a session
_REPEATS_PER_NEW = 16  # and as many more for each visit that did not


@dataclass(slots=True)
class Repetition:
    repeats: int = 0
    new: int = 0

    @property
    def is_session(self) -> bool:
        return self.repeats >= _REPEATS + _REPEATS_PER_NEW * self.new


class Sessions:
    """What the identifiers in one host's URLs do. A pattern stands for the names of the parameters."""

    def __init__(self) -> None:
        # Hashes of URLs that were visited, without identifiers. Filled by note, cleared at the limit.
        self._pages: set[int] = set()
        self._repetitions: dict[str, Repetition] = {}

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def has_any(self) -> bool:
        """True if some pattern is one of sessions."""
        return any(each.is_session for each in self._repetitions.values())

    def repeats(self, pattern: str, page: str) -> bool:
        """Return True if a URL of this pattern would repeat a page; `page` is the URL without identifiers."""
        known = self._repetitions.get(pattern)
        return known is not None and known.is_session and hash(page) in self._pages

    def note(self, pattern: str, page: str, fruit: Fruit) -> None:
        """Count a visit to a URL with identifiers."""
        if hash(page) in self._pages:
            known = self._repetitions.get(pattern)
            if known is None and len(self._repetitions) < _PATTERNS_LIMIT:
                known = self._repetitions[pattern] = Repetition()
            if known is not None:
                known.repeats += fruit is Fruit.COPY
                known.new += fruit is Fruit.NEW
        self.visited(page)

    def visited(self, page: str) -> None:
        """Take note of a page."""
        if len(self._pages) >= PAGES_LIMIT:
            self._pages.clear()
        self._pages.add(hash(page))
