"""`tarrafa crawl`: start or continue a crawl."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from tarrafa.agent import Agent, CrawlFolder, Ending, Progress, RefreshMode, RunLimits
from tarrafa.cli.common import configured, folder_option, option, switch
from tarrafa.cli.endings import exit_code
from tarrafa.cli.progress_view import ProgressView, interrupted, summary
from tarrafa.cli.rule_flags import Exclude, Include, given_rules
from tarrafa.errors import InputError
from tarrafa.library.crawl_run import CrawlRequest, CrawlRun, begin_run
from tarrafa.memory import collect_seldom, return_large_blocks
from tarrafa.schedule import Seeds, join_seeds, read_seeds
from tarrafa.texts import quoted
from tarrafa.units import parse_duration
from tarrafa.verify import look_up

if TYPE_CHECKING:
    from tarrafa.agent import CrawlHooks
    from tarrafa.cli.companions import Companions

EXAMPLES = [
    ("tarrafa crawl example.org --dir crawl", "crawl a site, one page every five seconds, until it is complete"),
    (
        "tarrafa crawl example.org --dir crawl --pages 1000",
        "stop at a thousand pages; the same command continues if interrupted",
    ),
    ("tarrafa crawl --seeds seeds.txt --scope br --dir crawl --time 2h", "crawl a country for two hours"),
    ("tarrafa crawl --dir crawl", "continue a crawl"),
    (
        "tarrafa crawl --forever --dir crawl",
        "keep a collection fresh: visit pages again, and new ones, until Ctrl-C",
    ),
    ("tarrafa crawl --again --dir crawl", "visit every page once more, and what is new"),
    ("tarrafa crawl example.org --dir crawl --hooks hooks.py", "call your functions for each page and each URL"),
    ("tarrafa crawl example.org --dir crawl --serve", "also serve a search page at http://127.0.0.1:8080/"),
    (
        "tarrafa web & tarrafa crawl 127.0.0.1:8800 --allow-private --scope any --delay 0s --dir crawl",
        "crawl a synthetic web",
    ),
]

_TOLD_SEEDS = 10  # of those given that were visited before
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
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
    include: Include = None,
    exclude: Exclude = None,
    hops_outside: Annotated[int | None, option("crawl.hops_outside")] = None,
    sitemaps_only: Annotated[bool, switch("--sitemaps-only", "follow sitemaps and feeds, but no links")] = False,
    no_follow: Annotated[bool, switch("--no-follow", "visit only the seeds, and where they redirect to")] = False,
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
    is_forever: Annotated[
        bool, switch("--forever", "also visit collected pages again, as they are worth it, and never end by itself")
    ] = False,
    is_again: Annotated[
        bool, switch("--again", "visit every collected page once more; interrupted, the same command continues")
    ] = False,
    refresh_policy: Annotated[str | None, option("refresh.policy")] = None,
    refresh_share: Annotated[float | None, option("refresh.share")] = None,
    refresh_rate: Annotated[float | None, option("refresh.rate")] = None,
    collection_pages: Annotated[int | None, option("refresh.pages")] = None,
    is_waiting: Annotated[
        bool, switch("--wait", "stay until suspended hosts come back, instead of ending without them")
    ] = False,
    hooks: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Python file with functions on_page(page) and on_url(url) of your own"),
    ] = None,
    is_strict: Annotated[bool, switch("--strict", "stop the crawl when a hook fails")] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object at the end, as the last line")] = False,
) -> None:
    """Crawl politely from seeds and store the pages, or continue a crawl that was stopped.

    Ctrl-C finishes the requests in flight and saves; a second one stops at once. Nothing saved is lost either way.
    """
    flags: dict[str, object] = {
        "politeness.delay": delay,
        "crawl.scope": scope,
        "crawl.hops_outside": hops_outside,
        "crawl.follow": followed(sitemaps_only=sitemaps_only, no_follow=no_follow),
        "crawl.order": order,
        "crawl.depth": depth,
        "crawl.host_pages": host_pages,
        "crawl.in_flight": in_flight,
        "crawl.user_agent": user_agent,
        "crawl.allow_private": allow_private,
        "refresh.policy": refresh_policy,
        "refresh.share": refresh_share,
        "refresh.rate": refresh_rate,
        "refresh.pages": collection_pages,
    }
    mode = _mode(is_forever=is_forever, is_again=is_again)
    if mode is not RefreshMode.NOTHING and pages is not None:
        name = "--forever" if is_forever else "--again"
        raise InputError(f"{name} and --pages are exclusive: a page that is visited again is no page more; use --time")
    folder = CrawlFolder(directory)
    configuration = configured(context, flags, folder, given_rules(context, include, exclude))
    given = _seeds(seed or [], seeds or [])
    limits = RunLimits(pages, hosts, None if time is None else parse_duration(time), is_waiting, mode)
    if mode is RefreshMode.NOTHING:
        _tell_known(folder, given.urls)
    is_live = ProgressView.is_live(is_quiet=as_json)
    runner = _hook_runner(hooks, folder, is_strict)
    request = CrawlRequest(folder, configuration, given, limits, runner)
    with _companions(directory, port, is_live) if serve else nullcontext() as companions:
        view = ProgressView(as_json, companions.url if companions else "")
        progress = crawl(request, view, companions.start if companions else _ignore)
        typer.echo(json.dumps(progress.told()) if as_json else summary(progress, directory))
        if companions and progress.ending != Ending.STOPPED:
            companions.wait()
    if code := exit_code(progress.ending):
        raise typer.Exit(code)


def _mode(*, is_forever: bool, is_again: bool) -> RefreshMode:
    if is_forever and is_again:
        raise InputError("--forever and --again are exclusive: the first goes on for ever; give one of them")
    return RefreshMode.FOREVER if is_forever else RefreshMode.AGAIN if is_again else RefreshMode.NOTHING


def _tell_known(folder: CrawlFolder, urls: Sequence[str]) -> None:
    """Tell of seeds that were visited before, if nothing was left to visit: the crawl would end at once."""
    if not folder.exists() or folder.read_status().get("ending") != Ending.DONE:
        return
    known = [(url, found.at_seconds) for url in urls[:_TOLD_SEEDS] if (found := look_up(folder.repository, url))]
    for url, at_seconds in known:
        if at_seconds is not None:
            moment = datetime.fromtimestamp(at_seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
            how = f"tarrafa refresh --dir {shlex.quote(str(folder.root))}, or tarrafa crawl with --again or --forever"
            typer.echo(f"{url} was visited on {moment} and is not visited again. To refresh it: {how}.", err=True)


def followed(*, sitemaps_only: bool, no_follow: bool) -> str | None:
    """Return the value of `crawl.follow` that two flags mean; None if neither is given."""
    if sitemaps_only and no_follow:
        raise InputError("--sitemaps-only and --no-follow are exclusive; give one of them")
    return "sitemaps" if sitemaps_only else "nothing" if no_follow else None


def _companions(directory: Path, port: int, is_shown: bool) -> "Companions":
    # Imported here: the modules of the search page take memory that a crawl alone does not need.
    from tarrafa.cli.companions import Companions

    return Companions(directory, "127.0.0.1", port, is_shown=is_shown)


def _hook_runner(file: Path | None, folder: CrawlFolder, is_strict: bool) -> "CrawlHooks | None":
    if file is None:
        if is_strict:
            raise InputError("--strict is about hooks; give --hooks FILE, or leave it out")
        return None
    # Imported here, as most crawls have no hooks.
    from tarrafa.library.hook_runner import make_runner
    from tarrafa.library.hooks import load_hooks

    return make_runner(load_hooks(file), folder, is_strict)


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


def crawl(request: CrawlRequest, view: ProgressView, on_started: Callable[[], None] = _ignore) -> Progress:
    """Run a crawl in this process until it ends. `on_started` is called with each report, when the folder exists."""
    with begin_run(request) as run:
        collect_seldom()
        return_large_blocks()

        def report(progress: Progress) -> None:
            on_started()
            view.show(progress)

        def started(agent: Agent) -> None:
            _stop_by_signals(run, agent, view)

        try:
            with view:
                progress = uvloop.run(_run(run, report, started))
        except BaseException as error:
            run.fail(error)
            if isinstance(error, KeyboardInterrupt):
                typer.echo(interrupted(run.last or Progress(), request.folder.root), err=True)
            raise
        return run.end(progress)


async def _run(run: CrawlRun, report: Callable[[Progress], None], started: Callable[[Agent], None]) -> Progress:
    try:
        return await run.run(report, started)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number in _SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)


def _stop_by_signals(run: CrawlRun, agent: Agent, view: ProgressView) -> None:
    """Let the first signal stop the agent, and the second one cancel the running task."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signals = 0

    def stop() -> None:
        nonlocal signals
        signals += 1
        if signals == 1:
            agent.stop()
        run.last = agent.progress()
        view.stopping(run.last)
        if signals > 1 and task is not None:
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
