"""`tarrafa repository`: the known URLs of a crawl, and the integrity of their files."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.agent import CrawlFolder
from tarrafa.cli.common import configured, console, folder_option, show_json, switch
from tarrafa.errors import InputError, WorkError
from tarrafa.histories import Phase
from tarrafa.schedule import read_seed
from tarrafa.texts import printable, quoted
from tarrafa.units import format_size
from tarrafa.verify import Known, counts_of, is_repository, look_up, problems_of

EXAMPLES = [
    ("tarrafa repository stats --dir crawl", "count URLs, hosts, blocks and bytes"),
    ("tarrafa repository lookup https://example.org/ --dir crawl", "show what is known of a URL"),
    ("tarrafa repository verify --dir crawl", "check every file and every invariant"),
]

Folder = Annotated[Path, folder_option("folder of the crawl, or of its repository")]
AsJson = Annotated[bool, switch("--json", "print one JSON object")]


def _open(context: typer.Context, given: Path) -> Path:
    """Return the folder of the repository, whether it or the crawl's folder was given."""
    configured(context, {})
    folder = given if is_repository(given) else CrawlFolder(given).repository
    if not is_repository(folder):
        raise InputError(f"{quoted(str(given))} has no repository; give the folder of a crawl with --dir")
    return folder


def stats(context: typer.Context, directory: Folder, as_json: AsJson = False) -> None:
    """Count the URLs by state, the hosts, the blocks and the bytes on disk."""
    counts = counts_of(_open(context, directory))
    found: dict[str, Any] = counts._asdict()
    found["phases"] = {phase.name.lower(): count for phase, count in zip(Phase, counts.phases, strict=False)}
    found["remaining"] = counts.known - counts.collected - counts.scheduled
    found["bytes_per_url"] = round(counts.disk_bytes / counts.known, 1) if counts.known else None
    if as_json:
        show_json(found)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    for name, words in _STATS:
        table.add_row(f"{found[name]:,}", words)
    for name, count in found["phases"].items():
        if count:
            table.add_row(f"{count:,}", f"collected, {name}")
    table.add_row(format_size(counts.disk_bytes), "on disk")
    console().print(table)


_STATS = (
    ("known", "known URLs"),
    ("collected", "collected"),
    ("scheduled", "scheduled"),
    ("remaining", "remaining"),
    ("waiting", "waiting to be verified"),
    ("hosts", "hosts"),
    ("blocks", "blocks"),
)


def lookup(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="a URL or the name of a host, as for tarrafa crawl")],
    directory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show what is known of one URL. Exit code 1 if it is unknown."""
    url = read_seed(url)
    known = look_up(_open(context, directory), url)
    if as_json:
        show_json({"url": url, "known": known is not None, **(_facts(known) if known else {})})
    if known is None:
        raise WorkError(f"{url} is unknown, or not verified yet")
    if not as_json:
        _show(known)


def _facts(known: Known) -> dict[str, Any]:
    """Return what is known of a URL, its history included, by name."""
    facts = known._asdict()
    history = facts.pop("history")
    return facts | ({**history._asdict(), "phase": history.phase.name.lower()} if history else {})


def _show(known: Known) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in _facts(known).items():
        if value is not None:
            table.add_row(name.replace("_", " "), printable(str(value)))
    console().print(table)


def verify(context: typer.Context, directory: Folder, as_json: AsJson = False) -> None:
    """Check every file and every invariant on disk. Exit code 1 if anything is wrong."""
    folder = _open(context, directory)
    problems, known = problems_of(folder), counts_of(folder).known
    if as_json:
        show_json({"sound": not problems, "known": known, "problems": problems})
    if problems:
        raise WorkError("\n".join(problems))
    if not as_json:
        typer.echo(f"No problems found: {known:,} URLs.")


COMMANDS = {"stats": stats, "lookup": lookup, "verify": verify}
