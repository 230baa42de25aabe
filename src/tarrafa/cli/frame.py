"""What commands share: the global flags, options that set configuration keys, and how output looks."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from tarrafa import logs
from tarrafa.configuration import KEYS, Configuration, Key, load
from tarrafa.configuration.value_types import BooleanType, DurationType, SizeType

if TYPE_CHECKING:
    from rich.console import Console

    from tarrafa.agent import CrawlFolder

# What the help shows as the value of an option that takes none; typer's own choice is "<bool>".
NO_VALUE = ""

# Wide enough that a row of a table stays on one line in a file or a pipe.
_PIPE_WIDTH = 200


class Shared(NamedTuple):
    """The global flags; every command's context holds them."""

    file: Path | None
    flags: Mapping[str, object]


def option(path: str) -> Any:
    """The command-line option that sets a configuration key; name, help and default are the key's own.

    A parameter with it is `None` when not given, and goes into `configured`:

        def command(context: typer.Context, timeout: Annotated[str | None, option("fetch.timeout")] = None) -> None:
            configuration = configured(context, {"fetch.timeout": timeout})
    """
    key = KEYS[path]
    names = f"{key.flag}/--no-{key.flag.removeprefix('--')}" if isinstance(key.type, BooleanType) else key.flag
    text = f"{key.help} (default {key.type.write(key.default).strip(chr(34))})"
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
    """An option of the command alone, on or off, that is no configuration key."""
    return typer.Option(name, help=text, metavar=NO_VALUE)


def configured(context: typer.Context, flags: Mapping[str, object], own: Path | None = None) -> Configuration:
    """The effective configuration: defaults, then the file, then these flags and the global ones. Starts the log.

    The file is that of `--config`, else `own` if it is given, else the usual one.
    """
    shared = context.obj
    assert isinstance(shared, Shared)
    configuration = load(shared.file or own, {**shared.flags, **flags})
    logs.start(configuration.log.level, configuration.log.format)
    return configuration


def crawl_of(context: typer.Context, directory: Path) -> "tuple[CrawlFolder, Configuration]":
    """A crawl that is there, and the configuration that it was made with."""
    from tarrafa.agent import CrawlFolder  # it brings much with it that other commands do without

    folder = CrawlFolder(directory)
    configuration = configured(context, {}, folder.configuration if folder.configuration.is_file() else None)
    folder.require()
    return folder, configuration


def examples(lines: Sequence[tuple[str, str]]) -> str:
    """The end of a command's help: what to type, and what it does. An empty line keeps typer from joining lines.

    No line may hold a square bracket, which would be taken for markup.
    """
    return "\n\n".join(["Examples:", *(f"[bold]{command}[/bold]  {text}" for command, text in lines)])


def console() -> "Console":
    """For tables: plain text only, so that nothing from outside is taken for markup."""
    from rich.console import Console  # not every command shows a table, and a crawl's start does not wait for this

    plain = Console(markup=False, highlight=False, emoji=False)
    return plain if plain.is_terminal else Console(markup=False, highlight=False, emoji=False, width=_PIPE_WIDTH)


def show_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2))
