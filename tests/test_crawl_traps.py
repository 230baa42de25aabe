"""A crawl of a web with traps and a bot wall, to its end, over sockets: few visits in traps, and every page."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from crawls import crawled, documents, run, served
from tarrafa.agent import CrawlFolder
from tarrafa.lab.trap_figures import TrapFigures, in_trap, trap_figures
from tarrafa.lab.web import Plan, SyntheticWeb, parse_faults

HOSTS, PAGES, SEED, FAULTS = 60, 3_000, 5, "traps,wall,redirect-loop"


class TrapCrawl(NamedTuple):
    folder: Path
    told: dict[str, Any]
    web: SyntheticWeb
    figures: TrapFigures
    report: dict[str, Any]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrapCrawl]:
    folder = tmp_path_factory.mktemp("traps") / "crawl"
    options = ["--hosts", str(HOSTS), "--pages", str(PAGES), "--rng-seed", str(SEED), "--faults", FAULTS]
    with served(*options) as served_web:
        told = crawled(served_web, folder)
        port = urlsplit(served_web.url).port
        assert port is not None
        web = SyntheticWeb(Plan(HOSTS, PAGES, SEED, port, faults=parse_faults(FAULTS)))
        report = json.loads(run("report", "--dir", str(folder), "--json").stdout)
        yield TrapCrawl(folder, told, web, trap_figures(CrawlFolder(folder), web), report)


def test_crawl_ends_by_itself(crawl: TrapCrawl) -> None:
    assert crawl.told["ending"] == "done"


def test_few_visits_are_spent_in_traps(crawl: TrapCrawl) -> None:
    assert crawl.figures.trap_visits > 0
    assert crawl.figures.trap_share <= 0.05


def test_real_pages_are_found(crawl: TrapCrawl) -> None:
    assert crawl.figures.real_pages > PAGES // 2
    assert crawl.figures.real_pages_found_share >= 0.99


def test_patterns_are_told(crawl: TrapCrawl) -> None:
    patterns = crawl.report["slowed_patterns"]
    assert {each["reason"] for each in patterns} >= {"copies"}
    assert "/calendario/#/#" in {each["pattern"] for each in patterns}
    assert crawl.report["refusals"]["pattern copies"] > 0


def test_challenges_are_counted_and_not_stored(crawl: TrapCrawl) -> None:
    assert sum(crawl.report["walls"].values()) > 0
    assert len(crawl.report["walled_hosts"]) == 1
    titles = {row["title"] for row in documents(crawl.folder)}
    assert not titles & {"Wait", "Just a moment..."}


def test_report_names_patterns_and_walls(crawl: TrapCrawl) -> None:
    text = run("report", "--dir", str(crawl.folder)).stdout
    assert "Patterns of URLs visited less" in text
    assert "Hosts behind a bot wall" in text


def test_figures_know_traps_by_their_host(crawl: TrapCrawl) -> None:
    trap = next(row["url"] for row in documents(crawl.folder) if "/calendario/" in row["url"])
    assert in_trap(crawl.web, trap)
    assert not in_trap(crawl.web, crawl.web.front + "calendario/2026/1")
    assert not in_trap(crawl.web, "http://elsewhere.example/calendario/2026/1")
