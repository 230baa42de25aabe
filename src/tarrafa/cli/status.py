"""`tarrafa status`: how a crawl stands, while it runs or later."""

from pathlib import Path
from typing import Annotated

import typer

from tarrafa.cli.frame import configured, show_json, switch
from tarrafa.cli.live import line, summary
from tarrafa.crawl import CrawlFolder, Ending, HostBook, Progress

EXAMPLES = [
    ("tarrafa status --dir crawl", "how far it is, and whether it runs"),
    ("tarrafa status --dir crawl --json", "the same for a script"),
]


def command(
    context: typer.Context,
    directory: Annotated[Path, typer.Option("--dir", metavar="DIR", help="the folder of the crawl")],
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Show how a crawl stands: what it reported last, and what is saved."""
    configured(context, {})
    folder = CrawlFolder(directory)
    folder.require()
    book = HostBook(folder.hosts)
    saved, standings = book.checkpoint(), book.standings()
    book.close()
    told = folder.read_status()
    told["ending"] = Ending(told.get("ending", Ending.RUNNING))
    progress = Progress(**{**told, "standings": standings})
    is_running = folder.is_held()
    if progress.ending is Ending.RUNNING and not is_running:
        state = "it was stopped in the middle; the same command goes on with it"
    else:
        state = "it runs" if is_running else "it does not run"
    if as_json:
        show_json({**progress.told(), "running": is_running, "saved_pages": saved.totals["pages"]})
        return
    typer.echo(line(progress) if is_running else summary(progress, directory))
    typer.echo(f"{state}; {saved.totals['pages']:,} pages are saved by checkpoint {saved.number:,}")
