"""How a crawl is shown: a live table or lines while it runs, and a summary at its end."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import typer
from rich.console import Console, Group
from rich.live import Live

from tarrafa.agent import HostStatus, Progress
from tarrafa.cli.endings import sentence
from tarrafa.cli.live_view import RateCurve, live_lines, notice
from tarrafa.explain.slowness import why_slow
from tarrafa.units import rough_duration, rough_size

_LINE_EVERY_SECONDS = 10.0
_COST_MIN_PAGES = 1_000  # with fewer, most of the CPU time is that of the start


class ProgressView:
    """A table that changes in a terminal, a line every few seconds elsewhere. Both on standard error."""

    def __init__(self, is_quiet: bool = False, address: str = "") -> None:
        """`address` is that of a search page beside the crawl."""
        self._shown_at = float("-inf")
        self._is_quiet = is_quiet
        self._address = address
        self._curve = RateCurve()
        self._live = _live() if self.is_live(is_quiet=is_quiet) else None

    @staticmethod
    def is_live(*, is_quiet: bool) -> bool:
        """Return True if a view would be live: there is a terminal, and something is to be shown."""
        return sys.stderr.isatty() and not is_quiet

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
        self._curve.note(progress.seconds, progress.pages)
        if self._live is not None:
            width = self._live.console.width
            lines = live_lines(progress, self._curve, width, self._address)
            self._live.update(Group(*lines), refresh=True)
        elif not self._is_quiet and progress.seconds >= self._shown_at + _LINE_EVERY_SECONDS:
            self._shown_at = progress.seconds
            typer.echo(line(progress), err=True)

    def stopping(self, progress: Progress) -> None:
        """Say at once that the crawl finishes, and how to stop it now."""
        if self._live is not None:
            self.show(progress)
        elif not self._is_quiet:
            typer.echo(notice(progress), err=True)


def _live() -> Live:
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    return Live(console=console, transient=True, auto_refresh=False)


def line(progress: Progress) -> str:
    return (
        f"{rough_duration(progress.seconds)}: {progress.pages:,} pages, {progress.visits:,} visits, "
        f"{progress.pages_per_second:.0f} pages/s, {rough_size(progress.bytes_per_second)}/s, "
        f"{_number(progress.hosts, 'hosts')}, {_number(progress.known, 'URLs')} known, {progress.fresh:,} not visited, "
        f"{_refreshed(progress.run_refreshes, progress.run_changed)}"
        f"{progress.in_flight} in flight, memory {rough_size(progress.memory_bytes)}{_slowness(progress)}"
    )


def _refreshed(count: int, changed: int) -> str:
    """Return how many pages were visited again, for a list of numbers; empty for none."""
    return f"{count:,} visited again ({changed / count:.0%} changed), " if count else ""


def _slowness(progress: Progress) -> str:
    sentence = why_slow(progress)
    return f"; {sentence.removesuffix('.')}" if sentence else ""


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
    if progress.refreshes:
        run = _refreshed(progress.run_refreshes, progress.run_changed).removesuffix(", ") or "none"
        total = _refreshed(progress.refreshes, progress.changed).removesuffix(", ")
        lines.append(f"refreshed: this run: {run}; since the crawl began: {total}")
    lines += [f"failures: {_counted(progress.failures)}"] if progress.failures else []
    if progress.pages_cut:
        cut = f"{_number(progress.pages_cut, 'pages')} ({_counted(progress.cuts)})"
        lines.append(f"cut at a limit: {cut}; tarrafa report lists them")
    lines += [f"hosts {status}: {_counted(reasons)}" for status, reasons in progress.host_statuses.items()]
    if "private" in progress.host_statuses.get(HostStatus.GIVEN_UP, {}):
        lines.append("Hosts in private networks were not visited. If they are your own, give --allow-private.")
    return "\n".join([*lines, f"{sentence(progress)} {_place(progress, directory)}"])


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


def _place(progress: Progress, directory: Path | None) -> str:
    size = rough_size(progress.disk_bytes)
    return f"Data is in {directory}/ ({size})." if directory else f"Data ({size}) was not kept; give --dir to keep it."


def interrupted(progress: Progress, directory: Path) -> str:
    """Return what a second Ctrl-C has kept, and how to go on."""
    dropped = f"; {_number(progress.in_flight, 'visits')} in flight to be made again" if progress.in_flight else ""
    return (
        f"Stopped at once. Kept in {directory}/: {_number(progress.pages, 'pages')}{dropped}. "
        f"To continue: tarrafa crawl --dir {shlex.quote(str(directory))}"
    )
