"""Compare the rate at the end of a long crawl with that at its start, on the synthetic web."""

import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.agent import CrawlFolder, Ending
from tarrafa.errors import WorkError
from tarrafa.lab.experiment.plots import figure_of
from tarrafa.lab.web import served_in_process

SAMPLES = "crawl.csv"
_LOOK_SECONDS = 2.0
_PARTS = 10  # parts of the crawl; the first and the last are compared


class CrawlSample(NamedTuple):
    """The state of a crawl at a moment."""

    seconds: float
    pages: int
    known: int
    cpu_seconds: float
    memory_bytes: int
    disk_bytes: int


_BEGINNING = CrawlSample(0.0, 0, 0, 0.0, 0, 0)


class CrawlPart(NamedTuple):
    """The figures of a part of the crawl."""

    pages: int
    pages_per_second: float
    cpu_seconds_per_1000_pages: float
    memory_bytes: int
    known: int


def watch(pages: int, hosts: int, folder: Path, tell: Callable[[str], None]) -> list[CrawlSample]:
    """Crawl so many pages of a web that has twice as many; return one sample every few seconds."""
    with served_in_process("--hosts", str(hosts), "--pages", str(2 * pages), "--log-size", "0") as url:
        own = ["--allow-private", "--scope", "any", "--delay", "0s"]
        words = ["crawl", url, "--dir", str(folder), "--pages", str(pages), "--json", *own]
        command = [sys.executable, "-m", "tarrafa", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own command
            assert process.stdout is not None
            try:
                samples = _samples(process, CrawlFolder(folder), tell)
                out = process.stdout.read().splitlines()
            finally:
                process.terminate()
    if process.returncode or not out:
        raise WorkError(f"the crawl in {folder} failed; run tarrafa status --dir {folder}")
    return [*samples, sample(json.loads(out[-1]))]


def _samples(process: "subprocess.Popen[str]", folder: CrawlFolder, tell: Callable[[str], None]) -> list[CrawlSample]:
    found: list[CrawlSample] = []
    while process.poll() is None:
        time.sleep(_LOOK_SECONDS)
        status = folder.read_status()
        if status.get("ending") == Ending.RUNNING and (not found or status["pages"] > found[-1].pages):
            found.append(sample(status))
            tell(f"{found[-1].pages:,} pages, {found[-1].known:,} URLs known, {found[-1].memory_bytes / 1e6:.0f} MB")
    return found


def sample(status: dict[str, Any]) -> CrawlSample:
    return CrawlSample(*(status[name] for name in CrawlSample._fields))


def parts(samples: Sequence[CrawlSample], count: int = _PARTS) -> list[CrawlPart]:
    """Divide the crawl into parts of equal pages, leaving out those without a sample."""
    last = samples[-1].pages
    marks = [last * number / count for number in range(1, count + 1)]
    edges = [next(each for each in samples if each.pages >= mark) for mark in marks]
    found = []
    for first, end in pairwise([_BEGINNING, *edges]):
        pages, seconds = end.pages - first.pages, end.seconds - first.seconds
        if pages and seconds > 0:
            cost = 1000 * (end.cpu_seconds - first.cpu_seconds) / pages
            found.append(CrawlPart(end.pages, pages / seconds, cost, end.memory_bytes, end.known))
    return found


def verdict(found: Sequence[CrawlPart]) -> str:
    # The first part includes the start-up, and hosts that are met for the first time.
    first, last = found[min(1, len(found) - 1)], found[-1]
    rate, cost = last.pages_per_second / first.pages_per_second, _ratio(last, first)
    return (
        f"In the last tenth of {last.pages:,} pages the crawl made {last.pages_per_second:.0f} pages a second, "
        f"{rate:.2f} times the rate of the second tenth, with {last.cpu_seconds_per_1000_pages:.2f} CPU-seconds per "
        f"1,000 pages ({cost:.2f} times) and {last.memory_bytes / 1e6:.0f} MB of memory; "
        f"{last.known:,} URLs were known by then."
    )


def _ratio(last: CrawlPart, first: CrawlPart) -> float:
    return last.cpu_seconds_per_1000_pages / first.cpu_seconds_per_1000_pages


def page(found: Sequence[CrawlPart]) -> str:
    """Return the table and the verdict as Markdown."""
    lines = ["| pages | pages a second | CPU-seconds per 1,000 pages | memory | URLs known |", "|---|---|---|---|---|"]
    lines += [
        f"| {part.pages:,} | {part.pages_per_second:.0f} | {part.cpu_seconds_per_1000_pages:.2f} | "
        f"{part.memory_bytes / 1e6:.0f} MB | {part.known:,} |"
        for part in found
    ]
    return "\n".join([*lines, "", verdict(found), ""])


def write(samples: Sequence[CrawlSample], out: Path) -> None:
    """Write samples, table and plots."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / SAMPLES).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([CrawlSample._fields, *samples])
    found = parts(samples)
    report = {"parts": [part._asdict() for part in found], "verdict": verdict(found)}
    (out / "crawl.json").write_text(json.dumps(report, indent=2) + "\n")
    (out / "crawl.md").write_text(page(found))
    with figure_of(out, "crawl", columns=3) as axes:
        _draw(axes, parts(samples, count=min(50, len(samples))))


def _draw(axes: Any, found: Sequence[CrawlPart]) -> None:
    thousands = [part.pages / 1_000 for part in found]
    columns = (
        ("pages a second", [part.pages_per_second for part in found]),
        ("CPU-seconds per 1,000 pages", [part.cpu_seconds_per_1000_pages for part in found]),
        ("memory (MB)", [part.memory_bytes / 1e6 for part in found]),
    )
    for each, (name, values) in zip(axes, columns, strict=True):
        each.plot(thousands, values)
        each.set(title=name, xlabel="pages (thousands)")
        each.set_ylim(bottom=0)
