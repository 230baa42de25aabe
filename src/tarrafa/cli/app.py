"""The command line as a whole: its commands, its global flags, and how errors become exit codes."""

import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from tarrafa import __version__
from tarrafa.cli.common import GlobalFlags, examples, option, switch
from tarrafa.disk import describe_disk_error
from tarrafa.errors import InputError, TarrafaError
from tarrafa.texts import printable

# In the order of the help. Each is a module of this package.
COMMANDS = (
    "crawl",
    "refresh",
    "map",
    "status",
    "explain",
    "page",
    "report",
    "prune",
    "rank",
    "index",
    "search",
    "serve",
    "demo",
    "fetch",
    "web",
    "config",
)
# Groups of commands, `tarrafa GROUP COMMAND`, and their help.
GROUPS = {
    "export": "Write the data of a crawl to one file in a common format.",
    "scope": "Tell which URLs a crawl would visit.",
    "repository": "Show and check the known URLs of a crawl.",
    "experiment": "Reproduce figures of the papers.",
}

EXAMPLES = [
    ("tarrafa demo", "crawl and search a synthetic web, in a minute"),
    ("tarrafa web", "serve a synthetic web to try things on"),
    ("tarrafa config", "show every setting, its value and its origin"),
    ("tarrafa fetch https://example.org/", "fetch one page"),
    ("tarrafa --log-level info fetch …", "global flags may precede or follow the command"),
]

INTERRUPTED = 130

# Typer may bring its own copy of click; a BadParameter is a UsageError, which is a ClickException.
_ClickError: Any = typer.BadParameter.__mro__[2]

_GLOBAL_WITH_VALUE = frozenset({"--config", "--log-level", "--log-format", "--log-file"})
_GLOBAL_ALONE = frozenset({"--debug"})


def tarrafa(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="configuration file (default: tarrafa.toml in the current folder, if it exists)"
        ),
    ] = None,
    log_level: Annotated[str | None, option("log.level")] = None,
    log_format: Annotated[str | None, option("log.format")] = None,
    log_file: Annotated[str | None, option("log.file")] = None,
    debug: Annotated[bool, switch("--debug", "show the traceback of an error")] = False,  # noqa: ARG001 - see `run`
    version: Annotated[bool, switch("--version", "show the version and exit")] = False,
) -> None:
    """A polite web crawler and search engine that does not slow down as it grows."""
    words = context.obj or ()
    context.obj = GlobalFlags(config, {"log.level": log_level, "log.format": log_format, "log.file": log_file}, words)
    if version:
        typer.echo(f"tarrafa {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def app(names: Iterable[str] = (*COMMANDS, *GROUPS)) -> typer.Typer:
    """Return the command line with these commands. Only their modules are imported, since some are slow to import."""
    application = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    application.callback(invoke_without_command=True, epilog=examples(EXAMPLES))(tarrafa)
    for name in names:
        module = import_module(f"tarrafa.cli.{name}")
        if name in GROUPS:
            application.add_typer(_group(name, module), name=name)
        else:
            application.command(name, epilog=examples(module.EXAMPLES))(module.command)
    return application


def _group(name: str, module: Any) -> typer.Typer:
    """Return a group of commands; without a command it shows its help."""
    group = typer.Typer(rich_markup_mode="rich")

    @group.callback(invoke_without_command=True, help=GROUPS[name], epilog=examples(module.EXAMPLES))
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    for command_name, command in module.COMMANDS.items():
        lines = [line for line in module.EXAMPLES if line[0].startswith(f"tarrafa {name} {command_name}")]
        group.command(command_name, epilog=examples(lines))(command)
    return group


def main() -> NoReturn:
    # numpy's OpenBLAS starts a thread with its own buffers for each processor, and nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocator holds more memory than the system's for the small tables of a crawl.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        # A normal exit would wait for threads that are still working.
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    try:
        front, rest = _split_global_flags(arguments)
        is_known = rest[:1] != [] and rest[0] in (*COMMANDS, *GROUPS)
        command = typer.main.get_command(app(rest[:1]) if is_known else app())
        code = command.main(front + rest, prog_name="tarrafa", standalone_mode=False, obj=tuple(rest))
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _close_output()
    except OSError as error:
        # Without the name of a file it is standard output that cannot be written.
        reason = error.strerror or str(error)
        _tell(reason if error.filename is None else describe_disk_error(error), "--debug" in arguments)
        return _close_output()
    except _ClickError as error:
        _tell(_usage(error), False)
        return 2
    except TarrafaError as error:
        _tell(str(error), "--debug" in arguments)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - users get one line, not a traceback
        _tell(f"internal error: {error!r}; run again with --debug and report it", "--debug" in arguments)
        return 1
    return code if isinstance(code, int) else 0


def _split_global_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off the global flags, which typer expects before the command and users often type after it."""
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
    """Redirect standard output, whose pipe is closed or disk full, to null, so that the flush at exit cannot raise."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
