"""`tarrafa export`: everything that a crawl has kept, in one file that others read."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from tarrafa.agent import checkpoint_of
from tarrafa.cli.frame import console, crawl_of, show_json, switch
from tarrafa.extract import as_text, encoding_of
from tarrafa.fetch import decode
from tarrafa.keep.export import (
    Snapshot,
    export_cdxj,
    export_jsonl,
    export_parquet,
    export_records,
    export_warc,
)
from tarrafa.records import Page

EXAMPLES = [
    ("tarrafa export warc --dir crawl --out crawl.warc.gz", "the archive in one file"),
    ("tarrafa export jsonl --dir crawl --out documents.jsonl", "a JSON object for each document"),
    ("tarrafa export parquet --dir crawl --out documents.parquet", "documents for DuckDB or polars"),
    ("tarrafa export cdxj --dir crawl --out index.cdxj", "an index for web archive players"),
    ("tarrafa export records --dir crawl --out pages.txt", "||| URL | HTML ||| for each HTML page"),
]

Folder = Annotated[Path, typer.Option("--dir", metavar="DIR", help="the folder of the crawl")]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="the file to write; it appears when it is complete")]
AsJson = Annotated[bool, switch("--json", "print one JSON object")]
Told = Callable[[int, int], None]


def _export(
    context: typer.Context,
    directory: Path,
    out: Path,
    as_json: bool,
    what: str,
    work: Callable[[list[Snapshot], Told], int],
) -> None:
    folder, _ = crawl_of(context, directory)
    number, end, _ = checkpoint_of(folder.hosts)
    with Progress(console=console(), transient=True, disable=as_json or not console().is_terminal) as progress:
        task = progress.add_task(out.name)
        count = work(
            [Snapshot(folder, number, end)],
            lambda done, total: progress.update(task, completed=done, total=total),
        )
    if as_json:
        show_json({"out": str(out), what: count})
    else:
        typer.echo(f"{count:,} {what} in {out}")


def warc(context: typer.Context, directory: Folder, out: Out, as_json: AsJson = False) -> None:
    """Write all pages as one WARC file."""
    _export(context, directory, out, as_json, "bytes", lambda kept, told: export_warc(kept, out, told))


def jsonl(context: typer.Context, directory: Folder, out: Out, as_json: AsJson = False) -> None:
    """Write each document as a JSON object on a line of its own."""
    _export(context, directory, out, as_json, "documents", lambda kept, told: export_jsonl(kept, out, told))


def parquet(context: typer.Context, directory: Folder, out: Out, as_json: AsJson = False) -> None:
    """Write all documents as one Parquet file."""
    _export(context, directory, out, as_json, "documents", lambda kept, told: export_parquet(kept, out, told))


def cdxj(context: typer.Context, directory: Folder, out: Out, as_json: AsJson = False) -> None:
    """Write a sorted index of the archive, by which web archive players find pages."""
    _export(context, directory, out, as_json, "lines", lambda kept, told: export_cdxj(kept, out, told))


def records(context: typer.Context, directory: Folder, out: Out, as_json: AsJson = False) -> None:
    """Write each HTML page as ||| URL | HTML ||| in UTF-8."""
    _, configuration = crawl_of(context, directory)
    limit = configuration.fetch.body_limit_bytes

    def html(page: Page) -> str | None:
        if page.media_type not in ("text/html", "application/xhtml+xml", "") or not page.body:
            return None
        body = decode(page, limit).body
        return as_text(body, encoding_of(page.header("content-type") or "", body))

    _export(context, directory, out, as_json, "pages", lambda kept, told: export_records(kept, out, told, html))


COMMANDS = {"warc": warc, "jsonl": jsonl, "parquet": parquet, "cdxj": cdxj, "records": records}
