"""What commands share: global flags, options that set configuration keys, opening a crawl, and output."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console

from tarrafa import logs
from tarrafa.agent import CrawlFolder
from tarrafa.configuration import KEYS, Configuration, Key, load
from tarrafa.configuration.value_types import BooleanType, DurationType, SizeType

# The metavar of an option without a value; typer would show "<bool>".
NO_VALUE = ""

_PIPE_WIDTH = 200  # keeps a row of a table on one line in a file or a pipe


class GlobalFlags(NamedTuple):
    """The global flags, held by the context of every command."""

    file: Path | None
    flags: Mapping[str, object]


def option(path: str) -> Any:
    """Return the option that sets a configuration key, with the name, help and default of the key.

    Its parameter is `None` if not given, and is passed to `configured`:

        def command(context: typer.Context, timeout: Annotated[str | None, option("fetch.timeout")] = None) -> None:
            configuration = configured(context, {"fetch.timeout": timeout})
    """
    key = KEYS[path]
    names = f"{key.flag}/--no-{key.flag.removeprefix('--')}" if isinstance(key.type, BooleanType) else key.flag
    text = f"{key.help} (default: {key.type.write(key.default).strip(chr(34))})"
    return typer.Option(names, help=text, metavar=_metavar(key), show_default=False)


def _metavar(key: Key) -> str:
    match key.type:
        case DurationType():
            return "DURATION"
        case SizeType():
            return "SIZE"
        case BooleanType():
            return NO_VALUE
        case _:
            return key.name.upper()


def switch(name: str, text: str) -> Any:
    """Return an on/off option that is not a configuration key."""
    return typer.Option(name, help=text, metavar=NO_VALUE)


def configured(context: typer.Context, flags: Mapping[str, object], own: Path | None = None) -> Configuration:
    """Return the effective configuration, from defaults, file, these flags and the global ones. Starts the log.

    The file is that of `--config`, else `own` if given, else `tarrafa.toml` in the current folder.
    """
    shared = context.obj
    assert isinstance(shared, GlobalFlags)
    configuration = load(shared.file or own, {**shared.flags, **flags})
    section = configuration.log
    logs.start(section.level, section.format, file=None if section.file == "none" else Path(section.file))
    return configuration


def open_crawl(context: typer.Context, directory: Path) -> tuple[CrawlFolder, Configuration]:
    """Return an existing crawl and its configuration."""
    folder = CrawlFolder(directory)
    configuration = configured(context, {}, folder.configuration if folder.configuration.is_file() else None)
    folder.require()
    return folder, configuration


def examples(lines: Sequence[tuple[str, str]]) -> str:
    """Return the epilog of a command's help. Empty lines keep typer from joining the examples.

    No example may hold a square bracket, which is markup.
    """
    return "\n\n".join(["Examples:", *(f"[bold]{command}[/bold]  {text}" for command, text in lines)])


def console() -> Console:
    """Return a console without markup, so that text from outside cannot be taken for it."""
    plain = Console(markup=False, highlight=False, emoji=False)
    return plain if plain.is_terminal else Console(markup=False, highlight=False, emoji=False, width=_PIPE_WIDTH)


def show_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2))
