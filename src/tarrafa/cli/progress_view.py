"""How a crawl is shown: a live table or lines while it runs, and a summary at its end."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tarrafa.agent import Ending, HostStatus, Progress
from tarrafa.texts import printable
from tarrafa.units import rough_duration, rough_size

_LINE_EVERY_SECONDS = 10.0
_COST_MIN_PAGES = 1_000  # with fewer, most of the CPU time is that of the start

_CONTINUE = "Run the same command again to continue."
_ENDINGS = {
    Ending.RUNNING: "Running.",
    Ending.DONE: "Done: no more URLs can be fetched now.",
    Ending.PAGES: "Stopped: reached the limit of --pages. Run again with a higher --pages to continue.",
    Ending.TIME: f"Stopped: reached the limit of --time. {_CONTINUE}",
    Ending.STOPPED: f"Stopped on request. {_CONTINUE}",
    Ending.KILLED: f"Killed; everything up to the last checkpoint is saved. {_CONTINUE}",
}


class ProgressView:
    """A table that changes in a terminal, a line every few seconds elsewhere. Both on standard error."""

    def __init__(self, is_quiet: bool = False) -> None:
        self._shown_at = float("-inf")
        self._is_quiet = is_quiet
        self._live = _live_table() if sys.stderr.isatty() and not is_quiet else None

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


def _live_table() -> Live:
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    return Live(console=console, transient=True, auto_refresh=False)


def line(progress: Progress) -> str:
    return (
        f"{rough_duration(progress.seconds)}: {progress.pages:,} pages, {progress.visits:,} visits, "
        f"{progress.pages_per_second:.0f} pages/s, {rough_size(progress.bytes_per_second)}/s, "
        f"{progress.hosts:,} hosts, {progress.known:,} URLs known, {progress.fresh:,} fresh, "
        f"{progress.in_flight} in flight, memory {rough_size(progress.memory_bytes)}"
    )


def _table(progress: Progress) -> Group:
    table = Table(box=None, show_header=False, pad_edge=False)
    left = "" if progress.left_seconds is None else f", {rough_duration(progress.left_seconds)} left"
    rows = [
        ("pages", f"{progress.pages:,}   {progress.pages_per_second:.1f}/s{left}"),
        ("visits", f"{progress.visits:,}   {progress.visits_per_second:.1f}/s"),
        ("bytes", f"{rough_size(progress.bytes)}   {rough_size(progress.bytes_per_second)}/s"),
        ("URLs", f"{progress.known:,} known, {progress.fresh:,} fresh"),
        (
            "hosts",
            f"{progress.hosts:,} found, {progress.ready:,} ready, {progress.waiting:,} waiting, "
            f"{progress.in_flight:,} in flight, {progress.suspended:,} suspended, {progress.given_up:,} given up",
        ),
        ("outcomes", _counted(progress.outcomes)),
        ("refused", _counted(progress.refusals)),
        ("memory, disk", f"{rough_size(progress.memory_bytes)}, {rough_size(progress.disk_bytes)}"),
        ("time", f"{rough_duration(progress.seconds)}, {progress.cpu_seconds:.0f} s of CPU"),
    ]
    for name, value in rows:
        table.add_row(name, printable(value))
    return Group(table, Text("Press Ctrl-C to stop; the same command continues the crawl.", style="dim"))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count != 1 else f"1 {what.removesuffix('s')}"


def summary(progress: Progress, directory: Path | None) -> str:
    """Return the report at the end of a crawl, which `tarrafa status` shows later."""
    lines = [
        f"{_number(progress.pages, 'pages')} ({rough_size(progress.bytes)}) of {_number(progress.hosts, 'hosts')}, "
        f"{_number(progress.known, 'URLs')} known, {progress.fresh:,} of them not visited",
        f"this run: {_number(progress.run_pages, 'pages')}, {_number(progress.run_visits, 'visits')} "
        f"in {rough_duration(progress.seconds)}{_cost(progress)}",
        f"outcomes: {_counted(progress.outcomes)}",
        f"not followed: {_counted(progress.refusals)}",
    ]
    lines += [f"failures: {_counted(progress.failures)}"] if progress.failures else []
    if progress.pages_cut:
        cut = f"{_number(progress.pages_cut, 'pages')} ({_counted(progress.cuts)})"
        lines.append(f"cut at a limit: {cut}; tarrafa report lists them")
    lines += [f"hosts {status}: {_counted(reasons)}" for status, reasons in progress.host_statuses.items()]
    if "private" in progress.host_statuses.get(HostStatus.GIVEN_UP, {}):
        lines.append("Hosts in private networks were not visited. If they are your own, give --allow-private.")
    return "\n".join([*lines, f"{_ENDINGS[progress.ending]}{_suspended(progress)} {_place(progress, directory)}"])


def time_lines(progress: Progress) -> list[str]:
    """Return the time that the crawl spent in each step, in all its runs: a line for each, below a title."""
    if not progress.spent_seconds:
        return []
    pages = max(1, progress.pages)
    rows = [
        f"  {step:<15}{seconds:>14,.2f} s{1000 * seconds / pages:>14,.3f} s"
        for step, seconds in progress.spent_seconds.items()
    ]
    return [f"{'time spent in':<17}{'all runs':>14}  {'1,000 pages':>14}", *rows]


def _cost(progress: Progress) -> str:
    if progress.run_pages < _COST_MIN_PAGES:
        return ""
    return f", {1000 * progress.cpu_seconds / progress.run_pages:.2f} s of CPU per 1,000 pages"


def _suspended(progress: Progress) -> str:
    """Return a sentence on the suspended hosts, which keep a finished crawl from being complete."""
    count = sum(progress.host_statuses.get(HostStatus.SUSPENDED, {}).values())
    if progress.ending is not Ending.DONE or not count:
        return ""
    return f" {_number(count, 'hosts')} suspended; run the same command later to continue with them."


def _place(progress: Progress, directory: Path | None) -> str:
    size = rough_size(progress.disk_bytes)
    return f"Data is in {directory}/ ({size})." if directory else f"Data ({size}) was not kept; give --dir to keep it."
