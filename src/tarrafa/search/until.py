"""Until when a page may be shown: what it says by `unavailable_after`.

The moment is among the facts of a document, as a word of so many digits that words are ordered as moments are. Those
whose moment is over are found by the first digits in which they differ from now.
"""

from collections.abc import Iterable

FACT = "until:"

_DIRECTIVE = "unavailable_after="
_DIGITS = 12  # of seconds since the Unix epoch; enough for 30,000 years
_SECONDS_MAX = 10**_DIGITS - 1


def is_over(directives: Iterable[str], now: float) -> bool:
    return any(moment <= now for moment in _moments(directives))


def until_facts(directives: Iterable[str]) -> list[str]:
    return [f"{FACT}{_digits(moment)}" for moment in _moments(directives)]


def over_pattern(now: float) -> str:
    """A regular expression for the facts whose moment is not after now."""
    own = _digits(int(now))
    earlier = [
        f"{own[:place]}[0-{int(digit) - 1}][0-9]{{{_DIGITS - place - 1}}}"
        for place, digit in enumerate(own)
        if digit != "0"
    ]
    return f"{FACT}({'|'.join([*earlier, own])})"


def _moments(directives: Iterable[str]) -> list[int]:
    return [int(each.removeprefix(_DIRECTIVE)) for each in directives if each.startswith(_DIRECTIVE)]


def _digits(moment: int) -> str:
    return f"{min(max(moment, 0), _SECONDS_MAX):0{_DIGITS}d}"
