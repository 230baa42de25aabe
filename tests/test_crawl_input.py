"""What a user types: files of seeds that are none, URLs as a crawl takes them, and data on standard output."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawls import ServedWeb, crawled, run, served
from tarrafa.agent import CrawlFolder
from tarrafa.disk import disk_bytes


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "3", "--pages", "30", "--rng-seed", "5") as found:
        yield found


@pytest.fixture(scope="module")
def crawl(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("input") / "crawl"
    crawled(web, folder)
    return folder


def test_binary_instead_of_seeds_is_told_in_few_lines(tmp_path: Path) -> None:
    path = tmp_path / "seeds"
    path.write_bytes(b"\x7fELF\x00word\n" + b"<>\x00\x01 \n" * 5_000)
    done = run("crawl", "--seeds", str(path), "--dir", str(tmp_path / "crawl"))
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (2, 12)
    assert "more lines that are not seeds" in lines[10]
    assert f'"{path}" is not a text file' in lines[11]
    assert not (tmp_path / "crawl").exists()


def test_page_takes_what_crawl_takes(web: ServedWeb, crawl: Path) -> None:
    name = web.url.removeprefix("http://").removesuffix("/")
    for text in (web.url, name, f"{name}/./", f"HTTP://{name}"):
        done = run("page", text, "--dir", str(crawl), "--json")
        assert (done.returncode, json.loads(done.stdout or "{}").get("url")) == (0, web.url), done.stderr
    assert run("repository", "lookup", name, "--dir", str(crawl)).returncode == 0


@pytest.mark.parametrize("kind", ["warc", "jsonl", "parquet", "cdxj", "records"])
def test_standard_output_gets_the_same_as_a_file(crawl: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    assert run("export", kind, "--dir", str(crawl), "--out", str(out)).returncode == 0
    words = [sys.executable, "-m", "tarrafa", "export", kind, "--dir", str(crawl), "--out", "-"]
    done = subprocess.run(words, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    if kind == "parquet":
        (tmp_path / "piped").write_bytes(done.stdout)
        assert pq.read_table(tmp_path / "piped") == pq.read_table(out)
    else:
        assert done.stdout == out.read_bytes()


def test_export_says_at_once_that_it_cannot_be_written(crawl: Path, tmp_path: Path) -> None:
    for out in (tmp_path, tmp_path / "missing" / "out"):
        done = run("export", "warc", "--dir", str(crawl), "--out", str(out))
        assert (done.returncode, str(out.parent) in done.stderr) == (2, True)
    assert run("export", "warc", "--dir", str(crawl), "--out", "-", "--json").returncode == 2


def test_size_that_is_told_is_that_of_the_folder(crawl: Path, web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    told = crawled(web, folder)
    status = folder / "agents/00/status.json"
    # The report is written after the measurement, and its own size varies.
    without = disk_bytes(folder) - status.stat().st_size
    assert without <= told["disk_bytes"] <= without + 10_000
    (folder / "agents/00/index").mkdir()
    (folder / "agents/00/index/large").write_bytes(bytes(1_000_000))
    now = json.loads(run("status", "--dir", str(folder), "--json").stdout)
    assert now["disk_bytes"] == disk_bytes(folder) > 1_000_000


def test_crawl_starts_in_the_folder_of_another_and_takes_nothing_of_it(web: ServedWeb, crawl: Path) -> None:
    """The settings of a crawl do not count for the current folder's sake."""
    done = subprocess.run(
        [sys.executable, "-m", "tarrafa", "config", "--json"], capture_output=True, text=True, check=True, cwd=crawl
    )
    scope = json.loads(done.stdout)["sections"]["crawl"]["scope"]
    assert scope["origin"] == "default"
    assert 'scope = "any"' in CrawlFolder(crawl).configuration.read_text()
