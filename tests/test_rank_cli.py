"""`tarrafa rank` on a crawl of the synthetic web."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crawls import ServedWeb, crawled, links, run, served
from tarrafa.collection.ranker import is_behind
from tarrafa.layout import CrawlPaths
from tarrafa.rank import Ranks
from tarrafa.urls import fingerprint


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "6", "--pages", "60", "--rng-seed", "4") as found:
        yield found


@pytest.fixture(scope="module")
def crawl(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranked") / "crawl"
    crawled(web, folder)
    return folder


def test_a_crawl_is_ranked_once_and_shown_again(crawl: Path, web: ServedWeb) -> None:
    first, second = (run("rank", "--dir", str(crawl), "--json", "--top", "3") for _ in range(2))
    told, again = json.loads(first.stdout), json.loads(second.stdout)
    assert told["pages"] >= 60
    assert told["hosts"] >= 6
    assert told["links"] > 0
    assert len(told["best_pages"]) == len(told["best_hosts"]) == 3
    assert told["best_pages"][0]["rank"] > 1
    assert again["generation"] == told["generation"]
    assert again["best_pages"] == told["best_pages"]
    assert not is_behind(crawl)


def test_the_tables_name_pages_and_hosts(crawl: Path, web: ServedWeb) -> None:
    done = run("rank", "--dir", str(crawl))
    assert done.returncode == 0, done.stderr
    assert "copies merged" in done.stdout
    assert "best pages" in done.stdout
    assert "best hosts" in done.stdout
    assert "http://127.0.0." in done.stdout


def test_every_target_of_a_link_that_counts_is_known(crawl: Path, web: ServedWeb) -> None:
    run("rank", "--dir", str(crawl))
    ranks = Ranks.open(CrawlPaths(crawl).ranks)
    assert ranks is not None
    followed = {row["target"] for row in links(crawl) if not row["rel"] and row["source"] != row["target"]}
    found = ranks.of(np.array([fingerprint(url) for url in followed], np.uint64))
    assert (found.rank > 0).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("--dir", "{}"), "holds no crawl"), (("--dir", "{}", "--top", "-1"), "--top"), ((), "--dir")],
)
def test_wrong_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = run("rank", *(argument.format(tmp_path) for argument in arguments))
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
