"""`tarrafa demo`: crawl, rank, index and search a synthetic web, and follow its changes, in one command."""

import contextlib
import json
import sys
import tempfile
import urllib.request
from pathlib import Path
from threading import Thread
from typing import Annotated, Any
from urllib.parse import quote

import typer

from tarrafa import wiring
from tarrafa.agent import CrawlFolder, checkpoint_of
from tarrafa.cli.common import configured, folder_option, option, show_json, switch
from tarrafa.cli.crawl import crawl
from tarrafa.cli.demo_week import follow_the_web
from tarrafa.cli.progress_view import ProgressView, summary
from tarrafa.cli.search import show
from tarrafa.cli.web import synthetic_web
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.collection.ranker import update_ranks
from tarrafa.configuration import Configuration
from tarrafa.errors import InputError
from tarrafa.keep import DOCUMENTS, read_batches
from tarrafa.lab.web import served_in_process
from tarrafa.library.crawl_run import CrawlRequest
from tarrafa.schedule import Seeds
from tarrafa.search import Search, SearchRequest
from tarrafa.texts import quoted

_SHOWN = 3  # results of each search

EXAMPLES = [
    ("tarrafa demo", "crawl 100 hosts and 5,000 pages, in less than a minute"),
    ("tarrafa demo --hosts 2000 --pages 100000 --dir crawl", "a larger web; keep the crawl"),
    ("tarrafa demo --faults usual", "with hosts that are slow, busy or dead"),
]


def command(
    context: typer.Context,
    hosts: Annotated[int | None, option("web.hosts")] = None,
    pages: Annotated[int | None, option("web.pages")] = None,
    rng_seed: Annotated[int | None, option("web.rng_seed")] = None,
    faults: Annotated[str | None, option("web.faults")] = None,
    directory: Annotated[Path | None, folder_option("keep the crawl in this folder (default: delete it)")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Serve a synthetic web, crawl all of it, compare the result with the truth, search it, and follow its changes.

    In a terminal the search page stays until Ctrl-C.
    """
    web: dict[str, object] = {"web.hosts": hosts, "web.pages": pages, "web.rng_seed": rng_seed, "web.faults": faults}
    # The web is our own and on this machine, so no delay is needed.
    own: dict[str, object] = {"crawl.allow_private": True, "crawl.scope": "any", "politeness.delay": "0s"}
    configuration = configured(context, {**web, **own})
    synthetic_web(configuration)  # reports invalid options before anything starts
    with tempfile.TemporaryDirectory() as scratch, served_in_process(*_options(configuration)) as url:
        folder = CrawlFolder(directory or Path(scratch) / "crawl")
        if not folder.is_vacant():
            # A crawl there would get the settings of the demo, which are not polite.
            raise InputError(f"{quoted(str(folder.root))} is not empty; give --dir a folder that is missing or empty")
        if not as_json:
            section = configuration.web
            typer.echo(f"Serving a synthetic web of {section.hosts:,} hosts and {section.pages:,} pages at {url}")
        progress = crawl(CrawlRequest(folder, configuration, Seeds((url,))), ProgressView(is_quiet=as_json))
        comparison = _compare(url, folder)
        if not as_json:
            typer.echo(summary(progress, directory))
            typer.echo(_verdict(comparison))
        searches = _search(folder, is_quiet=as_json)
        week = follow_the_web(url, folder, configuration, is_quiet=as_json)
        if as_json:
            show_json({"url": url, "crawl": progress.told(), **comparison, "searches": searches, "week": week})
        _serve(configuration, folder, searches[0]["query"], is_staying=not as_json and sys.stdout.isatty())


def _search(folder: CrawlFolder, is_quiet: bool) -> list[dict[str, Any]]:
    """Rank and index the crawl, and search two words of a title: any of them, both, and as a phrase."""
    ranks = update_ranks(folder, lambda *_: None)
    with Indexer(folder.root) as indexer:
        indexer.update(lambda *_: None, StopFlag())
    search = Search.open(folder.root, ranks)
    first, second = _words_of_a_title(folder)
    found = []
    for text in (f"{first} {second}", f"+{first} +{second}", f'"{first} {second}"'):
        request = SearchRequest(text, top=_SHOWN)
        results = search.search(request)
        found.append({"query": text, "count": results.count, "best": [hit.url for hit in results.hits]})
        if not is_quiet:
            typer.echo(f"\ntarrafa search '{text}'")
            show(results, request)
    return found


def _words_of_a_title(folder: CrawlFolder) -> tuple[str, str]:
    for part in read_batches(folder.documents, DOCUMENTS, checkpoint_of(folder.hosts).number, ["outcome", "title"]):
        for row in part.to_pylist():
            words = [word for word in row["title"].split() if word.isalpha()]
            if row["outcome"] == "fetched" and len(words) > 1:
                return words[0], words[1]
    return "a", "page"


def _serve(configuration: Configuration, folder: CrawlFolder, query: str, is_staying: bool) -> None:
    """Serve the search page, request it once, and keep it until Ctrl-C if `is_staying`."""
    server = wiring.search_page(configuration, folder.root, wiring.SearchPageOptions())
    thread = Thread(target=server.run, name="search page")
    thread.start()
    try:
        with urllib.request.urlopen(f"{server.url}search?q={quote(query)}") as answer:  # noqa: S310 - our own server
            typer.echo(f"\nSearch page at {server.url} (status {answer.status})", err=True)
        if is_staying:
            typer.echo("Press Ctrl-C to stop.", err=True)
            with contextlib.suppress(KeyboardInterrupt):
                thread.join()
    finally:
        server.stop()
        thread.join()


def _options(configuration: Configuration) -> list[str]:
    section = configuration.web
    flags = {"hosts": section.hosts, "pages": section.pages, "rng-seed": section.rng_seed, "faults": section.faults}
    return [word for name, value in flags.items() for word in (f"--{name}", str(value))]


def _compare(url: str, folder: CrawlFolder) -> dict[str, Any]:
    """Compare the crawl with the truth and the log of the web."""
    truth, log = _get_json(f"{url}__truth"), _get_json(f"{url}__log?entries=0")
    wanted = {row["url"] for row in truth["urls"] if row["collectable"]}
    found = wanted & _fetched(folder)
    return {
        "truth": truth["summary"],
        "collectable": len(wanted),
        "collected": len(found),
        "missing": sorted(wanted - found)[:10],
        **{name: log[name] for name in ("requests", "robots_violations", "too_early", "malformed")},
    }


def _get_json(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url) as answer:  # noqa: S310 - our own server
        found: dict[str, Any] = json.load(answer)
    return found


def _fetched(folder: CrawlFolder) -> set[str]:
    parts = read_batches(folder.documents, DOCUMENTS, checkpoint_of(folder.hosts).number, ["url", "outcome"])
    return {row["url"] for part in parts for row in part.to_pylist() if row["outcome"] == "fetched"}


def _verdict(comparison: dict[str, Any]) -> str:
    return (
        f"Truth: {comparison['collected']:,} of {comparison['collectable']:,} collectable pages were collected.\n"
        f"Log of the web: {comparison['requests']:,} requests, {comparison['robots_violations']:,} against robots.txt, "
        f"{comparison['too_early']:,} too early, {comparison['malformed']:,} malformed."
    )
