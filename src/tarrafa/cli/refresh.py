"""`tarrafa refresh`: visit again, once, the pages of a crawl that are worth it most."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tarrafa.agent import CrawlFolder, RefreshMode, RunLimits
from tarrafa.cli.common import configured, folder_option, option, switch
from tarrafa.cli.crawl import crawl
from tarrafa.cli.endings import exit_code
from tarrafa.cli.progress_view import ProgressView, summary
from tarrafa.errors import InputError
from tarrafa.library.crawl_run import CrawlRequest
from tarrafa.units import parse_duration

EXAMPLES = [
    ("tarrafa refresh --dir crawl", "visit every page again that may have changed"),
    ("tarrafa refresh --dir crawl --budget 1000", "visit the thousand pages again that are worth it most"),
    ("tarrafa refresh --dir crawl --time 2h", "as many as two hours allow, the best first"),
    ("tarrafa refresh --dir crawl --budget 1000 --refresh-policy uniform", "those whose last visit is longest ago"),
]


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl")],
    budget: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="visit at most so many pages (default: all)")
    ] = None,
    time: Annotated[str | None, typer.Option(metavar="DURATION", help="stop after this long")] = None,
    policy: Annotated[str | None, option("refresh.policy")] = None,
    delay: Annotated[str | None, option("politeness.delay")] = None,
    in_flight: Annotated[int | None, option("crawl.in_flight")] = None,
    is_waiting: Annotated[
        bool, switch("--wait", "stay until suspended hosts come back, instead of ending without them")
    ] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object at the end, as the last line")] = False,
) -> None:
    """Visit collected pages of a crawl again, each at most once: those first that are worth it most.

    New URLs that changed pages link to are stored, and not visited: `tarrafa crawl` goes on with them. Interrupted, the
    same command continues the round.
    """
    folder = CrawlFolder(directory)
    folder.require()
    flags = {"refresh.policy": policy, "politeness.delay": delay, "crawl.in_flight": in_flight}
    configuration = configured(context, flags, folder)
    if configuration.refresh.policy == "never":
        raise InputError('refresh.policy is "never": no page is worth a visit; give --refresh-policy optimal')
    seconds = None if time is None else parse_duration(time)
    limits = RunLimits(seconds=seconds, is_waiting=is_waiting, mode=RefreshMode.ROUND, refreshes=budget)
    progress = crawl(CrawlRequest(folder, configuration, limits=limits), ProgressView(as_json))
    typer.echo(json.dumps(progress.told()) if as_json else summary(progress, directory))
    if code := exit_code(progress.ending):
        raise typer.Exit(code)
