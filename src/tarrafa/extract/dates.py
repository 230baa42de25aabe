"""Moments as pages and headers write them: ISO 8601, and the dates of mail and HTTP. What is neither is None."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_CHARS = 64
_YEARS = range(1970, 2101)

_ISO = re.compile(
    r"(\d{4})-?(\d\d)?-?(\d\d)?(?:[T ]\s*+(\d\d):?(\d\d)(?::?(\d\d))?(?:[.,]\d++)?\s*+(Z|[+-]\d\d(?::?\d\d)?)?)?(?!\d)",
    re.ASCII | re.IGNORECASE,
)
_MAIL = re.compile(
    r"(?:[A-Za-z]{3,9},?\s++)?(\d{1,2})[\s-]([A-Za-z]{3})[a-z]*+[\s-](\d{4}|\d\d)"
    r"(?:\s++(\d{1,2}):(\d\d)(?::(\d\d))?\s*+([A-Za-z]{1,4}|[+-]\d{4})?)?",
    re.ASCII,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONE_HOURS = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}


def moment(text: str) -> float | None:
    """Seconds since the Unix epoch. Without a zone it is taken for UTC; without a time of day, for the day's start."""
    return _moment(text[:_CHARS].strip())


@lru_cache(maxsize=1 << 13)
def _moment(text: str) -> float | None:
    """Sitemaps and pages tell the same days over and over."""
    iso = _ISO.match(text)
    if iso:
        year, month, day, hour, minute, second, zone = iso.groups()
        return _seconds(int(year), int(month or 1), int(day or 1), (hour, minute, second), zone or "")
    mail = _MAIL.match(text)
    if mail is None or mail[2].lower() not in _MONTHS:
        return None
    day, month, year, hour, minute, second, zone = mail.groups()
    return _seconds(_full_year(year), _MONTHS.index(month.lower()) + 1, int(day), (hour, minute, second), zone or "")


def _full_year(year: str) -> int:
    """Years of two digits are of the time when dates were written so: 1970 to 2069."""
    return int(year) if len(year) == 4 else (int(year) - 70) % 100 + 1970


def _seconds(year: int, month: int, day: int, clock: tuple[str | None, ...], zone: str) -> float | None:
    if year not in _YEARS:
        return None
    hour, minute, second = [int(part or 0) for part in clock]
    try:
        # A leap second is taken for the one before it.
        return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=_zone(zone)).timestamp()
    except ValueError:
        return None


def _zone(text: str) -> timezone:
    if text[:1] in ("+", "-"):
        digits = text[1:].replace(":", "").ljust(4, "0")
        away = timedelta(hours=int(digits[:2]) % 24, minutes=int(digits[2:]) % 60)
        return timezone(-away if text[0] == "-" else away)
    hours = _ZONE_HOURS.get(text.lower()) if text else None
    return UTC if hours is None else timezone(timedelta(hours=hours))
