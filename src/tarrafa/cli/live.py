"""How a crawl is shown while it runs, and at its end."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from tarrafa.agent import Ending, Progress
from tarrafa.texts import printable
from tarrafa.units import rough_duration, rough_size

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live as RichLive

_LINE_EVERY_SECONDS = 10.0

_GO_ON = "the same command goes on with it"
_ENDINGS = {
    Ending.DONE: "nothing is left that could be visited now",
    Ending.PAGES: "the limit of pages is reached; a higher --pages goes on with it",
    Ending.TIME: f"the time is over; {_GO_ON}",
    Ending.STOPPED: f"stopped; {_GO_ON}",
    Ending.KILLED: f"it was killed; {_GO_ON}",
}


class Live:
    """In a terminal a table that changes; elsewhere a line now and then. Both on standard error."""

    def __init__(self, is_quiet: bool = False) -> None:
        self._shown_at = float("-inf")
        self._is_quiet = is_quiet
        self._live = _rich_live() if sys.stderr.isatty() and not is_quiet else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> None:
        if self._live is not None:
            self._live.update(_table(progress), refresh=True)
        elif not self._is_quiet and progress.seconds >= self._shown_at + _LINE_EVERY_SECONDS:
            self._shown_at = progress.seconds
            typer.echo(line(progress), err=True)


def _rich_live() -> "RichLive":
    # Loaded where there is a terminal: a crawl without one starts the sooner.
    from rich.console import Console
    from rich.live import Live as RichLive

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    return RichLive(console=console, transient=True, auto_refresh=False)


def line(progress: Progress) -> str:
    return (
        f"{rough_duration(progress.seconds)}: {progress.pages:,} pages, "
        f"{progress.pages_per_second:.0f} pages/s, {rough_size(progress.bytes_per_second)}/s, "
        f"{progress.hosts:,} hosts, {progress.known:,} URLs known, {progress.fresh:,} fresh, "
        f"{progress.in_flight} in flight, memory {rough_size(progress.memory_bytes)}"
    )


def _table(progress: Progress) -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    left = "" if progress.left_seconds is None else f", {rough_duration(progress.left_seconds)} left"
    rows: list[tuple[str, Any]] = [
        ("pages", f"{progress.pages:,}   {progress.pages_per_second:.1f}/s{left}"),
        ("bytes", f"{rough_size(progress.bytes)}   {rough_size(progress.bytes_per_second)}/s"),
        ("URLs", f"{progress.known:,} known, {progress.fresh:,} fresh"),
        (
            "hosts",
            f"{progress.hosts:,} met, {progress.ready:,} ready, {progress.waiting:,} waiting, "
            f"{progress.in_flight:,} in flight, {progress.suspended:,} suspended, {progress.given_up:,} given up",
        ),
        ("outcomes", _counted(progress.outcomes)),
        ("refused", _counted(progress.refusals)),
        ("memory, disk", f"{rough_size(progress.memory_bytes)}, {rough_size(progress.disk_bytes)}"),
        ("time", f"{rough_duration(progress.seconds)}, {progress.cpu_seconds:.0f} s of CPU"),
    ]
    for name, value in rows:
        table.add_row(name, printable(str(value)))
    return Group(table, Text("Ctrl-C stops; the same command goes on.", style="dim"))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count != 1 else f"1 {what.removesuffix('s')}"


def summary(progress: Progress, directory: Path | None) -> str:
    """What is told at the end, and later by `tarrafa status`."""
    lines = [
        f"{_number(progress.pages, 'pages')} ({rough_size(progress.bytes)}) of {_number(progress.hosts, 'hosts')}, "
        f"{_number(progress.known, 'URLs')} known, {progress.fresh:,} of them not visited",
        f"this run: {_number(progress.run_pages, 'pages')} in {rough_duration(progress.seconds)}{_cost(progress)}",
        f"outcomes: {_counted(progress.outcomes)}",
        f"not followed: {_counted(progress.refusals)}",
    ]
    lines += [f"failures: {_counted(progress.failures)}"] if progress.failures else []
    for standing, reasons in progress.host_statuses.items():
        lines.append(f"hosts {standing}: {_counted(reasons)}")
    if "private" in progress.host_statuses.get("given up", {}):
        lines.append("hosts in private networks are not visited; if they are your own, give --allow-private")
    ending = _ENDINGS.get(progress.ending, "running")
    size = rough_size(progress.disk_bytes)
    where = f"all is in {directory} ({size})" if directory else f"{size} on disk, not kept; give --dir to look at it"
    return "\n".join([*lines, f"{ending}; {where}"])


def _cost(progress: Progress) -> str:
    """Not of a few pages: most of that is the start."""
    if progress.run_pages < 1_000:
        return ""
    return f", {1000 * progress.cpu_seconds / progress.run_pages:.2f} s of CPU per 1,000 pages"
