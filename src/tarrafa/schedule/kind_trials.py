"""Visits to new kinds of URLs of a host, although their coarse pattern is slowed.

URLs are of one kind if they have parameters of the same names, or without parameters are in one folder.

1. A kind is tried while at least every fifth of its visits brings new content; before the first that does, as long as
   its visits bring copies, up to `CREDIT`.
2. A host has `TRIALS` visits of trials that bring nothing new, and one more for each `NEW_PER_TRIAL` visits that bring
   new content. So it cannot go on by making up kinds.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from tarrafa.schedule.pattern_yield import CREDIT, EARNED, FRUITLESS, Fruit

KINDS_LIMIT = 192  # kinds of URLs of a host that are remembered
TRIALS = 12
NEW_PER_TRIAL = 8


@dataclass(slots=True)
class KindTrial:
    """The visits to URLs of one kind."""

    visits: int = 0
    new: int = 0
    has_failed: bool = False  # a visit brought no page to keep

    @property
    def is_promising(self) -> bool:
        return self.new * (EARNED + 1) >= self.visits or (self.visits < CREDIT and not self.has_failed)

    def note(self, fruit: Fruit) -> None:
        self.visits += 1
        self.new += fruit is Fruit.NEW
        self.has_failed |= fruit in FRUITLESS and fruit is not Fruit.COPY


_NEVER_TRIED = KindTrial()


class KindTrials:
    """The kinds of one host's URLs."""

    def __init__(self) -> None:
        # The least recently visited first. Filled by note, which drops the first.
        self._kinds: OrderedDict[str, KindTrial] = OrderedDict()
        self._new_count = self._barren_count = 0

    def may_visit(self, kind: str) -> bool:
        """Return True if a URL of this kind may be visited although its coarse pattern is slowed."""
        tried = self._kinds.get(kind, _NEVER_TRIED)
        may_fail = self._barren_count < TRIALS + self._new_count // NEW_PER_TRIAL
        return tried.is_promising and (may_fail or tried.new > 0)

    def note(self, kind: str, fruit: Fruit, *, is_slowed: bool) -> None:
        """Count a visit to a URL of this kind; `is_slowed` if a pattern of it was."""
        tried = self._kinds.get(kind, _NEVER_TRIED)
        if is_slowed and fruit in FRUITLESS and tried.is_promising and not tried.new:
            self._barren_count += 1
        if tried is _NEVER_TRIED:
            if len(self._kinds) >= KINDS_LIMIT:
                self._kinds.popitem(last=False)
            tried = self._kinds[kind] = KindTrial()
        self._kinds.move_to_end(kind)
        tried.note(fruit)
        self._new_count += fruit is Fruit.NEW

    def dump(self) -> list[int]:
        """Return what must survive the process. Kinds are forgotten: each may be tried again, within the bound."""
        return [self._new_count, self._barren_count]

    def load(self, counts: Iterable[int]) -> None:
        self._new_count, self._barren_count = map(int, counts)
