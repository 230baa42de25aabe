"""How long does a crawl's loop keep everybody waiting, at most, while a long sitemap is taken in?

A host on loopback, served by a process of its own, announces a sitemap. The crawl takes it in, and a clock beside it on
the same loop wants to be woken each millisecond. Printed is by how much it was woken too late, the worst times first:
of a crawl with a sitemap of one URL, which is what the crawl and the machine cost by themselves, and with a long one.
"""

import argparse
import asyncio
import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop

from tarrafa import wiring
from tarrafa.configuration import Configuration, Crawl, Politeness
from tarrafa.crawl import CrawlFolder, Limits
from tarrafa.memory import collect_seldom

URLS_COUNT = 50_000
TICK_SECONDS = 0.001
SHOWN = 5
HASTE = Configuration(
    crawl=replace(Crawl(), allow_private=True, scope="any"),
    politeness=replace(Politeness(), delay_seconds=0.0, address_delay_seconds=0.0),
)


@contextmanager
def served(folder: Path, urls_count: int) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    entries = [f"<url><loc>{url}/section-{at % 97}/page-{at}.html</loc></url>\n" for at in range(urls_count)]
    (folder / "sitemap.xml").write_text(f"<urlset>{''.join(entries)}</urlset>")
    (folder / "robots.txt").write_text(f"Sitemap: {url}/sitemap.xml\n")
    (folder / "index.html").write_text("<p>Welcome")
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(port)
            yield url
        finally:
            server.terminate()


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
    agent = wiring.agent(HASTE, CrawlFolder(folder), (f"{url}/",), Limits(pages=pages_count), lambda _: None)
    late_seconds: list[float] = []
    ticking = asyncio.create_task(tick(late_seconds))
    try:
        progress = await agent.run((f"{url}/",))
    finally:
        ticking.cancel()
        await agent.close()
    return progress.known, sorted(late_seconds, reverse=True)


def measured(urls_count: int, pages_count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name, served(Path(name), urls_count) as url:
        known, late_seconds = uvloop.run(crawl(url, Path(name) / "crawl", pages_count))
    late = [round(1_000 * each, 1) for each in late_seconds[:SHOWN]]
    return {"listed": urls_count, "known": known, "late_milliseconds": late}


def show(report: dict[str, Any]) -> None:
    for run in report["runs"]:
        late = ", ".join(map(str, run["late_milliseconds"]))
        print(f"{run['listed']:>7,} URLs listed, {run['known']:>7,} known; milliseconds late: {late}")
    print(f"at worst {report['ratio']} times as late as with one URL, in the median of {report['times']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--urls", type=int, default=URLS_COUNT, metavar="N", help="of the sitemap (default 50,000)")
    parser.add_argument("--pages", type=int, default=50, metavar="N", help="fetched in each crawl (default 50)")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="both are crawled so often (default 3)")
    given = parser.parse_args()
    if min(given.urls, given.pages, given.times) < 1:
        parser.error("--urls, --pages and --times must be at least 1")
    collect_seldom()
    runs = [measured(count, given.pages) for _ in range(given.times) for count in (1, given.urls)]
    few, many = (statistics.median(run["late_milliseconds"][0] for run in runs[first::2]) for first in (0, 1))
    report = {"times": given.times, "runs": runs, "ratio": round(many / few, 1)}
    if given.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
