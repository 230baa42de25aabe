"""`tarrafa report`: statistics of a crawl."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tarrafa.cli.common import console, folder_option, open_crawl, require_writable, show_json, switch
from tarrafa.disk import output_file
from tarrafa.report import ReportSection, SyntheticWebTruth, html_page, make_report, sections_of

EXAMPLES = [
    ("tarrafa report --dir crawl", "show tables of types, states, hosts, space, time and more"),
    ("tarrafa report --dir crawl --out report.html", "write them as an HTML file with plots"),
    ("tarrafa report --dir crawl --json", "print them as JSON"),
    ("tarrafa report --dir crawl --truth http://127.0.0.1:8800/", "compare freshness with the truth of tarrafa web"),
]

_TIME_ROWS = 12  # intervals of time that a terminal shows


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="write an HTML page with plots to this file")
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="URL", help="ask this synthetic web how fresh its copies are in truth"),
    ] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Report statistics of what a crawl has saved. Works while the crawl runs."""
    folder, configuration = open_crawl(context, directory)
    if out is not None:
        require_writable(out)
    report = make_report(
        folder,
        configuration.crawl.in_flight,
        configuration.refresh.policy,
        truth=None if truth is None else SyntheticWebTruth(truth),
    )
    if out is not None:
        page = html_page(directory.resolve().name, time.time(), sections_of(report))
        with output_file(out) as file:
            file.write(page.encode())
    if as_json:
        show_json(report.as_json())
    elif out is not None:
        typer.echo(f"Wrote the report on {report.totals['pages']:,} pages to {out}.")
    else:
        for section in sections_of(report, _TIME_ROWS):
            _show(section)


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
