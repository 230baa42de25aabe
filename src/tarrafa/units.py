"""Parse and format durations and sizes: a number with its unit, "30s" or "2MB".

A number without a unit is refused: 30 may mean seconds or minutes. Durations are seconds (`float`) and sizes are bytes
(`int`). `format_duration` and `format_size` give text that is parsed back to the same value.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

from tarrafa.errors import InputError
from tarrafa.texts import quoted

# From large to small: formatting takes the first unit that gives a whole number.
DURATION_UNITS = {
    "d": Decimal(86_400),
    "h": Decimal(3_600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("0.001"),
}
SIZE_UNITS = {
    "TiB": Decimal(2**40),
    "TB": Decimal(10**12),
    "GiB": Decimal(2**30),
    "GB": Decimal(10**9),
    "MiB": Decimal(2**20),
    "MB": Decimal(10**6),
    "KiB": Decimal(2**10),
    "kB": Decimal(10**3),
    "B": Decimal(1),
}
_SPELLINGS = {"KB": "kB"}

# Few enough digits that the arithmetic stays exact; 30 after the point hold every float from a nanosecond up.
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,30})?) ?([A-Za-z]*)")


def parse_duration(text: str) -> float:
    """Return seconds."""
    return float(_parse(text, "duration", DURATION_UNITS, "30s"))


def parse_size(text: str) -> int:
    """Return bytes."""
    size = _parse(text, "size", SIZE_UNITS, "2MB")
    if size != int(size):
        raise InputError(f'{quoted(text)} is not a whole number of bytes; write for example "2MB"')
    return int(size)


def format_duration(seconds: float) -> str:
    exact = Decimal(repr(float(seconds)))
    return _format(exact, DURATION_UNITS, smallest="s")


def format_size(size_bytes: int) -> str:
    return _format(Decimal(size_bytes), SIZE_UNITS, smallest="B")


def rough_duration(seconds: float) -> str:
    """Return a duration to read, in two units at most: `2 h 5 min`, `12.3 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, factor, smaller, rest in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= factor:
            return f"{whole // factor} {unit} {whole % factor // rest} {smaller}"
    return f"{whole} s"


def rough_size(size_bytes: float) -> str:
    """Return a size to read, in three digits: `1.23 GB`, `45.6 MB`, `789 B`."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= factor:
            value = size_bytes / factor
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{size_bytes:.0f} B"


def _parse(text: str, what: str, units: Mapping[str, Decimal], example: str) -> Decimal:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InputError(f'{quoted(text)} is not a {what}; write for example "{example}"')
    number, unit = match.groups()
    if not unit:
        raise InputError(f'{quoted(text)} has no unit; write for example "{number}{example.lstrip("0123456789")}"')
    factor = units.get(_SPELLINGS.get(unit, unit))
    if factor is None:
        known = ", ".join(reversed(list(units)))
        raise InputError(f'"{unit}" is not a unit of {what} ({known}); write for example "{example}"')
    return Decimal(number) * factor


def _format(quantity: Decimal, units: Mapping[str, Decimal], smallest: str) -> str:
    for unit, factor in units.items():
        if quantity and quantity % factor == 0:
            return f"{int(quantity / factor)}{unit}"
    return f"{quantity.normalize():f}{smallest}"
