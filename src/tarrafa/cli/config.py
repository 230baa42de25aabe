"""`tarrafa config`: the effective configuration."""

from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.cli.common import configured, console, show_json, switch
from tarrafa.configuration import KEYS, Configuration, Key, contact, to_toml
from tarrafa.configuration.value_types import DurationType, SizeType
from tarrafa.errors import InputError

EXAMPLES = [
    ("tarrafa config", "show a table of every key"),
    ("tarrafa config --json", "the same as JSON"),
    ("tarrafa config --toml > tarrafa.toml", "write a complete configuration file to edit"),
]


def command(
    context: typer.Context,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
    as_toml: Annotated[bool, switch("--toml", "print a complete configuration file")] = False,
) -> None:
    """Show the effective configuration and where each value came from."""
    if as_json and as_toml:
        raise InputError("--json and --toml are exclusive; give one of them")
    configuration = configured(context, {})
    if as_json:
        show_json(_as_json(configuration))
    elif as_toml:
        typer.echo(to_toml(configuration), nl=False)
    else:
        _show_table(configuration)


def _written(configuration: Configuration, key: Key) -> str:
    return key.type.write(configuration.value(key))


def _show_table(configuration: Configuration) -> None:
    table = Table("key", "value", "origin", "meaning", box=None, pad_edge=False)
    for key in KEYS.values():
        table.add_row(key.path, _written(configuration, key), configuration.origin(key), key.help)
    out = console()
    out.print(table)
    out.print()
    out.print(_public_hosts(configuration))


def _public_hosts(configuration: Configuration) -> str:
    address = contact(configuration.crawl.user_agent)
    if address is None:
        return (
            "Public hosts cannot be crawled: the user agent has no contact. Set crawl.user_agent or give --user-agent."
        )
    return f"Public hosts can be crawled: the contact in the user agent is {address}."


def _as_json(configuration: Configuration) -> dict[str, Any]:
    sections: dict[str, dict[str, Any]] = {}
    for key in KEYS.values():
        sections.setdefault(key.section, {})[key.name] = {
            "value": _value(configuration, key),
            "origin": configuration.origin(key),
            "help": key.help,
        }
    address = contact(configuration.crawl.user_agent)
    return {"sections": sections, "contact": address, "public_hosts": address is not None}


def _value(configuration: Configuration, key: Key) -> object:
    """Return durations and sizes with their units, as in the file, and other values as they are."""
    value = configuration.value(key)
    return _written(configuration, key).strip('"') if isinstance(key.type, (DurationType, SizeType)) else value
