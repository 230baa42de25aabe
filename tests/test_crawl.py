"""Crawls of the made-up web over real sockets, in processes of their own."""

import contextlib
import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import ServedWeb, arguments, crawled, documents, hasty, links, pages, pages_fetched, run, served
from tarrafa.agent import CrawlFolder
from tarrafa.keep import read_pages
from tarrafa.verify import Veuniq

KEYS = {"pages", "bytes", "hosts", "known", "seconds", "outcomes", "refusals", "ending"}


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "30", "--pages", "900", "--rng-seed", "4") as found:
        yield found


@pytest.fixture(scope="module")
def whole(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was left alone."""
    folder = tmp_path_factory.mktemp("whole") / "crawl"
    told = crawled(web, folder)
    assert told["ending"] == "done"
    assert told.keys() >= KEYS
    return folder


def test_crawl_ends_with_what_a_perfect_one_collects(web: ServedWeb, whole: Path) -> None:
    assert pages_fetched(whole, web) == web.collectable()


def test_nobody_was_visited_against_their_will(web: ServedWeb, whole: Path) -> None:
    assert documents(whole)
    log = web.log()
    assert (log["robots_violations"], log["malformed"]) == (0, 0)


def test_every_known_url_was_visited_or_has_a_reason(web: ServedWeb, whole: Path) -> None:
    rows = web.rows()
    with Veuniq(CrawlFolder(whole).repository) as repository:
        known = {each.url: each for each in repository.urls()}
    assert all(each.collected for each in known.values())
    refused = {url for url, each in known.items() if each.status == 1_000}
    assert refused
    assert not any(rows[url]["allowed"] for url in refused if url in rows)


def test_links_are_those_of_the_pages(whole: Path) -> None:
    kept = {row["url"] for row in documents(whole)}
    found = links(whole)
    assert {row["source"] for row in found} <= kept
    assert {"a", "redirect"} <= {row["kind"] for row in found}


def test_crawl_that_is_done_has_nothing_to_add(web: ServedWeb, whole: Path) -> None:
    before = len(documents(whole))
    assert crawled(web, whole)["pages"] == len(pages(whole))
    assert len(documents(whole)) == before


def test_page_limit_is_exact_and_the_same_command_goes_on(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    told = crawled(web, folder, "--pages", "120")
    assert (told["pages"], told["ending"]) == (120, "page limit")
    assert len(pages(folder)) == 120
    assert crawled(web, folder, "--pages", "120")["pages"] == 120
    assert crawled(web, folder, "--pages", "250")["pages"] == 250
    crawled(web, folder)
    assert pages_fetched(folder, web) == web.collectable()


def test_host_limit_keeps_to_the_hosts_that_were_met(web: ServedWeb, tmp_path: Path) -> None:
    told = crawled(web, tmp_path / "crawl", "--hosts", "3")
    assert told["hosts"] == 3
    assert {row["url"].split("/")[2] for row in documents(tmp_path / "crawl")} <= {
        host.split("/")[2] for host in _hosts(tmp_path / "crawl")
    }


def _hosts(folder: Path) -> list[str]:
    with sqlite3.connect(CrawlFolder(folder).hosts) as database:
        return [name for (name,) in database.execute("SELECT name FROM hosts")]


def test_scope_of_the_seeds_is_their_sites(web: ServedWeb, tmp_path: Path) -> None:
    told = crawled(web, tmp_path / "crawl", "--scope", "seeds")
    assert told["hosts"] == 1
    assert told["refusals"]["outside"] > 0


def test_time_limit_ends_a_crawl_that_waits(web: ServedWeb, tmp_path: Path) -> None:
    told = crawled(web, tmp_path / "crawl", "--scope", "seeds", "--delay", "10s", "--time", "1s")
    assert told["ending"] == "time limit"
    assert told["pages"] <= 2


def test_delay_is_kept_from_the_end_of_an_answer(tmp_path: Path) -> None:
    with served("--hosts", "8", "--pages", "60", "--delay", "300ms") as web:
        crawled(web, tmp_path / "crawl", "--delay", "300ms", "--pages", "40")
        log = web.log()
    assert log["requests"] > 40
    assert (log["too_early"], log["overlapping"]) == (0, 0)


def test_restart_waits_the_full_delay(tmp_path: Path) -> None:
    with served("--hosts", "3", "--pages", "30", "--delay", "400ms") as web:
        for count in (3, 6, 9):
            crawled(web, tmp_path / "crawl", "--delay", "400ms", "--pages", str(count))
        log = web.log()
    assert (log["too_early"], log["overlapping"]) == (0, 0)


# Seeds.


def test_bad_seed_is_named_with_its_line_and_the_others_are_crawled(web: ServedWeb, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"# mine\nftp://nowhere/\n{web.url}\n")
    done = run(*arguments(web, tmp_path / "crawl", "--seeds", str(seeds), "--pages", "5"))
    assert done.returncode == 0
    assert f"{seeds}:2:" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["pages"] == 5


@pytest.mark.parametrize("words", [["ftp://nowhere/"], [], ["--seeds", "missing.txt"]])
def test_without_a_good_seed_nothing_is_begun(words: list[str], tmp_path: Path) -> None:
    done = run("crawl", *words, "--dir", str(tmp_path / "crawl"))
    assert done.returncode == 2
    assert done.stderr.startswith("tarrafa: ")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "crawl").exists()


def test_public_seed_without_a_contact_is_refused(tmp_path: Path) -> None:
    done = run("crawl", "example.org", "--dir", str(tmp_path / "crawl"))
    assert done.returncode == 2
    assert "contact" in done.stderr
    assert not (tmp_path / "crawl").exists()


@pytest.mark.parametrize(
    "option", [("--scope", "http://x/"), ("--delay", "5"), ("--time", "soon"), ("--order", "best")]
)
def test_wrong_option_is_told_before_anything_is_written(option: tuple[str, str], tmp_path: Path) -> None:
    done = run("crawl", "a.example", "--dir", str(tmp_path / "crawl"), *option)
    assert done.returncode == 2
    assert option[1] in done.stderr
    assert not (tmp_path / "crawl").exists()


def test_going_on_needs_no_options_again(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, folder, "--pages", "20")
    done = run("crawl", "--dir", str(folder), "--pages", "60", "--json")
    assert json.loads(done.stdout.splitlines()[-1])["pages"] == 60


# Stopping.


def begun(web: ServedWeb, folder: Path, *options: str) -> "subprocess.Popen[str]":
    """A crawl that has kept something."""
    command = [sys.executable, "-m", "tarrafa", *arguments(web, folder, *options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    archive = CrawlFolder(folder).archive
    while not (archive.is_dir() and any(archive.iterdir())):
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(0.01)
    return process


def test_ctrl_c_finishes_saves_and_tells(tmp_path: Path) -> None:
    with served("--hosts", "30", "--pages", "20000") as web:
        process = begun(web, tmp_path / "crawl")
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
        told = json.loads(out.splitlines()[-1])
        assert told["ending"] == "stopped"
        assert len(pages(tmp_path / "crawl")) == told["pages"] > 0


def test_second_ctrl_c_stops_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    with served("--hosts", "30", "--pages", "20000", "--faults", "hang") as web:
        process = begun(web, tmp_path / "crawl")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode in (0, 130)
        kept = {stored.page.url for stored in read_pages(CrawlFolder(tmp_path / "crawl").archive)}
        crawled(web, tmp_path / "crawl", "--pages", str(len(kept) + 5))
    assert kept <= {row["url"] for row in documents(tmp_path / "crawl")}


def test_second_crawl_of_a_folder_is_refused_and_status_tells(tmp_path: Path) -> None:
    with served("--hosts", "30", "--pages", "20000") as web:
        process = begun(web, tmp_path / "crawl")
        try:
            second = run(*arguments(web, tmp_path / "crawl"))
            assert second.returncode == 2
            assert f"process {process.pid}" in second.stderr
            status = run("status", "--dir", str(tmp_path / "crawl"), "--json")
            assert json.loads(status.stdout)["running"] is True
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        status = run("status", "--dir", str(tmp_path / "crawl"))
        assert "Killed; everything up to the last checkpoint is saved" in status.stdout


def test_in_a_terminal_a_table_changes_while_it_runs(web: ServedWeb, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = [word for word in arguments(web, tmp_path / "crawl", "--pages", "60") if word != "--json"]
    command = [sys.executable, "-m", "tarrafa", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        shown = b""
        # A terminal whose other end is closed is an error to its reader.
        with contextlib.suppress(OSError):
            while data := os.read(ours, 65_536):
                shown += data
        os.close(ours)
        out = process.communicate()[0]
    for word in (b"of 60 pages", b"in flight", b"suspended", b"of memory", b"Ctrl-C"):
        assert word in shown
    assert "60 pages" in out
    assert "Stopped: reached the limit of --pages" in out


def test_elsewhere_a_line_is_told_now_and_then(web: ServedWeb, tmp_path: Path) -> None:
    words = [word for word in arguments(web, tmp_path / "crawl", "--pages", "60") if word != "--json"]
    done = run(*words)
    assert "pages/s" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout


# Reading back.


def test_page_is_read_back_in_every_form(web: ServedWeb, whole: Path) -> None:
    asked = ("page", web.url, "--dir", str(whole))
    row = web.rows()[web.url]
    assert json.loads(run(*asked, "--json").stdout)["title"] == row["title"]
    assert row["title"] in run(*asked, "--text").stdout
    assert "200" in run(*asked, "--headers").stdout.splitlines()[0]
    assert "<html" in run(*asked, "--body").stdout
    assert web.url in run(*asked, "--links").stdout
    assert row["title"] in run(*asked).stdout


def test_page_that_is_not_there_says_why(web: ServedWeb, whole: Path) -> None:
    with Veuniq(CrawlFolder(whole).repository) as repository:
        refused = next(each.url for each in repository.urls() if each.status == 1_000)
    for url, reason in ((refused, "robots.txt"), (web.url + "never-linked", "is unknown: no fetched page links to it")):
        done = run("page", url, "--dir", str(whole))
        assert done.returncode == 1
        assert reason in done.stderr
    done = run("page", web.url, "--dir", str(whole / "nowhere"))
    assert done.returncode == 2
    assert "holds no crawl" in done.stderr


@pytest.mark.parametrize("form", ["warc", "jsonl", "parquet", "cdxj", "records"])
def test_export_writes_everything(form: str, web: ServedWeb, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / f"out.{form}"
    told = json.loads(run("export", form, "--dir", str(whole), "--out", str(out), "--json").stdout)
    rows = documents(whole)
    if form == "warc":
        assert told["bytes"] == out.stat().st_size > 0
    elif form == "records":
        assert f"||| {web.url} | <!DOCTYPE".encode().lower() in out.read_bytes().lower()
    else:
        assert len(rows) in told.values()


def test_crawl_writes_its_configuration_and_seeds(web: ServedWeb, whole: Path) -> None:
    folder = CrawlFolder(whole)
    assert folder.seeds.read_text() == f"{web.url}\n"
    assert 'scope = "any"' in folder.configuration.read_text()
    done = run("--config", str(hasty(whole.parent)), "repository", "verify", "--dir", str(folder.repository))
    assert done.stdout.startswith("No problems found: ")
