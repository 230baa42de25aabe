"""Hosts that are to be left alone are left alone, whenever the process is killed, and whatever the clock said."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crawls import hasty, run
from tarrafa.agent import CrawlFolder
from test_crawl_hosts import answer, asked, host

ROBOTS = answer("User-agent: *\nContent-Usage: train-ai=n\n", "200 OK", "text/plain")


def busy_host(*headers: str) -> bytes:
    return answer("later", "503 Service Unavailable", "text/html", *headers)


def killed_at_the_first_delay(folder: CrawlFolder, words: list[str]) -> None:
    process = subprocess.Popen([sys.executable, "-m", "tarrafa", *words], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not any(path.stat().st_size for path in folder.host_journal.glob("*.jsonl")) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("headers", [("Retry-After: 300",), ()], ids=["who asks for time", "who fails"])
def test_host_that_is_to_be_left_alone_is_left_alone_after_a_kill(headers: tuple[str, ...], tmp_path: Path) -> None:
    """No checkpoint comes between the answer and the kill, and the host fails for the first time: ten seconds' rest."""

    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return ROBOTS
        return answer("<a href=/busy>b</a>") if path == "/" else busy_host(*headers)

    settings = tmp_path / "settings.toml"
    settings.write_text('[keep]\ncheckpoint = "1h"\n')
    words = ["--config", str(settings), "crawl", "--dir", str(tmp_path / "crawl"), "--allow-private", "--delay", "0s"]
    with host(answers, "127.0.0.2") as server:
        url = f"http://127.0.0.2:{server.port}/"
        killed_at_the_first_delay(CrawlFolder(tmp_path / "crawl"), [*words, url])
        assert asked(server).count("/busy") == 1
        done = run(*words, "--time", "3s")
        assert done.returncode == 0, done.stderr
    assert asked(server).count("/busy") == 1
    # What robots.txt says about the use of a page is known of pages that only the archive had.
    facts = json.loads(run("page", url, "--dir", str(tmp_path / "crawl"), "--json").stdout)
    assert facts["usage"] == ["content-usage: train-ai=n"]


def test_host_that_fails_is_left_alone_after_a_stop_and_its_failures_go_on_counting(tmp_path: Path) -> None:
    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return ROBOTS
        return answer("<a href=/busy>b</a>") if path == "/" else busy_host()

    hosts = CrawlFolder(tmp_path / "crawl").hosts
    settings = tmp_path / "settings.toml"
    settings.write_text('[politeness]\nback_off = "1m"\n')
    words = ["--config", str(settings), "crawl", "--dir", str(tmp_path / "crawl"), "--allow-private", "--delay", "0s"]
    with host(answers, "127.0.0.2") as server:
        assert run(*words, f"http://127.0.0.2:{server.port}/", "--time", "4s").returncode == 0
        assert run(*words, "--time", "1s").returncode == 0
        assert asked(server).count("/busy") == 1
        with sqlite3.connect(hosts) as database:
            database.execute("UPDATE hosts SET until = ?", (time.time(),))
        assert run(*words, "--time", "4s").returncode == 0
    assert asked(server).count("/busy") == 2
    with sqlite3.connect(hosts) as database:
        ((failing, until),) = database.execute("SELECT consecutive_failures, until FROM hosts").fetchall()
    assert failing == 2
    assert until > time.time() + 60


def test_pause_that_a_wrong_clock_made_is_over(tmp_path: Path) -> None:
    """As when a machine began with its clock a month ahead, and was put right later."""
    folder = CrawlFolder(tmp_path / "crawl")
    words = ["--config", str(hasty(tmp_path)), "crawl", "--dir", str(folder.root), "--json"]
    with host(lambda path: ROBOTS if path == "/robots.txt" else answer("<a href=/1>x</a>"), "127.0.0.2") as server:
        assert run(*words, f"http://127.0.0.2:{server.port}/", "--pages", "1").returncode == 0
        with sqlite3.connect(folder.hosts) as database:
            changed = "UPDATE hosts SET status = 'suspended', reason = 'busy', until = ?"
            database.execute(changed, (time.time() + 30 * 86_400,))
            database.execute("UPDATE robots SET fetched_at = fetched_at + 3e7, expires_at = expires_at + 3e7")
        done = run(*words)
        assert json.loads(done.stdout.splitlines()[-1])["pages"] == 2
    assert asked(server) == ["/robots.txt", "/", "/robots.txt", "/1"]


def test_page_that_was_not_visited_tells_why_its_host_is_not(tmp_path: Path) -> None:
    with host(lambda _: answer("oops", "500 Internal Server Error"), "127.0.0.2") as server:
        url = f"http://127.0.0.2:{server.port}/"
        run("--config", str(hasty(tmp_path)), "crawl", url, "--dir", str(tmp_path / "crawl"))
    done = run("page", url, "--dir", str(tmp_path / "crawl"))
    assert done.returncode != 0
    assert "its host is suspended (robots.txt http-500)" in done.stderr
