"""Measure CPU-seconds per 1,000 pages of a crawl of the synthetic web, beside Scrapy in the same run.

The web has 2,000 hosts and is served by its own process, which also reports violations of robots.txt. Both crawlers
obey robots.txt, use no delay, and write pages and links to disk. Tarrafa also verifies uniqueness on disk, extracts
documents, and can be killed at any moment. Scrapy is configured as its page on broad crawls advises, in breadth-first
order like Tarrafa, so that both meet pages of the same kind. Both get the same number of pages, because the first
visits of hosts, with their robots.txt, cost more than later ones. A page is an answer with a 2xx status; redirects,
missing pages and robots.txt are visits, which are counted apart.

Times are those of the crawler's processes including the start, with Python's compiled files present. The speed of a
shared machine changes from minute to minute, and a peer takes ten times as long; so the peer is paused eight times,
each time for a whole crawl of Tarrafa's on another web, and the mean of these counts. The cost of starting is measured
by a crawl of one page each, so that the cost of further pages is reported as well.

With --speedup, every host waits before it answers, and the same crawl runs with 10 to 100 concurrent visits, from the
front pages of all hosts on. There, pages a second exclude the start.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.lab.web import served_in_process

HOSTS_COUNT = 2_000
ROUNDS = 8
PEER_PAGES_PER_SECOND = 80  # estimate, so that a peer is paused as often as there are rounds before it ends
LOG_SIZE = 1_000_000
SPEEDUP_STEPS = (10, 20, 50, 100)
SPEEDUP_HOSTS, SPEEDUP_PAGES = 500, 1_500
LATENCY = "300ms"
PER_1000, PER_1000_FURTHER = "cpu_seconds_per_1000_pages", "cpu_seconds_per_1000_further_pages"

SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

url, pages, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]

class Broad(scrapy.Spider):
    name = "broad"
    start_urls = [url]
    links = LinkExtractor()

    def parse(self, response):
        found = []
        if isinstance(response, scrapy.http.HtmlResponse):
            found = self.links.extract_links(response)
        location = response.headers.get("Location")
        targets = [link.url for link in found if not link.nofollow]
        if location:
            targets.append(response.urljoin(location.decode("latin-1")))
        if 200 <= response.status < 300:
            yield {"url": response.url, "status": response.status, "body": response.body.decode("latin-1"),
                   "links": [(link.url, link.text) for link in found]}
        for target in targets:
            yield scrapy.Request(target, callback=self.parse)

process = CrawlerProcess({
    "ROBOTSTXT_OBEY": True, "USER_AGENT": "bench/1.0", "LOG_LEVEL": "ERROR",
    "CONCURRENT_REQUESTS": 100, "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY": 0, "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 20, "COOKIES_ENABLED": False, "RETRY_ENABLED": False,
    "DOWNLOAD_TIMEOUT": 600,  # its page advises 15, but it is halted for longer
    "REDIRECT_ENABLED": False, "HTTPERROR_ALLOW_ALL": True, "DEPTH_LIMIT": 0, "TELNETCONSOLE_ENABLED": False,
    "DEPTH_PRIORITY": 1, "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "CLOSESPIDER_ITEMCOUNT": pages, "FEEDS": {out: {"format": "jsonlines"}},
})
process.crawl(Broad)
process.start()
"""


def asked(url: str, method: str = "GET") -> dict[str, Any]:
    path = f"__log?entries={LOG_SIZE}" if method == "GET" else "__log"
    request = urllib.request.Request(url + path, method=method)
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.loads(answer.read() or b"{}")
    return found


class Pause(NamedTuple):
    after_seconds: float
    meanwhile: Callable[[], object]


def measured(url: str, command: Sequence[str], pauses: Iterable[Pause] = ()) -> dict[str, Any]:
    """Run a crawler, pausing it now and then; return its cost and the web's report."""
    asked(url, "DELETE")
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment())
    try:
        paused_seconds = sum(paused(process.pid, pause) for pause in pauses)
    except BaseException:
        process.kill()
        raise
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began - paused_seconds
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    log = asked(url)
    pages = sum(entry["path"] != "/robots.txt" and 200 <= entry["status"] < 300 for entry in log["entries"])
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return {
        "pages": pages,
        "visits": len(log["entries"]),
        "cpu_seconds": round(cpu_seconds, 2),
        PER_1000: round(1000 * cpu_seconds / pages, 3),
        "pages_per_second": round(pages / seconds, 1),
        "peak_rss_bytes": usage.ru_maxrss * 1024,
        "robots_violations": log["robots_violations"],
        "malformed": log["malformed"],
    }


def paused(process_id: int, pause: Pause) -> float:
    """Pause the process after some seconds while `meanwhile` runs; return for how long, 0 if it had ended."""
    until = time.monotonic() + pause.after_seconds
    while time.monotonic() < until:
        if has_ended(process_id):
            return 0.0
        time.sleep(0.02)
    os.kill(process_id, signal.SIGSTOP)
    began = time.monotonic()
    try:
        pause.meanwhile()
    finally:
        os.kill(process_id, signal.SIGCONT)
    return time.monotonic() - began


def has_ended(process_id: int) -> bool:
    """Return True if the process has ended; its status is left for wait4."""
    return os.waitid(os.P_PID, process_id, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def environment() -> dict[str, str]:
    """Return an environment in which Python keeps its compiled files."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def tarrafa(url: str, pages: int, folder: Path) -> dict[str, Any]:
    return measured(url, crawl_words(pages, folder, url))


def crawl_words(pages: int, folder: Path, *options: str) -> list[str]:
    words = ["crawl", "--dir", str(folder), "--pages", str(pages), "--json"]
    private = ["--allow-private", "--scope", "any", "--delay", "0s"]
    return [sys.executable, "-m", "tarrafa", *words, *private, *options]


def front_pages(url: str) -> list[str]:
    """Return the URLs of the front pages of all hosts."""
    port = urllib.parse.urlsplit(url).port
    with urllib.request.urlopen(url + "__hosts") as answer:
        return [
            f"http://{line.split()[0]}:{port}/" for line in answer.read().decode().splitlines() if line[:1].isdigit()
        ]


def scrapy(url: str, pages: int, folder: Path, pauses: Iterable[Pause] = ()) -> dict[str, Any]:
    spider = folder / "spider.py"
    spider.write_text(SPIDER)
    return measured(url, [sys.executable, str(spider), url, str(pages), str(folder / "scrapy.jsonl")], pauses)


PEERS = {"scrapy": scrapy}


def compare(pages: int, peers: Sequence[str]) -> dict[str, Any]:
    options = ("--hosts", str(HOSTS_COUNT), "--pages", str(max(100_000, 3 * pages)), "--log-size", str(LOG_SIZE))
    with ExitStack() as stack:
        ours_url, peers_url = (stack.enter_context(served_in_process(*options)) for _ in range(2))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runs: list[dict[str, Any]] = []

        def go() -> None:
            runs.append(tarrafa(ours_url, pages, folder / str(len(runs))))

        tarrafa(ours_url, 1, folder / "first")
        report: dict[str, Any] = {"hosts": HOSTS_COUNT, "tarrafa": {}}
        for peer in peers:
            report[peer] = beside(peer, peers_url, pages, folder, go) if is_installed(peer) else "missing"
        while len(runs) < ROUNDS:
            go()
        report["tarrafa"] = joined(runs)
        note_further(report["tarrafa"], tarrafa(ours_url, 1, folder / "start"))
    return report | ratios(report, [peer for peer in peers if report[peer] != "missing"])


def beside(peer: str, url: str, pages: int, folder: Path, go: Callable[[], None]) -> dict[str, Any]:
    """Measure a peer, pausing it now and then for one of our crawls."""
    pause = Pause(pages / (ROUNDS * PEER_PAGES_PER_SECOND), go)
    PEERS[peer](url, 1, folder)
    found = PEERS[peer](url, pages, folder, [pause] * ROUNDS)
    note_further(found, PEERS[peer](url, 1, folder))
    return found


def ratios(report: dict[str, Any], peers: Sequence[str]) -> dict[str, float | None]:
    keys = {"": PER_1000, "_further": PER_1000_FURTHER}
    return {
        f"ratio_{peer}{which}": ratio(report[peer], report["tarrafa"], key)
        for peer in peers
        for which, key in keys.items()
    }


def note_further(run: dict[str, Any], start: dict[str, Any]) -> None:
    """Add the cost of further pages to a run, given a crawl of one page."""
    pages = run["pages"] - start["pages"]
    cpu_seconds = run["cpu_seconds"] - start["cpu_seconds"]
    run["start_cpu_seconds"] = start["cpu_seconds"]
    run[PER_1000_FURTHER] = round(1000 * cpu_seconds / pages, 3) if pages > 0 else None


def ratio(peer: dict[str, Any], ours: dict[str, Any], key: str) -> float | None:
    return round(peer[key] / ours[key], 2) if peer[key] and ours[key] else None


def joined(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Combine several crawls: means of their costs, sums of their violations."""
    means = ("pages", "visits", "cpu_seconds", PER_1000, "pages_per_second")
    found = {key: round(statistics.mean(run[key] for run in runs), 3) for key in means}
    sums = {key: sum(run[key] for run in runs) for key in ("robots_violations", "malformed")}
    return {
        **found,
        "pages": round(found["pages"]),
        "visits": round(found["visits"]),
        **sums,
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in runs),
    }


def is_installed(name: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def speedup() -> dict[str, Any]:
    """Measure pages a second with more and more concurrent visits, on slow hosts."""
    report: dict[str, Any] = {}
    options = ("--hosts", str(SPEEDUP_HOSTS), "--pages", "20000", "--latency", LATENCY)
    with served_in_process(*options) as url, tempfile.TemporaryDirectory() as name:
        seeds = Path(name) / "seeds.txt"
        seeds.write_text("".join(f"{front}\n" for front in front_pages(url)))
        for count in SPEEDUP_STEPS:
            words = crawl_words(
                SPEEDUP_PAGES, Path(name) / str(count), "--seeds", str(seeds), "--in-flight", str(count)
            )
            done = subprocess.run(words, capture_output=True, check=True, text=True)
            found = json.loads(done.stdout.splitlines()[-1])
            report[str(count)] = round(found["pages"] / found["seconds"], 1)
    first = report[str(SPEEDUP_STEPS[0])]
    return {"pages_per_second": report, "speedup": {count: round(rate / first, 2) for count, rate in report.items()}}


def show(report: dict[str, Any]) -> None:
    for name, found in report.items():
        if found == "missing":
            print(f"{name:10} missing: pip install {name}")
        elif isinstance(found, dict) and "cpu_seconds" in found:
            print(
                f"{name:10} {found['pages']:7,} pages, {found['visits']:7,} visits  "
                f"{found[PER_1000]:7.2f} CPU-s per 1,000, {found[PER_1000_FURTHER] or 0:.2f} after the start  "
                f"{found['pages_per_second']:7.1f} a second  {found['peak_rss_bytes'] / 1e6:6.0f} MB  "
                f"{found['robots_violations']} against robots.txt  {found['malformed']} malformed"
            )
        elif name.startswith("ratio_") and found is not None:
            peer, _, further = name.removeprefix("ratio_").partition("_")
            print(f"{peer} needs {found:.1f} times as much CPU as tarrafa{' for further pages' if further else ''}")
        elif name == "speedup":
            for count, rate in found["pages_per_second"].items():
                print(f"{count:>4} in flight  {rate:7.1f} pages a second  {found['speedup'][count]:5.2f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--pages", type=int, default=3_000, metavar="N", help="pages of each crawler (default 3,000)")
    parser.add_argument(
        "--peers", default="scrapy", metavar="NAMES", help="peers, separated by commas (default scrapy)"
    )
    parser.add_argument("--speedup", action="store_true", help="also measure 10 to 100 concurrent visits")
    arguments = parser.parse_args()
    peers = [name for name in arguments.peers.split(",") if name]
    if arguments.pages < 1 or not set(peers) <= PEERS.keys():
        parser.error(f"--pages must be at least 1, --peers among {', '.join(PEERS)}")
    report = compare(arguments.pages, peers)
    if arguments.speedup:
        report["speedup"] = speedup()
    if arguments.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
