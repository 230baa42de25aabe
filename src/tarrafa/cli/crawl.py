"""`tarrafa crawl`: start or continue a crawl."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from tarrafa import wiring
from tarrafa.agent import Agent, CrawlFolder, Ending, Progress, RunLimits
from tarrafa.cli.common import configured, folder_option, option, switch
from tarrafa.cli.endings import exit_code
from tarrafa.cli.progress_view import ProgressView, interrupted, summary
from tarrafa.configuration import Configuration, require_contact, to_crawl_toml
from tarrafa.errors import InputError, TarrafaError
from tarrafa.memory import collect_seldom, return_large_blocks
from tarrafa.schedule import Seeds, join_seeds, read_seeds
from tarrafa.texts import printable, quoted
from tarrafa.units import parse_duration
from tarrafa.urls import host_name

if TYPE_CHECKING:
    from tarrafa.cli.companions import Companions

EXAMPLES = [
    ("tarrafa crawl example.org --dir crawl", "crawl a site, one page every five seconds, until it is complete"),
    (
        "tarrafa crawl example.org --dir crawl --pages 1000",
        "stop at a thousand pages; the same command continues if interrupted",
    ),
    ("tarrafa crawl --seeds seeds.txt --scope br --dir crawl --time 2h", "crawl a country for two hours"),
    ("tarrafa crawl --dir crawl", "continue a crawl"),
    ("tarrafa crawl example.org --dir crawl --serve", "also serve a search page at http://127.0.0.1:8080/"),
    (
        "tarrafa web & tarrafa crawl 127.0.0.1:8800 --allow-private --scope any --delay 0s --dir crawl",
        "crawl a synthetic web",
    ),
]

_TEXT_BYTES = 1 << 16  # of a file of seeds, that are checked to be text


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl, new or existing")],
    seed: Annotated[
        list[str] | None, typer.Argument(metavar="[SEED]…", help="URLs or host names to start from")
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option("--seeds", metavar="FILE", help="file with one seed per line; - for standard input"),
    ] = None,
    pages: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="stop when the crawl has this many pages")
    ] = None,
    hosts: Annotated[int | None, typer.Option(metavar="N", min=1, help="maximum number of hosts to visit")] = None,
    time: Annotated[str | None, typer.Option(metavar="DURATION", help="stop this run after this long")] = None,
    delay: Annotated[str | None, option("politeness.delay")] = None,
    scope: Annotated[str | None, option("crawl.scope")] = None,
    order: Annotated[str | None, option("crawl.order")] = None,
    depth: Annotated[int | None, option("crawl.depth")] = None,
    host_pages: Annotated[int | None, option("crawl.host_pages")] = None,
    in_flight: Annotated[int | None, option("crawl.in_flight")] = None,
    user_agent: Annotated[str | None, option("crawl.user_agent")] = None,
    allow_private: Annotated[bool | None, option("crawl.allow_private")] = None,
    serve: Annotated[bool, switch("--serve", "also index the pages and serve a search page until Ctrl-C")] = False,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65_535, help="port of the search page; 0 for any free port")
    ] = 8080,
    is_waiting: Annotated[
        bool, switch("--wait", "stay until suspended hosts come back, instead of ending without them")
    ] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object at the end, as the last line")] = False,
) -> None:
    """Crawl politely from seeds and store the pages, or continue a crawl that was stopped.

    Ctrl-C finishes the requests in flight and saves; a second one stops at once. Nothing saved is lost either way.
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
    configuration = configured(context, flags, folder)
    given = _seeds(seed or [], seeds or [])
    limits = RunLimits(pages, hosts, None if time is None else parse_duration(time), is_waiting)
    is_live = ProgressView.is_live(is_quiet=as_json)
    with _companions(directory, port, is_live) if serve else nullcontext() as companions:
        view = ProgressView(as_json, companions.url if companions else "")
        progress = crawl(configuration, folder, given, limits, view, companions.start if companions else _ignore)
        typer.echo(json.dumps(progress.told()) if as_json else summary(progress, directory))
        if companions and progress.ending != Ending.STOPPED:
            companions.wait()
    if code := exit_code(progress.ending):
        raise typer.Exit(code)


def _companions(directory: Path, port: int, is_shown: bool) -> "Companions":
    # Imported here: the modules of the search page take memory that a crawl alone does not need.
    from tarrafa.cli.companions import Companions

    return Companions(directory, "127.0.0.1", port, is_shown=is_shown)


def _ignore() -> None:
    """Do nothing."""


def _seeds(words: list[str], files: list[str]) -> Seeds:
    """Return the valid seeds; invalid ones are reported."""
    found = join_seeds([read_seeds("command line", words), *map(_read_seeds_file, files)])
    for bad in found.bad:
        typer.echo(f"tarrafa: {bad}", err=True)
    if found.bad_count > len(found.bad):
        typer.echo(f"tarrafa: and {found.bad_count - len(found.bad):,} more lines that are not seeds", err=True)
    if binary := next((name for name in files if name != "-" and _is_binary(name)), None):
        raise InputError(f"{quoted(binary)} is not a text file; give a file with one seed per line")
    if found.bad and not found.urls:
        raise InputError("no seed is valid; write for example https://example.org/ or example.org")
    return found


def _is_binary(name: str) -> bool:
    with Path(name).open("rb") as file:
        return b"\0" in file.read(_TEXT_BYTES)


def _read_seeds_file(name: str) -> Seeds:
    if name == "-":
        return read_seeds("standard input", sys.stdin)
    try:
        with Path(name).open(encoding="utf-8", errors="replace") as file:
            return read_seeds(name, file)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}; give a file with one seed per line") from error


def crawl(
    configuration: Configuration,
    folder: CrawlFolder,
    given: Seeds,
    limits: RunLimits,
    view: ProgressView,
    on_started: Callable[[], None] = _ignore,
) -> Progress:
    """Run a crawl in this process until it ends. `on_started` is called with each report, when the folder exists."""
    if not given.urls and not folder.exists():
        raise InputError("there are no seeds; give some, for example: tarrafa crawl example.org --dir DIR")
    require_contact(configuration.crawl.user_agent, [host_name(url) for url in given.urls])
    wiring.check(configuration, given.urls)
    wiring.require_seed_in_scope(configuration, (*folder.known_seeds().urls, *given.urls))
    hold = folder.lock()
    try:
        return _crawl_held(configuration, folder, given, limits, view, on_started)
    finally:
        hold.release()


def _crawl_held(
    configuration: Configuration,
    folder: CrawlFolder,
    given: Seeds,
    limits: RunLimits,
    view: ProgressView,
    on_started: Callable[[], None],
) -> Progress:
    seeds = folder.add_seeds(given.urls)
    require_contact(configuration.crawl.user_agent, [host_name(url) for url in seeds.urls])
    folder.keep_configuration(to_crawl_toml(configuration))
    collect_seldom()
    return_large_blocks()

    last: Progress | None = None

    def report(progress: Progress) -> None:
        nonlocal last
        last = progress
        folder.write_status(progress.told())
        on_started()
        view.show(progress)

    async def run() -> Progress:
        agent = wiring.agent(configuration, folder, seeds.urls, limits)
        return await _run(agent, seeds.urls, report, lambda: stopping(agent))

    def stopping(agent: Agent) -> None:
        nonlocal last
        last = agent.progress()
        view.stopping(last)

    try:
        with view:
            progress = uvloop.run(run())
    except BaseException as error:
        _write_failure(folder, last, error)
        if isinstance(error, KeyboardInterrupt):
            typer.echo(interrupted(last or Progress(), folder.root), err=True)
        raise
    # Measured once more: the last checkpoint, and closing the files, have changed it.
    progress = progress._replace(disk_bytes=folder.disk_bytes())
    folder.write_status(progress.told())
    return progress


def _write_failure(folder: CrawlFolder, last: Progress | None, error: BaseException) -> None:
    """Write how the run ended over its last report, or over that of the run before if it made none."""
    told: dict[str, object] = {}
    with suppress(TarrafaError):
        told = folder.read_status() if last is None else last.told()
    is_interrupted = isinstance(error, KeyboardInterrupt)
    ending = {"ending": Ending.INTERRUPTED, "reason": ""} if is_interrupted else {"ending": Ending.FAILED}
    folder.write_last_status({**told, "reason": printable(str(error) or repr(error)), **ending})


async def _run(
    agent: Agent, seeds: tuple[str, ...], report: Callable[[Progress], None], on_stop: Callable[[], None]
) -> Progress:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signals = 0

    def stop() -> None:
        nonlocal signals
        signals += 1
        if signals == 1:
            agent.stop()
        on_stop()
        if signals > 1 and task is not None:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        return await agent.run(seeds, report)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await _close(agent, has_failed=sys.exc_info()[0] is not None)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _close(agent: Agent, *, has_failed: bool) -> None:
    """Close the agent. After a failure, what fails on the way must not hide it."""
    try:
        await agent.close()
    except (TarrafaError, OSError):
        if not has_failed:
            raise
