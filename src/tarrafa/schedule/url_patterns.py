"""Patterns of URLs: the shape of a path and the parameters of a query, from fine to coarse.

A URL has up to four patterns. A host that makes up URLs without end repeats at least one of them:

    /loja/2024/sapato-12?cor=azul&num=41
    fine      /loja/#/sapato-#?cor=azul&num=#     numbers are `#`, identifiers `~`, long texts `*`
    middle    /loja/#/*?cor=azul&num=#            the last segment of the path is `*`
    query     …?cor=azul&num=#                    any path
    coarse    /loja/…?…                           only the first segment, and whether there is a query

With an identifier in its query, a URL has only two: `…?sid=~`, for any path, and the coarse one.

The value of a parameter belongs to the pattern while the parameter has few values: `action=edit` does, `title=…` soon
does not, because nearly every visit has another one. So patterns of a host are made by an object that learns from the
URLs that were visited.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

VALUES_LIMIT = 24  # different values of a parameter; with more, any value is the same to the pattern
# As many make any value the same too, if more than half of the visits to URLs of one kind brought another one.
VARIED_VALUES = 8
PARAMETERS_LIMIT = 64  # of a host, whose values are told apart
_SEGMENTS_LIMIT, _QUERY_LIMIT = 12, 12  # parts of a path and of a query that a pattern has
_WORD_CHARS = 40
_IDENTIFIER = re.compile(r"(?=[a-f-]*\d)[0-9a-f][0-9a-f-]{6,}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_SEPARATOR = re.compile("[&;]")
_SLASH = re.compile("/|%2F", re.IGNORECASE)


class ByFineness(NamedTuple, Generic[T]):
    """One value for each of the patterns of a URL."""

    fine: T
    middle: T  # empty for a URL that has none, as is the next
    query: T
    coarse: T


UrlPatterns = ByFineness[str]


@dataclass(slots=True)
class ParameterValues:
    """The values of a parameter in the URLs that were visited."""

    shapes: set[str] = field(default_factory=set)
    visits: int = 0

    def note(self, value: str) -> None:
        """Count a visit."""
        self.visits += 1
        if len(self.shapes) <= VALUES_LIMIT:
            self.shapes.add(value)

    @property
    def are_many(self) -> bool:
        return len(self.shapes) > VALUES_LIMIT

    @property
    def are_varied(self) -> bool:
        """True if nearly each visit has another value."""
        return len(self.shapes) >= VARIED_VALUES and 2 * len(self.shapes) > self.visits


class PatternMaker:
    """Makes the patterns of one host's URLs."""

    def __init__(self) -> None:
        # Of each parameter; None if it has too many values. Filled by learn.
        self._values: dict[str, ParameterValues | None] = {}
        # Of each parameter of each kind of URL, until it has too many. Filled by learn up to the limit.
        self._values_of_kind: dict[tuple[str, str], ParameterValues] = {}
        # Parameters that had an identifier: a few of these are made of digits only. Filled by learn.
        self._identifying: set[str] = set()
        # The last URL with its patterns, because several questions are asked about each. Cleared by learn.
        self._last: tuple[str, UrlPatterns] | None = None

    def learn(self, url: str) -> None:
        """Take note of the values in the query of a URL that was visited."""
        found = parameters(url)
        if not found:
            return
        self._last = None
        kind = _names(found)
        for name, value in found:
            if value == "~" and len(self._identifying) < PARAMETERS_LIMIT:
                self._identifying.add(name)
            known = self._values[name] if name in self._values else self._new(name)
            if known is not None:
                known.note(value)
                if known.are_many or self._are_varied(kind, name, value):
                    self._values[name] = None

    def _are_varied(self, kind: str, name: str, value: str) -> bool:
        known = self._values_of_kind.get((kind, name))
        if known is None:
            if len(self._values_of_kind) >= PARAMETERS_LIMIT:
                return False
            known = self._values_of_kind[kind, name] = ParameterValues()
        known.note(value)
        return known.are_varied

    @property
    def wild(self) -> list[str]:
        """The parameters whose values do not belong to a pattern, in order."""
        return sorted(name for name, values in self._values.items() if values is None)

    @property
    def identifying(self) -> list[str]:
        """The parameters that had an identifier, in order."""
        return sorted(self._identifying)

    def identify(self, names: Iterable[str]) -> None:
        """Take the values of some parameters for identifiers."""
        self._last = None
        self._identifying.update(islice(names, PARAMETERS_LIMIT))

    def forget_values(self, names: Iterable[str]) -> None:
        """Take the values of some parameters out of all patterns."""
        self._last = None
        self._values.update((name, None) for name in islice(names, PARAMETERS_LIMIT))

    def without_identifiers(self, url: str) -> str:
        """Return a URL without the values of parameters that are identifiers, as of sessions."""
        path, mark, query = url.partition("?")
        if not mark:
            return url
        return path + mark + "&".join(self._without_identifier(part) for part in _SEPARATOR.split(query))

    def page(self, url: str) -> str:
        """Return a URL without the parameters that are identifiers."""
        path, mark, query = url.partition("?")
        kept = [part for part in _SEPARATOR.split(query) if not self._is_identifier(part)] if mark else []
        return f"{path}?{'&'.join(kept)}" if kept else path

    def _without_identifier(self, part: str) -> str:
        return f"{part.partition('=')[0]}=~" if self._is_identifier(part) else part

    def _is_identifier(self, part: str) -> bool:
        name, _, value = part.partition("=")
        return shape(name) in self._identifying or shape(value) == "~"

    def _new(self, name: str) -> ParameterValues | None:
        if len(self._values) >= PARAMETERS_LIMIT:
            return None
        values = self._values[name] = ParameterValues()
        return values

    def patterns(self, url: str) -> UrlPatterns:
        if self._last is None or self._last[0] != url:
            self._last = url, self._patterns(url)
        return self._last[1]

    def _patterns(self, url: str) -> UrlPatterns:
        path, mark, _ = url[url.find("/", 8) :].partition("?")
        segments = [shape(segment) for segment in path.split("/", _SEGMENTS_LIMIT)[1:]]
        query = mark + "&".join(sorted({self._parameter(*each) for each in parameters(url)}))
        coarse = f"/{segments[0]}/…{'?…' if mark else ''}" if len(segments) > 1 or mark else "/…"
        if "=~" in query:
            # Identifiers make any page endless, so the parameter is what counts.
            return ByFineness(f"…{query}", "", "", coarse)
        last = len(segments) - (1 if segments[-1] else 2)  # a path that ends in a slash has an empty last segment
        middle = [*segments[:last], "*", *segments[last + 1 :]] if last >= 0 else segments
        wide = f"…{query}" if mark else ""
        return ByFineness(f"/{'/'.join(segments)}{query}", f"/{'/'.join(middle)}{query}", wide, coarse)

    def kind(self, url: str) -> str:
        """Return the names of the parameters, whatever their values and the path; the folder if there are none."""
        found = parameters(url)
        return f"…?{_names(found)}" if found else self.patterns(url).middle

    def _parameter(self, name: str, value: str) -> str:
        if name in self._identifying:
            value = "~"
        if self._values.get(name, ()) is None or (name not in self._values and len(self._values) >= PARAMETERS_LIMIT):
            return name
        return f"{name}={value}" if value else name


def parameters(url: str) -> list[tuple[str, str]]:
    """Return the shapes of the names and values of a query.

    A value that is a path has a parameter of its own, `title/`, and counts by its first segment.
    """
    query = url.partition("?")[2]
    if not query:
        return []
    found = []
    for part in _SEPARATOR.split(query, _QUERY_LIMIT)[:_QUERY_LIMIT]:
        name, _, value = part.partition("=")
        head, *others = _SLASH.split(value, 1)
        found.append((f"{shape(name)}/", shape(head)) if others and head else (shape(name), shape(value)))
    return found


def _names(found: Iterable[tuple[str, str]]) -> str:
    return "&".join(sorted({name for name, _ in found}))


def has_identifier(pattern: str) -> bool:
    """Return True if a fine pattern has a parameter that is an identifier."""
    return pattern.startswith("…")


def first_segment(path: str) -> str:
    """Return the first segment of a path, or of a pattern that begins as one."""
    return path[1:].partition("/")[0].partition("?")[0]


def parameters_count(url: str) -> int:
    """Return how many parameters the query of a URL has."""
    query = url.partition("?")[2]
    return 1 + query.count("&") + query.count(";") if query else 0


def shape(text: str) -> str:
    """Return a part of a URL with `~` for an identifier, `*` for a long text and `#` for each number in it."""
    if text.isalpha() and len(text) <= _WORD_CHARS:
        return text
    if _IDENTIFIER.fullmatch(text) and not text.isdecimal():
        return "~"
    return "*" if len(text) > _WORD_CHARS else _DIGITS.sub("#", text)
