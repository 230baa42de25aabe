"""What the freshness experiment found: tables, gates, verdict, and plots beside figure 2 of the crawler of 2005."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.lab.experiment.changing_pages import ChangingPages
from tarrafa.lab.experiment.freshness import BandwidthResult, Curve, periodic_curves, steady_curve
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
# Figure 2 compares a collection that is made anew each month within a day with one that is kept up all the time. Made
# anew in five days and shown when it is complete is how search engines of that time did it.
_MONTH_DAYS, _BURSTS_DAYS = 30.0, (1.0, 5.0)
# The share of the best possible that `optimal` must reach: by the bandwidth from which it counts, the highest first.
_REACHED = ((0.1, 0.97), (0.03, 0.95))
_POINTS_ABOVE_IMPORTANCE = 2.0


class Gate(NamedTuple):
    """What must appear at a bandwidth, and whether it did."""

    bandwidth: float
    name: str
    found: float
    least: float

    @property
    def holds(self) -> bool:
        return self.found >= self.least


def gates(results: Sequence[BandwidthResult]) -> list[Gate]:
    found = []
    for each in results:
        least = next((share for bandwidth, share in _REACHED if each.bandwidth >= bandwidth), None)
        if least is not None:
            found.append(Gate(each.bandwidth, "optimal, share of the best possible", each.reached, least))
            points = each.points_above_importance
            found.append(Gate(each.bandwidth, "optimal, points above importance", points, _POINTS_ABOVE_IMPORTANCE))
        classical = each.of("uniform").plain - each.of("proportional_true").plain
        found.append(Gate(each.bandwidth, "uniform above proportional to true rates, unweighted", classical, 0.0))
    return found


def told(results: Sequence[BandwidthResult]) -> dict[str, Any]:
    """Return what was measured, for a program; under `bandwidths` the weighted freshness of each policy."""
    rows, details = [], []
    for result in results:
        found = {each.policy: round(each.weighted, 4) for each in result.policies}
        rows.append({"bandwidth": result.bandwidth, **found, "optimum": round(result.optimum, 4)})
        details += [{"bandwidth": result.bandwidth, **_rounded(each._asdict())} for each in result.policies]
    return {
        "gates": [{**_rounded(each._asdict()), "holds": each.holds} for each in gates(results)],
        "details": details,
        "bandwidths": rows,
    }


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}


def page(results: Sequence[BandwidthResult]) -> str:
    """Return the tables and the verdict as Markdown."""
    heads = " | ".join(_LABELS[name] for name in _SHOWN)
    lines = [f"| visits a page a day | best possible | {heads} |", "|---|" + "---|" * (len(_SHOWN) + 1)]
    for result in results:
        cells = [f"{result.of(name).weighted:.3f} ({result.of(name).weighted / result.optimum:.1%})" for name in _SHOWN]
        lines.append(f"| {result.bandwidth:g} | {result.optimum:.3f} | {' | '.join(cells)} |")
    lines += ["", "All pages alike, without weights:", ""]
    lines += [f"| visits a page a day | best possible | {heads} |", "|---|" + "---|" * (len(_SHOWN) + 1)]
    for result in results:
        plain = [f"{result.of(name).plain:.3f}" for name in _SHOWN]
        lines.append(f"| {result.bandwidth:g} | {result.plain_optimum:.3f} | {' | '.join(plain)} |")
    return "\n".join([*lines, "", *_details(results), "", verdict(results), ""])


def _details(results: Sequence[BandwidthResult]) -> list[str]:
    """Return a table of how old and how wrong copies are, and of what visits found."""
    lines = [
        "Of uniform / importance / optimal:",
        "",
        "| visits a page a day | age in days | stale for more than a week | visits that found a change "
        "| error of rates, median |ln| |".replace("|ln|", "\\|ln\\|"),
        "|---|---|---|---|---|",
    ]
    for result in results:
        shown = [result.of(name) for name in ("uniform", "importance", "optimal")]
        cells = [
            " / ".join(f"{each.age_days:.2f}" for each in shown),
            " / ".join(f"{each.wrong_share:.1%}" for each in shown),
            " / ".join(f"{each.changed_share:.0%}" for each in shown),
            f"{shown[-1].rate_error:.2f}",
        ]
        lines.append(f"| {result.bandwidth:g} | {' | '.join(cells)} |")
    return lines


def verdict(results: Sequence[BandwidthResult]) -> str:
    shares = [each.reached for each in results]
    above = [each.points_above_importance for each in results]
    plain = sum(each.of("uniform").plain > each.of("proportional_true").plain for each in results)
    failed = [each for each in gates(results) if not each.holds]
    misses = "; ".join(f"{each.name} at {each.bandwidth:g}: {each.found:.3f} of {each.least:g}" for each in failed)
    return (
        f"The policy optimal reaches {min(shares):.1%} to {max(shares):.1%} of the best possible weighted freshness, "
        f"{min(above):.1f} to {max(above):.1f} points more than visits by importance alone. Without weights, uniform "
        f"is above proportional to true rates at {plain} of {len(results)} bandwidths. "
        + (f"Missed: {misses}." if failed else "All gates hold.")
    )


def write(results: Sequence[BandwidthResult], pages: ChangingPages, out: Path) -> None:
    """Write the figures, the tables and the plots."""
    out.mkdir(parents=True, exist_ok=True)
    curves = figure_2(pages)
    means = [{"label": each.label, "mean": round(each.mean, 4)} for each in curves]
    found = {**told(results), "figure_2": means, "verdict": verdict(results)}
    (out / f"{NAME}.json").write_text(json.dumps(found, indent=2) + "\n")
    (out / f"{NAME}.md").write_text(page(results))
    with figure_of(out, NAME, columns=3) as (left, middle, right):
        _draw_policies(left, results)
        _draw_reached(middle, results)
        _draw_periodic(right, curves)


def figure_2(pages: ChangingPages) -> list[Curve]:
    """Return two months of collections that are made anew each month, and of two that are kept up all the time."""
    kept_up = [steady_curve(name, pages, _MONTH_DAYS) for name in ("uniform", "optimal")]
    return [*periodic_curves(pages, _MONTH_DAYS, _BURSTS_DAYS), *kept_up]


def _draw_policies(axes: Any, results: Sequence[BandwidthResult]) -> None:
    bandwidths = [each.bandwidth for each in results]
    axes.plot(bandwidths, [each.optimum for each in results], "k--", label="best possible")
    for name in _SHOWN:
        axes.plot(bandwidths, [each.of(name).weighted for each in results], ".-", label=_LABELS[name])
    axes.set(title="Freshness by policy", xlabel="visits a page a day", ylabel="weighted freshness", xscale="log")
    axes.legend(fontsize="small")


def _draw_reached(axes: Any, results: Sequence[BandwidthResult]) -> None:
    bandwidths = [each.bandwidth for each in results]
    for name in _SHOWN:
        shares = [each.of(name).weighted / each.optimum for each in results]
        axes.plot(bandwidths, shares, ".-", label=_LABELS[name])
    axes.axhline(1.0, color="k", linestyle="--")
    axes.set(title="Share of the best possible", xlabel="visits a page a day", ylabel="share", xscale="log")


def _draw_periodic(axes: Any, curves: Sequence[Curve]) -> None:
    for each in curves:
        axes.plot(each.days, each.shares, label=f"{each.label}, mean {each.mean:.3f}")
    axes.set(title="Figure 2 of 2005, on the synthetic web", xlabel="days", ylabel="freshness, all pages alike")
    axes.set_ylim(0, 1)
    axes.legend(fontsize="small")
