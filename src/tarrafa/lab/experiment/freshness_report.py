"""What the freshness experiment found: table, verdict, and plots beside figure 2 of the incremental crawler of 2005."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tarrafa.lab.experiment.changing_pages import ChangingPages
from tarrafa.lab.experiment.freshness import BandwidthResult, fresh_over_time
from tarrafa.lab.experiment.plots import figure_of

NAME = "freshness"
_SHOWN = ("uniform", "importance", "proportional", "proportional_true", "optimal")
_LABELS = {
    "uniform": "uniform",
    "importance": "importance",
    "proportional": "proportional, by the formula of 2005",
    "proportional_true": "proportional to true rates",
    "optimal": "optimal",
}
# Figure 2 compares a collection that is made anew each month within a day with one that is kept up all the time.
_MONTH_DAYS, _BURST_DAYS = 30.0, 1.0


def told(results: Sequence[BandwidthResult]) -> dict[str, Any]:
    """Return the weighted freshness of each policy at each bandwidth, for a program."""
    rows = []
    for result in results:
        found = {each.policy: round(each.weighted, 4) for each in result.policies}
        rows.append({"bandwidth": result.bandwidth, **found, "optimum": round(result.optimum, 4)})
    return {"bandwidths": rows}


def page(results: Sequence[BandwidthResult]) -> str:
    """Return the tables and the verdict as Markdown."""
    lines = ["| visits a page a day | best possible | " + " | ".join(_LABELS[name] for name in _SHOWN) + " |"]
    lines.append("|---|" + "---|" * (len(_SHOWN) + 1))
    for result in results:
        cells = [f"{result.of(name).weighted:.3f} ({result.of(name).weighted / result.optimum:.1%})" for name in _SHOWN]
        lines.append(f"| {result.bandwidth:g} | {result.optimum:.3f} | {' | '.join(cells)} |")
    lines += ["", "Of the policy `optimal`:", ""]
    lines += ["| visits a page a day | age in days | stale for more than a week | visits that found a change |"]
    lines += ["|---|---|---|---|"]
    for result in results:
        best = result.of("optimal")
        cells = [f"{best.age_days:.2f}", f"{best.wrong_share:.1%}", f"{best.changed_share:.0%}"]
        lines.append(f"| {result.bandwidth:g} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", verdict(results), ""])


def verdict(results: Sequence[BandwidthResult]) -> str:
    shares = [each.of("optimal").weighted / each.optimum for each in results]
    above = [each.of("optimal").weighted - each.of("importance").weighted for each in results]
    plain = sum(each.of("uniform").plain > each.of("proportional_true").plain for each in results)
    return (
        f"The policy optimal reaches {min(shares):.1%} to {max(shares):.1%} of the best possible weighted freshness, "
        f"{100 * min(above):.1f} to {100 * max(above):.1f} points more than visits by importance alone. Without "
        f"weights, uniform is above proportional to true rates at {plain} of {len(results)} bandwidths."
    )


def write(results: Sequence[BandwidthResult], pages: ChangingPages, out: Path) -> None:
    """Write the figures, the tables and the plots."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{NAME}.json").write_text(json.dumps({**told(results), "verdict": verdict(results)}, indent=2) + "\n")
    (out / f"{NAME}.md").write_text(page(results))
    with figure_of(out, NAME, columns=2) as (left, right):
        _draw_policies(left, results)
        _draw_periodic(right, pages)


def _draw_policies(axes: Any, results: Sequence[BandwidthResult]) -> None:
    bandwidths = [each.bandwidth for each in results]
    axes.plot(bandwidths, [each.optimum for each in results], "k--", label="best possible")
    for name in _SHOWN:
        axes.plot(bandwidths, [each.of(name).weighted for each in results], ".-", label=_LABELS[name])
    axes.set(title="Freshness by policy", xlabel="visits a page a day", ylabel="weighted freshness", xscale="log")
    axes.legend(fontsize="small")


def _draw_periodic(axes: Any, pages: ChangingPages) -> None:
    """Draw two months of a collection that is made anew each month, and of one that is kept up all the time."""
    for burst, label in ((_BURST_DAYS, "periodic: all pages on one day a month"), (_MONTH_DAYS, "incremental")):
        days, shares = fresh_over_time(pages, _MONTH_DAYS, burst)
        axes.plot(days, shares, label=f"{label}, mean {np.mean(shares):.3f}")
    axes.set(title="Figure 2 of 2005, on the synthetic web", xlabel="days", ylabel="freshness")
    axes.set_ylim(0, 1)
    axes.legend(fontsize="small")
