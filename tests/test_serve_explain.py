"""The search page says why a URL is where it is, also of one that was never visited."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crawls import arguments, run
from crawls import served as served_web
from serving import Served, served
from tarrafa import wiring
from tarrafa.agent import CrawlFolder
from tarrafa.configuration import load
from tarrafa.errors import DamagedError
from tarrafa.explain import Explanation


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that reached its limit of pages."""
    folder = tmp_path_factory.mktemp("explained") / "crawl"
    with served_web("--hosts", "5", "--pages", "200") as web:
        assert run(*arguments(web, folder, "--pages", "40")).returncode == 0
    return folder


@pytest.fixture
def page(folder: Path) -> Iterator[Served]:
    configuration = load(crawl_file=folder / "crawl.toml")
    reader = wiring.crawl_reader(configuration, CrawlFolder(folder))
    with served(folder, explain=reader.explain) as found:
        yield found


@pytest.fixture(scope="module")
def waiting(folder: Path) -> str:
    """A URL that links lead to, and that was not visited."""
    hosts = json.loads(run("explain", "--crawl", "--dir", str(folder), "--json").stdout)["hosts"]
    name = hosts[0]["name"].partition("://")[2]
    urls = json.loads(run("explain", name, "--dir", str(folder), "--json").stdout)["facts"]["next_urls"]
    found: str = next(url for url in urls if verdict_of(folder, url) == "crawl not running")
    return found


def verdict_of(folder: Path, url: str) -> str:
    found: str = json.loads(run("explain", url, "--dir", str(folder), "--json").stdout)["verdict"]
    return found


def test_a_url_that_was_never_visited_has_a_page_that_says_why(page: Served, waiting: str) -> None:
    answer = page.about("/facts", waiting)
    assert answer.status == 200
    assert "Not visited yet" in answer.text
    assert "crawl not running" in answer.text
    assert "Ainda não visitada" in page.about("/facts", waiting, lang="pt").text


def test_a_visited_page_says_when_it_was_fetched(page: Served, folder: Path) -> None:
    seed = (folder / "seeds.txt").read_text().split()[0]
    assert "<strong>fetched</strong>" in page.about("/facts", seed).text
    told = page.about("/api/explain", seed).json
    schemas = page.ask("/openapi.json").json["components"]["schemas"]
    assert set(told) == set(schemas["Explanation"]["properties"])
    assert (told["url"], told["verdict"], told["may_fetch_at"]) == (seed, "fetched", None)


def test_an_unknown_url_is_not_found_on_the_page_and_explained_by_the_api(page: Served) -> None:
    assert page.about("/facts", "http://127.0.0.1/nowhere").status == 404
    assert page.about("/api/explain", "http://127.0.0.1/nowhere").json["verdict"] == "unknown"
    assert page.about("/api/explain", "http://127.0.0.1/a/a/a/a/a").json["verdict"] == "refused"


def test_reading_a_crawl_loads_no_class_of_its_own_order(folder: Path, waiting: str, monkeypatch: Any) -> None:
    """The folder may be a stranger's, and so may be a module beside it."""
    monkeypatch.chdir(folder.parent)
    (folder.parent / "strange.py").write_text("raise SystemExit('run')\n")
    configuration = load(crawl_file=folder / "crawl.toml")
    own = replace(configuration, crawl=replace(configuration.crawl, order="strange:Newest"))
    reader = wiring.crawl_reader(own, CrawlFolder(folder))
    assert reader.explain(waiting).verdict == "crawl not running"


def test_facts_are_shown_also_if_they_cannot_be_explained(folder: Path) -> None:
    def fail(_: str) -> Explanation:
        raise DamagedError("hosts.sqlite is damaged")

    seed = (folder / "seeds.txt").read_text().split()[0]
    with served(folder, explain=fail) as page:
        assert page.about("/facts", seed).status == 200
        assert page.about("/facts", "http://127.0.0.1/nowhere").status == 404
        assert page.about("/api/explain", seed).status == 500
