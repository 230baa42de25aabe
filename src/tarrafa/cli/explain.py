"""`tarrafa explain`: why is this URL not fetched, and what holds the crawl back?"""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa import wiring
from tarrafa.agent import CrawlFolder, Ending, Progress
from tarrafa.cli.common import console, folder_option, open_crawl, show_json, switch
from tarrafa.errors import InputError
from tarrafa.explain import CrawlExplanation, CrawlReader, Explanation, explain_crawl, explain_host, explain_url
from tarrafa.explain.moments import moment
from tarrafa.schedule import read_seed
from tarrafa.texts import printable
from tarrafa.units import rough_duration
from tarrafa.urls import host_of

EXAMPLES = [
    ("tarrafa explain https://example.org/news --dir crawl", "why was this URL not fetched yet?"),
    ("tarrafa explain example.org --dir crawl", "when is this host visited next?"),
    ("tarrafa explain --crawl --dir crawl", "what limits the crawl, and which hosts hold it back?"),
]

_LIST_ROWS = 5


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl")],
    subject: Annotated[
        str | None, typer.Argument(metavar="[URL|HOST]", help="a URL, or the name of a host without a path")
    ] = None,
    is_crawl: Annotated[bool, switch("--crawl", "explain the crawl as a whole")] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Explain why a URL is not fetched, when a host is visited next, or what limits a crawl.

    Works while the crawl runs, from what it has saved: the last checkpoint is some seconds old.
    """
    if (subject is None) != is_crawl:
        raise InputError("give a URL or the name of a host, or --crawl; one of them")
    folder, configuration = open_crawl(context, directory)
    reader = wiring.crawl_reader(configuration, folder)
    if subject is None:
        _show_crawl(_crawl(folder, reader), as_json)
        return
    found = _explained(reader, subject)
    if as_json:
        show_json([each.told() for each in found] if len(found) > 1 else found[0].told())
        return
    for each in found:
        _show(each)


def _explained(reader: CrawlReader, subject: str) -> list[Explanation]:
    """Explain a URL; or, if only a name is given, each host of that name that the crawl knows."""
    url, now = read_seed(subject), time.time()
    if "/" not in subject and (hosts := reader.hosts_named(host_of(url).partition("://")[2])):
        return [explain_host(reader.host(name), reader.run(), now) for name in hosts]
    return [explain_url(reader.url(url), now)]


def _crawl(folder: CrawlFolder, reader: CrawlReader) -> CrawlExplanation:
    run, status = reader.run(), folder.read_status()
    told = {name: value for name, value in status.items() if name in Progress._fields}
    progress = Progress(**{**told, "ending": Ending(run.ending)})
    return explain_crawl(progress, run.is_running, reader.holding_hosts())


def _show(found: Explanation) -> None:
    typer.secho(printable(found.subject), bold=True)
    typer.echo(printable(" ".join(filter(None, (f"{str(found.verdict).capitalize()}:", found.why, found.remedy)))))
    if found.may_fetch_at is not None:
        wait = found.may_fetch_at - time.time()
        when = f"in {rough_duration(wait)}, at {moment(found.may_fetch_at)}" if wait > 0 else "now"
        typer.echo(f"Earliest visit: {when}")
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in found.facts.items():
        for shown in _rows(name, value):
            table.add_row(name.replace("_", " "), printable(shown))
    console().print(table)


def _rows(name: str, value: Any) -> list[str]:
    """Return a fact as the lines that show it."""
    if isinstance(value, list):
        more = [f"and {len(value) - _LIST_ROWS} more"] if len(value) > _LIST_ROWS else []
        return [_one(each) for each in value[:_LIST_ROWS]] + more
    if name.endswith(("_at", "_since", "_until")):
        return [moment(value)]
    return [_one(value)]


def _one(value: Any) -> str:
    if isinstance(value, dict):
        if "source" in value:
            return f"{value['source']}  {value['text']}".rstrip()
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _show_crawl(found: CrawlExplanation, as_json: bool) -> None:
    if as_json:
        show_json(found.told())
        return
    typer.echo(" ".join(filter(None, (found.limit, found.remedy))))
    if not found.hosts:
        return
    if found.seconds_left:
        typer.echo(f"All known URLs are visited in {rough_duration(found.seconds_left)} at the earliest.")
    table = Table(box=None, pad_edge=False)
    table.add_column("host", overflow="fold")
    for name in ("URLs left", "delay", "needs at least"):
        table.add_column(name, justify="right")
    table.add_column("status")
    for host in found.hosts:
        seconds = rough_duration(host.seconds_left)
        table.add_row(printable(host.name), f"{host.urls_left:,}", f"{host.delay_seconds:g} s", seconds, host.status)
    console().print(table)
