"""The web's time: real seconds since the web was opened, times the speed, plus what was skipped by hand; and back."""

import math
from bisect import bisect_right
from typing import NamedTuple

SKIPS_MAX = 10_000  # that are remembered; earlier moments are forgotten


class WebTimeSpan(NamedTuple):
    """The time between two skips."""

    open_seconds: float  # when it began
    skipped_seconds: float  # all that was skipped until then


class WebTime:
    def __init__(self, speed: float) -> None:
        self._speed = speed
        # Filled by skip, which drops the oldest at the bound.
        self._spans = [WebTimeSpan(0.0, 0.0)]

    @property
    def skipped_seconds(self) -> float:
        return self._spans[-1].skipped_seconds

    def skip(self, open_seconds: float, seconds: float) -> None:
        """Move the time forward at a moment, which is not before that of the last skip."""
        if seconds > 0:
            self._spans.append(WebTimeSpan(open_seconds, self.skipped_seconds + seconds))
            del self._spans[:-SKIPS_MAX]

    def at(self, open_seconds: float) -> float | None:
        """Return the web's seconds at a moment; None for one before the web was opened, or forgotten."""
        number = bisect_right(self._spans, open_seconds, key=lambda span: span.open_seconds)
        return self._web_seconds(self._spans[number - 1], open_seconds) if number else None

    def reached(self, web_seconds: float) -> float:
        """Return the first moment at which the web's time was at least this; it must have been by now."""
        number = bisect_right(self._spans, web_seconds, key=lambda span: self._web_seconds(span, span.open_seconds))
        if not number:
            return self._spans[0].open_seconds
        span = self._spans[number - 1]
        past = web_seconds - self._web_seconds(span, span.open_seconds)
        ran = past / self._speed if self._speed else 0.0 if past <= 0 else math.inf
        end = self._spans[number].open_seconds if number < len(self._spans) else math.inf
        return min(span.open_seconds + ran, end)

    def _web_seconds(self, span: WebTimeSpan, open_seconds: float) -> float:
        return open_seconds * self._speed + span.skipped_seconds
