"""`tarrafa rank`: rank the pages and hosts of a crawl by their links."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table

from tarrafa.cli.common import console, folder_option, open_crawl, show_json, switch
from tarrafa.collection.ranker import RankedName, best_hosts, best_pages, update_ranks
from tarrafa.memory import keep_freed_memory
from tarrafa.rank import Ranks
from tarrafa.texts import printable
from tarrafa.units import rough_duration

EXAMPLES = [
    ("tarrafa rank --dir crawl", "rank all saved pages and show the ten best"),
    ("tarrafa rank --dir crawl --top 100", "show the hundred best pages and hosts"),
    ("tarrafa rank --dir crawl --json", "the same as JSON"),
]

_TOP = 10
_TOP_MAX = 10_000


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl")],
    top: Annotated[
        int, typer.Option(metavar="K", min=0, max=_TOP_MAX, help="number of best pages and hosts to show")
    ] = _TOP,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Rank pages and hosts by the links between them. Works while the crawl runs; only new links are read."""
    folder, _ = open_crawl(context, directory)
    keep_freed_memory()
    began = time.monotonic()
    with Progress(console=console(), transient=True, disable=as_json or not console().is_terminal) as progress:
        task = progress.add_task("")
        ranks = update_ranks(
            folder,
            lambda step, done, total: progress.update(task, description=step, completed=done, total=total or None),
        )
    seconds = time.monotonic() - began
    pages, hosts = best_pages(directory, ranks, top), best_hosts(directory, ranks, top)
    if as_json:
        show_json(
            {
                **_facts(ranks),
                "seconds": round(seconds, 3),
                "best_pages": _best_json(pages),
                "best_hosts": _best_json(hosts),
            }
        )
    else:
        _show(ranks, seconds, pages, hosts)


def _facts(ranks: Ranks) -> dict[str, Any]:
    taken = {agent: each._asdict() for agent, each in ranks.agent_rows.items()}
    return {"generation": ranks.generation, **ranks.counts._asdict(), "agents": taken}


def _best_json(best: list[RankedName]) -> list[dict[str, Any]]:
    return [{"name": each.name, "rank": round(each.rank, 4), **each.facts} for each in best]


def _show(ranks: Ranks, seconds: float, pages: list[RankedName], hosts: list[RankedName]) -> None:
    counts = ranks.counts
    typer.echo(
        f"{counts.pages:,} pages, {counts.links:,} links to {counts.urls:,} URLs of {counts.hosts:,} hosts; "
        f"{counts.copies:,} copies merged, {counts.redirects:,} redirects followed; "
        f"{counts.iterations} iterations, {rough_duration(seconds)}"
    )
    if pages:
        table = _table("best pages", "rank", "host rank", "links", "from outside", "URL")
        for each in pages:
            facts = (
                f"{each.facts['host_rank']:.2f}",
                f"{each.facts['links_in']:,}",
                f"{each.facts['links_outside']:,}",
            )
            table.add_row(f"{each.rank:.2f}", *facts, printable(each.name))
        console().print(table)
    if hosts:
        table = _table("best hosts", "rank", "pages", "host")
        for each in hosts:
            table.add_row(f"{each.rank:.2f}", f"{each.facts['pages']:,}", printable(each.name))
        console().print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False, title=f"\n{title}", title_justify="left")
    for name in columns[:-1]:
        table.add_column(name, justify="right")
    table.add_column(columns[-1], overflow="fold")
    return table
