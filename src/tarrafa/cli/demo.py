"""`tarrafa demo`: the main job on a made-up web, start to end, in one command."""

from dataclasses import replace
from typing import Annotated, Any

import typer
import uvloop
from rich.table import Table

from tarrafa import wiring
from tarrafa.cli.frame import configured, console, option, show_json, switch
from tarrafa.configuration import Configuration
from tarrafa.errors import WorkError
from tarrafa.fetch import decode
from tarrafa.records import Page, Request
from tarrafa.simulate.web import open_server

EXAMPLES = [
    ("tarrafa demo", "a web of 100 hosts and 5,000 pages"),
    ("tarrafa demo --hosts 2000 --pages 100000", "a larger one; its truth takes half a minute"),
]

# What the summary says, in the order and words of the table.
_FACTS = (
    ("hosts", "hosts"),
    ("pages", "pages"),
    ("urls", "URLs of all kinds"),
    ("collectable", "pages that a perfect, polite crawl collects"),
    ("reachable_by_links", "pages that links lead to"),
    ("reachable_by_sitemap", "pages that only sitemaps lead to"),
    ("closed_by_robots", "pages closed by robots.txt"),
    ("copies", "exact copies"),
    ("near_copies", "near copies"),
    ("noindex", "pages that ask not to be indexed"),
)


def command(
    context: typer.Context,
    hosts: Annotated[int | None, option("web.hosts")] = None,
    pages: Annotated[int | None, option("web.pages")] = None,
    rng_seed: Annotated[int | None, option("web.rng_seed")] = None,
    faults: Annotated[str | None, option("web.faults")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Start a made-up web, fetch its front page over a real connection, and print what is true of it."""
    flags: dict[str, object] = {"web.hosts": hosts, "web.pages": pages, "web.rng_seed": rng_seed, "web.faults": faults}
    configuration = configured(context, {**flags, "crawl.allow_private": True})
    page, summary = uvloop.run(_show(configuration))
    if as_json:
        show_json({"url": page.url, "status": page.status, "body_bytes": len(page.body), "truth": summary})
    else:
        _print(configuration, page, summary)


async def _show(configuration: Configuration) -> tuple[Page, dict[str, Any]]:
    plan, habits = wiring.web(configuration)
    async with open_server(replace(plan, port=0), habits) as server:
        outcome = await wiring.transport(configuration).fetch(Request(server.web.front))
        if not isinstance(outcome, Page):
            raise WorkError(f"{outcome.url}: {outcome.kind}: {outcome.detail}; run tarrafa demo again with --debug")
        return outcome, (await server.control.truth()).summary()


def _print(configuration: Configuration, page: Page, summary: dict[str, Any]) -> None:
    decoded = decode(page, configuration.fetch.body_limit_bytes)
    out = console()
    out.print(
        f"fetched {page.url}: status {page.status}, {page.media_type}, {len(decoded.body):,} bytes "
        f"({len(page.body):,} on the wire) in {page.timings.total_seconds * 1000:.1f} ms"
    )
    out.print(f"the truth about this web, which follows from the seed {summary['rng_seed']}:")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    for name, words in _FACTS:
        table.add_row(f"{summary[name]:,}", words)
    out.print(table)
