"""Moments as hosts write them: in the forms of RFC 822 and RFC 850, and of ISO 8601."""

from datetime import UTC, datetime

_DATE_MAX_CHARS = 64


def epoch_seconds(text: str) -> float | None:
    """Seconds since the Unix epoch, or None for what is no moment. Without a zone it is UTC."""
    text = text.strip()
    if not 0 < len(text) <= _DATE_MAX_CHARS:
        return None
    moment = _iso(text)
    return _of_mail(text) if moment is None else moment


def _iso(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.upper())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _of_mail(text: str) -> float | None:
    from email.utils import mktime_tz, parsedate_tz  # it brings much with it, and few hosts write such a moment

    try:
        parts = parsedate_tz(text)
        return float(mktime_tz(parts)) if parts else None
    # The parser of the standard library was not made for strangers: odd text ends in any of these.
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
