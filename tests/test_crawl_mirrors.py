"""A crawl of a web whose hosts answer under other names, to its end, over sockets: few visits there, and every page."""

import json
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from crawls import HASTE, documents, run, served
from servers import Server, Visit
from tarrafa.agent import CrawlFolder
from tarrafa.lab.trap_figures import TrapFigures, trap_figures
from tarrafa.lab.web import Plan, SyntheticWeb, parse_faults
from tarrafa.urls import host_of

HOSTS, PAGES, SEED, FAULTS = 12, 900, 5, "mirror,wildcard"
# All names lead to this machine, which answers for all of them.
NAMES = """
[[host]]
match = "glob:*"
address = "127.0.0.1"
delay = "0s"
connections = 4
"""


class MirrorCrawl(NamedTuple):
    told: dict[str, Any]
    figures: TrapFigures
    report: dict[str, Any]
    hosts: set[str]  # that were visited
    events: str


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MirrorCrawl]:
    folder = tmp_path_factory.mktemp("mirrors") / "crawl"
    options = ["--hosts", str(HOSTS), "--pages", str(PAGES), "--rng-seed", str(SEED), "--faults", FAULTS, "--names"]
    with served(*options) as served_web:
        port = urlsplit(served_web.url).port
        assert port is not None
        web = SyntheticWeb(Plan(HOSTS, PAGES, SEED, port, names=True, faults=parse_faults(FAULTS)))
        settings = folder.parent / "settings.toml"
        settings.write_text(HASTE + NAMES)
        log = folder.parent / "log.txt"
        before = ("--config", str(settings), "--log-level", "info", "--log-file", str(log))
        done = run(*before, "crawl", web.front, "--dir", str(folder), "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout.splitlines()[-1])
        report = json.loads(run("report", "--dir", str(folder), "--json").stdout)
        hosts = {host_of(row["url"]) for row in documents(folder)}
        yield MirrorCrawl(told, trap_figures(CrawlFolder(folder), web), report, hosts, log.read_text())


def test_crawl_with_endless_names_ends_by_itself(crawl: MirrorCrawl) -> None:
    assert crawl.told["ending"] == "done"


def test_every_page_is_found_that_only_one_host_has(crawl: MirrorCrawl) -> None:
    assert crawl.figures.real_pages > PAGES // 2
    assert crawl.figures.real_pages_found_share == 1.0


def test_few_visits_are_spent_at_other_names(crawl: MirrorCrawl) -> None:
    assert 0 < crawl.figures.trap_visits < 200  # each alone has hundreds of pages
    wild = [host for host in crawl.hosts if host.startswith("http://x")]
    assert 0 < len(wild) < 60


def test_mirrors_are_told(crawl: MirrorCrawl) -> None:
    mirrors = {each["host"]: each["original"] for each in crawl.report["mirrors"]}
    second = next(host for host in mirrors if host.startswith("http://espelho."))
    assert mirrors[second] == second.replace("espelho.", "")
    assert crawl.report["refusals"]["mirror"] > 0
    assert crawl.report["refusals"]["wildcard"] > 0
    assert all(event in crawl.events for event in ("mirror found", "names slowed", "names refused"))


ARTICLES = 20
SHARED = (
    "/",
    *(f"/{word}" for word in ["imprint", "login", "help", "terms", "about", "news", "contact", "jobs", "press", "faq"]),
)


def answer_as_hoster(visit: Visit) -> None:
    """The first pages are the same at every name, articles are not."""
    lines = visit.request.decode().splitlines()
    path, name = lines[0].split()[1], next(line for line in lines if line.lower().startswith("host:"))
    if path not in SHARED and not path.startswith("/article/"):
        visit.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return
    paths = (*SHARED, *(f"/article/{number}" for number in range(ARTICLES)))
    links = "".join(f'<a href="{each}">{each}</a> ' for each in paths)
    chance = random.Random(f"{path} {name if path.startswith('/article/') else ''}")
    words = " ".join("".join(chance.choices("abcdefghijklmnop", k=7)) for _ in range(30))
    body = f"<title>{path}</title><p>{words}</p>{links}".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    visit.send(head.encode() + body)


def test_hosts_with_one_front_page_and_other_contents_are_crawled_whole(tmp_path: Path) -> None:
    """A hoster shows the same front page, imprint and form at every name of its site; the articles differ."""
    with closing(Server(answer_as_hoster)) as server:
        settings = tmp_path / "settings.toml"
        settings.write_text(HASTE + NAMES)
        seeds = [f"http://blog{number}.example.org:{server.port}/" for number in range(6)]
        done = run("--config", str(settings), "crawl", *seeds, "--dir", str(tmp_path / "crawl"), "--json")
        assert done.returncode == 0, done.stderr
    articles = [row["url"] for row in documents(tmp_path / "crawl") if "/article/" in row["url"]]
    assert len(articles) == 6 * ARTICLES
    assert json.loads(run("report", "--dir", str(tmp_path / "crawl"), "--json").stdout)["mirrors"] == []
