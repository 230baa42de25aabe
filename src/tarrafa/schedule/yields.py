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
have in common. A new kind of URL still gets a few visits: see `kind_trials`. A URL that differs from one that was
visited only by the identifier of a session is refused: see `sessions`.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import xxhash

from tarrafa.schedule.kind_trials import KindTrials
from tarrafa.schedule.pattern_yield import CREDIT, Fruit, PatternYield
from tarrafa.schedule.sessions import Sessions
from tarrafa.schedule.url_patterns import ByFineness, PatternMaker, UrlPatterns, first_segment, has_identifier, shape

CREDIT_MAX = ByFineness(
    fine=24, middle=96, query=96, coarse=512
)  # a coarse pattern must not end for a barren part of it
PATTERNS_LIMIT = 192  # of a host
SAVED_LIMIT = 48  # slowed patterns of a host that are saved


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
        self._trials = KindTrials()
        self._sessions = Sessions()

    @property
    def patterns_count(self) -> int:
        """The number of patterns that are remembered."""
        return len(self._yields)

    @property
    def pages_count(self) -> int:
        """The number of pages that are remembered."""
        return len(self._sessions)

    @property
    def is_suspicious(self) -> bool:
        """True if any URL may be refused."""
        return bool(self._slowed) or self._sessions.has_any

    def is_slowed(self, url: str) -> bool:
        """Return True if a pattern is slowed that decides about a URL."""
        return self._slowest(url) is not None

    def is_barren(self, url: str) -> bool:
        """Return True if a pattern is refused that decides about a URL, and that never brought anything new."""
        slowest = self._slowest(url)
        return slowest is not None and slowest.is_refused and not slowest.new

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

    def _repeats(self, url: str) -> bool:
        """Return True if a URL differs from one that was visited only by the identifier of a session."""
        fine = self._maker.patterns(url).fine
        return has_identifier(fine) and self._sessions.repeats(fine, self._maker.page(url))

    def _may_refuse(self, url: str) -> bool:
        """Return False if no slowed pattern can be one of the URL's, by the first segment of its path alone."""
        if "?" in url and self._sessions.has_any:
            return True
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
        if "?" in url and self._repeats(url):
            return Fruit.COPY
        slowest = self._slowest(url)
        if slowest is not None and self._trials.may_visit(self._maker.kind(url)):
            slowest = self._slowest(url, but=self._maker.patterns(url).coarse)
        if slowest is None:
            return None
        is_chosen = not slowest.is_refused and xxhash.xxh3_64_intdigest(url.encode()) % (1 << slowest.step) == 0
        return None if is_chosen else slowest.reason

    def _slowest(self, url: str, but: str = "") -> PatternYield | None:
        """Return the one that is slowed most of the patterns that decide about a URL; None if none is slowed."""
        names = [pattern for pattern in self._responsible(self._maker.patterns(url)) if pattern != but]
        found = [self._slowed.get(name) for name in names]
        return max((each for each in found if each is not None), key=lambda each: each.step, default=None)

    def note(self, url: str, fruit: Fruit) -> list[SlowedPattern]:
        """Count a visit; return the patterns that are slowed for the first time, or refused from now on."""
        self._maker.learn(url)
        is_slowed = bool(self._slowed) and self._slowest(url) is not None
        self._trials.note(self._maker.kind(url), fruit, is_slowed=is_slowed)
        news, patterns = [], self._maker.patterns(url)
        self._note_session(url, patterns.fine, fruit)
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

    def _note_session(self, url: str, fine: str, fruit: Fruit) -> None:
        if has_identifier(fine):
            self._sessions.note(fine, self._maker.page(url), fruit)
        elif self._maker.identifying:
            self._sessions.visited(self._maker.page(url))

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
        saved = {
            "patterns": rows,
            "wild": self._maker.wild,
            "identifying": self._maker.identifying,
            "trials": self._trials.dump(),
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
            found._trials.load(saved["trials"])
        except (ValueError, TypeError, KeyError):
            return cls()
        found._slowed = dict(found._yields)
        return found


def _told(pattern: str, known: PatternYield) -> SlowedPattern:
    return SlowedPattern(pattern, known.reason, known.visits, known.new, known.is_refused)
