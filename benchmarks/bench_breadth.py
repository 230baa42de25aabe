"""Measure how broad a crawl is, and how much of it is lost in traps, from the crawl's own archive.

Breadth: a crawl of a synthetic web of 2,000 hosts from one seed, stopped at 1,000 pages; from how many hosts these are.

Traps: a crawl of the hostile profile (endless calendars, session ids, growing paths, combinations of filters, and all
other faults) until it ends by itself, or has three times as many pages as there are real ones. `trap_share` is the
share of answers that came from URLs of traps. An answer under a session id counts as one of a trap unless it is the
first of its page. `real_pages_found_share` compares with the truth, which the same seed gives.

The last line with --json is one JSON object.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tarrafa.agent import CrawlFolder
from tarrafa.keep import read_pages
from tarrafa.lab.web import Plan, SyntheticWeb, Truth, parse_faults, served_in_process
from tarrafa.lab.web.resources import is_trap, without_session
from tarrafa.urls import host_of

FIRST_PAGES = 1_000
BROAD_HOSTS, BROAD_PAGES = 2_000, 20_000
HOSTILE_HOSTS, HOSTILE_PAGES = 60, 1_500
PAGES_PER_REAL_PAGE = 3
# Hosts that hang or send a byte at a time are given up soon.
HASTE = """
[politeness]
address_delay = "0s"
back_off = "10ms"
back_off_ceiling = "50ms"
suspension = "100ms"
suspensions = 1
[fetch]
timeout = "4s"
first_byte_timeout = "3s"
slow_time = "3s"
body_limit = "200kB"
"""


class HostileCrawl(NamedTuple):
    answers: int
    trapped: int
    real_pages: int
    found: int
    ending: str


def crawl(url: str, folder: Path, *options: str) -> dict[str, Any]:
    """Crawl in a process of its own; return what it tells."""
    haste = folder.parent / "haste.toml"
    haste.write_text(HASTE)
    own = ("--allow-private", "--scope", "any", "--dir", str(folder), "--json")
    command = [sys.executable, "-m", "tarrafa", "--config", str(haste), "crawl", url, *own, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        sys.exit(f"the crawl failed with code {done.returncode}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def page_urls(folder: Path) -> Iterator[str]:
    """Yield the URLs of pages in the order in which they were stored."""
    return (each.page.url for each in read_pages(CrawlFolder(folder).archive) if each.page.is_success)


def count_first_hosts(folder: Path, hosts: int, pages: int, order: str, delay: str) -> int:
    with served_in_process("--hosts", str(hosts), "--pages", str(pages), "--log-size", "0") as url:
        crawl(url, folder, "--pages", str(FIRST_PAGES), "--order", order, "--delay", delay)
    return len({host_of(url) for url in list(page_urls(folder))[:FIRST_PAGES]})


def crawl_hostile(folder: Path, hosts: int, pages: int, order: str, time: str) -> HostileCrawl:
    options = ("--hosts", str(hosts), "--pages", str(pages), "--faults", "hostile", "--log-size", "0")
    with served_in_process(*options) as url:
        port = urlsplit(url).port
        assert port is not None
        web = SyntheticWeb(Plan(hosts=hosts, pages=pages, port=port, faults=parse_faults("hostile")))
        real = {row.url for row in Truth(web).rows() if row.collectable}
        limit = str(PAGES_PER_REAL_PAGE * len(real))
        told = crawl(url, folder, "--order", order, "--delay", "0s", "--time", time, "--pages", limit)
    urls = [each.page.url for each in read_pages(CrawlFolder(folder).archive)]
    return measured(web, real, urls, told["ending"])


def measured(web: SyntheticWeb, real: set[str], urls: Sequence[str], ending: str) -> HostileCrawl:
    """Compare the answers of a crawl with the truth."""
    found: set[str] = set()
    trapped = 0
    for url in urls:
        origin = host_of(url)
        host, path = web.hosts.find(origin.partition("//")[2]), url[len(origin) :]
        page = origin + without_session(path)
        is_first = page in real and page not in found
        if page in real:
            found.add(page)
        trapped += host is not None and is_trap(host, path) and not is_first
    return HostileCrawl(len(urls), trapped, len(real), len(found), ending)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--order", default="level", help="policy of crawl.order (default: level)")
    parser.add_argument("--hosts", type=int, default=BROAD_HOSTS, help="hosts of the broad web")
    parser.add_argument("--pages", type=int, default=BROAD_PAGES, help="pages of the broad web")
    parser.add_argument("--delay", default="5s", help="delay of the broad crawl (default: 5s)")
    parser.add_argument("--hostile-hosts", type=int, default=HOSTILE_HOSTS)
    parser.add_argument("--hostile-pages", type=int, default=HOSTILE_PAGES)
    parser.add_argument("--time", default="5m", help="limit of the hostile crawl (default: 5m)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, as the last line")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-breadth-") as place:
        folder = Path(place)
        hosts = count_first_hosts(folder / "broad", given.hosts, given.pages, given.order, given.delay)
        hostile = crawl_hostile(folder / "hostile", given.hostile_hosts, given.hostile_pages, given.order, given.time)
    show(hosts, hostile, as_json=given.json)


def show(hosts: int, hostile: HostileCrawl, *, as_json: bool) -> None:
    trap_share = hostile.trapped / max(1, hostile.answers)
    found_share = hostile.found / max(1, hostile.real_pages)
    print(f"hosts in the first {FIRST_PAGES:,} pages: {hosts:,}")
    print(f"answers of the hostile web: {hostile.answers:,}, of these from traps: {trap_share:.1%}")
    print(f"real pages found: {hostile.found:,} of {hostile.real_pages:,} ({found_share:.1%})")
    print(f"ending of the hostile crawl: {hostile.ending}")
    if as_json:
        shares = {"trap_share": round(trap_share, 4), "real_pages_found_share": round(found_share, 4)}
        print(json.dumps({"hosts_in_first_1000_pages": hosts, **shares, **hostile._asdict()}))


if __name__ == "__main__":
    main()
