"""What commands share: global flags, options that set configuration keys, opening a crawl, and output."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console

from tarrafa import logs
from tarrafa.agent import CrawlFolder
from tarrafa.configuration import KEYS, Configuration, Key, ScopeRule, load
from tarrafa.configuration.value_types import BooleanType, DurationType, SizeType
from tarrafa.errors import InputError
from tarrafa.texts import quoted

# The metavar of an option without a value; typer would show "<bool>".
NO_VALUE = ""

_PIPE_WIDTH = 200  # keeps a row of a table on one line in a file or a pipe


class GlobalFlags(NamedTuple):
    """The global flags, held by the context of every command."""

    file: Path | None
    flags: Mapping[str, object]
    words: Sequence[str] = ()  # of the command line


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


def configured(
    context: typer.Context,
    flags: Mapping[str, object],
    folder: CrawlFolder | None = None,
    rules: Sequence[ScopeRule] = (),
) -> Configuration:
    """Return the effective configuration, from defaults, files, these flags and the global ones. Starts the log.

    With the folder of an existing crawl, that crawl's own configuration counts.
    """
    shared = context.obj
    assert isinstance(shared, GlobalFlags)
    crawl_file = folder.configuration if folder is not None and folder.has_configuration() else None
    configuration = load(shared.file, {**shared.flags, **flags}, rules, crawl_file)
    section = configuration.log
    logs.start(section.level, section.format, file=None if section.file == "none" else Path(section.file))
    return configuration


def open_crawl(context: typer.Context, directory: Path) -> tuple[CrawlFolder, Configuration]:
    """Return an existing crawl and its configuration, without that if it holds logins and belongs to another user."""
    folder = CrawlFolder(directory)
    folder.require()
    is_private = folder.has_configuration() and not folder.may_read_configuration()
    return folder, configured(context, {}, None if is_private else folder)


def folder_option(text: str, name: str = "--dir") -> Any:
    """Return the option for a folder. An empty name is refused: it would mean the current folder."""
    return typer.Option(name, metavar="DIR", help=text, parser=_parse_folder)


def _parse_folder(text: str | Path) -> Path:
    if not str(text).strip():
        raise InputError("the name of a folder is empty; give for example --dir crawl")
    return Path(text)


def require_writable(out: Path) -> None:
    """Raise InputError if the file cannot be written, before the work is done."""
    if out.is_dir():
        raise InputError(f"{quoted(str(out))} is a folder; give --out a file name")
    if not out.parent.is_dir():
        raise InputError(f"{quoted(str(out.parent))} is not a folder; create it, or give another --out")


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
