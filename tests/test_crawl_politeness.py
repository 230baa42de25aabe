"""Delay policies and sites that rest, over sockets: the log of the web says that no visit comes too early."""

import asyncio
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from crawls import HASTE, ServedWeb, pages_fetched, run, served
from tarrafa import wiring
from tarrafa.agent import CrawlFolder, Progress, RunLimits
from tarrafa.configuration import Configuration, CrawlSection, PolitenessSection
from tarrafa.fetch import TableResolver
from tarrafa.lab.web import Plan, open_server
from tarrafa.lab.web.journal import GRACE_SECONDS
from tarrafa.urls import host_name, site
from webs import hosts_of

# Each of these never lets a host be visited more than once a second, though private hosts could be.
POLICIES = {
    "ten times a slow download": 'policy = "ten-times"\n',
    "density": 'policy = "density"\nlongest = "2s"\n',
    "deadline": 'policy = "deadline"\nlongest = "2s"\n',
}


def crawled_with(web: ServedWeb, folder: Path, politeness: str) -> None:
    settings = folder.parent / "settings.toml"
    settings.write_text(HASTE.replace("[politeness]\n", f"[politeness]\n{politeness}"))
    done = run("--config", str(settings), "crawl", web.url, "--dir", str(folder))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", POLICIES)
def test_no_host_is_visited_earlier_than_its_policy_says(name: str, tmp_path: Path) -> None:
    latency = "110ms" if "slow" in name else "0s"
    options = ("--hosts", "6", "--pages", "12", "--rng-seed", "6", "--delay", "1s", "--latency", latency)
    with served(*options) as web:
        crawled_with(web, tmp_path / "crawl", POLICIES[name])
        log = web.log()
        assert pages_fetched(tmp_path / "crawl", web) == {
            url for url, row in web.rows().items() if row["collectable"] and row["kind"] == "page"
        }
    assert (log["too_early"], log["overlapping"], log["robots_violations"]) == (0, 0, 0)
    assert log["requests"] > 12


DELAY_SECONDS = 0.3
CONTACT = "Tarrafa/1 (+https://crawler.example)"


def crawl_by_site(folder: Path) -> tuple[Progress, dict[str, Any]]:
    """Crawl a web with names, several of which are of one site; return its log, too."""
    plan = Plan(hosts=12, pages=40, rng_seed=3, names=True, port=0)

    async def story() -> tuple[Progress, dict[str, Any]]:
        async with open_server(plan) as server:
            table = {host.name: (host.address,) for host in hosts_of(server.web)}
            configuration = Configuration(
                crawl=replace(CrawlSection(), user_agent=CONTACT, scope="any", allow_private=True),
                politeness=replace(
                    PolitenessSection(), by="site", delay_seconds=DELAY_SECONDS, address_delay_seconds=0.0
                ),
            )
            seeds = (server.web.front,)
            agent = wiring.agent(configuration, CrawlFolder(folder), seeds, RunLimits(), TableResolver(table))
            try:
                told = await agent.run(seeds, lambda _: None)
            finally:
                await agent.close()
            return told, server.journal.report()

    return asyncio.run(story())


def test_hosts_of_a_site_are_visited_one_at_a_time_and_the_site_rests_in_between(tmp_path: Path) -> None:
    told, log = crawl_by_site(tmp_path / "crawl")
    begun = defaultdict(list)
    hosts = defaultdict(set)
    for entry in log["entries"]:
        name = site(host_name(entry["host"]))
        begun[name].append(entry["at_seconds"])
        hosts[name].add(entry["host"])
    assert max(map(len, hosts.values())) > 1
    for moments in begun.values():
        assert all(after - before >= DELAY_SECONDS - GRACE_SECONDS for before, after in pairwise(sorted(moments)))
    assert log["robots_violations"] == 0
    assert told.pages > 20


LATENCY_SECONDS = 0.5
STARTS_SECONDS = 0.1
CONNECTIONS = f"""
[[host]]
match = "host:127.0.0.1"
connections = 3
delay = "{STARTS_SECONDS}s"
"""


def test_host_gets_as_many_requests_at_once_as_its_table_says_and_the_delay_lies_between_their_starts(
    tmp_path: Path,
) -> None:
    with served("--hosts", "3", "--pages", "36", "--rng-seed", "6", "--latency", f"{LATENCY_SECONDS}s") as web:
        settings = tmp_path / "settings.toml"
        settings.write_text(HASTE + CONNECTIONS)
        done = run("--config", str(settings), "crawl", web.url, "--dir", str(tmp_path / "crawl"))
        assert done.returncode == 0, done.stderr
        assert pages_fetched(tmp_path / "crawl", web) == {
            url for url, row in web.rows().items() if row["collectable"] and row["kind"] == "page"
        }
        starts = defaultdict(list)
        for entry in web.log()["entries"]:
            starts[host_name(entry["host"])].append(entry["at_seconds"])
    for name, moments in starts.items():
        # An answer takes the latency, so a request that comes sooner after another is beside it.
        near = LATENCY_SECONDS - GRACE_SECONDS
        beside = [sum(0 <= moment - other < near for other in moments) for moment in moments]
        assert max(beside) == (3 if name == "127.0.0.1" else 1)
        # Single requests may come closer to each other than they began.
        assert max(moments) - min(moments) > STARTS_SECONDS * (len(moments) - 2)


PRIORITIES = """
[order]
longest_share = 0.01

[[host]]
match = "host:127.0.0.5"
priority = 10

[[host]]
match = "host:127.0.0.2"
priority = -10
"""


def test_hosts_of_a_higher_priority_are_visited_first_and_those_of_a_lower_one_last(tmp_path: Path) -> None:
    """There is room for one host at a time."""
    with served("--hosts", "8", "--pages", "40", "--rng-seed", "6") as web:
        settings = tmp_path / "settings.toml"
        settings.write_text(HASTE.replace("[politeness]\n", "[politeness]\nhosts_limit = 1\n") + PRIORITIES)
        seeds = [web.url.replace("127.0.0.1", f"127.0.0.{number}") for number in range(1, 9)]
        done = run("--config", str(settings), "crawl", *seeds, "--dir", str(tmp_path / "crawl"))
        assert done.returncode == 0, done.stderr
        entries = web.log()["entries"]
    visited = list(dict.fromkeys(host_name(entry["host"]) for entry in sorted(entries, key=itemgetter("at_seconds"))))
    assert len(visited) == 8
    assert (visited[0], visited[-1]) == ("127.0.0.5", "127.0.0.2")
