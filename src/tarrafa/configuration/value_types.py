"""Types of configuration values: each reads a value from TOML or a flag, checks its bounds, and writes it as TOML.

A default is given as a user would write it and passes the same checks. Errors are `InputError`s; `load` adds the place
(file and line, or flag).
"""

import math
import re
from difflib import get_close_matches
from typing import Any, NamedTuple, Protocol

from tarrafa.addresses import parse_address
from tarrafa.configuration.host_patterns import host_pattern
from tarrafa.errors import InputError
from tarrafa.texts import cut, printable, quoted
from tarrafa.units import format_duration, format_size, parse_duration, parse_size


class ValueType(Protocol):
    def read(self, raw: object) -> Any: ...

    def write(self, value: Any) -> str:
        """Return a TOML literal that `read` reads back to the same value."""
        ...

    def describe(self) -> str:
        """Return which values are allowed, for messages and documentation."""
        ...


class DurationType(NamedTuple):
    least: str
    most: str

    def read(self, raw: object) -> float:
        text = _with_unit(raw, "duration", "s")
        seconds = parse_duration(text)
        _check_bounds(seconds, parse_duration(self.least), parse_duration(self.most), text, self)
        return seconds

    def write(self, value: float) -> str:
        return f'"{format_duration(value)}"'

    def describe(self) -> str:
        return f"duration from {self.least} to {self.most}"


class OptionalType(NamedTuple):
    """A value of another type, or `none`."""

    type: ValueType

    def read(self, raw: object) -> Any:
        return None if raw is None or raw == "none" else self.type.read(raw)

    def write(self, value: Any) -> str:
        return '"none"' if value is None else self.type.write(value)

    def describe(self) -> str:
        return f"{self.type.describe()}, or none"


class SizeType(NamedTuple):
    least: str
    most: str

    def read(self, raw: object) -> int:
        text = _with_unit(raw, "size", "MB")
        size = parse_size(text)
        _check_bounds(size, parse_size(self.least), parse_size(self.most), text, self)
        return size

    def write(self, value: int) -> str:
        return f'"{format_size(value)}"'

    def describe(self) -> str:
        return f"size from {self.least} to {self.most}"


class IntegerType(NamedTuple):
    least: int
    most: int

    def read(self, raw: object) -> int:
        if not isinstance(raw, int) or isinstance(raw, bool):
            raise InputError(f"{_shown(raw)} is not a whole number; write for example {max(self.least, 1)}")
        _check_bounds(raw, self.least, self.most, raw, self)
        return raw

    def write(self, value: int) -> str:
        return str(value)

    def describe(self) -> str:
        return f"whole number from {self.least} to {self.most}"


class NumberType(NamedTuple):
    least: float
    most: float

    def read(self, raw: Any) -> float:
        if not _is_number(raw):
            raise InputError(f"{_shown(raw)} is not a number; write for example 1.5")
        _check_bounds(raw, self.least, self.most, raw, self)
        return float(raw)

    def write(self, value: float) -> str:
        return repr(value)

    def describe(self) -> str:
        return f"number from {self.least:g} to {self.most:g}"


class BooleanType:
    def read(self, raw: object) -> bool:
        if not isinstance(raw, bool):
            raise InputError(f"{_shown(raw)} is not a boolean; write true or false, without quotes")
        return raw

    def write(self, value: bool) -> str:
        return "true" if value else "false"

    def describe(self) -> str:
        return "true or false"


class TextType(NamedTuple):
    """Visible ASCII only, so that a value can be used in an HTTP header and in a TOML string as it is."""

    most: int

    def read(self, raw: object) -> str:
        if not isinstance(raw, str):
            raise InputError(f'{_shown(raw)} is not a text; write for example "text", with quotes')
        if not raw.strip() or not raw.isascii() or not raw.isprintable():
            raise InputError(f"{quoted(raw)} must be visible ASCII characters, at least one")
        if len(raw) > self.most:
            raise InputError(f"{quoted(raw)} is longer than {self.most} characters")
        return raw

    def write(self, value: str) -> str:
        return _written(value)

    def describe(self) -> str:
        return f"text of up to {self.most} ASCII characters"


class PatternType(NamedTuple):
    """A pattern of hosts."""

    most: int

    def read(self, raw: object) -> str:
        text = TextType(self.most).read(raw)
        host_pattern(text)
        return text

    def write(self, value: str) -> str:
        return _written(value)

    def describe(self) -> str:
        return f"pattern of hosts, of up to {self.most} characters"


class AddressType:
    def read(self, raw: object) -> str:
        address = parse_address(raw) if isinstance(raw, str) else None
        if address is None:
            raise InputError(f'{_shown(raw)} is not an address; write for example "192.0.2.1" or "2001:db8::1"')
        return str(address)

    def write(self, value: str) -> str:
        return f'"{value}"'

    def describe(self) -> str:
        return "IPv4 or IPv6 address"


class CookiesType(NamedTuple):
    most: int

    def read(self, raw: object) -> str:
        text = _secret(raw, self.most)
        if not _COOKIES.fullmatch(text):
            raise InputError('the value is not a list of cookies; write for example "name=value; other=value"')
        return text

    def write(self, value: str) -> str:
        return _written(value)

    def describe(self) -> str:
        return f'cookies as "name=value; other=value", of up to {self.most} characters'


class LoginType(NamedTuple):
    most: int

    def read(self, raw: object) -> str:
        text = _secret(raw, self.most)
        if not text.partition(":")[0] or ":" not in text:
            raise InputError('the value is not a login; write for example "user:password"')
        return text

    def write(self, value: str) -> str:
        return _written(value)

    def describe(self) -> str:
        return f'login as "user:password", of up to {self.most} characters'


class TokenType(NamedTuple):
    most: int

    def read(self, raw: object) -> str:
        text = _secret(raw, self.most)
        if " " in text:
            raise InputError("the value is not a token, because it has a space; write the part after the word Bearer")
        return text

    def write(self, value: str) -> str:
        return _written(value)

    def describe(self) -> str:
        return f"token of up to {self.most} characters"


class HeadersType:
    """Headers of a request, as an inline table."""

    def read(self, raw: object) -> tuple[tuple[str, str], ...]:
        if not isinstance(raw, dict) or not raw:
            raise InputError(f'{_shown(raw)} is not a table of headers; write for example {{ "X-Name" = "value" }}')
        if len(raw) > _HEADERS_LIMIT:
            raise InputError(f"there are more than {_HEADERS_LIMIT} headers")
        for name in raw:
            if not _HEADER_NAME.fullmatch(name):
                raise InputError(f"{quoted(name)} is not the name of a header")
            if name.lower() in _OWN_HEADERS:
                raise InputError(f"{quoted(name)} cannot be set here; {_OWN_HEADERS[name.lower()]}")
        return tuple((name, _secret(value, _HEADER_CHARS)) for name, value in raw.items())

    def write(self, value: tuple[tuple[str, str], ...]) -> str:
        return "{ " + ", ".join(f"{_written(name)} = {_written(text)}" for name, text in value) + " }"

    def describe(self) -> str:
        return f"table of up to {_HEADERS_LIMIT} headers"


class ChoiceType(NamedTuple):
    options: tuple[str, ...]

    def read(self, raw: object) -> str:
        if raw not in self.options:
            raise InputError(f"{_shown(raw)} is not one of {self.describe()}")
        return str(raw)

    def write(self, value: str) -> str:
        return f'"{value}"'

    def describe(self) -> str:
        return ", ".join(f'"{option}"' for option in self.options)


class OrderType(NamedTuple):
    """A policy by its name, or a class of the user's own."""

    names: tuple[str, ...]

    def read(self, raw: object) -> str:
        if not isinstance(raw, str) or (raw not in self.names and not _CLASS.fullmatch(raw)):
            near = get_close_matches(raw, self.names, n=1) if isinstance(raw, str) else []
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise InputError(f"{_shown(raw)} is not one of {self.describe()}{hint}")
        return raw

    def write(self, value: str) -> str:
        return f'"{value}"'

    def describe(self) -> str:
        return ", ".join(f'"{name}"' for name in self.names) + ', or a class of your own as "module:Class"'


_CLASS = re.compile(r"[A-Za-z_][\w.]{0,200}:[A-Za-z_]\w{0,200}", re.ASCII)
_COOKIES = re.compile(r"[^\s=;,]+=[^\s;,]*(?:; ?[^\s=;,]+=[^\s;,]*)*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADERS_LIMIT, _HEADER_CHARS = 20, 4_000
_OWN_HEADERS = {
    "accept-encoding": "it follows from the codings that can be undone",
    "authorization": "use basic_login or bearer_token",
    "connection": "connections are kept by the crawler",
    "content-length": "requests have no body",
    "cookie": "use cookies",
    "host": "it follows from the URL",
    "transfer-encoding": "requests have no body",
    "user-agent": "use user_agent_suffix, or crawl.user_agent",
}


def _secret(raw: object, most: int) -> str:
    """Read a text without showing it in a message."""
    if not isinstance(raw, str):
        raise InputError('the value is not a text; write for example "text", with quotes')
    if not raw.strip() or not raw.isascii() or not raw.isprintable():
        raise InputError("the value must be visible ASCII characters, at least one")
    if len(raw) > most:
        raise InputError(f"the value is longer than {most} characters")
    return raw


def _written(value: str) -> str:
    return '"{}"'.format(value.replace("\\", "\\\\").replace('"', '\\"'))


def _with_unit(raw: object, what: str, unit: str) -> str:
    if isinstance(raw, str):
        return raw
    if _is_number(raw):
        raise InputError(f'{_shown(raw)} has no unit; write for example "{_shown(raw)}{unit}", with quotes')
    raise InputError(f'{_shown(raw)} is not a {what}; write for example "30{unit}", with quotes')


def _is_number(raw: object) -> bool:
    """Return True for finite numbers; a Python `bool` is an `int`, a TOML boolean is no number."""
    return (isinstance(raw, int) and not isinstance(raw, bool)) or (isinstance(raw, float) and math.isfinite(raw))


def _check_bounds(value: float, least: float, most: float, raw: object, value_type: ValueType) -> None:
    if not least <= value <= most:
        raise InputError(f"{_shown(raw)} is out of bounds; give a {value_type.describe()}")


def _shown(raw: object) -> str:
    """Return the value about as TOML writes it, for a message."""
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, str):
        return quoted(raw)
    if isinstance(raw, dict):
        return "a table"
    if isinstance(raw, list):
        return "an array"
    if isinstance(raw, int) and abs(raw) >= 1 << 64:
        return "a very large number"
    return printable(cut(str(raw), 80))
