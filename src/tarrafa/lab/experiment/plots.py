"""Figures of experiments as PNG and SVG. Needs matplotlib, from the extra `plots`."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from tarrafa.errors import InputError
from tarrafa.lab.experiment.papers import MARKS, TABLE_3, TABLE_4_3
from tarrafa.lab.experiment.uniqueness import MILLION, GrowthCurve, GrowthRow, curve

KINDS = ("png", "svg")
_DOTS_PER_INCH = 120
_GAP_MILLIONS = 2.0  # more than any usual cycle adds
_COLOURS = {"veuniq": "tab:blue", "drum": "tab:orange"}


def check_installed() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("plots need matplotlib: pip install 'tarrafa[plots]'")


@contextmanager
def figure_of(folder: Path, name: str, columns: int) -> Iterator[Any]:
    """Yield axes side by side to draw on; write the figure as PNG and SVG when the block ends."""
    check_installed()
    # Without pyplot: it needs no window system, and leaves no state in the process.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "tarrafa"}):
        figure = Figure(figsize=(5.5 * columns, 4.5), layout="constrained")
        yield figure.subplots(1, columns)
        png, svg = (folder / f"{name}.{kind}" for kind in KINDS)
        figure.savefig(png, dpi=_DOTS_PER_INCH)
        figure.savefig(svg, metadata={"Date": None})


def draw(rows: list[GrowthRow], folder: Path) -> None:
    """Write `growth.png` and `growth.svg`: our figures on the left, beside the papers' on the right."""
    with figure_of(folder, "growth", columns=2) as (left, right):
        _draw_ours(left, rows)
        _draw_beside_papers(right, rows)


def _draw_ours(axes: Any, rows: list[GrowthRow]) -> None:
    for engine in dict.fromkeys(row.engine for row in rows):
        mine = [row for row in rows if row.engine == engine and row.cpu_seconds is not None]
        millions = [row.known / MILLION for row in mine]
        axes.plot(millions, [row.cpu_seconds for row in mine], ".", markersize=2, alpha=0.3, color=_COLOURS.get(engine))
        axes.plot(*_outline(curve(rows, engine, wall=False)), label=engine, color=_COLOURS.get(engine))
    axes.set(title="Each cycle, and the median of the last ones", ylabel="CPU-seconds", xlabel="known URLs (millions)")
    axes.set_ylim(bottom=0)
    axes.legend()


def _draw_beside_papers(axes: Any, rows: list[GrowthRow]) -> None:
    for engine in dict.fromkeys(row.engine for row in rows):
        axes.plot(*_outline(curve(rows, engine)), label=engine, color=_COLOURS.get(engine))
    for engine in TABLE_3:
        colour = _COLOURS[engine]
        axes.plot(MARKS, TABLE_3[engine], "--", label=f"{engine}, Table 3", color=colour)
        axes.plot(MARKS, TABLE_4_3[engine], ":", label=f"{engine}, Table 4.3", color=colour)
    axes.set(title="Beside the papers", ylabel="seconds", xlabel="known URLs (millions)", yscale="log")
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def _outline(median: GrowthCurve) -> tuple[list[float], list[float]]:
    """Return the points of a curve; for a run with --hurry only those where measured cycles ended."""
    known, seconds = median.known, median.seconds
    steps = [(after - before) / MILLION for before, after in pairwise(known)]
    ends = [place for place, step in enumerate(steps) if step > _GAP_MILLIONS]
    kept = [*ends, len(known) - 1] if ends else range(len(known))
    return [known[place] / MILLION for place in kept], [seconds[place] for place in kept]
