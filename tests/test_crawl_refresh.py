"""Crawls that visit pages again, over sockets: --again, --forever and `tarrafa refresh`, also when they are killed."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tarrafa
from crawls import ServedWeb, arguments, crawled, hasty, pages_fetched, run, served
from tarrafa.agent import CrawlFolder, Ending, Progress, checkpoint_of
from tarrafa.cli import app
from tarrafa.histories import DAY_SECONDS
from tarrafa.verify import look_up
from test_crawl_kill import Killer, start_killer

IN_FLIGHT = 10


@pytest.fixture
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "12", "--pages", "300", "--rng-seed", "4") as found:
        yield found


def asked(web: ServedWeb) -> Counter[str]:
    """Return how often each URL was asked for, but for robots.txt."""
    entries = web.log()["entries"]
    return Counter(entry["host"] + entry["path"] for entry in entries if entry["path"] != "/robots.txt")


def check_visited_again(before: Counter[str], more: Counter[str], lost: int = 0) -> None:
    """Each URL was visited once more. Of patterns that bring nothing new, others may have been visited too."""
    assert more.keys() >= before.keys()
    assert all("/antigo/" in url or "/ir/" in url for url in more.keys() - before.keys())
    assert sum(more[url] - before[url] for url in before) <= lost


def test_everything_is_visited_once_more_and_the_pages_stay_as_many(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    first = crawled(web, folder)
    before = asked(web)
    again = crawled(web, folder, "--again")
    assert again["ending"] == "done"
    assert (again["pages"], again["run_pages"], again["known"]) == (first["pages"], 0, first["known"])
    check_visited_again(before, asked(web) - before)
    assert again["refreshes"] >= len(before)
    assert pages_fetched(folder, web) == web.collectable()
    assert not CrawlFolder(folder).round.exists()
    assert crawled(web, folder)["run_visits"] == 0


def test_round_that_is_killed_goes_on_and_visits_nothing_twice(web: ServedWeb, tmp_path: Path) -> None:
    chance, folder = random.Random(3), tmp_path / "crawl"
    crawled(web, folder)
    before = asked(web)
    with start_killer() as process:
        killer, killed_count = Killer(process), 0
        words = arguments(web, folder, "--again", "--in-flight", str(IN_FLIGHT))
        for _ in range(8):
            killed_count += killer.run(chance.uniform(0.1, 0.5), words) == "killed"
        assert killer.run(None, words) == "0"
    assert killed_count > 2
    check_visited_again(before, asked(web) - before, IN_FLIGHT * killed_count)
    assert not CrawlFolder(folder).round.exists()
    assert checkpoint_of(CrawlFolder(folder).hosts).totals["refreshes"] >= len(before)


def test_crawl_that_goes_on_for_ever_does_not_end_when_nothing_is_left(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    assert crawled(web, folder)["ending"] == "done"
    told = crawled(web, folder, "--forever", "--time", "3s")
    assert told["ending"] == "time limit"
    assert told["refreshes"] == 0, "no page is visited again within an hour"


def refreshed(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    words = ["--config", str(hasty(folder.parent)), "refresh", "--dir", str(folder), "--json", *options]
    assert app.run(words) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return told


def test_round_visits_what_its_budget_allows_and_nothing_new(
    web: ServedWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "crawl"
    crawled(web, folder, "--pages", "100")
    left = refreshed(folder, capsys)
    assert (left["ending"], left["run_visits"]) == ("round over", 0), "no page is visited again within an hour"
    before, real_time = asked(web), time.time
    monkeypatch.setattr(time, "time", lambda: real_time() + 2 * DAY_SECONDS)
    some = refreshed(folder, capsys, "--budget", "30")
    assert (some["ending"], some["run_refreshes"], some["run_pages"]) == ("round over", 30, 0)
    assert 25 <= sum((asked(web) - before).values()) <= 30, "robots.txt forbids the others, as before"
    assert (asked(web) - before).keys() <= before.keys()
    rest = refreshed(folder, capsys)
    assert rest["run_refreshes"] >= len(before) - 30
    assert asked(web).keys() == before.keys()
    assert refreshed(folder, capsys)["run_refreshes"] == 0


def test_crawl_that_goes_on_for_ever_visits_pages_again_when_they_are_worth_it(
    web: ServedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look comes at once and chooses what a round of a quarter of an hour has room for."""
    folder, real_time = tmp_path / "crawl", time.time
    first = crawled(web, folder)
    monkeypatch.setattr(time, "time", lambda: real_time() + 2 * DAY_SECONDS)
    wanted = 0.7 * 12 * 900 / DAY_SECONDS * first["known"]
    crawl = tarrafa.Crawl(dir=folder, config=hasty(tmp_path, "[refresh]\nrate = 12.0\n"), forever=True)

    @crawl.on_progress
    def stop_when_enough(progress: Progress) -> None:
        if progress.run_refreshes >= wanted:
            crawl.stop()

    crawl.run()
    assert crawl.progress.ending == Ending.STOPPED
    assert crawl.progress.pages == first["pages"]


def test_pages_of_the_highest_ranks_are_the_important_ones(
    web: ServedWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "crawl"
    crawled(web, folder)
    ranked = json.loads(run("rank", "--dir", str(folder), "--top", "100", "--json").stdout)["best_pages"]
    real_time = time.time
    monkeypatch.setattr(time, "time", lambda: real_time() + 2 * DAY_SECONDS)
    refreshed(folder, capsys, "--budget", "5")
    found = [look_up(CrawlFolder(folder).repository, each["name"]) for each in (ranked[0], ranked[len(ranked) // 2])]
    first, second = (each.history.importance for each in found if each is not None and each.history is not None)
    assert first == pytest.approx(ranked[0]["rank"], rel=0.1)
    assert second == pytest.approx(ranked[len(ranked) // 2]["rank"], rel=0.1)


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    for words, told in (
        (("--forever", "--again"), "exclusive"),
        (("--forever", "--pages", "5"), "--time"),
        (("--again", "--pages", "5"), "--time"),
    ):
        done = run("crawl", "127.0.0.1:9", "--allow-private", "--dir", str(tmp_path / "crawl"), *words)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert run("refresh", "--dir", str(tmp_path / "crawl")).returncode == 2


def test_known_seed_that_is_named_again_says_when_it_was_visited_and_how_to_refresh_it(
    web: ServedWeb, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    crawled(web, folder, "--pages", "20")
    assert "was visited" not in run(*arguments(web, folder)).stderr
    done = run(*arguments(web, folder))
    assert f"{web.url} was visited on " in done.stderr
    assert "tarrafa refresh --dir" in done.stderr
    assert "was visited" not in run(*arguments(web, folder, "--again", "--time", "1s")).stderr
