"""`tarrafa experiment`: reproduce figures of the papers."""

import json
import shutil
import tempfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.cli.common import configured, console, folder_option, show_json, switch
from tarrafa.errors import InputError
from tarrafa.folder_mark import claim_folder
from tarrafa.lab.experiment import ModelCosts, table
from tarrafa.lab.experiment.cost_model import GIBI, GIGA, MEMORIES, PRINTED_BLOCKS, URLS, format_overhead
from tarrafa.texts import quoted

EXAMPLES = [
    ("tarrafa experiment cost-model", "compute Table 2 of the VEUNIQ paper from its equations"),
    ("tarrafa experiment cost-model --json", "the same as JSON, with all digits"),
    ("tarrafa experiment uniqueness", "measure VEUNIQ and DRUM up to three million URLs, in about a minute"),
    (
        "tarrafa experiment uniqueness --known 350000000 --dir growth --out figures",
        "the size of the papers: takes hours, can be interrupted and continued",
    ),
    ("tarrafa experiment uniqueness --known 350000000 --hurry --dir growth", "the same size in about an hour"),
    ("tarrafa experiment parameters", "measure how the sizes of blocks and batches affect the cost, in about a minute"),
    ("tarrafa experiment parameters --known 20000000", "a larger study"),
    ("tarrafa experiment crawl", "crawl 20,000 pages and compare the cost of the last ones with the first"),
    ("tarrafa experiment freshness", "compare refresh policies on a virtual clock, in some minutes"),
    ("tarrafa experiment freshness --quick --json", "the same with few pages, as JSON"),
    ("tarrafa experiment crawl --pages 300000 --out figures", "a longer crawl, with plots"),
    ("tarrafa experiment order", "compare the orders of a crawl on a synthetic web, in about a minute"),
    ("tarrafa experiment order --graph cnr-2000.edges.tsv.gz --out figures", "also on a real graph, with plots"),
]

_KNOWN = 3_000_000
_KNOWN_STUDIED = 1_000_000
_KNOWN_STUDIED_MIN = 2_000
_PAGES = 20_000
_BANDWIDTH_MIN, _BANDWIDTH_MAX = 0.01, 10.0  # visits a page a day
_KIND, _FORMAT = "result of an experiment", 1  # of the folders that are written


def cost_model(
    context: typer.Context,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Print the costs of DRUM and VEUNIQ by the equations of the paper, beside its printed figures."""
    configured(context, {})
    cells = table()
    if as_json:
        show_json({"cells": [{**asdict(cell), "agree": cell.agree} for cell in cells]})
        return
    out = console()
    out.print(_table(cells))
    out.print(f"{sum(cell.agree for cell in cells) * 2} of {len(cells) * 2} cells agree with the paper")


def _table(cells: list[ModelCosts]) -> Table:
    found = Table("n (Gb)", "N", box=None, pad_edge=False, title="Overhead α, DRUM and VEUNIQ", title_justify="left")
    for memory in MEMORIES:
        found.add_column(f"{memory // GIBI} GB: DRUM", justify="right")
        found.add_column("VEUNIQ", justify="right")
    for row, urls in enumerate(URLS):
        costs = cells[row * len(MEMORIES) : (row + 1) * len(MEMORIES)]
        overheads = [
            overhead for cell in costs for overhead in (format_overhead(cell.drum), format_overhead(cell.veuniq))
        ]
        found.add_row(f"{urls / GIGA:g}", f"{PRINTED_BLOCKS[row]:,}", *overheads)
    return found


def uniqueness(
    context: typer.Context,
    known: Annotated[
        int, typer.Option(min=1, metavar="N", help="number of URLs to grow to; the papers go to 350000000")
    ] = _KNOWN,
    engines: Annotated[str, typer.Option(metavar="NAMES", help="comma-separated engines")] = "veuniq,drum",
    folder: Annotated[
        Path | None,
        folder_option("keep the repositories in this folder, and continue from what is there"),
    ] = None,
    out: Annotated[Path | None, folder_option("folder for measurements, tables and plots", "--out")] = None,
    cycle_urls: Annotated[
        int, typer.Option(min=10, metavar="N", help="URLs per cycle, a tenth of them collected")
    ] = 1_000_000,
    fresh: Annotated[
        float, typer.Option(min=0.01, max=1, metavar="SHARE", help="share of extracted URLs that are fresh")
    ] = 0.17,
    hurry: Annotated[
        bool, switch("--hurry", "measure only around the sizes of the papers, and grow fast in between")
    ] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Measure the cost of a cycle as the repository grows from empty, beside the figures of the papers."""
    from tarrafa.lab.engines import parse_engines
    from tarrafa.lab.experiment import papers, plots
    from tarrafa.lab.experiment.uniqueness import GrowthSettings, grow
    from tarrafa.memory import keep_freed_memory

    configured(context, {})
    keep_freed_memory()
    names = parse_engines(engines)
    if out is not None:
        plots.check_installed()
        claim_folder(out, _KIND, _FORMAT)
    settings = GrowthSettings(1, cycle_urls // 10, cycle_urls - cycle_urls // 10, fresh, known if hurry else 0)
    with _place(folder) as place:
        rows = grow(names, known, Path(place), settings, _log_line)
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
    """Return the folder to work in; without a name it is a temporary one."""
    if folder is not None:
        claim_folder(folder, _KIND, _FORMAT)
    return tempfile.TemporaryDirectory(prefix="tarrafa-experiment-") if folder is None else nullcontext(folder)


def _log_line(line: str) -> None:
    typer.echo(line, err=True)


def _write_uniqueness(rows: Any, found: Any, place: Path, out: Path) -> None:
    from tarrafa.lab.experiment import papers, plots
    from tarrafa.lab.experiment.uniqueness import GROWTH

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
    known: Annotated[int, typer.Option(min=1, metavar="N", help="URLs in each repository")] = _KNOWN_STUDIED,
    folder: Annotated[Path | None, folder_option("folder for temporary files")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Measure how the sizes of blocks and batches and the ratio of runs affect the cost of VEUNIQ."""
    from tarrafa.lab.experiment.parameter_study import study

    configured(context, {})
    if known < _KNOWN_STUDIED_MIN:
        raise InputError(f"--known must be at least {_KNOWN_STUDIED_MIN}, to have blocks to compare")
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder} is not a folder; create it, or give another --dir")
    effects = study(known, _log_line, folder)
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
    hosts: Annotated[int, typer.Option(min=1, metavar="N", help="hosts of the synthetic web")] = 2_000,
    folder: Annotated[Path | None, folder_option("keep the crawl in this folder")] = None,
    out: Annotated[Path | None, folder_option("folder for measurements, table and plots", "--out")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Crawl a synthetic web, and compare the rate at the end with the rate at the start."""
    from tarrafa.lab.experiment import plots, steadiness

    configured(context, {})
    if out is not None:
        plots.check_installed()
        claim_folder(out, _KIND, _FORMAT)
    with _place(folder) as place:
        samples = steadiness.watch(pages, hosts, Path(place) / "crawl", _log_line)
    if out is not None:
        steadiness.write(samples, out)
    parts = steadiness.parts(samples)
    if as_json:
        show_json({"parts": [part._asdict() for part in parts], "verdict": steadiness.verdict(parts)})
    else:
        typer.echo(steadiness.page(parts))


def freshness(
    context: typer.Context,
    pages: Annotated[int, typer.Option(min=100, metavar="N", help="pages of the synthetic web")] = 5_000,
    hosts: Annotated[int, typer.Option(min=1, metavar="N", help="hosts of the synthetic web")] = 100,
    bandwidths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="comma-separated visits a page a day")
    ] = "0.03,0.1,0.3,1",
    quick: Annotated[
        bool, switch("--quick", "a tenth of the pages, a third of the time: too little to judge by")
    ] = False,
    rng_seed: Annotated[int, typer.Option(metavar="SEED", help="random seed of the web")] = 1,
    out: Annotated[Path | None, folder_option("folder for figures, table and plots", "--out")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object, as the last line")] = False,
) -> None:
    """Compare how fresh each refresh policy keeps a collection, beside the best possible."""
    from tarrafa.lab.experiment import freshness_report, plots
    from tarrafa.lab.experiment.changing_pages import changing_pages
    from tarrafa.lab.experiment.freshness import QUICK, WHOLE, compare

    configured(context, {})
    chosen = _bandwidths(bandwidths)
    extent = QUICK if quick else WHOLE
    if quick:
        pages, hosts = max(100, pages // 10), max(1, hosts // 10)
    if out is not None:
        plots.check_installed()
        claim_folder(out, _KIND, _FORMAT)
    days = extent.longest_days(chosen)
    _log_line(f"computing {days:.0f} days of changes of {pages:,} pages")
    changing = changing_pages(pages, hosts, days, rng_seed)
    results = compare(changing, chosen, extent, _log_line)
    if out is not None:
        freshness_report.write(results, changing, out)
    typer.echo(json.dumps(freshness_report.told(results)) if as_json else freshness_report.page(results))


def _bandwidths(text: str) -> list[float]:
    """Return the bandwidths that a user typed."""
    try:
        found = sorted({float(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < _BANDWIDTH_MIN or found[-1] > _BANDWIDTH_MAX:
        known = f'numbers from {_BANDWIDTH_MIN:g} to {_BANDWIDTH_MAX:g}, such as "0.1,0.3"'
        raise InputError(f"{quoted(text)} are not bandwidths; give --bandwidths {known}")
    return found


def order(
    context: typer.Context,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", metavar="FILE", help="a real graph: two page numbers on each line; may be gzipped"),
    ] = None,
    pages: Annotated[int, typer.Option(min=200, metavar="N", help="pages of the synthetic web")] = 3_000,
    hosts: Annotated[int, typer.Option(min=8, metavar="N", help="hosts of the synthetic web")] = 200,
    out: Annotated[Path | None, folder_option("folder for curves, table and plots", "--out")] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Crawl by each policy of crawl.order on virtual time, and compare how fast it collects PageRank and hosts."""
    from tarrafa.lab.experiment import order_study, plots

    configured(context, {})
    order_study.require_graph(graph)
    if out is not None:
        plots.check_installed()
        claim_folder(out, _KIND, _FORMAT)
    curves = order_study.study_web(hosts, pages, _log_line)
    if graph is not None:
        curves += order_study.study_graph(graph, _log_line)
    if out is not None:
        order_study.write(curves, out)
    if as_json:
        show_json(order_study.report(curves))
    else:
        typer.echo(order_study.page(curves))


COMMANDS = {
    "cost-model": cost_model,
    "uniqueness": uniqueness,
    "parameters": parameters,
    "crawl": crawl,
    "freshness": freshness,
    "order": order,
}
