"""`tarrafa report`: what is in the collection, in numbers."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tarrafa.cli.frame import console, crawl_of, show_json, switch
from tarrafa.disk import atomic_file, map_disk_errors
from tarrafa.errors import InputError
from tarrafa.report import ReportSection, html_page, make_report, sections_of
from tarrafa.texts import quoted

EXAMPLES = [
    ("tarrafa report --dir crawl", "tables of types, states, hosts, space, time and more"),
    ("tarrafa report --dir crawl --out report.html", "the same with plots, as one file for a browser"),
    ("tarrafa report --dir crawl --json", "the same for a script"),
]

_MOMENTS = 12  # spans of time that a terminal shows


def command(
    context: typer.Context,
    directory: Annotated[Path, typer.Option("--dir", metavar="DIR", help="the folder of the crawl")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="write an HTML page with plots here instead")
    ] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Report what a crawl has collected, in numbers. Works while the crawl runs: of what is saved by then."""
    folder, configuration = crawl_of(context, directory)
    if out is not None:
        _require(out)
    report = make_report(folder, configuration.crawl.in_flight)
    if out is not None:
        page = html_page(directory.resolve().name, time.time(), sections_of(report))
        with map_disk_errors(out), atomic_file(out) as file:
            file.write(page.encode())
    if as_json:
        show_json(report.as_json())
    elif out is not None:
        typer.echo(f"{report.totals['pages']:,} pages reported in {out}")
    else:
        for section in sections_of(report, _MOMENTS):
            _show(section)


def _require(out: Path) -> None:
    """What can be told before the work is done."""
    if out.is_dir():
        raise InputError(f"{quoted(str(out))} is a folder; give --out the name of a file")
    if not out.parent.is_dir():
        raise InputError(f"{quoted(str(out.parent))} is no folder; make it first, or give --out another name")


def _show(section: ReportSection) -> None:
    typer.secho(section.title, bold=True)
    if section.note:
        typer.echo(section.note)
    table = Table(box=None, pad_edge=False, show_header=any(section.columns))
    for number, name in enumerate(section.columns):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in section.rows:
        table.add_row(*row)
    console().print(table)
    typer.echo()
