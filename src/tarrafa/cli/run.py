"""The command line as a whole: its commands, its global flags, and what becomes of errors."""

import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from tarrafa import __version__
from tarrafa.cli.frame import Shared, examples, option, switch
from tarrafa.errors import InputError, TarrafaError
from tarrafa.texts import printable

# In the order of the help. Each is a module of that name beside this one.
COMMANDS = (
    "crawl",
    "status",
    "page",
    "report",
    "rank",
    "index",
    "search",
    "serve",
    "demo",
    "fetch",
    "web",
    "config",
)
# Commands that belong together, `tarrafa GROUP COMMAND`, and what the help says of them.
GROUPS = {
    "export": "Write what a crawl has kept into one file that others read.",
    "repository": "Show what is known of the URLs of a crawl.",
    "experiment": "Compute or measure again what the papers claim.",
}

EXAMPLES = [
    ("tarrafa demo", "what works, shown in a minute on a made-up web"),
    ("tarrafa web", "a made-up web to try things on"),
    ("tarrafa config", "every setting, its value, and where it came from"),
    ("tarrafa fetch https://example.org/", "one page"),
    ("tarrafa --log-level info fetch …", "global flags may stand before or after the command"),
]

INTERRUPTED = 130

# Whichever click typer brings, its own or the package: a BadParameter is a UsageError is a ClickException.
_ClickError: Any = typer.BadParameter.__mro__[2]

_GLOBAL_WITH_VALUE = frozenset({"--config", "--log-level", "--log-format"})
_GLOBAL_ALONE = frozenset({"--debug"})


def tarrafa(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="the configuration (default tarrafa.toml in this folder, if it is there)"),
    ] = None,
    log_level: Annotated[str | None, option("log.level")] = None,
    log_format: Annotated[str | None, option("log.format")] = None,
    debug: Annotated[bool, switch("--debug", "show where an error came from")] = False,  # noqa: ARG001 - see `run`
    version: Annotated[bool, switch("--version", "show the version and end")] = False,
) -> None:
    """A polite web crawler and search engine that does not slow down as it grows."""
    context.obj = Shared(config, {"log.level": log_level, "log.format": log_format})
    if version:
        typer.echo(f"tarrafa {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def app(names: Iterable[str] = (*COMMANDS, *GROUPS)) -> typer.Typer:
    """The command line with these commands. Only their modules are loaded: most need little of what others do."""
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    made.callback(invoke_without_command=True, epilog=examples(EXAMPLES))(tarrafa)
    for name in names:
        module = import_module(f"tarrafa.cli.{name}")
        if name in GROUPS:
            made.add_typer(_group(name, module), name=name)
        else:
            made.command(name, epilog=examples(module.EXAMPLES))(module.command)
    return made


def _group(name: str, module: Any) -> typer.Typer:
    """Without a command it shows its help."""
    group = typer.Typer(rich_markup_mode="rich")

    @group.callback(invoke_without_command=True, help=GROUPS[name], epilog=examples(module.EXAMPLES))
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    for command_name, command in module.COMMANDS.items():
        lines = [line for line in module.EXAMPLES if line[0].startswith(f"tarrafa {name} {command_name}")]
        group.command(command_name, epilog=examples(lines))(command)
    return group


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments say; the exit code."""
    try:
        front, rest = _hoisted(arguments)
        is_known = rest[:1] != [] and rest[0] in (*COMMANDS, *GROUPS)
        command = typer.main.get_command(app(rest[:1]) if is_known else app())
        code = command.main(front + rest, prog_name="tarrafa", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _close_output()
    except OSError as error:
        _tell(error.strerror or str(error), "--debug" in arguments)
        return _close_output()
    except _ClickError as error:
        _tell(_usage(error), False)
        return 2
    except TarrafaError as error:
        _tell(str(error), "--debug" in arguments)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - whatever it is, a user is owed one line, not a page of ours
        _tell(f"an error of our own: {error!r}; run again with --debug and report it", "--debug" in arguments)
        return 1
    return code if isinstance(code, int) else 0


def _hoisted(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Global flags go to the front, where typer wants them: `tarrafa fetch URL --debug` is what people type."""
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        name, equals, _ = argument.partition("=")
        if argument == "--":
            rest += [argument, *waiting]
        elif name in _GLOBAL_WITH_VALUE:
            front += [argument] if equals else [argument, _value(name, waiting)]
        elif argument in _GLOBAL_ALONE:
            front.append(argument)
        else:
            rest.append(argument)
    return front, rest


def _value(name: str, waiting: Iterator[str]) -> str:
    value = next(waiting, None)
    if value is None:
        raise InputError(f"{name} needs a value (see tarrafa --help)")
    return value


def _usage(error: Any) -> str:
    command = error.ctx.command_path if getattr(error, "ctx", None) else "tarrafa"
    return f"{' '.join(error.format_message().split()).rstrip('.')} (see {command} --help)"


def _tell(message: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    for line in message.splitlines():
        typer.echo(f"tarrafa: {printable(line)}", err=True)


def _close_output() -> int:
    """Nobody reads standard output any more, or it is full: what is still in its buffer must not raise at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
