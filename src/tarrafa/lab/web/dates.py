"""The web's calendar: it begins at a fixed moment, and its pages were written before."""

import time
from datetime import UTC, datetime
from functools import lru_cache

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
