"""Every ending of a crawl, through the real command: its word, its exit code, and what the documentation says."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crawls import ServedWeb, arguments, documents, hasty, pages_fetched, run, served
from servers import Server, Visit
from tarrafa.agent import CrawlFolder, Ending
from tarrafa.cli.endings import exit_code
from test_crawl_hosts import NOT_FOUND, answer, host, path_of

DOCS = Path(__file__).parent.parent / "docs"
DEADLINE_SECONDS = 120.0


def told(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def crawl(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return run("--config", str(hasty(folder)), "crawl", "--dir", str(folder / "crawl"), "--json", *words)


def status(folder: Path) -> tuple[str, str]:
    """Return the word and the last line of `tarrafa status`."""
    shown = json.loads(run("status", "--dir", str(folder / "crawl"), "--json").stdout)
    return shown["ending"], run("status", "--dir", str(folder / "crawl")).stdout.splitlines()[-1]


@contextmanager
def running(folder: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tarrafa", "--config", str(hasty(folder)), "crawl", "--dir", str(folder / "crawl")]
    with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(is_so: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    """Wait for something that a process does."""
    until = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


# What the documentation says.


def documented() -> dict[str, int]:
    """Return the exit code of each ending, by the table of the command line's page."""
    rows = re.findall(r"^\| `([a-z ]+)` \| ([0-9]+) \|", (DOCS / "reference/cli.md").read_text(), re.MULTILINE)
    return {word: int(code) for word, code in rows}


def test_every_ending_stands_in_the_table_with_its_exit_code() -> None:
    endings = set(Ending) - {Ending.RUNNING, Ending.KILLED}
    assert {ending.value: exit_code(ending) for ending in endings} == {
        word: code for word, code in documented().items() if word in set(Ending) - {Ending.RUNNING, Ending.KILLED}
    }


def test_every_exit_code_stands_in_the_guide() -> None:
    text = (DOCS / "guides/operating.md").read_text().partition("## Exit codes")[2].partition("\n## ")[0]
    codes = {int(code) for code in re.findall(r"^\| ([0-9]+) \|", text, re.MULTILINE)}
    wrong_input = 2
    assert codes == {wrong_input, *(exit_code(ending) for ending in Ending)}


# What happens. A full disk is in test_crawl_hostile.py, a killed process in test_crawl.py.


@contextmanager
def small_host(busy: bytes = b"") -> Iterator[str]:
    """A host with two pages, the second of which may be busy for ever."""

    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return NOT_FOUND
        return answer("<a href=/2>x</a>") if path == "/" else busy or answer("<p>page")

    with host(answers, "127.0.0.2") as server:
        yield f"http://127.0.0.2:{server.port}/"


def busy_for(seconds: int) -> bytes:
    return answer("later", "503 Service Unavailable", "text/html", f"Retry-After: {seconds}")


def test_done(tmp_path: Path) -> None:
    with small_host() as url:
        done = crawl(tmp_path, url)
    assert (done.returncode, told(done)["ending"]) == (0, "done")
    assert status(tmp_path)[1].startswith("Done: no more URLs can be fetched.")


def test_page_limit(tmp_path: Path) -> None:
    with small_host() as url:
        done = crawl(tmp_path, url, "--pages", "1")
    assert (done.returncode, told(done)["ending"]) == (0, "page limit")
    assert "--pages" in status(tmp_path)[1]


def test_time_limit(tmp_path: Path) -> None:
    with small_host() as url:
        done = crawl(tmp_path, url, "--delay", "1h", "--time", "1s")
    assert (done.returncode, told(done)["ending"]) == (0, "time limit")
    assert "--time" in status(tmp_path)[1]


def test_nothing_fetched(tmp_path: Path) -> None:
    done = crawl(tmp_path, "http://127.0.0.2:1/")
    assert (done.returncode, told(done)["ending"]) == (1, "nothing fetched")
    assert told(done)["failures"].keys() == {"refused"}
    assert "The port is closed" in status(tmp_path)[1]


def test_suspended_hosts_are_told_with_the_time_of_their_return(tmp_path: Path) -> None:
    before = time.time()
    with small_host(busy_for(5_000)) as url:
        done = crawl(tmp_path, url)
    assert (done.returncode, told(done)["ending"]) == (3, "suspended hosts")
    assert before + 5_000 <= told(done)["suspended_until"] <= time.time() + 5_000
    assert told(done)["suspended"] == 1
    word, line = status(tmp_path)
    assert (word, "--wait" in line) == ("suspended hosts", True)


def test_wait_stays_until_the_host_is_back(tmp_path: Path) -> None:
    busy = [busy_for(2)]

    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return NOT_FOUND
        if path == "/2" and busy:
            return busy.pop()
        return answer("<a href=/2>x</a>") if path == "/" else answer("<p>page")

    with host(answers, "127.0.0.2") as server:
        done = crawl(tmp_path, f"http://127.0.0.2:{server.port}/", "--wait")
    assert (done.returncode, told(done)["ending"], told(done)["pages"]) == (0, "done", 2)
    assert busy == []


def test_first_ctrl_c_ends_a_crawl_that_waits_for_suspended_hosts(tmp_path: Path) -> None:
    with small_host(busy_for(5_000)) as url, running(tmp_path, url, "--wait", "--json") as process:
        folder = CrawlFolder(tmp_path / "crawl")
        wait_for(lambda: folder.exists() and folder.read_status().get("suspended"), process)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert json.loads(out.splitlines()[-1])["ending"] == "stopped"
    assert status(tmp_path)[1].startswith("Stopped on request.")


@pytest.fixture
def silent() -> Iterator[Server]:
    """A host that answers for its robots.txt and then never again."""

    def script(visit: Visit) -> None:
        if path_of(visit.request) == "/robots.txt":
            visit.send(NOT_FOUND)
        else:
            visit.hang()

    server = Server(script, address="127.0.0.2")
    yield server
    server.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_second_signal_ends_at_once_and_says_what_is_kept(silent: Server, tmp_path: Path, number: int) -> None:
    with running(tmp_path, f"http://127.0.0.2:{silent.port}/") as process:
        assert process.stderr is not None
        wait_for(lambda: any(path_of(each) == "/" for each in silent.requests), process)
        process.send_signal(number)
        lines = [process.stderr.readline()]
        while "Finishing 1 visit, Ctrl-C again stops now." not in lines[-1]:
            assert lines[-1], lines
            lines.append(process.stderr.readline())
        process.send_signal(number)
        _, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 130
    assert "To continue" in errors
    assert "Traceback" not in errors
    word, line = status(tmp_path)
    assert word == "interrupted"
    assert line.startswith("Interrupted; everything up to the last checkpoint is saved.")


# A kill in an outage.


def test_crawl_that_is_killed_in_an_outage_loses_nothing(tmp_path: Path) -> None:
    """The web is gone in the middle of the crawl. When it is back, another process goes on where the first ended."""
    options = ("--hosts", "20", "--pages", "600", "--rng-seed", "9")
    folder, log = tmp_path / "crawl", tmp_path / "crawl.log"
    with contextlib.ExitStack() as stack:
        with served(*options) as web:
            port = web.url.rstrip("/").rpartition(":")[2]
            words = arguments(web, folder, "--delay", "20ms", "--log-level", "info", "--log-format", "json")
            command = [sys.executable, "-m", "tarrafa", *words, "--log-file", str(log)]
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True))
            wait_for(lambda: visited_hosts(web) >= 10, process)
        wait_for(lambda: "outage begun" in events_of(log), process)
        process.kill()
        process.wait()
        assert "outage ended" not in events_of(log)
        assert status(tmp_path)[0] == "killed"
        with served(*options, "--port", port) as again:
            assert again.url == web.url
            done = run(*arguments(again, folder, "--delay", "0s"))
            assert done.returncode == 0, done.stderr
            assert pages_fetched(folder, again) == again.collectable()
    assert max(Counter(row["url"] for row in documents(folder)).values()) == 1


def visited_hosts(web: ServedWeb) -> int:
    """Return how many hosts have given three pages, the first of which the crawl has kept by then."""
    pages = Counter(entry["host"] for entry in web.log()["entries"] if entry["status"] == 200)
    return sum(count > 3 for count in pages.values())


def events_of(log: Path) -> list[str]:
    with contextlib.suppress(OSError, ValueError):
        return [json.loads(line)["event"] for line in log.read_text().splitlines()]
    return []


# Readers while a crawl starts.


def test_two_readers_that_never_rest_do_not_hinder_a_crawl_that_starts(tmp_path: Path) -> None:
    """They find no crawl, then one that has begun; the crawl locks its folder at the first try."""
    over = threading.Event()
    answers: list[subprocess.CompletedProcess[str]] = []

    def read(*words: str) -> None:
        while not over.is_set():
            answers.append(run(*words, "--dir", str(tmp_path / "crawl"), "--json"))

    readers = [threading.Thread(target=read, args=(word,)) for word in ("status", "report")]
    with served("--hosts", "4", "--pages", "40") as web:
        for reader in readers:
            reader.start()
        try:
            for pages in (5, 10, 15):
                done = run(*arguments(web, tmp_path / "crawl", "--pages", str(pages)))
                assert done.returncode == 0, done.stderr
        finally:
            over.set()
            for reader in readers:
                reader.join()
    assert {each.returncode for each in answers} <= {0, 2}
    assert {each.stderr for each in answers if not each.returncode} == {""}
    assert all("holds no crawl" in each.stderr for each in answers if each.returncode)
    assert any(not each.returncode for each in answers)
    assert run(*arguments(ServedWeb(web.url), tmp_path / "crawl", "--pages", "15")).returncode == 0
