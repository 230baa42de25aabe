"""`tarrafa map`: list the URLs of a site."""

import asyncio
import json
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
import uvloop

from tarrafa import wiring
from tarrafa.agent import Agent, CrawlFolder, Ending, Progress, RunLimits
from tarrafa.cli.common import configured, option, switch
from tarrafa.cli.crawl import followed
from tarrafa.cli.rule_flags import Exclude, Include, given_rules
from tarrafa.configuration import Configuration
from tarrafa.errors import WorkError
from tarrafa.library.crawl_run import CrawlRequest, begin_run
from tarrafa.library.url_lister import UrlLister
from tarrafa.schedule import Seeds, read_seed
from tarrafa.units import parse_duration

EXAMPLES = [
    ("tarrafa map example.org", "list what the sitemaps of a site name, and the links of its first pages"),
    ("tarrafa map example.org --sitemaps-only > urls.txt", "list only what its sitemaps and feeds name"),
    ("tarrafa map example.org --pages 200 --exclude regex:/tag/", "read more pages, and leave out some URLs"),
]


def command(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL or host name to start from")],
    pages: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="pages and sitemaps to read at most (20)", show_default=False),
    ] = 20,
    urls: Annotated[
        int,
        typer.Option("--urls", metavar="N", min=1, help="URLs to list at most (50000)", show_default=False),
    ] = 50_000,
    time: Annotated[str | None, typer.Option(metavar="DURATION", help="stop after this long")] = None,
    delay: Annotated[str | None, option("politeness.delay")] = None,
    scope: Annotated[str | None, option("crawl.scope")] = None,
    include: Include = None,
    exclude: Exclude = None,
    sitemaps_only: Annotated[bool, switch("--sitemaps-only", "follow sitemaps and feeds, but no links")] = False,
    user_agent: Annotated[str | None, option("crawl.user_agent")] = None,
    allow_private: Annotated[bool | None, option("crawl.allow_private")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object for each URL, and one at the end")] = False,
) -> None:
    """List the URLs of a site as they are found: those of its sitemaps first, then the links of its pages.

    It is as polite as a crawl, and stores nothing. What robots.txt disallows is listed and not read.
    """
    flags: dict[str, object] = {
        "politeness.delay": delay,
        "crawl.scope": scope,
        "crawl.follow": followed(sitemaps_only=sitemaps_only, no_follow=False),
        "crawl.user_agent": user_agent,
        "crawl.allow_private": allow_private,
    }
    configuration = configured(context, flags, rules=given_rules(context, include, exclude))
    limits = RunLimits(pages, None, None if time is None else parse_duration(time))
    count, progress = _list(configuration, Seeds((read_seed(url),)), limits, urls, as_json=as_json)
    if as_json:
        _tell({"urls": count, "pages": progress.pages, "ending": progress.ending, "failures": dict(progress.failures)})
    if not count:
        raise WorkError("no URL was found; see what the host answers with tarrafa fetch URL")


def _tell(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value))


def _list(
    configuration: Configuration, seeds: Seeds, limits: RunLimits, urls_limit: int, *, as_json: bool
) -> tuple[int, Progress]:
    """Print the URLs; return how many, and how the crawl ended."""
    count, agents = 0, list[Agent]()

    def found(url: str) -> None:
        nonlocal count
        count += 1
        _tell({"url": url}) if as_json else typer.echo(url)

    def stop() -> None:
        for agent in agents:
            agent.stop()

    lister = UrlLister(wiring.scope(configuration, seeds.urls), urls_limit, found, stop)
    with TemporaryDirectory(prefix="tarrafa-map-") as folder:
        request = CrawlRequest(CrawlFolder(Path(folder) / "crawl"), configuration, seeds, limits, lister)
        with begin_run(request) as run:

            async def work() -> Progress:
                loop = asyncio.get_running_loop()

                def stop_softly() -> None:
                    loop.remove_signal_handler(signal.SIGINT)  # the next one interrupts at once
                    stop()

                loop.add_signal_handler(signal.SIGINT, stop_softly)
                return await run.run(lambda _: None, agents.append)

            progress = uvloop.run(work())
    if progress.ending is Ending.STOPPED and not lister.is_full:
        raise KeyboardInterrupt
    return count, progress
