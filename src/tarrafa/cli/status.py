"""`tarrafa status`: the state of a crawl, while it runs or later."""

from pathlib import Path
from typing import Annotated

import typer

from tarrafa.cli.common import folder_option, open_crawl, show_json, switch
from tarrafa.cli.progress_view import line, summary, time_lines
from tarrafa.library.crawl_status import status_of_crawl

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
    status = status_of_crawl(folder)
    progress = status.progress
    if as_json:
        show_json(status.told())
    elif status.is_running:
        typer.echo(f"{line(progress)}; {status.saved_pages:,} pages saved")
        typer.echo("\n".join(time_lines(progress)))
    else:
        typer.echo("\n".join([*time_lines(progress), summary(progress, directory)]))
