"""`tarrafa experiment`: what the papers claim, computed or measured again."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from tarrafa.cli.frame import configured, console, show_json, switch
from tarrafa.experiment import Costs, table
from tarrafa.experiment.cost_model import GIBI, GIGA, MEMORIES, PRINTED_BLOCKS, URLS, printed

EXAMPLES = [
    ("tarrafa experiment cost-model", "Table 2 of the VEUNIQ paper, computed from its equations"),
    ("tarrafa experiment cost-model --json", "the same for a program, with all digits"),
]


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


def _table(cells: list[Costs]) -> Table:
    found = Table("n (Gb)", "N", box=None, pad_edge=False, title="Overhead α, DRUM and VEUNIQ", title_justify="left")
    for memory in MEMORIES:
        found.add_column(f"{memory // GIBI} GB: DRUM", justify="right")
        found.add_column("VEUNIQ", justify="right")
    for row, urls in enumerate(URLS):
        costs = cells[row * len(MEMORIES) : (row + 1) * len(MEMORIES)]
        overheads = [overhead for cell in costs for overhead in (printed(cell.drum), printed(cell.veuniq))]
        found.add_row(f"{urls / GIGA:g}", f"{PRINTED_BLOCKS[row]:,}", *overheads)
    return found
