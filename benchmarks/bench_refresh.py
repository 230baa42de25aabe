"""Measure what keeping a collection fresh costs: choosing the pages to visit again, and a round over an unchanged site.

Choosing: a repository of collected pages, each visited twice, is looked at block by block, as by `tarrafa crawl
--forever`. The second round of looks is measured, with the texts of the chosen URLs; those of the first were visited
meanwhile. Beside it, with the same pages and
as many of them chosen: a table of SQLite with an index on the time at which each page is due, whose chosen rows get
their next time (ours get it when their visits are verified); and a full sort of all values. Each runs in a process of
its own, whose peak of memory is told.

A round: a folder of HTML is served, crawled, and visited again by `tarrafa crawl --again`; nearly all answers are 304.
"""

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench_real import downloaded, environment, first_path
from site_server import SiteServer, served_folder
from tarrafa.agent.refresher import RefreshMode, RefreshSettings, SteadyRefresh, rates_of
from tarrafa.clock import Instant
from tarrafa.histories import DAY_SECONDS, Change
from tarrafa.refresh import Load, Optimal, RoundSettings, values_at
from tarrafa.verify import Batch, Collected, Extracted, KnownPage, Veuniq

PAGES = 2_000_000
SITE = "python3.11-doc"
CONTESTANTS = ("tarrafa", "sqlite", "sort")
_HOST_PAGES = 200  # on average
_BATCH_PAGES = 250_000
_CHOSEN_SHARE = 0.01  # of the pages, by each round
_NOW = 1_760_000_000.0
_BATCHES_OF_SQLITE = 50_000


class Parts(NamedTuple):
    """The pages of one batch."""

    urls: pa.LargeStringArray
    first: np.ndarray[Any, np.dtype[np.float64]]  # visit
    second: np.ndarray[Any, np.dtype[np.float64]]
    changed: np.ndarray[Any, np.dtype[np.bool_]]
    outside: np.ndarray[Any, np.dtype[np.uint16]]


def parts_of(pages: int) -> Iterator[Parts]:
    """Yield the pages in batches: hosts of very different sizes, log-normal rates, visits in the last 60 days."""
    rng = np.random.default_rng(1)
    hosts = max(1, pages // _HOST_PAGES)
    for begin in range(0, pages, _BATCH_PAGES):
        count = min(_BATCH_PAGES, pages - begin)
        host = (hosts * rng.random(count) ** 2).astype(np.int64)
        numbers = zip(host.tolist(), range(begin, begin + count), strict=True)
        urls = pa.array([f"http://www{h}.example/section/page-{n}.html" for h, n in numbers], pa.large_string())
        rates = np.exp(rng.normal(-3.4, 1.8, count))
        first = rng.uniform(30, 60, count)
        second = rng.uniform(0.1, 30, count)
        changed = rng.random(count) < -np.expm1(-rates * (first - second))
        before, last = _NOW - first * DAY_SECONDS, _NOW - second * DAY_SECONDS
        yield Parts(urls, before, last, changed, np.minimum(rng.zipf(2.0, count), 1_000).astype(np.uint16))


def build_repository(folder: Path, pages: int) -> None:
    with Veuniq(folder) as repository:
        for number, part in enumerate(parts_of(pages)):
            repository.cycle(_batch(number, part))
            print(f"{min(pages, (number + 1) * _BATCH_PAGES):,} pages", file=sys.stderr, flush=True)
        number += 1
        while repository.counts().waiting:
            repository.cycle(Batch(number))
            number += 1


def _batch(number: int, part: Parts) -> Batch:
    count = len(part.urls)
    twice, unknown = 2 * count, np.full(2 * count, np.nan, np.float32)
    change = np.concatenate((np.zeros(count), np.where(part.changed, Change.FULL, Change.NONE))).astype(np.uint8)
    collected = Collected(
        pa.concat_arrays([part.urls, part.urls]),
        np.concatenate((part.first, part.second)),
        np.full(twice, 200, np.uint16),
        np.zeros(twice, np.uint32),
        np.arange(twice, dtype=np.uint64),
        change,
        np.arange(twice, dtype=np.uint64),
        np.arange(twice, dtype=np.uint64),
        unknown,
        unknown,
    )
    zeros = np.zeros(count, np.uint16)
    depth, kind = np.full(count, 3, np.uint32), np.zeros(count, np.uint8)
    return Batch(number, collected, Extracted(part.urls, zeros + 10, part.outside, part.outside, depth, kind))


def build_table(path: Path, pages: int) -> None:
    """Make the due queue that others use: a row for each page, and an index on the time at which it is due."""
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT NOT NULL, due REAL, days REAL)")
        for part in parts_of(pages):
            # The usual rule: half of the time if the page has changed, else twice as much.
            days = (part.second - part.first) / DAY_SECONDS * np.where(part.changed, 0.5, 2.0)
            due = part.second + days * DAY_SECONDS
            rows = zip(part.urls.to_pylist(), due.tolist(), days.tolist(), strict=True)
            database.executemany("INSERT INTO pages (url, due, days) VALUES (?, ?, ?)", rows)
        database.execute("CREATE INDEX due ON pages (due)")


def choose_by_looks(folder: Path, _: int) -> dict[str, Any]:
    with Veuniq(folder) as repository:
        rounds = RoundSettings(visits_per_page=1.0, min_seconds=_CHOSEN_SHARE * DAY_SECONDS)
        settings = RefreshSettings(RefreshMode.FOREVER, Optimal(), rounds=rounds)
        refresher = SteadyRefresh(repository, settings, Instant(0.0, _NOW))
        first = [_look(repository, refresher) for _ in repository.blocks()]
        peak_bytes = _peak_bytes()  # without what cycles leave in the process
        _visit([page for pages, _ in first for page in pages], repository, _NOW + refresher.due_at)
        looks = [_look(repository, refresher) for _ in repository.blocks()]
    return {
        "chosen": sum(len(pages) for pages, _ in looks),
        "cpu_seconds": sum(seconds for _, seconds in looks),
        "cpu_seconds_first_round": sum(seconds for _, seconds in first),
        "cpu_seconds_longest_look": max(seconds for _, seconds in looks),
        "looks": len(looks),
        "peak_rss_bytes": peak_bytes,
    }


def _visit(pages: list[KnownPage], repository: Veuniq, now: float) -> None:
    """Tell the repository that pages were visited and had not changed."""
    count, number = len(pages), repository.last_batch + 1
    columns = np.array([[each.file, each.offset, each.signature, each.similarity] for each in pages], np.uint64).T
    file, offset, signature, similarity = columns if count else np.zeros((4, 0), np.uint64)
    status, change, unknown = np.full(count, 304, np.uint16), np.zeros(count, np.uint8), np.full(count, np.nan)
    urls, at = [each.url for each in pages], np.full(count, now)
    ages = unknown.astype(np.float32), unknown.astype(np.float32)
    contents = file.astype(np.uint32), offset, change, signature, similarity
    repository.cycle(Batch(number, Collected(urls, at, status, *contents, *ages)))
    while repository.counts().waiting:
        number += 1
        repository.cycle(Batch(number))


def _look(repository: Veuniq, refresher: SteadyRefresh) -> tuple[list[KnownPage], float]:
    at = Instant(refresher.due_at, _NOW + refresher.due_at)
    began = time.process_time()
    block = refresher.next_block(repository.blocks(), at)
    assert block is not None
    chosen = refresher.choose(block, Load(0, 0), at)
    return chosen, time.process_time() - began


def _forget_peak() -> None:
    """Reset the peak of memory; Linux takes the code 5 for that."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def choose_by_table(path: Path, wanted: int) -> dict[str, Any]:
    began = time.process_time()
    with sqlite3.connect(path) as database:
        chosen = database.execute("SELECT id, url, days FROM pages ORDER BY due LIMIT ?", (wanted,)).fetchall()
        chosen_seconds = time.process_time() - began
        for first in range(0, len(chosen), _BATCHES_OF_SQLITE):
            some = chosen[first : first + _BATCHES_OF_SQLITE]
            rows = ((_NOW + days * DAY_SECONDS, number) for number, _, days in some)
            database.executemany("UPDATE pages SET due = ? WHERE id = ?", rows)
            database.commit()
    seconds = time.process_time() - began
    return {"chosen": len(chosen), "cpu_seconds": chosen_seconds, "cpu_seconds_with_update": seconds, "looks": 1}


def choose_by_sorting(folder: Path, wanted: int) -> dict[str, Any]:
    with Veuniq(folder) as repository:
        began = time.process_time()
        values, owners, rows = [], [], []
        for block in repository.blocks():
            found = repository.histories(block)
            values.append(values_at(found.histories, rates_of(found, repository.mean_rate()), Optimal(), _NOW))
            owners.append(np.full(len(found.histories.row), block))
            rows.append(found.histories.row)
        order = np.argsort(-np.concatenate(values), kind="stable")[:wanted]
        own, row = np.concatenate(owners)[order], np.concatenate(rows)[order]
        chosen = sum(len(repository.known_pages(block, row[own == block])) for block in repository.blocks())
        return {"chosen": chosen, "cpu_seconds": time.process_time() - began, "looks": 1}


CHOICES = {"tarrafa": choose_by_looks, "sqlite": choose_by_table, "sort": choose_by_sorting}


def measure_choice(name: str, place: Path, wanted: int) -> dict[str, Any]:
    """Choose in a process of its own."""
    command = [sys.executable, __file__, "--choose", name, str(place), str(wanted)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def choose(name: str, place: Path, wanted: int) -> dict[str, Any]:
    _forget_peak()
    found = CHOICES[name](place, wanted)
    return {"peak_rss_bytes": _peak_bytes(), **{key: round(value, 3) for key, value in found.items()}}


def measure_choices(pages: int, scratch: Path) -> dict[str, Any]:
    repository, table = scratch / "repository", scratch / "table.sqlite"
    build_repository(repository, pages)
    build_table(table, pages)
    ours = measure_choice("tarrafa", repository, 0)
    wanted = ours["chosen"]
    found = {"tarrafa": ours, "sqlite": measure_choice("sqlite", table, wanted)}
    found["sort"] = measure_choice("sort", repository, wanted)
    bytes_of = {"tarrafa": _disk_bytes(repository), "sqlite": _disk_bytes(table)}
    for name, size in bytes_of.items():
        found[name]["bytes_per_url"] = round(size / pages, 1)
    return found


def _disk_bytes(path: Path) -> int:
    return sum(each.stat().st_size for each in ([path] if path.is_file() else path.rglob("*")) if each.is_file())


def measure_round(folder: Path, scratch: Path) -> dict[str, Any]:
    """Crawl a folder and visit it again; return what both cost."""
    crawl = scratch / "crawl"
    with served_folder(folder) as server:
        words = ["crawl", "--dir", str(crawl), "--allow-private", "--delay", "0s", "--json"]
        first = measured(server, [*words, server.url + first_path(folder)])
        again = measured(server, [*words, "--again"])
    return {
        "first": first,
        "again": again,
        "share": round(again["cpu_seconds"] / first["cpu_seconds"], 3),
        "unchanged_share": round(again["unchanged"] / max(1, again["requests"]), 3),
    }


def measured(server: SiteServer, words: list[str]) -> dict[str, Any]:
    """Run a command of Tarrafa to its end; return what it cost, and what it was answered."""
    before, seconds = len(server.answers), _children_seconds()
    command = [sys.executable, "-m", "tarrafa", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    answers = server.answers[before:]
    return {
        "requests": len(answers),
        "pages": sum(each.status == 200 for each in answers),
        "unchanged": sum(each.status == 304 for each in answers),
        "cpu_seconds": round(_children_seconds() - seconds, 2),
    }


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def show(pages: int, found: dict[str, Any]) -> None:
    print(f"choosing among {pages:,} collected pages")
    for name in CONTESTANTS:
        cost = found["choice"][name]
        line = f"  {name:8} {cost['chosen']:8,} chosen  {cost['cpu_seconds']:6.2f} CPU-s"
        print(f"{line}  {cost['peak_rss_bytes'] / 1e6:6.0f} MB  {notes_of(name, cost)}")
    visits = found["round"]
    if visits is not None:
        print(
            f"a round over a site: {visits['again']['cpu_seconds']:.2f} CPU-s for {visits['again']['requests']:,} "
            f"visits, {visits['unchanged_share']:.0%} of them 304; the first crawl took "
            f"{visits['first']['cpu_seconds']:.2f} CPU-s: {visits['share']:.0%}"
        )


def notes_of(name: str, cost: dict[str, Any]) -> str:
    if name == "tarrafa":
        return (
            f"{cost['looks']} looks, the longest {cost['cpu_seconds_longest_look']:.2f}; first round "
            f"{cost['cpu_seconds_first_round']:.2f}; {cost['bytes_per_url']:.0f} bytes a URL, all of the repository"
        )
    if name == "sqlite":
        return f"{cost['cpu_seconds_with_update']:.2f} with the next times; {cost['bytes_per_url']:.0f} bytes a URL"
    return "all values sorted"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=PAGES, metavar="N", help=f"collected pages ({PAGES:,})")
    parser.add_argument("--site", type=Path, metavar="DIR", help=f"folder of HTML ({SITE}, downloaded)")
    parser.add_argument("--no-site", action="store_true", help="measure only choosing")
    parser.add_argument("--dir", type=Path, metavar="D", help="parent of the temporary folder (the system's)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--choose", nargs=3, metavar=("NAME", "PLACE", "N"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.pages < 1:
        parser.error("--pages must be at least 1")
    for folder in (given.site, given.dir):
        if folder is not None and not folder.is_dir():
            parser.error(f"{folder} is not a folder")
    return given


def main() -> None:
    given = parsed()
    if given.choose is not None:
        name, place, wanted = given.choose
        print(json.dumps(choose(name, Path(place), int(wanted))))
        return
    with tempfile.TemporaryDirectory(prefix="tarrafa-bench-", dir=given.dir) as scratch:
        site = None if given.no_site else given.site or downloaded(SITE)
        visits = None if site is None else measure_round(site, Path(scratch))
        found = {"pages": given.pages, "choice": measure_choices(given.pages, Path(scratch)), "round": visits}
    if given.json:
        print(json.dumps(found))
    else:
        show(given.pages, found)


if __name__ == "__main__":
    main()
