"""When pages change, appear and disappear, and how dates are written.

Times are whole milliseconds since the web began, at a fixed date. A page changes by a Poisson process of its own rate.
The process is cut into windows of four changes on average, each drawn on its own, so the state at any moment is found
without replaying all earlier changes.
"""

import math
import time
from datetime import UTC, datetime
from functools import lru_cache

from tarrafa.chance import WORD_BITS, Chance

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WINDOW_CHANGES = 4
# By class: the cumulative share of pages (of 100), and the mean time between changes; None for no changes.
CLASSES: tuple[tuple[int, int | None], ...] = (
    (40, None),
    (65, 90 * DAY_MS),
    (85, 14 * DAY_MS),
    (95, 2 * DAY_MS),
    (100, 4 * HOUR_MS),
)
GROWTH_MS = 400 * DAY_MS  # a host doubles in this time, then stops growing


def _poisson_table() -> tuple[int, ...]:
    """Return the cumulative Poisson distribution of mean 4, scaled to 2**32 and rounded alike on every machine."""
    total, table = 0.0, []
    for count in range(20):
        total += math.exp(-WINDOW_CHANGES) * WINDOW_CHANGES**count / math.factorial(count)
        table.append(round(total * 1e8) * (1 << WORD_BITS) // 10**8)
    return tuple(table)


_POISSON = _poisson_table()


def interval_ms(word: int) -> int | None:
    """Return the mean time between a page's changes; None for a page that never changes."""
    part = word % 100
    mean = next(mean for limit, mean in CLASSES if part < limit)
    # Half to twice the mean of its class.
    return None if mean is None else mean // 2 + mean * ((word >> 8) % 150) // 100


def changes_in_window(seed: str, interval: int, window: int) -> list[int]:
    chance = Chance(f"{seed}/change/{window}")
    word = chance.word()
    count = sum(word >= limit for limit in _POISSON)
    length = WINDOW_CHANGES * interval
    return sorted(window * length + chance.below(length) for _ in range(count))


def last_change(seed: str, interval: int | None, now_ms: int) -> int:
    """Return the moment of the last change up to now; 0 if there was none."""
    if interval is None or now_ms <= 0:
        return 0
    for window in range(now_ms // (WINDOW_CHANGES * interval), -1, -1):
        past = [moment for moment in changes_in_window(seed, interval, window) if moment <= now_ms]
        if past:
            return past[-1]
    return 0


def first_change(seed: str, interval: int | None, after_ms: int, now_ms: int) -> int:
    """Return the moment of the first change after a moment and up to now; 0 if there was none."""
    if interval is None or now_ms <= 0:
        return 0
    length = WINDOW_CHANGES * interval
    for window in range(max(after_ms, 0) // length, now_ms // length + 1):
        for moment in changes_in_window(seed, interval, window):
            if after_ms < moment <= now_ms:
                return moment
    return 0


def changes_until(seed: str, interval: int | None, now_ms: int) -> list[int]:
    """Return every change up to now."""
    if interval is None or now_ms <= 0:
        return []
    windows = range(now_ms // (WINDOW_CHANGES * interval) + 1)
    return [moment for w in windows for moment in changes_in_window(seed, interval, w) if moment <= now_ms]


def size_at(first_size: int, now_ms: int) -> int:
    """Return how many pages a host has had by now: it grows linearly until it has doubled."""
    return first_size + min(first_size, first_size * max(now_ms, 0) // GROWTH_MS)


def born_ms(first_size: int, page: int) -> int:
    """Return when a page of a host appears; 0 for pages that exist from the beginning."""
    return 0 if page < first_size else -(-(page - first_size + 1) * GROWTH_MS // first_size)


EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH_SECONDS = int(EPOCH.timestamp())
PAST_DAYS = 2_000

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def modified_seconds(rate: int, changed_ms: int) -> int:
    """Return the Unix time of a page's last change; before the first change, its day of creation."""
    return EPOCH_SECONDS + (changed_ms // 1000 if changed_ms else -86_400 * (1 + rate % PAST_DAYS))


@lru_cache(maxsize=4096)
def http_date(seconds: int) -> str:
    """Format a date for HTTP, in any locale."""
    t = time.gmtime(seconds)
    return (
        f"{_WEEKDAYS[t.tm_wday]}, {t.tm_mday:02d} {_MONTHS[t.tm_mon - 1]} {t.tm_year} "
        f"{t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d} GMT"
    )


@lru_cache(maxsize=4096)
def day(days: int) -> bytes:
    """Format a day for a page, from its number since 1970."""
    t = time.gmtime(86_400 * days)
    return b"%02d/%02d/%d" % (t.tm_mday, t.tm_mon, t.tm_year)


def iso_day(days: int) -> str:
    """Format a day for a sitemap."""
    t = time.gmtime(86_400 * days)
    return f"{t.tm_year}-{t.tm_mon:02d}-{t.tm_mday:02d}"
