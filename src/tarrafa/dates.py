"""Dates as pages and headers write them: ISO 8601, and the three forms of HTTP (RFC 9110, section 5.6.7)."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_CHARS = 64
_YEARS = range(1970, 2101)
_INSTANT = timedelta(microseconds=1)

_ISO = re.compile(
    r"(\d{4})-?(\d\d)?-?(\d\d)?(?:[T ]\s*+(\d\d):?(\d\d)(?::?(\d\d))?(?:[.,]\d++)?\s*+(Z|[+-]\d\d(?::?\d\d)?)?)?(?!\d)",
    re.ASCII | re.IGNORECASE,
)
# As in mail, `Sun, 06 Nov 1994 08:49:37 GMT`, and before that, `Sunday, 06-Nov-94 08:49:37 GMT`.
_MAIL = re.compile(
    r"(?:[A-Za-z]{3,9},?\s++)?(\d{1,2})[\s-]([A-Za-z]{3})[a-z]*+[\s-](\d{4}|\d\d)"
    r"(?:\s++(\d{1,2}):(\d\d)(?::(\d\d))?\s*+([A-Za-z]{1,4}|[+-]\d{4})?)?",
    re.ASCII,
)
# As in C, `Sun Nov  6 08:49:37 1994`.
_ASCTIME = re.compile(r"[A-Za-z]{3}\s++([A-Za-z]{3})\s++(\d{1,2})\s++(\d\d):(\d\d):(\d\d)\s++(\d{4})", re.ASCII)
# A year, month, day, minute, second, or a fraction of a second with up to six digits.
_PERIOD = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONE_HOURS = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}


def parse_date(text: str) -> float | None:
    """Return seconds since the Unix epoch; None if the text is no date from 1970 to 2100.

    A date without a zone is taken for UTC, one without a time of day for the start of the day.
    """
    return _parse(text[:_CHARS].strip())


# Sitemaps and pages repeat the same few days.
@lru_cache(maxsize=1 << 13)
def _parse(text: str) -> float | None:
    if iso := _ISO.match(text):
        year, month, day, hour, minute, second, zone = iso.groups()
        return _seconds(int(year), int(month or 1), int(day or 1), (hour, minute, second), zone or "")
    if mail := _MAIL.match(text):
        day, name, year, hour, minute, second, zone = mail.groups()
        return _seconds(_full_year(year), _month(name), int(day), (hour, minute, second), zone or "")
    if asctime := _ASCTIME.match(text):
        name, day, hour, minute, second, year = asctime.groups()
        return _seconds(int(year), _month(name), int(day), (hour, minute, second), "")
    return None


def parse_end(text: str) -> float | None:
    """Return the last microsecond of what an ISO 8601 date names; None if it names nothing from 1970 to 2100.

    `2026-11` is the end of that month, `2026-11-19T14:30` the end of that minute. Without a zone it is UTC.
    """
    match = _PERIOD.fullmatch(text.strip())
    if match is None or int(match[1]) not in _YEARS:
        return None
    parts = [int(part) for part in match.groups()[:6] if part]
    fraction, zone = match[7] or "", match[8] or ""
    try:
        year, month, day, hour, minute, second = (*parts, *(1, 1, 1, 0, 0, 0)[len(parts) :])
        begin = datetime(year, month, day, hour, minute, second, int(fraction.ljust(6, "0")), tzinfo=_zone(zone))
        return (_next(begin, len(parts), fraction) - _INSTANT).timestamp()
    except ValueError:
        return None


def format_moment(seconds: float) -> str:
    """Return a moment to the second, as `2026-11-19T14:30:00Z`, which `parse_end` reads."""
    return datetime.fromtimestamp(math.floor(seconds), UTC).isoformat().replace("+00:00", "Z")


def _next(begin: datetime, parts_count: int, fraction: str) -> datetime:
    """Return when the period ends that is named by so many parts, from the year on, and a fraction of a second."""
    if parts_count == 1:
        return begin.replace(year=begin.year + 1)
    if parts_count == 2:
        return begin.replace(year=begin.year + begin.month // 12, month=begin.month % 12 + 1)
    if fraction:
        return begin + timedelta(microseconds=10 ** (6 - len(fraction)))
    return begin + {3: timedelta(days=1), 5: timedelta(minutes=1), 6: timedelta(seconds=1)}[parts_count]


def _month(name: str) -> int:
    """Return 1 to 12, or 0 for a name that is no English month."""
    return _MONTHS.index(name.lower()) + 1 if name.lower() in _MONTHS else 0


def _full_year(year: str) -> int:
    """Return the year that two digits stand for: 1970 to 2069."""
    return int(year) if len(year) == 4 else (int(year) - 70) % 100 + 1970


def _seconds(year: int, month: int, day: int, time: tuple[str | None, ...], zone: str) -> float | None:
    if year not in _YEARS:
        return None
    hour, minute, second = [int(part or 0) for part in time]
    try:
        # A leap second is taken for the second before it.
        return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=_zone(zone)).timestamp()
    except ValueError:
        return None


def _zone(text: str) -> timezone:
    if text[:1] in ("+", "-"):
        digits = text[1:].replace(":", "").ljust(4, "0")
        offset = timedelta(hours=int(digits[:2]) % 24, minutes=int(digits[2:]) % 60)
        return timezone(-offset if text[0] == "-" else offset)
    hours = _ZONE_HOURS.get(text.lower())
    return UTC if hours is None else timezone(timedelta(hours=hours))
