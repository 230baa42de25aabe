"""`tarrafa config`: the effective configuration."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.agent import CrawlFolder
from tarrafa.cli.common import configured, console, folder_option, show_json, switch
from tarrafa.cli.host_settings import show_host
from tarrafa.configuration import KEYS, Configuration, Key, contact, to_toml
from tarrafa.configuration.value_types import DurationType, SizeType
from tarrafa.errors import InputError
from tarrafa.schedule import read_seed
from tarrafa.urls import host_of

EXAMPLES = [
    ("tarrafa config", "show a table of every key"),
    ("tarrafa config --json", "the same as JSON"),
    ("tarrafa config --for https://example.org/ --dir crawl", "show which settings hold for the host of a URL"),
    ("tarrafa config --toml > tarrafa.toml", "write a complete configuration file to edit"),
]


def command(
    context: typer.Context,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
    as_toml: Annotated[bool, switch("--toml", "print a complete configuration file")] = False,
    url: Annotated[
        str | None, typer.Option("--for", metavar="URL", help="show which settings hold for the host of a URL")
    ] = None,
    directory: Annotated[Path | None, folder_option("folder of a crawl, for its configuration")] = None,
) -> None:
    """Show the effective configuration and where each value came from. Logins are never shown."""
    if as_json and as_toml:
        raise InputError("--json and --toml are exclusive; give one of them")
    folder = None if directory is None else CrawlFolder(directory)
    if folder is not None:
        folder.require()
    configuration = configured(context, {}, folder)
    if url is not None:
        if as_toml:
            raise InputError("--for and --toml are exclusive; give one of them")
        show_host(configuration, host_of(read_seed(url)), as_json=as_json)
    elif as_json:
        show_json(_as_json(configuration))
    elif as_toml:
        typer.echo(to_toml(configuration, has_secrets=False), nl=False)
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
