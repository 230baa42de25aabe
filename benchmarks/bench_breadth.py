"""Measure how broad a crawl is, and how much of it is lost in traps.

Breadth: a crawl of a synthetic web of 2,000 hosts from one seed, stopped at 1,000 pages; from how many hosts these are.

Traps: a crawl of the hostile profile (endless calendars, session ids, growing paths, combinations of filters, forms and
differences, and all other faults) until nothing is left. It runs on virtual time, because some hosts take hours to give
all their pages; with --sockets it is one of the command, over sockets, until --time. `trap_share` is the share of
answers that came from URLs of traps. An answer under a session id counts as one of a trap unless it is the first of its
page. `real_pages_found_share` compares with the truth, which the same seed gives.

On virtual time the same web is also crawled with names: then a host has a second name, another has names without end,
and each answer from such a name counts as one of a trap. These figures end in `_with_names`.

The last line with --json is one JSON object.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tarrafa.agent import CrawlFolder
from tarrafa.keep import read_pages
from tarrafa.lab.experiment.order_study import policy_of
from tarrafa.lab.hostile_crawl import HostileFigures, crawl_hostile, figures_of
from tarrafa.lab.web import Plan, SyntheticWeb, parse_faults, served_in_process
from tarrafa.urls import host_of

FIRST_PAGES = 1_000
BROAD_HOSTS, BROAD_PAGES = 2_000, 20_000
HOSTILE_HOSTS, HOSTILE_PAGES = 100, 5_000
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


def crawl_by_sockets(folder: Path, plan: Plan, order: str, time: str) -> tuple[HostileFigures, str]:
    """Return the figures of a crawl by the command, and how it ended."""
    options = ("--hosts", str(plan.hosts), "--pages", str(plan.pages), "--faults", "hostile", "--log-size", "0")
    with served_in_process(*options) as url:
        port = urlsplit(url).port
        assert port is not None
        web = SyntheticWeb(replace(plan, port=port))
        limit = str(PAGES_PER_REAL_PAGE * plan.pages)
        told = crawl(url, folder, "--order", order, "--delay", "0s", "--time", time, "--pages", limit)
    return figures_of(web, [each.page.url for each in read_pages(CrawlFolder(folder).archive)]), told["ending"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--order", default="level", help="policy of crawl.order (default: level)")
    parser.add_argument("--hosts", type=int, default=BROAD_HOSTS, help="hosts of the broad web")
    parser.add_argument("--pages", type=int, default=BROAD_PAGES, help="pages of the broad web")
    parser.add_argument("--delay", default="5s", help="delay of the broad crawl (default: 5s)")
    parser.add_argument("--hostile-hosts", type=int, default=HOSTILE_HOSTS)
    parser.add_argument("--hostile-pages", type=int, default=HOSTILE_PAGES)
    parser.add_argument("--sockets", action="store_true", help="crawl the hostile web over sockets, until --time")
    parser.add_argument("--time", default="5m", help="limit of that crawl (default: 5m)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, as the last line")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-breadth-") as place:
        folder = Path(place)
        hosts = count_first_hosts(folder / "broad", given.hosts, given.pages, given.order, given.delay)
        plan = Plan(hosts=given.hostile_hosts, pages=given.hostile_pages, faults=parse_faults("hostile"))
        named = None
        if given.sockets:
            hostile, ending = crawl_by_sockets(folder / "hostile", plan, given.order, given.time)
        else:
            hostile, ending = crawl_hostile(SyntheticWeb(plan), policy_of(given.order)), "done"
            named = crawl_hostile(SyntheticWeb(replace(plan, names=True)), policy_of(given.order))
    show(hosts, hostile, named, ending, as_json=given.json)


def show(hosts: int, hostile: HostileFigures, named: HostileFigures | None, ending: str, *, as_json: bool) -> None:
    print(f"hosts in the first {FIRST_PAGES:,} pages: {hosts:,}")
    show_hostile("the hostile web", hostile)
    if named is not None:
        show_hostile("the hostile web with names", named)
    print(f"ending of the hostile crawl: {ending}")
    if as_json:
        told = {"hosts_in_first_1000_pages": hosts, **shares(hostile), **hostile._asdict(), "ending": ending}
        with_names = {} if named is None else shares(named, "_with_names")
        print(json.dumps({**told, **with_names}))


def show_hostile(what: str, figures: HostileFigures) -> None:
    print(f"answers of {what}: {figures.answers:,}, of these from traps: {figures.trap_share:.1%}")
    print(f"real pages found: {figures.found:,} of {figures.real_pages:,} ({figures.found_share:.1%})")


def shares(figures: HostileFigures, suffix: str = "") -> dict[str, float]:
    return {
        f"trap_share{suffix}": round(figures.trap_share, 4),
        f"real_pages_found_share{suffix}": round(figures.found_share, 4),
    }


if __name__ == "__main__":
    main()
