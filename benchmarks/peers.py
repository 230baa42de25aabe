"""Measure a library beside its peers: the same work in the same run, with a ratio for each peer that is installed."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Work = TypeVar("Work")
# The module of a peer, and a function that makes the work from the module.
Peers = Mapping[str, tuple[str, Callable[[Any], Any]]]


def compare(unit: str, ours: Work, peers: Peers, measure_us: Callable[[Work], float]) -> dict[str, Any]:
    """Return the microseconds of a unit of work, ours and each peer's; "missing" for a peer that is not installed."""
    our_us = measure_us(ours)
    report: dict[str, Any] = {"tarrafa": {f"us_per_{unit}": round(our_us, 3)}}
    for name, (module, adapt) in peers.items():
        try:
            work = adapt(importlib.import_module(module))
        except ImportError:
            report[name] = "missing"
            continue
        their_us = measure_us(work)
        report[name] = {f"us_per_{unit}": round(their_us, 3)}
        report[f"ratio_{name}"] = round(their_us / our_us, 2)
    return report


def show(unit: str, report: dict[str, Any], peers: Peers) -> None:
    for name in ("tarrafa", *peers):
        if report[name] == "missing":
            print(f"{name:15} missing: pip install {name}")
            continue
        ratio = report.get(f"ratio_{name}")
        figure = f"{name:15} {report[name][f'us_per_{unit}']:9.2f} µs a {unit}"
        print(figure + (f"  {ratio:.1f}x tarrafa" if ratio else ""))
