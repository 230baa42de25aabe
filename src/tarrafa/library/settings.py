"""From keyword arguments to a configuration: `crawl(…, delay="2s", scope="any")`.

A setting has the name of its configuration key. Where two sections have a key of that name, its section comes first:
`**{"politeness.delay": "2s"}` works for every key. Files are read as for the command: that of an existing crawl, and
`tarrafa.toml` of the current folder.
"""

from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path

from tarrafa.agent import CrawlFolder
from tarrafa.configuration import KEYS, Configuration, Key, load
from tarrafa.configuration.toml_file import USER_SECTIONS
from tarrafa.configuration.value_types import DurationType, SizeType, TextType
from tarrafa.errors import ConfigurationError, InputError
from tarrafa.texts import quoted
from tarrafa.units import format_duration, format_size, parse_duration


def configuration_of(settings: Mapping[str, object], folder: CrawlFolder, file: Path | None = None) -> Configuration:
    """Return the configuration of a crawl; an unknown setting is an error that names the nearest."""
    flags = {key_of(name).path: value for name, value in settings.items()}
    written = {path: _written(KEYS[path], value) for path, value in flags.items()}
    return load(file, written, crawl_file=folder.configuration if folder.has_configuration() else None)


def crawl_keys() -> dict[str, list[Key]]:
    """Return the keys that a crawl has, by the name of a setting."""
    found: dict[str, list[Key]] = {}
    for key in KEYS.values():
        if key.section not in USER_SECTIONS:
            found.setdefault(key.name, []).append(key)
            found[key.path] = [key]
    return found


def key_of(name: str) -> Key:
    known = crawl_keys()
    keys = known.get(name, [])
    if len(keys) == 1:
        return keys[0]
    if keys:
        paths = " or ".join(f'"{key.path}"' for key in keys)
        raise ConfigurationError(f"the setting {quoted(name)} is in two sections; write {paths}")
    names = [each for each in known if "." in each] if "." in name else [each for each in known if "." not in each]
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known settings: {', '.join(names)}"
    raise ConfigurationError(f"unknown setting {quoted(name)}; {hint}")


def seconds_of(value: str | float | timedelta) -> float:
    """Return a duration in seconds: a text with its unit, a number of seconds, or a timedelta."""
    return parse_duration(value) if isinstance(value, str) else parse_duration(_duration(value))


def _written(key: Key, value: object) -> object:
    """Return a value as a flag has it. Python's numbers are seconds or bytes, and a list is one text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(key.type, DurationType) and (is_number or isinstance(value, timedelta)):
        return _duration(value)
    if isinstance(key.type, SizeType) and is_number:
        return _size(value)
    if isinstance(key.type, TextType) and isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value


def _duration(value: object) -> str:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    assert isinstance(seconds, int | float)
    try:
        return format_duration(seconds)
    except (ArithmeticError, ValueError) as error:
        raise InputError(f"{value} is not a duration; write for example 2 or '2s'") from error


def _size(value: object) -> str:
    if not isinstance(value, int):
        raise InputError(f"{value} is not a whole number of bytes; write for example 5_000_000 or '5MB'")
    return format_size(value)
