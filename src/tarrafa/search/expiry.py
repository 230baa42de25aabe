"""When a page expires: the moment that it names by `unavailable_after`.

The index stores the moment as a fact of a fixed number of digits, so that facts sort as moments do. Expired documents
are found by a regular expression over the first digits that differ from now.
"""

from collections.abc import Iterable

EXPIRY_FACT = "expires:"

_DIRECTIVE = "unavailable_after="
_DIGITS = 12  # of seconds since the Unix epoch: enough for 30,000 years
_SECONDS_MAX = 10**_DIGITS - 1


def is_expired(directives: Iterable[str], now: float) -> bool:
    """Return True if the page must not be shown any more."""
    return any(moment <= now for moment in _moments(directives))


def expiry_facts(directives: Iterable[str]) -> list[str]:
    """Return the facts that the index stores about the expiry of a page."""
    return [f"{EXPIRY_FACT}{_digits(moment)}" for moment in _moments(directives)]


def expired_pattern(now: float) -> str:
    """Return a regular expression that matches the facts of expired pages."""
    own = _digits(int(now))
    earlier = [
        f"{own[:place]}[0-{int(digit) - 1}][0-9]{{{_DIGITS - place - 1}}}"
        for place, digit in enumerate(own)
        if digit != "0"
    ]
    return f"{EXPIRY_FACT}({'|'.join([*earlier, own])})"


def _moments(directives: Iterable[str]) -> list[int]:
    return [int(each.removeprefix(_DIRECTIVE)) for each in directives if each.startswith(_DIRECTIVE)]


def _digits(moment: int) -> str:
    return f"{min(max(moment, 0), _SECONDS_MAX):0{_DIGITS}d}"
