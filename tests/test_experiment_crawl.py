"""`tarrafa experiment crawl`: a long crawl, sampled."""

import json
from pathlib import Path

import pytest

from tarrafa.cli.app import run
from tarrafa.folder_mark import MARK_FILE
from tarrafa.lab.experiment.steadiness import CrawlSample, page, parts, verdict

# Ten seconds for each thousand pages, four more of CPU, the same memory.
SAMPLES = [CrawlSample(10.0 * n, 1_000 * n, 5_000 * n, 4.0 * n, 200_000_000, 9) for n in range(1, 21)]


def test_parts_have_the_rate_and_cost_of_their_pages() -> None:
    found = parts(SAMPLES)
    assert len(found) == 10
    assert {part.pages_per_second for part in found} == {100.0}
    assert {part.cpu_seconds_per_1000_pages for part in found} == {4.0}
    assert [part.pages for part in found] == list(range(2_000, 20_001, 2_000))


def test_crawl_that_slows_down_is_told() -> None:
    slower = [each._replace(seconds=each.seconds**2) for each in SAMPLES]
    assert "1.00 times the rate" in verdict(parts(SAMPLES))
    assert "0.16 times the rate" in verdict(parts(slower))
    assert page(parts(slower)).count("\n| ") == 10


def test_few_looks_give_few_parts() -> None:
    assert len(parts(SAMPLES[-1:])) == 1
    assert len(parts(SAMPLES[-3:])) == 2


def test_crawl_is_watched_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["experiment", "crawl", "--pages", "300", "--hosts", "20", "--out", str(tmp_path / "out"), "--json"]
    assert run(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["parts"][-1]["pages"] == 300
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("crawl.csv", "crawl.json", "crawl.md", "crawl.png", "crawl.svg", MARK_FILE)
    }
