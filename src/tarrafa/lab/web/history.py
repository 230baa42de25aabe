"""When pages change, appear and vanish: everything follows from the seed and the web's time.

Times are whole milliseconds since the web began. A page changes by a Poisson process of its own rate, cut into
windows that hold four changes on average: how many, and when, is drawn for each window alone, so that the state at
any moment is found without living through all that came before.
"""

import math
import time
from datetime import UTC, datetime
from functools import lru_cache

from tarrafa.chance import WORD_BITS, Chance

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WINDOW_CHANGES = 4
# By class: the share of pages (of 100) up to and including it, and the mean time between changes; None is never.
CLASSES: tuple[tuple[int, int | None], ...] = (
    (40, None),
    (65, 90 * DAY_MS),
    (85, 14 * DAY_MS),
    (95, 2 * DAY_MS),
    (100, 4 * HOUR_MS),
)
GROWTH_MS = 400 * DAY_MS  # A host doubles in this time, and then stays.


def _poisson_table() -> tuple[int, ...]:
    """Cumulative shares of a Poisson distribution of mean 4, of 2**32; rounded, so the same on every machine."""
    total, table = 0.0, []
    for count in range(20):
        total += math.exp(-WINDOW_CHANGES) * WINDOW_CHANGES**count / math.factorial(count)
        table.append(round(total * 1e8) * (1 << WORD_BITS) // 10**8)
    return tuple(table)


_POISSON = _poisson_table()


def interval_ms(word: int) -> int | None:
    """Mean time between a page's changes; None for a page that never changes."""
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
    """The moment of the last change up to now; 0 for none since the web began."""
    if interval is None or now_ms <= 0:
        return 0
    for window in range(now_ms // (WINDOW_CHANGES * interval), -1, -1):
        past = [moment for moment in changes_in_window(seed, interval, window) if moment <= now_ms]
        if past:
            return past[-1]
    return 0


def changes_until(seed: str, interval: int | None, now_ms: int) -> list[int]:
    """Every change from the beginning up to now."""
    if interval is None or now_ms <= 0:
        return []
    windows = range(now_ms // (WINDOW_CHANGES * interval) + 1)
    return [moment for w in windows for moment in changes_in_window(seed, interval, w) if moment <= now_ms]


def size_at(first_size: int, now_ms: int) -> int:
    """How many pages a host has had by now: it grows steadily until it has doubled."""
    return first_size + min(first_size, first_size * max(now_ms, 0) // GROWTH_MS)


def born_ms(first_size: int, page: int) -> int:
    """When this page of a host appears: 0 for those that were there when the web began."""
    return 0 if page < first_size else -(-(page - first_size + 1) * GROWTH_MS // first_size)


EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH_SECONDS = int(EPOCH.timestamp())
PAST_DAYS = 2_000

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def modified_seconds(rate: int, changed_ms: int) -> int:
    """Seconds since 1970 of a page's last change: in the web's time, or on its day of creation before the web began."""
    return EPOCH_SECONDS + (changed_ms // 1000 if changed_ms else -86_400 * (1 + rate % PAST_DAYS))


@lru_cache(maxsize=4096)
def http_date(seconds: int) -> str:
    """A date as HTTP writes it, whatever the machine's language."""
    t = time.gmtime(seconds)
    return (
        f"{_WEEKDAYS[t.tm_wday]}, {t.tm_mday:02d} {_MONTHS[t.tm_mon - 1]} {t.tm_year} "
        f"{t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d} GMT"
    )


@lru_cache(maxsize=4096)
def day(days: int) -> bytes:
    """A day as a page writes it, by its number since 1970."""
    t = time.gmtime(86_400 * days)
    return b"%02d/%02d/%d" % (t.tm_mday, t.tm_mon, t.tm_year)


def iso_day(days: int) -> str:
    """A day as a sitemap writes it."""
    t = time.gmtime(86_400 * days)
    return f"{t.tm_year}-{t.tm_mon:02d}-{t.tm_mday:02d}"
