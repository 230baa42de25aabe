"""Measure how long a crawl blocks its event loop, with a long sitemap and with pages that are slow to parse.

A host on loopback, served by its own process, announces a sitemap and has some pages. A clock on the crawl's event loop
asks to be woken each millisecond; its delays are reported, the worst first. There are three crawls: with a sitemap of
one URL and small pages, which shows the delay of the crawl and the machine themselves; with a long sitemap; and with
pages that are slow to parse, some just below the size from which pages are extracted in another process and some above
it. A host has one page in flight at a time.
"""

import argparse
import asyncio
import http.client
import json
import socket
import statistics
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop

from tarrafa import wiring
from tarrafa.agent import CrawlFolder, RunLimits
from tarrafa.configuration import Configuration, CrawlSection, PolitenessSection
from tarrafa.memory import collect_seldom

URLS_COUNT = 50_000
PAGES_COUNT = 50
KINDS = ("small pages", "long sitemap", "slow pages")
TICK_SECONDS = 0.001
SHOWN = 5
HASTE = Configuration(
    crawl=replace(CrawlSection(), allow_private=True, scope="any"),
    politeness=replace(PolitenessSection(), delay_seconds=0.0, address_delay_seconds=0.0),
)


@contextmanager
def served(folder: Path, urls_count: int, bodies: Sequence[str]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    entries = [f"<url><loc>{url}/section-{at % 97}/page-{at}.html</loc></url>\n" for at in range(urls_count)]
    (folder / "sitemap.xml").write_text(f"<urlset>{''.join(entries)}</urlset>")
    (folder / "robots.txt").write_text(f"Sitemap: {url}/sitemap.xml\n")
    for at in range(PAGES_COUNT):
        (folder / f"{at}.html").write_text(f"<p>{at} {bodies[at % len(bodies)]}")
    (folder / "index.html").write_text("".join(f"<a href=/{at}.html>{at}</a>" for at in range(PAGES_COUNT)))
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(port)
            yield url
        finally:
            server.terminate()


def slow_bodies() -> list[str]:
    names = [first + second for first in string.ascii_lowercase for second in string.ascii_lowercase]
    tag = f"<p {' '.join(names[:99])}>"
    attributes = [tag * (size_bytes // len(tag)) for size_bytes in (49_000, 199_000)]
    nested = ["<div>" * count + "word " * 2_000 for count in (1_990, 3_990)]
    large = "<p>Some words, and <a href=/large>a link</a> among them.</p>\n" * 80_000
    return [*attributes, *nested, large]


def wait_for(port: int) -> None:
    for _ in range(100):
        try:
            http.client.HTTPConnection("127.0.0.1", port).connect()
        except OSError:
            time.sleep(0.05)
        else:
            return


async def tick(late_seconds: list[float]) -> None:
    while True:
        due = time.perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        late_seconds.append(time.perf_counter() - due)


async def crawl(url: str, folder: Path, pages_count: int) -> tuple[int, list[float]]:
    agent = wiring.agent(HASTE, CrawlFolder(folder), (f"{url}/",), RunLimits(pages=pages_count))
    late_seconds: list[float] = []
    ticking = asyncio.create_task(tick(late_seconds))
    try:
        progress = await agent.run((f"{url}/",), lambda _: None)
    finally:
        ticking.cancel()
        await agent.close()
    return progress.known, sorted(late_seconds, reverse=True)


def measured(kind: str, urls_count: int, bodies: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name, served(Path(name), urls_count, bodies) as url:
        known, late_seconds = uvloop.run(crawl(url, Path(name) / "crawl", PAGES_COUNT))
    late = [round(1_000 * each, 1) for each in late_seconds[:SHOWN]]
    return {"kind": kind, "listed": urls_count, "known": known, "late_milliseconds": late}


def worst(runs: Sequence[dict[str, Any]], kind: str) -> float:
    """Return the median over the crawls of a kind."""
    return float(statistics.median(run["late_milliseconds"][0] for run in runs if run["kind"] == kind))


def show(report: dict[str, Any]) -> None:
    for run in report["runs"]:
        late = ", ".join(map(str, run["late_milliseconds"]))
        print(f"{run['kind']:13} {run['known']:>7,} URLs known; milliseconds late: {late}")
    for kind in KINDS[1:]:
        times = f"{report[f'ratio {kind}']} times as late as with {KINDS[0]}"
        print(f"{kind}: at worst {times}, in the median of {report['times']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--urls", type=int, default=URLS_COUNT, metavar="N", help="URLs in the sitemap (default 50,000)"
    )
    parser.add_argument("--times", type=int, default=3, metavar="N", help="crawls of each kind (default 3)")
    given = parser.parse_args()
    if min(given.urls, given.times) < 1:
        parser.error("--urls and --times must be at least 1")
    collect_seldom()
    small, slow = ["some words"], slow_bodies()
    crawls = list(zip(KINDS, (1, given.urls, 1), (small, small, slow), strict=True))
    runs = [measured(*each) for _ in range(given.times) for each in crawls]
    report: dict[str, Any] = {"times": given.times, "runs": runs}
    report |= {f"ratio {kind}": round(worst(runs, kind) / worst(runs, KINDS[0]), 1) for kind in KINDS[1:]}
    if given.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
