"""Moments as people read them."""

from datetime import UTC, datetime


def moment(at: float) -> str:
    """Return a moment as text, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
