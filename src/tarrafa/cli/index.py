"""`tarrafa index`: index the documents of a crawl."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from tarrafa.cli.common import console, folder_option, open_crawl, show_json, switch
from tarrafa.collection.indexer import Indexer, IndexRun, StopFlag
from tarrafa.memory import collect_seldom
from tarrafa.search import Search
from tarrafa.units import rough_duration

EXAMPLES = [
    ("tarrafa index --dir crawl", "index new documents"),
    ("tarrafa index --dir crawl --follow", "index a running crawl until it ends"),
    ("tarrafa index --dir crawl --rebuild", "rebuild the index"),
]


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl")],
    rebuild: Annotated[bool, switch("--rebuild", "discard the index and rebuild it")] = False,
    is_following: Annotated[bool, switch("--follow", "keep indexing until the crawl ends, or until Ctrl-C")] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Index the new documents of a crawl, so that they can be searched. Works while the crawl runs.

    It can be interrupted at any time and resumes where it stopped.
    """
    folder, _ = open_crawl(context, directory)
    collect_seldom()
    with _stopped_by_signals() as stop:
        done = _index(folder.root, rebuild, is_following, stop, as_json)
    documents_count = Search.open(folder.root).documents_count
    if as_json:
        rate = round(done.rows / done.seconds, 1) if done.rows else 0.0
        counts = {"rows": done.rows, "seconds": round(done.seconds, 3), "rows_per_second": rate}
        show_json({**counts, "documents": documents_count})
    else:
        typer.echo(
            f"Read {done.rows:,} rows in {rough_duration(done.seconds)}. {documents_count:,} documents can be searched."
        )


def _index(root: Path, rebuild: bool, is_following: bool, stop: StopFlag, is_quiet: bool) -> IndexRun:
    with (
        Progress(console=console(), transient=True, disable=is_quiet or not console().is_terminal) as progress,
        Indexer(root, is_new=rebuild) as indexer,
    ):
        task = progress.add_task("index")

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        return indexer.follow(show, stop) if is_following else indexer.update(show, stop)


@contextmanager
def _stopped_by_signals() -> Iterator[StopFlag]:
    """Set the event on the first Ctrl-C, so that the current batch is finished; the second one ends the process."""
    stop = StopFlag()

    def first(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, first) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
