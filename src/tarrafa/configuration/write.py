"""The effective configuration as a TOML file that loads back to the same values."""

from collections.abc import Iterator
from itertools import groupby

from tarrafa.configuration.sections import KEYS, SECTIONS, Configuration


def to_toml(configuration: Configuration) -> str:
    return "\n".join(_lines(configuration)) + "\n"


def _lines(configuration: Configuration) -> Iterator[str]:
    yield "# Tarrafa's configuration: every key there is. Durations and sizes carry their units."
    for section, keys in groupby(KEYS.values(), key=lambda key: key.section):
        yield ""
        yield f"# {SECTIONS[section].__doc__}"
        yield f"[{section}]"
        for key in keys:
            yield f"# {key.help}; {key.kind.describe()}"
            yield f"{key.name} = {key.kind.write(configuration.value(key))}"
