"""`tarrafa experiment`: what the papers claim, computed or measured again."""

import json
import shutil
import tempfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.cli.frame import configured, console, show_json, switch
from tarrafa.errors import InputError
from tarrafa.lab.experiment import ModelCosts, table
from tarrafa.lab.experiment.cost_model import GIBI, GIGA, MEMORIES, PRINTED_BLOCKS, URLS, printed

EXAMPLES = [
    ("tarrafa experiment cost-model", "Table 2 of the VEUNIQ paper, computed from its equations"),
    ("tarrafa experiment cost-model --json", "the same for a program, with all digits"),
    ("tarrafa experiment uniqueness", "VEUNIQ and DRUM up to three million URLs, in about a minute"),
    (
        "tarrafa experiment uniqueness --known 350000000 --dir growth --out figures",
        "the papers' size: hours, and goes on where it was stopped",
    ),
    ("tarrafa experiment uniqueness --known 350000000 --hurry --dir growth", "in about an hour"),
    ("tarrafa experiment parameters", "what the sizes of blocks and batches do: a small study, in about a minute"),
    ("tarrafa experiment parameters --known 20000000", "a larger one"),
    ("tarrafa experiment crawl", "20,000 pages of a made-up web: is the last one as cheap as the first?"),
    ("tarrafa experiment crawl --pages 300000 --out figures", "a longer crawl, with plots"),
]

_KNOWN = 3_000_000
_KNOWN_STUDIED = 1_000_000
_KNOWN_STUDIED_MIN = 2_000
_PAGES = 20_000


def cost_model(
    context: typer.Context,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Print what DRUM and VEUNIQ cost by the paper's equations, beside what the paper prints."""
    configured(context, {})
    cells = table()
    if as_json:
        show_json({"cells": [{**asdict(cell), "agree": cell.agree} for cell in cells]})
        return
    out = console()
    out.print(_table(cells))
    out.print(f"{sum(cell.agree for cell in cells) * 2} of {len(cells) * 2} cells as printed in the paper")


def _table(cells: list[ModelCosts]) -> Table:
    found = Table("n (Gb)", "N", box=None, pad_edge=False, title="Overhead α, DRUM and VEUNIQ", title_justify="left")
    for memory in MEMORIES:
        found.add_column(f"{memory // GIBI} GB: DRUM", justify="right")
        found.add_column("VEUNIQ", justify="right")
    for row, urls in enumerate(URLS):
        costs = cells[row * len(MEMORIES) : (row + 1) * len(MEMORIES)]
        overheads = [overhead for cell in costs for overhead in (printed(cell.drum), printed(cell.veuniq))]
        found.add_row(f"{urls / GIGA:g}", f"{PRINTED_BLOCKS[row]:,}", *overheads)
    return found


def uniqueness(
    context: typer.Context,
    known: Annotated[
        int, typer.Option(min=1, metavar="N", help="grow to so many URLs; the papers go to 350000000")
    ] = _KNOWN,
    engines: Annotated[str, typer.Option(metavar="NAMES", help="engines, with commas between")] = "veuniq,drum",
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="keep the repositories here, and go on from what is there"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write the measurements, tables and plots here")
    ] = None,
    cycle_urls: Annotated[
        int, typer.Option(min=10, metavar="N", help="URLs in a cycle, a tenth of them collected")
    ] = 1_000_000,
    fresh: Annotated[
        float, typer.Option(min=0.01, max=1, metavar="SHARE", help="share of extracted URLs that are fresh")
    ] = 0.17,
    hurry: Annotated[
        bool, switch("--hurry", "usual cycles only up to each of the papers' sizes; between, grow fast")
    ] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Measure what a cycle costs as the repository grows from empty, beside the papers' figures."""
    from tarrafa.lab.engines import parse_engines
    from tarrafa.lab.experiment import papers, plots
    from tarrafa.lab.experiment.uniqueness import GrowthSettings, grow
    from tarrafa.memory import keep_freed_memory

    configured(context, {})
    keep_freed_memory()
    names = parse_engines(engines)
    if out is not None:
        plots.check_installed()
    settings = GrowthSettings(1, cycle_urls // 10, cycle_urls - cycle_urls // 10, fresh, known if hurry else 0)
    with _place(folder) as place:
        rows = grow(names, known, Path(place), settings, _tell)
        found = papers.marks([row for row in rows if row.engine in names])
        if out is not None:
            _write_uniqueness(rows, found, Path(place), out)
    report = {"marks": [mark._asdict() for mark in found], "verdict": papers.verdict(found)}
    if as_json:
        show_json(report)
        return
    console().print(_marks_table(found))
    console().print(report["verdict"])


def _place(folder: Path | None) -> AbstractContextManager[Any]:
    """The folder to work in; one that nobody named is removed at the end."""
    return tempfile.TemporaryDirectory(prefix="tarrafa-experiment-") if folder is None else nullcontext(folder)


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _write_uniqueness(rows: Any, found: Any, place: Path, out: Path) -> None:
    from tarrafa.lab.experiment import papers, plots
    from tarrafa.lab.experiment.uniqueness import GROWTH

    out.mkdir(parents=True, exist_ok=True)
    if (place / GROWTH).resolve() != (out / GROWTH).resolve():
        shutil.copyfile(place / GROWTH, out / GROWTH)
    report = {"marks": [mark._asdict() for mark in found], "verdict": papers.verdict(found)}
    (out / "growth.json").write_text(json.dumps(report, indent=2) + "\n")
    (out / "growth.md").write_text(papers.page(found))
    plots.draw(rows, out)


def _marks_table(found: Any) -> Table:
    from tarrafa.lab.experiment import papers

    title = "A cycle, and a crawl with it, as the repository grows"
    shown = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for head in papers.HEADS:
        shown.add_column(head, justify="right")
    for mark in found:
        shown.add_row(*papers.cells(mark))
    return shown


def parameters(
    context: typer.Context,
    known: Annotated[int, typer.Option(min=1, metavar="N", help="size of each repository, in URLs")] = _KNOWN_STUDIED,
    folder: Annotated[Path | None, typer.Option("--dir", metavar="DIR", help="where temporary folders go")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Measure what the size of blocks, of batches and the ratio of runs do to the cost of VEUNIQ."""
    from tarrafa.lab.experiment.parameter_study import study

    configured(context, {})
    if known < _KNOWN_STUDIED_MIN:
        raise InputError(f"--known must be at least {_KNOWN_STUDIED_MIN}, so that there are blocks to compare")
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    effects = study(known, _tell, folder)
    if as_json:
        show_json({"effects": [{**effect._asdict(), "point": asdict(effect.point)} for effect in effects]})
        return
    console().print(_effects_table(effects))


def _effects_table(effects: Any) -> Table:
    title = "Cost of a million URLs"
    shown = Table("varied", box=None, pad_edge=False, title=title, title_justify="left")
    for head in ("value", "blocks", "CPU s", "wall s", "moved MB", "bytes/URL"):
        shown.add_column(head, justify="right")
    for effect in effects:
        figures = (f"{effect.cpu_seconds:.2f}", f"{effect.wall_seconds:.2f}", f"{effect.moved_bytes / 1e6:.0f}")
        value = f"{getattr(effect.point, effect.varied):,}"
        shown.add_row(effect.varied, value, str(effect.blocks), *figures, f"{effect.bytes_per_url:.1f}")
    return shown


def crawl(
    context: typer.Context,
    pages: Annotated[int, typer.Option(min=100, metavar="N", help="pages to crawl")] = _PAGES,
    hosts: Annotated[int, typer.Option(min=1, metavar="N", help="hosts of the made-up web")] = 2_000,
    folder: Annotated[Path | None, typer.Option("--dir", metavar="DIR", help="keep the crawl in this folder")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write the measurements, the table and plots here")
    ] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Crawl a made-up web for long, and compare the rate at the end with the rate at the start."""
    from tarrafa.lab.experiment import plots, steadiness

    configured(context, {})
    if out is not None:
        plots.check_installed()
    with _place(folder) as place:
        samples = steadiness.watch(pages, hosts, Path(place) / "crawl", _tell)
    if out is not None:
        steadiness.write(samples, out)
    parts = steadiness.parts(samples)
    if as_json:
        show_json({"parts": [part._asdict() for part in parts], "verdict": steadiness.verdict(parts)})
    else:
        typer.echo(steadiness.page(parts))


COMMANDS = {"cost-model": cost_model, "uniqueness": uniqueness, "parameters": parameters, "crawl": crawl}
