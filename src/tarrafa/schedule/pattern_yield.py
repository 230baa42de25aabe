"""What visits to URLs of one pattern brought, and how much it is slowed. `yields` says what becomes of its URLs."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

CREDIT = 6
EARNED = 4  # by a visit that brings new content; a fruitless visit costs 1
_STEP_CREDIT = 2  # fruitless visits between two steps
STEPS = 5  # the last step leaves one URL of 32
FRUITLESS_MAX = CREDIT + STEPS * _STEP_CREDIT
_BACK_STEPS = 2
_KNOWN_VISITS = 8  # a pattern with fewer does not decide alone


class Fruit(StrEnum):
    """What a visit brought."""

    NEW = "new"
    NEUTRAL = "neutral"  # says nothing about the pattern: a failure of the server, a sitemap
    COPY = "copies"
    ERROR = "errors"
    TYPE = "type"  # of a body that is not wanted
    NOINDEX = "noindex"  # the page asks not to be indexed, and leads to nothing new
    REDIRECT = "redirects"  # to where another redirect has led, or to a URL of the same pattern


FRUITLESS = tuple(fruit for fruit in Fruit if fruit not in (Fruit.NEW, Fruit.NEUTRAL))


@dataclass(slots=True)
class PatternYield:
    visits: int = 0
    new: int = 0
    credit: int = CREDIT
    step: int = 0  # 0 for a pattern that is not slowed
    fruits: Counter[str] = field(default_factory=Counter)  # fruitless visits by kind

    @property
    def is_worthy(self) -> bool:
        """True if it is known to bring new content often enough."""
        return self.visits >= _KNOWN_VISITS and self.new * (EARNED + 1) >= self.visits

    @property
    def is_refused(self) -> bool:
        return self.step > STEPS

    @property
    def reason(self) -> str:
        """The kind of most of its fruitless visits."""
        return max(FRUITLESS, key=lambda fruit: self.fruits[fruit])

    def note(self, fruit: Fruit, credit_max: int) -> int:
        """Count a visit; return by how many steps the pattern was slowed, less than 0 if it was sped up."""
        before = self.step
        self.visits += 1
        if fruit is Fruit.NEW:
            self.new += 1
            self.credit = min(self.credit + EARNED, credit_max)
            self.step = max(0, self.step - _BACK_STEPS)
        elif fruit is not Fruit.NEUTRAL:
            self.fruits[fruit] += 1
            self.credit -= 1
            if self.credit <= 0 and not self.is_refused:
                self.step += 1
                self.credit = _STEP_CREDIT
        return self.step - before
