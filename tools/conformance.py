"""Run the test data of other projects through Tarrafa's functions, and report how much it gets right.

    python tools/conformance.py --data DIR [--json] [--failures]

A suite is one function from the data folder to a `Suite`. Add it to `SUITES`, and it is run, shown and written as JSON.
"""

import argparse
import base64
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import ir
from tarrafa import urls
from tarrafa.errors import InputError
from tarrafa.obey import product_token, read_robots
from tarrafa.rank import LinkMatrix, Scratch, link_block, pagerank

Case = dict[str, Any]

BLOCK_NODES = 50_000  # targets of a block of the link matrix


@dataclass
class Group:
    """Cases of one kind. A group that does not count holds choices that are neither right nor wrong."""

    name: str
    counts: bool
    cases: int = 0
    passed: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, case: str, got: object, expected: object) -> None:
        self.cases += 1
        if got == expected:
            self.passed += 1
        else:
            self.failures.append(f"{case}: got {got!a}, expected {expected!a}")


@dataclass(frozen=True)
class Suite:
    """The result of a suite: --json prints `summary`; `rows` and `failures` are shown as text."""

    summary: dict[str, Any]
    rows: list[tuple[str, ...]]
    failures: list[str]


def urls_suite(data: Path) -> Suite:
    groups = Groups(counting={"http", "nonhttp", "rfc3986", "cc-resolve"})
    for case in cases(data / "urls" / "cases.jsonl", "id", "group", "href", "base", "expected"):
        got = urls.resolve(case["href"], case["base"], case.get("encoding", "utf-8"))
        about = f"{case['id']} {case['href']!a} in {case['base']!a}"
        groups[case["group"]].add(about, got, case["expected"])
    return counted(groups.values())


def canon_suite(data: Path) -> Suite:
    groups = Groups(counting={"whatwg", "rfc3986"})
    for case in cases(data / "canon" / "cases.jsonl", "id", "cls", "input", "expected"):
        got = urls.canonical(case["input"])
        groups[case["cls"]].add(f"{case['id']} {case['input']!a}", got, case["expected"])
    return counted(groups.values())


def robots_suite(data: Path) -> Suite:
    """Check whether a URL may be fetched. Only cases that all implementations agree on count: the tier `core`."""
    groups = Groups(counting={"core"})
    for case in cases(data / "robots" / "cases.jsonl", "id", "kind", "tier", "ua", "expected"):
        url = case.get("url", "")
        about = f"{case['id']} {url!a} for {case['ua']!a}"
        group = case["tier"] if case["kind"] == "allowed" else f"{case['kind']} {case['tier']}"
        groups[group].add(about, robots_answer(case, url), case["expected"])
    return counted(groups.values())


def robots_answer(case: Case, url: str) -> object:
    body = base64.b64decode(case["robots_b64"]) if "robots_b64" in case else case.get("robots", "").encode()
    rules = read_robots(body, product_token(case["ua"]))
    if case["kind"] == "crawl_delay":
        return rules.crawl_delay_seconds
    return list(rules.sitemaps) if case["kind"] == "sitemaps" else rules.allows(urls.canonical(url) or "/")


def ir_suite(data: Path) -> Suite:
    """Measure search quality: nDCG of the first ten results, for each collection that is present."""
    folder = data / "ir"
    if not folder.is_dir():
        return missing(folder)
    folders = [path for path in sorted(folder.glob("*")) if path.is_dir()]
    found = {path.name: ir.quality_of(path) for path in folders}
    return Suite(
        summary={name: quality._asdict() for name, quality in found.items()},
        rows=[(name, f"{each.queries:,}", "nDCG@10", f"{100 * each.ndcg:.2f}", "yes") for name, each in found.items()],
        failures=[],
    )


def graphs_suite(data: Path) -> Suite:
    """Count how many of the best pages of a graph are ours too, as sets, because equal ranks have no order."""
    folder = data / "graphs"
    if not folder.is_dir():
        return missing(folder)
    return counted(graph_group(path) for path in sorted(folder.glob("*.edges.tsv.gz")))


def missing(folder: Path) -> Suite:
    return Suite({"missing": str(folder)}, [("missing", "", "", "", "no")], [])


def graph_group(path: Path) -> Group:
    name = path.name.removesuffix(".edges.tsv.gz")
    links = table_of(path, pl.UInt32, pl.UInt32)
    best = table_of(path.with_name(f"{name}.pagerank_top1000.tsv"), pl.UInt32, pl.Float64)["left"].to_list()
    sources, targets = links["left"].to_numpy(), links["right"].to_numpy()
    count = 1 + max(int(sources.max()), int(targets.max()))
    ranks = ranks_of(sources, targets, count)
    ours = set(np.argsort(-ranks, kind="stable")[: len(best)].tolist())
    group = Group(name, counts=True)
    for page in best:
        group.add(f"page {page} is among the best {len(best):,}", page in ours, True)
    return group


def ranks_of(sources: NDArray[Any], targets: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Rank the nodes of a graph as `tarrafa rank` does: from a matrix on disk, block by block."""
    with Scratch(Path(tempfile.gettempdir())) as scratch:
        matrix = LinkMatrix(scratch, count)
        for first in range(0, count, BLOCK_NODES):
            rows = np.flatnonzero(targets // BLOCK_NODES == first // BLOCK_NODES)
            shape = (min(BLOCK_NODES, count - first), count)
            matrix.add(first, link_block(sources[rows], targets[rows] - first, np.ones(len(rows)), shape))
        return pagerank(matrix).ranks


def table_of(path: Path, *kinds: Any) -> pl.DataFrame:
    """Read two tab-separated columns of a file."""
    try:
        found = pl.read_csv(path, separator="\t", has_header=False, new_columns=["left", "right"])
        return found.cast({"left": kinds[0], "right": kinds[1]})
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read {path} ({error}): --data must name the folder that holds the suites") from error


SUITES: dict[str, Callable[[Path], Suite]] = {
    "urls": urls_suite,
    "canon": canon_suite,
    "robots": robots_suite,
    "graphs": graphs_suite,
    "ir": ir_suite,
}


class Groups(dict[str, Group]):
    def __init__(self, counting: set[str]) -> None:
        self._counting = counting

    def __missing__(self, name: str) -> Group:
        self[name] = Group(name, counts=name in self._counting)
        return self[name]


def counted(groups: Iterable[Group]) -> Suite:
    """Make a suite; its figure is the share of passed cases in the groups that count, which are listed first."""
    ordered = sorted(groups, key=lambda group: not group.counts)
    counting = [group for group in ordered if group.counts]
    total = Group("all that count", True, sum(g.cases for g in counting), sum(g.passed for g in counting))
    return Suite(
        summary={
            "percent": percent(total.passed, total.cases),
            "groups": {group.name: figures(group) for group in ordered},
        },
        rows=[row(group) for group in [*ordered, total]],
        failures=[f"{group.name}: {failure}" for group in ordered for failure in group.failures],
    )


def figures(group: Group) -> dict[str, Any]:
    share = percent(group.passed, group.cases)
    return {"cases": group.cases, "passed": group.passed, "percent": share, "counts": group.counts}


def row(group: Group) -> tuple[str, ...]:
    share = percent(group.passed, group.cases)
    return group.name, f"{group.cases:,}", f"{group.passed:,}", f"{share:.2f}", "yes" if group.counts else "no"


def percent(passed: int, cases: int) -> float:
    return round(100 * passed / cases, 2) if cases else 0.0


def cases(path: Path, *keys: str) -> Iterator[Case]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path} ({error}): --data must name the folder that holds the suites") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield case_of(line, keys, f"{path}:{number}")


def case_of(line: str, keys: tuple[str, ...], where: str) -> Case:
    try:
        case = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where} is not JSON ({error}): correct the line or remove it") from error
    missing = [key for key in keys if not isinstance(case, dict) or key not in case]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}: correct the line or remove it")
    return dict(case)


def show(suites: dict[str, Suite], failures: bool) -> None:
    table = Table("suite", "group", "cases", "passed", "percent", "counts")
    for name, suite in suites.items():
        for cells in suite.rows:
            table.add_row(name, *cells)
        table.add_section()
    Console().print(table)
    for name, suite in suites.items():
        for failure in suite.failures if failures else ():
            print(f"{name}: {failure}")


def show_json(suites: dict[str, Suite], failures: bool) -> None:
    report = {name: dict(suite.summary) for name, suite in suites.items()}
    for name, suite in suites.items():
        if failures:
            report[name]["failures"] = suite.failures
    print(json.dumps(report))


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Report an error on one line."""
        self.exit(2, f"conformance: {message}; --help shows how\n")


def arguments() -> argparse.Namespace:
    parser = Parser(prog="conformance", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with one folder per suite")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--failures", action="store_true", help="list what failed")
    return parser.parse_args()


def run(given: argparse.Namespace) -> None:
    if not given.data.is_dir():
        raise InputError(f"--data {given.data} is not a folder: name the one that holds {', '.join(SUITES)}")
    suites = {name: suite(given.data) for name, suite in SUITES.items()}
    (show_json if given.json else show)(suites, given.failures)


def main() -> None:
    try:
        run(arguments())
    except InputError as error:
        print(f"conformance: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
