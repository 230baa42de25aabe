"""How much new content each pattern of a host's URLs brings per visit, and which patterns are visited less and less.

A pattern begins with some credit. A visit that brings new content earns more of it, a fruitless one costs some: a copy,
an error, a body of a type that is not wanted, a redirect to what is known. Without credit the pattern is slowed: only
every second of its URLs is visited, chosen by the hash of the URL, then every fourth, and so on. New content takes two
such steps back. Beyond the last step all of its URLs are refused.

1. A pattern of which at least every fifth visit brings new content is not slowed, once it has brought some.
2. A pattern that never brings new content is refused after `FRUITLESS_MAX` visits.
3. The same visits in the same order give the same decisions. What was decided survives `dump` and `load`.

A URL has patterns from fine to coarse: see `url_patterns`. The finest that is known to bring new content decides about
it, and those that are finer still. All of them earn by new content; only those that decide pay for a fruitless visit.
So a site is not judged by its worst part, and a host that makes up patterns as well as URLs is judged by what these
have in common. A new kind of URL still gets a trial: visits although a coarser pattern is slowed, and more while these
bring new content. A host has few such visits that bring nothing new, and more if it brings more.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import xxhash

from tarrafa.schedule.url_patterns import ByFineness, PatternMaker, UrlPatterns, first_segment, shape

CREDIT = 6
CREDIT_MAX = ByFineness(
    fine=24, middle=96, query=96, coarse=512
)  # a coarse pattern must not end for a barren part of it
_EARNED = 4  # by a visit that brings new content; a fruitless visit costs 1
_STEP_CREDIT = 2  # fruitless visits between two steps
STEPS = 5  # the last step leaves one URL of 32
FRUITLESS_MAX = CREDIT + STEPS * _STEP_CREDIT
_BACK_STEPS = 2
_KNOWN_VISITS = 8  # a pattern with fewer does not decide alone
PATTERNS_LIMIT = 192  # of a host
SAVED_LIMIT = 48  # slowed patterns of a host that are saved
KINDS_LIMIT = 192  # kinds of URLs of a host that are remembered
TRIALS = 12  # visits of trials that may bring nothing new; one more for each so many that brought new content:
NEW_PER_TRIAL = 8


class Fruit(StrEnum):
    """What a visit brought."""

    NEW = "new"
    NEUTRAL = "neutral"  # says nothing about the pattern: a failure of the server, a sitemap
    COPY = "copies"
    ERROR = "errors"
    TYPE = "type"  # of a body that is not wanted
    NOINDEX = "noindex"  # the page asks not to be indexed, and leads to nothing new
    REDIRECT = "redirects"  # to where another redirect has led, or to a URL of the same pattern


_FRUITLESS = tuple(fruit for fruit in Fruit if fruit not in (Fruit.NEW, Fruit.NEUTRAL))


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
        return self.visits >= _KNOWN_VISITS and self.new * (_EARNED + 1) >= self.visits

    @property
    def is_refused(self) -> bool:
        return self.step > STEPS

    @property
    def reason(self) -> str:
        """The kind of most of its fruitless visits."""
        return max(_FRUITLESS, key=lambda fruit: self.fruits[fruit])

    def note(self, fruit: Fruit, credit_max: int) -> int:
        """Count a visit; return by how many steps the pattern was slowed, less than 0 if it was sped up."""
        before = self.step
        self.visits += 1
        if fruit is Fruit.NEW:
            self.new += 1
            self.credit = min(self.credit + _EARNED, credit_max)
            self.step = max(0, self.step - _BACK_STEPS)
        elif fruit is not Fruit.NEUTRAL:
            self.fruits[fruit] += 1
            self.credit -= 1
            if self.credit <= 0 and not self.is_refused:
                self.step += 1
                self.credit = _STEP_CREDIT
        return self.step - before


@dataclass(slots=True)
class KindTrial:
    """The visits to URLs of one kind."""

    visits: int = 0
    new: int = 0
    has_failed: bool = False  # a visit brought no page to keep

    @property
    def is_promising(self) -> bool:
        """True if its visits bring new content often enough, or were few and brought copies."""
        return self.new * (_EARNED + 1) >= self.visits or (self.visits < CREDIT and not self.has_failed)

    def note(self, fruit: Fruit) -> None:
        self.visits += 1
        self.new += fruit is Fruit.NEW
        self.has_failed |= fruit in _FRUITLESS and fruit is not Fruit.COPY


_NEVER_TRIED = KindTrial()


class SlowedPattern(NamedTuple):
    """A pattern that is visited less, or not at all."""

    pattern: str
    reason: str
    visits: int
    new: int
    is_refused: bool


class HostYields:
    """The patterns of one host."""

    def __init__(self) -> None:
        self._maker = PatternMaker()
        # By pattern, the least recently visited first. Filled by note and load; note drops the first, but not a slowed
        # one if there is another.
        self._yields: OrderedDict[str, PatternYield] = OrderedDict()
        # Those of them that are slowed. Filled and emptied with them.
        self._slowed: dict[str, PatternYield] = {}
        # First segments of slowed patterns, without and with a query. Filled by _firsts, None when others are slowed.
        self._slowed_firsts: tuple[frozenset[str], frozenset[str]] | None = None
        # By kind of URL, the least recently visited first. Filled by _note_kind, which drops the first.
        self._kinds: OrderedDict[str, KindTrial] = OrderedDict()
        self._new_count = self._barren_trials = 0

    @property
    def patterns_count(self) -> int:
        """The number of patterns that are remembered."""
        return len(self._yields)

    @property
    def is_suspicious(self) -> bool:
        """True if any pattern is slowed."""
        return bool(self._slowed)

    def is_doubtful(self, url: str) -> bool:
        """Return True if a page of this URL is to be compared thoroughly; every fourth of a good pattern is enough."""
        *_, last = self._responsible(self._maker.patterns(url))
        known = self._yields.get(last)
        return known is None or known.visits < CREDIT or known.credit < CREDIT_MAX.fine or known.visits % 4 == 0

    def patterns(self, url: str) -> UrlPatterns:
        return self._maker.patterns(url)

    def without_identifiers(self, url: str) -> str:
        return self._maker.without_identifiers(url)

    def deciding_pattern(self, url: str) -> str:
        """Return the finest pattern of a URL that is known to bring new content, else the coarsest."""
        *_, last = self._responsible(self._maker.patterns(url))
        return last

    def refusal(self, url: str) -> str | None:
        """Return why a URL is not to be visited now; None if it may be. Quick for most links of a host."""
        return self.refusal_by_patterns(url) if self._may_refuse(url) else None

    def _may_refuse(self, url: str) -> bool:
        """Return False if no slowed pattern can be one of the URL's, by the first segment of its path alone."""
        plain, with_query = self._slowed_firsts or self._firsts()
        firsts = with_query if "?" in url else plain
        if not firsts:
            return False
        # A path of one segment has the patterns `/*` and `/…` besides, and a query has one for any path.
        return "*" in firsts or "…" in firsts or shape(first_segment(url[url.find("/", 8) :])) in firsts

    def _firsts(self) -> tuple[frozenset[str], frozenset[str]]:
        plain = frozenset(first_segment(name) for name in self._slowed if "?" not in name)
        with_query = frozenset(
            "…" if name.startswith("…") else first_segment(name) for name in self._slowed if "?" in name
        )
        self._slowed_firsts = plain, with_query
        return self._slowed_firsts

    def refusal_by_patterns(self, url: str) -> str | None:
        """Return the same as `refusal`, by all patterns of the URL."""
        slowest = self._slowest(url)
        if slowest is not None and self._is_on_trial(url):
            slowest = self._slowed.get(self._maker.patterns(url).fine)
        if slowest is None:
            return None
        is_chosen = not slowest.is_refused and xxhash.xxh3_64_intdigest(url.encode()) % (1 << slowest.step) == 0
        return None if is_chosen else slowest.reason

    def _slowest(self, url: str) -> PatternYield | None:
        """Return the one that is slowed most of the patterns that decide about a URL; None if none is slowed."""
        found = [self._slowed.get(pattern) for pattern in self._responsible(self._maker.patterns(url))]
        return max((each for each in found if each is not None), key=lambda each: each.step, default=None)

    def _is_on_trial(self, url: str) -> bool:
        """Return True if a URL may be visited although a coarse pattern is slowed, because its kind is new."""
        tried = self._kinds.get(self._maker.kind(url), _NEVER_TRIED)
        may_fail = self._barren_trials < TRIALS + self._new_count // NEW_PER_TRIAL
        return tried.is_promising and (may_fail or tried.new > 0)

    def _note_kind(self, url: str, fruit: Fruit) -> None:
        kind = self._maker.kind(url)
        tried = self._kinds.get(kind)
        may_try = tried is None or (tried.is_promising and not tried.new)
        if may_try and fruit in _FRUITLESS and self._slowest(url) is not None:
            self._barren_trials += 1
        if tried is None:
            if len(self._kinds) >= KINDS_LIMIT:
                self._kinds.popitem(last=False)
            tried = self._kinds[kind] = KindTrial()
        self._kinds.move_to_end(kind)
        tried.note(fruit)
        self._new_count += fruit is Fruit.NEW

    def note(self, url: str, fruit: Fruit) -> list[SlowedPattern]:
        """Count a visit; return the patterns that are slowed for the first time, or refused from now on."""
        self._maker.learn(url)
        self._note_kind(url, fruit)
        news, patterns = [], self._maker.patterns(url)
        blamed = patterns if fruit is Fruit.NEW else tuple(self._responsible(patterns))
        for pattern, credit_max in zip(patterns, CREDIT_MAX, strict=True):
            if not pattern or pattern not in blamed:
                continue
            known = self._yields.get(pattern) or self._add(pattern)
            self._yields.move_to_end(pattern)
            change = known.note(fruit, credit_max)
            if change:
                self._note_step(pattern, known)
            if change > 0 and (known.step == 1 or known.is_refused):
                news.append(_told(pattern, known))
        return news

    def _note_step(self, pattern: str, known: PatternYield) -> None:
        if known.step and pattern not in self._slowed:
            self._slowed[pattern] = known
            self._slowed_firsts = None
        elif not known.step and self._slowed.pop(pattern, None) is not None:
            self._slowed_firsts = None

    def _responsible(self, patterns: UrlPatterns) -> Iterator[str]:
        """Yield the patterns that decide about a URL, up to the finest that is known to bring new content."""
        for pattern in filter(None, patterns):
            yield pattern
            known = self._yields.get(pattern)
            if known is not None and known.is_worthy:
                return

    def _add(self, pattern: str) -> PatternYield:
        if len(self._yields) >= PATTERNS_LIMIT:
            oldest = next((name for name, each in self._yields.items() if not each.step), next(iter(self._yields)))
            del self._yields[oldest]
            if self._slowed.pop(oldest, None) is not None:
                self._slowed_firsts = None
        found = self._yields[pattern] = PatternYield()
        return found

    def slowed(self) -> list[SlowedPattern]:
        """Return the patterns that are slowed, the most visited first."""
        found = [_told(pattern, each) for pattern, each in self._slowed.items()]
        return sorted(found, key=lambda each: (-each.visits, each.pattern))

    def dump(self) -> str:
        """Return what must survive the process: slowed patterns; empty if there is none."""
        slowed = [(name, each) for name, each in self._yields.items() if each.step][-SAVED_LIMIT:]
        if not slowed:
            return ""
        rows = [[name, each.visits, each.new, each.credit, each.step, each.fruits] for name, each in slowed]
        trials = [self._new_count, self._barren_trials]
        saved = {
            "patterns": rows,
            "wild": self._maker.wild,
            "identifying": self._maker.identifying,
            "trials": trials,
        }
        return json.dumps(saved, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> "HostYields":
        """Return what was dumped. A text that is damaged is forgotten: the patterns are learnt again."""
        found = cls()
        if not text:
            return found
        try:
            saved: dict[str, Any] = json.loads(text)
            for name, visits, new, credit, step, fruits in saved["patterns"]:
                found._yields[name] = PatternYield(visits, new, credit, step, Counter(fruits))
            found._maker.forget_values(saved["wild"])
            found._maker.identify(saved["identifying"])
            found._new_count, found._barren_trials = map(int, saved["trials"])
        except (ValueError, TypeError, KeyError):
            return cls()
        found._slowed = dict(found._yields)
        return found


def _told(pattern: str, known: PatternYield) -> SlowedPattern:
    return SlowedPattern(pattern, known.reason, known.visits, known.new, known.is_refused)
