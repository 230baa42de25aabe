"""Measure the cost of a cycle of a million URLs: every engine on the same batches in the same run, at a given size.

Each engine grows to the size by cycles, as in a crawl; then steady cycles are measured, the engines one after the other
in each. CPU is that of the whole process, including background work of the engine. Bytes read and written are those of
read and write calls (`rchar`, `wchar`), without those of mapped files. Memory is the peak of the process, including the
batch, without what the other engines hold. Disk is the space of the engine's files. By default a tenth of the URLs of
a cycle is collected; with --collected all URLs are that were offered before the measured cycles.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from tarrafa.errors import InputError, TarrafaError
from tarrafa.lab.engines import open_repository, parse_engines
from tarrafa.lab.experiment.measurement import WorkCost, allocated_bytes, measure_cost, rss_bytes
from tarrafa.lab.experiment.url_stream import StreamShape, UrlStream
from tarrafa.memory import keep_freed_memory
from tarrafa.verify import Batch, Collected, UniquenessEngine
from tarrafa.verify.keys import texts_of

SEED = 1
KNOWN = 10_000_000
CYCLES = 4
CYCLE_URLS = 1_000_000
DEFAULT_ENGINES = "veuniq,drum"
# Upper bound of the engines' disk space, so that a full disk does not end a long run.
DISK_BYTES_PER_URL = {"lmdb": 700, "veuniq": 60, "rocksdb": 120}
DISK_BYTES_PER_URL_OTHERS = 200


@runtime_checkable
class BackgroundEngine(Protocol):
    """An engine with background work that can be waited for."""

    def wait_for_merges(self) -> None: ...


@dataclass(slots=True)
class Contestant:
    name: str
    folder: Path
    repository: UniquenessEngine
    held_bytes: int = 0  # memory that its cycles retain
    peak_bytes: int = 0
    costs: list[WorkCost] = field(default_factory=list)  # of the measured cycles

    def run(self, batch: Batch, others_bytes: int, counted: bool) -> None:
        before_bytes = rss_bytes()
        cost = measure_cost(lambda: cycle_and_wait(self.repository, batch))
        self.peak_bytes = max(self.peak_bytes, before_bytes + cost.peak_bytes - others_bytes)
        self.held_bytes = max(0, self.held_bytes + cost.held_bytes)
        if counted:
            self.costs.append(cost)

    def report(self) -> dict[str, Any]:
        known, count = self.repository.counts().known, len(self.costs)
        return {
            "engine": self.name,
            "known": known,
            "cpu_seconds": round(statistics.median(cost.cpu_seconds for cost in self.costs), 3),
            "wall_seconds": round(statistics.median(cost.wall_seconds for cost in self.costs), 3),
            "read_bytes": sum(cost.read_bytes for cost in self.costs) // count,
            "written_bytes": sum(cost.written_bytes for cost in self.costs) // count,
            "peak_rss_bytes": self.peak_bytes,
            "bytes_per_url": round(allocated_bytes(self.folder) / known, 1),
            "cpu_seconds_mean": round(statistics.fmean(cost.cpu_seconds for cost in self.costs), 3),
            "wall_seconds_mean": round(statistics.fmean(cost.wall_seconds for cost in self.costs), 3),
            "cycles": count,
        }


@dataclass(frozen=True, slots=True)
class RepositoryLoad:
    """What is measured: how large a repository, and which cycles."""

    known: int
    cycles: int
    cycle_urls: int
    is_collected: bool  # all URLs that are known before the measured cycles


def cycle_and_wait(repository: UniquenessEngine, batch: Batch) -> None:
    """Run a cycle and the background work it causes, which would otherwise be charged to the next engine."""
    repository.cycle(batch)
    if isinstance(repository, BackgroundEngine):
        repository.wait_for_merges()


def measure(names: list[str], load: RepositoryLoad, folder: Path) -> list[dict[str, Any]]:
    keep_freed_memory()
    stream = UrlStream(SEED, shape_of(load.known, load.cycle_urls))
    base_bytes = rss_bytes()
    contestants = [
        Contestant(name, folder / name, open_repository(name, folder / name, veuniq_seed=SEED)) for name in names
    ]
    try:
        while stream.expected_known < load.known:
            batch = stream.batch(stream.next_number)
            run_cycle(stream, all_collected(batch) if load.is_collected else batch, contestants, base_bytes, False)
        for _ in range(load.cycles):
            run_cycle(stream, stream.batch(stream.next_number), contestants, base_bytes, True)
        facts = {"cycle_urls": load.cycle_urls, "all_collected": load.is_collected}
        return [each.report() | facts for each in contestants]
    finally:
        for each in contestants:
            each.repository.close()


def shape_of(known: int, cycle_urls: int) -> StreamShape:
    """Return a shape in which a tenth of a cycle is collected, and all extracted URLs are fresh up to the size."""
    collected = cycle_urls // 10
    return StreamShape(
        collected,
        cycle_urls - collected,
        marks=(known,),
        young_fresh_share=1.0,
        first_hosts_count=max(10, cycle_urls // 200),
    )


def all_collected(batch: Batch) -> Batch:
    """Return the batch with a visit to each of its URLs."""
    told, found = batch.collected, batch.extracted
    urls = pa.concat_arrays([texts_of(told.urls), texts_of(found.urls)])
    count = len(found.urls)
    return batch._replace(
        collected=Collected(
            urls,
            np.resize(told.at_seconds, len(urls)),
            np.resize(told.status, len(urls)),
            np.resize(told.file, len(urls)),
            np.concatenate((told.offset, np.arange(count, dtype=np.uint64) * 1000)),
        )
    )


def run_cycle(stream: UrlStream, batch: Batch, contestants: list[Contestant], base_bytes: int, counted: bool) -> None:
    for each in contestants:
        each.run(batch, sum(other.held_bytes for other in contestants if other is not each), counted)
    # Memory that cycles retained may be returned later; scale the shares down to what the process holds now.
    held = sum(each.held_bytes for each in contestants)
    share = min(1.0, max(0, rss_bytes() - base_bytes) / held) if held else 0.0
    for each in contestants:
        each.held_bytes = int(each.held_bytes * share)
    kind = "measured" if counted else "filling"
    print(f"{kind}: cycle {batch.number}, {stream.expected_known:,} URLs offered", file=sys.stderr, flush=True)


def check_disk(folder: Path, names: list[str], known: int, cycles: int, cycle_urls: int) -> None:
    per_url = sum(DISK_BYTES_PER_URL.get(name, DISK_BYTES_PER_URL_OTHERS) for name in names)
    needed = (known + cycles * cycle_urls) * per_url
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"this may take {needed / 1e9:.1f} GB in {folder}, where {free / 1e9:.1f} GB are free; use --dir"
        )


COLUMNS = (
    "engine",
    "known",
    "CPU s",
    "mean",
    "wall s",
    "mean",
    "read MB",
    "written MB",
    "peak MB",
    "bytes/URL",
    "ratio",
)


def show(reports: list[dict[str, Any]]) -> None:
    """Return a table with the ratio of CPU to VEUNIQ's."""
    ours = next((report["cpu_seconds"] for report in reports if report["engine"] == "veuniq"), None)
    for line in [COLUMNS, *(line_of(report, ours) for report in reports)]:
        print(f"{line[0]:12}" + "".join(f"{cell:>12}" for cell in line[1:]))


def line_of(report: dict[str, Any], ours: float | None) -> tuple[str, ...]:
    seconds = ("cpu_seconds", "cpu_seconds_mean", "wall_seconds", "wall_seconds_mean")
    megabytes = ("read_bytes", "written_bytes", "peak_rss_bytes")
    return (
        report["engine"],
        f"{report['known']:,}",
        *(f"{report[key]:.2f}" for key in seconds),
        *(f"{report[key] / 1e6:.0f}" for key in megabytes),
        f"{report['bytes_per_url']:.1f}",
        f"{report['cpu_seconds'] / ours:.1f}" if ours else "",
    )


def at_least(lowest: int) -> Any:
    def number(text: str) -> int:
        value = int(text)
        if value < lowest:
            raise argparse.ArgumentTypeError(f"must be at least {lowest}")
        return value

    return number


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--known", type=at_least(1), default=KNOWN, metavar="N", help=f"known URLs ({KNOWN:,})")
    parser.add_argument(
        "--engines", default=DEFAULT_ENGINES, metavar="A,B", help=f"engines, separated by commas ({DEFAULT_ENGINES})"
    )
    parser.add_argument("--cycles", type=at_least(1), default=CYCLES, metavar="C", help=f"cycles to measure ({CYCLES})")
    parser.add_argument(
        "--cycle-urls", type=at_least(10), default=CYCLE_URLS, metavar="N", help=f"URLs in a cycle ({CYCLE_URLS:,})"
    )
    parser.add_argument("--collected", action="store_true", help="collect all URLs before the measured cycles")
    parser.add_argument("--dir", type=Path, metavar="D", help="parent of the temporary folder (the system's)")
    parser.add_argument("--json", action="store_true", help="print one JSON line for each engine")
    return parser.parse_args()


def run(given: argparse.Namespace) -> None:
    names = parse_engines(given.engines)
    if given.dir is not None and not given.dir.is_dir():
        raise InputError(f"{given.dir} is not a folder")
    with tempfile.TemporaryDirectory(prefix="tarrafa-bench-", dir=given.dir) as place:
        check_disk(Path(place), names, given.known, given.cycles, given.cycle_urls)
        load = RepositoryLoad(given.known, given.cycles, given.cycle_urls, given.collected)
        reports = measure(names, load, Path(place))
    if not given.json:
        show(reports)
        return
    for report in reports:
        print(json.dumps(report))


def main() -> int:
    try:
        run(parsed())
    except TarrafaError as error:
        print(f"bench_repository: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"bench_repository: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
