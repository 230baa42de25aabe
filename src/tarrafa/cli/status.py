"""`tarrafa status`: the state of a crawl, while it runs or later."""

from pathlib import Path
from typing import Annotated

import typer

from tarrafa.agent import Ending, HostDatabaseReader, Progress, spent_seconds
from tarrafa.cli.common import folder_option, open_crawl, show_json, switch
from tarrafa.cli.progress_view import line, summary, time_lines
from tarrafa.errors import WorkError
from tarrafa.texts import quoted

EXAMPLES = [
    ("tarrafa status --dir crawl", "show progress, and whether it runs"),
    ("tarrafa status --dir crawl --json", "the same as JSON"),
]


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl")],
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Show the state of a crawl: its last progress report, and what is saved."""
    folder, _ = open_crawl(context, directory)
    database = HostDatabaseReader(folder.hosts)
    saved, host_statuses = database.checkpoint(), database.host_statuses()
    database.close()
    is_running = folder.is_locked()
    # The size of the last report is old as soon as an index or ranks are made.
    report = {**folder.read_status(), "host_statuses": host_statuses, "disk_bytes": folder.disk_bytes()}
    try:
        ending = Progress.of(report).ending
    except ValueError:
        problem = f"{folder.status}: the ending {quoted(str(report['ending']))} is unknown"
        raise WorkError(
            f"{problem}; another version of Tarrafa wrote it: use that one, or run the crawl again"
        ) from None
    # Asked again: a crawl may have begun in the meantime.
    is_running = is_running or folder.is_locked()
    if ending is Ending.RUNNING and not is_running:
        ending = Ending.KILLED
    if ending in (Ending.KILLED, Ending.FAILED, Ending.INTERRUPTED):
        # It has not saved its last report's figures.
        report |= {name: saved.totals[name] for name in ("pages", "visits", "bytes", "hosts")}
        report |= {"spent_seconds": spent_seconds(saved.totals)}
    progress = Progress.of({**report, "ending": ending})
    if as_json:
        show_json({**progress.told(), "running": is_running, "saved_pages": saved.totals["pages"]})
    elif is_running:
        typer.echo(f"{line(progress)}; {saved.totals['pages']:,} pages saved")
        typer.echo("\n".join(time_lines(progress)))
    else:
        typer.echo("\n".join([*time_lines(progress), summary(progress, directory)]))
