"""`tarrafa crawl`: visit a site, or a country, and go on where it was stopped."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from tarrafa import wiring
from tarrafa.agent import Agent, CrawlFolder, Ending, Progress, RunLimits
from tarrafa.cli.frame import configured, option, switch
from tarrafa.cli.live import Live, summary
from tarrafa.configuration import Configuration, require_contact, to_toml
from tarrafa.errors import InputError
from tarrafa.memory import collect_seldom
from tarrafa.schedule import Seeds, join_seeds, read_seeds
from tarrafa.units import parse_duration
from tarrafa.urls import host_name

if TYPE_CHECKING:
    from tarrafa.cli.beside import Beside

EXAMPLES = [
    ("tarrafa crawl example.org --dir crawl", "a site, five seconds between two pages, until nothing is left"),
    ("tarrafa crawl example.org --dir crawl --pages 1000", "a thousand pages of it; the same again goes on if stopped"),
    ("tarrafa crawl --seeds seeds.txt --scope br --dir crawl --time 2h", "a country, for two hours"),
    ("tarrafa crawl --dir crawl", "go on with what is there"),
    ("tarrafa crawl example.org --dir crawl --serve", "with a search page at http://127.0.0.1:8080/ from the start"),
    ("tarrafa web & tarrafa crawl 127.0.0.1:8800 --allow-private --scope any --delay 0s --dir crawl", "a made-up web"),
]


def command(
    context: typer.Context,
    directory: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="the folder of the crawl, new or there already")
    ],
    seed: Annotated[
        list[str] | None, typer.Argument(metavar="[SEED]…", help="URLs or names of hosts to begin with")
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option("--seeds", metavar="FILE", help="a file with a seed on each line; - for standard input"),
    ] = None,
    pages: Annotated[int | None, typer.Option(metavar="N", min=1, help="stop when the crawl has so many pages")] = None,
    hosts: Annotated[int | None, typer.Option(metavar="N", min=1, help="visit no more than so many hosts")] = None,
    time: Annotated[str | None, typer.Option(metavar="DURATION", help="stop after this long")] = None,
    delay: Annotated[str | None, option("politeness.delay")] = None,
    scope: Annotated[str | None, option("crawl.scope")] = None,
    order: Annotated[str | None, option("crawl.order")] = None,
    depth: Annotated[int | None, option("crawl.depth")] = None,
    host_pages: Annotated[int | None, option("crawl.host_pages")] = None,
    in_flight: Annotated[int | None, option("crawl.in_flight")] = None,
    user_agent: Annotated[str | None, option("crawl.user_agent")] = None,
    allow_private: Annotated[bool | None, option("crawl.allow_private")] = None,
    serve: Annotated[bool, switch("--serve", "index beside it, with a search page that stays until Ctrl-C")] = False,
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65_535, help="of the search page; 0 for any")] = 8080,
    as_json: Annotated[bool, switch("--json", "print one JSON object when it ends, as the last line")] = False,
) -> None:
    """Crawl politely from seeds, keep what is found, and go on with it whenever called again.

    Ctrl-C finishes what is in flight and saves; a second one stops at once. Nothing is lost either way.
    """
    flags: dict[str, object] = {
        "politeness.delay": delay,
        "crawl.scope": scope,
        "crawl.order": order,
        "crawl.depth": depth,
        "crawl.host_pages": host_pages,
        "crawl.in_flight": in_flight,
        "crawl.user_agent": user_agent,
        "crawl.allow_private": allow_private,
    }
    folder = CrawlFolder(directory)
    configuration = configured(context, flags, folder.configuration if folder.configuration.is_file() else None)
    given = _seeds(seed or [], seeds or [])
    limits = RunLimits(pages, hosts, None if time is None else parse_duration(time))
    with _beside(directory, port) if serve else nullcontext() as beside:
        progress = crawl(configuration, folder, given, limits, as_json, beside.begin if beside else _nothing)
        typer.echo(json.dumps(progress.told()) if as_json else summary(progress, directory))
        if beside and progress.ending != Ending.STOPPED:
            beside.stay()


def _beside(directory: Path, port: int) -> "Beside":
    from tarrafa.cli.beside import Beside  # it brings much with it that a crawl alone does without

    return Beside(directory, "127.0.0.1", port)


def _nothing() -> None:
    """Nobody waits for the folder."""


def _seeds(words: list[str], files: list[str]) -> Seeds:
    """Those that are good; the bad ones are named."""
    found = join_seeds([read_seeds("command line", words), *map(_seeds_of, files)])
    for bad in found.bad:
        typer.echo(f"tarrafa: {bad}", err=True)
    if found.bad and not found.urls:
        raise InputError("none of the seeds can be used; write for example https://example.org/ or example.org")
    return found


def _seeds_of(name: str) -> Seeds:
    if name == "-":
        return read_seeds("standard input", sys.stdin)
    try:
        with Path(name).open(encoding="utf-8", errors="replace") as file:
            return read_seeds(name, file)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}; give a file with a seed on each line") from error


def crawl(
    configuration: Configuration,
    folder: CrawlFolder,
    given: Seeds,
    limits: RunLimits,
    is_quiet: bool,
    begun: Callable[[], None] = _nothing,
) -> Progress:
    """Run a crawl in this process, to its end; `begun` is called when its folder is there, and again later."""
    if folder.root.exists() and not folder.root.is_dir():
        raise InputError(f"{folder.root} is not a folder; give another with --dir")
    if not given.urls and not folder.exists():
        raise InputError("there is nothing to begin with; give seeds, for example: tarrafa crawl example.org --dir DIR")
    require_contact(configuration.crawl.user_agent, [host_name(url) for url in given.urls])
    wiring.check(configuration, given.urls)
    hold = folder.hold()
    try:
        return _crawl_held(configuration, folder, given, limits, Live(is_quiet), begun)
    finally:
        hold.release()


def _crawl_held(
    configuration: Configuration,
    folder: CrawlFolder,
    given: Seeds,
    limits: RunLimits,
    live: Live,
    begun: Callable[[], None],
) -> Progress:
    seeds = folder.add_seeds(given.urls)
    require_contact(configuration.crawl.user_agent, [host_name(url) for url in seeds.urls])
    folder.keep_configuration(to_toml(configuration))
    collect_seldom()

    def report(progress: Progress) -> None:
        folder.write_status(progress.told())
        begun()
        live.show(progress)

    async def run() -> Progress:
        return await _run(wiring.agent(configuration, folder, seeds.urls, limits), seeds.urls, report)

    with live:
        progress = uvloop.run(run())
    folder.write_status(progress.told())
    return progress


async def _run(agent: Agent, seeds: tuple[str, ...], report: Callable[[Progress], None]) -> Progress:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            agent.stop()
        elif task is not None:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        return await agent.run(seeds, report)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await agent.close()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
