"""`tarrafa export`: the data of a crawl in one file of a common format."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from tarrafa.agent import checkpoint_of
from tarrafa.cli.common import console, folder_option, open_crawl, require_writable, show_json, switch
from tarrafa.errors import InputError
from tarrafa.extract import as_text, encoding_of, markdown_of
from tarrafa.fetch import decode
from tarrafa.folder_mark import is_vacant
from tarrafa.keep.export import (
    Snapshot,
    export_cdxj,
    export_jsonl,
    export_parquet,
    export_records,
    export_warc,
)
from tarrafa.keep.markdown_export import export_markdown
from tarrafa.records import Page
from tarrafa.texts import quoted

EXAMPLES = [
    ("tarrafa export warc --dir crawl --out crawl.warc.gz", "all pages in one WARC file"),
    ("tarrafa export jsonl --dir crawl --out documents.jsonl", "one JSON object per document"),
    ("tarrafa export jsonl --dir crawl --out - | head -1", "the first document, through a pipe"),
    ("tarrafa export parquet --dir crawl --out documents.parquet", "all documents, for DuckDB or pandas"),
    ("tarrafa export markdown --dir crawl --out pages", "each page as a Markdown file, in a folder"),
    ("tarrafa export cdxj --dir crawl --out index.cdxj", "an index for web archive players"),
    ("tarrafa export records --dir crawl --out pages.txt", "each HTML page as ||| URL | HTML |||"),
]

Folder = Annotated[Path, folder_option("folder of the crawl")]
Out = Annotated[
    Path,
    typer.Option(
        "--out", metavar="FILE", help="file to write, which appears when it is complete; - for standard output"
    ),
]
OutFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="folder to write, missing or empty; - for standard output")
]
AllVersions = Annotated[bool, switch("--all-versions", "every visit of each URL, not only its current version")]
AsJson = Annotated[bool, switch("--json", "print one JSON object")]
Exporter = Callable[[list[Snapshot], Path | None, Callable[[int, int], None]], int]  # returns how many were written


def _export(
    context: typer.Context,
    directory: Path,
    out: Path,
    as_json: bool,
    what: str,
    exporter: Exporter,
    require: Callable[[Path], None] = require_writable,
    has_all_versions: bool = False,
) -> None:
    file = None if str(out) == "-" else out
    if file is not None:
        require(file)
    elif as_json:
        raise InputError("--json and --out - are exclusive: both use standard output; give one of them")
    folder, _ = open_crawl(context, directory)
    number, end, _ = checkpoint_of(folder.hosts)
    is_quiet = as_json or file is None or not console().is_terminal
    with Progress(console=console(), transient=True, disable=is_quiet) as progress:
        task = progress.add_task(out.name)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        count = exporter([Snapshot(folder, number, end, has_all_versions)], file, show)
    if as_json:
        show_json({"out": str(out), what: count})
    else:
        # Standard output may be the file.
        typer.echo(f"Wrote {count:,} {what} to {file or 'standard output'}.", err=file is None)


def warc(context: typer.Context, directory: Folder, out: Out, as_json: AsJson = False) -> None:
    """Write all pages as one WARC file."""
    _export(context, directory, out, as_json, "bytes", export_warc)


def jsonl(
    context: typer.Context, directory: Folder, out: Out, versions: AllVersions = False, as_json: AsJson = False
) -> None:
    """Write each document as one line of JSON."""
    _export(context, directory, out, as_json, "documents", export_jsonl, has_all_versions=versions)


def parquet(
    context: typer.Context, directory: Folder, out: Out, versions: AllVersions = False, as_json: AsJson = False
) -> None:
    """Write all documents as one Parquet file."""
    _export(context, directory, out, as_json, "documents", export_parquet, has_all_versions=versions)


def cdxj(context: typer.Context, directory: Folder, out: Out, as_json: AsJson = False) -> None:
    """Write a sorted CDXJ index of the archive, for web archive players."""
    _export(context, directory, out, as_json, "lines", export_cdxj)


def records(
    context: typer.Context, directory: Folder, out: Out, versions: AllVersions = False, as_json: AsJson = False
) -> None:
    """Write each HTML page as ||| URL | HTML ||| in UTF-8."""
    _, configuration = open_crawl(context, directory)
    limit = configuration.fetch.body_limit_bytes

    def html(page: Page) -> str | None:
        if page.media_type not in ("text/html", "application/xhtml+xml", "") or not page.body:
            return None
        body = decode(page, limit).body
        return as_text(body, encoding_of(page.header("content-type") or "", body))

    _export(context, directory, out, as_json, "pages", partial(export_records, html=html), has_all_versions=versions)


def markdown(context: typer.Context, directory: Folder, out: OutFolder, as_json: AsJson = False) -> None:
    """Write each page as Markdown, links included: one file for each, below a folder for its host."""
    _, configuration = open_crawl(context, directory)
    limit = configuration.fetch.body_limit_bytes

    def read(page: Page, title: str) -> str | None:
        return markdown_of(page, decode(page, limit).body, title) or None

    _export(context, directory, out, as_json, "pages", partial(export_markdown, markdown=read), _require_vacant)


def _require_vacant(out: Path) -> None:
    if out.is_file() or not is_vacant(out):
        raise InputError(f"{quoted(str(out))} is not an empty folder; give --out one that is missing or empty, or -")


COMMANDS = {"warc": warc, "jsonl": jsonl, "parquet": parquet, "cdxj": cdxj, "records": records, "markdown": markdown}
