"""A crawl with a search page beside it, from the command line to the answer over HTTP."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tarrafa.cli.app import run
from tarrafa.lab.web import served_in_process

HANG_SECONDS = 600.0  # what takes longer never ends


@contextmanager
def crawling(url: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    own = ["--allow-private", "--scope", "any", "--delay", "0s"]
    words = ["crawl", url, "--dir", str(folder), *own, "--serve", "--port", "0", "--json"]
    command = [sys.executable, "-m", "tarrafa", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def address_after(process: subprocess.Popen[str], text: str) -> str:
    """Return the rest of the next line of standard error that holds the text."""
    assert process.stderr is not None
    found = re.search(r"http://\S+/", next(line for line in process.stderr if text in line))
    assert found
    return found[0]


def found_at(page: str, query: str) -> int:
    with urllib.request.urlopen(f"{page}api/search?q={query}", timeout=HANG_SECONDS) as answer:
        count: int = json.load(answer)["count"]
    return count


def test_search_page_is_there_while_it_crawls_and_stays_until_asked_to_end(tmp_path: Path) -> None:
    with served_in_process("--hosts", "10", "--pages", "200") as url, crawling(url, tmp_path / "crawl") as process:
        page = address_after(process, " at http://")
        assert address_after(process, "stays at") == page
        assert process.stdout is not None
        pages = json.loads(process.stdout.readline())["pages"]
        assert 0 < found_at(page, "the") <= pages
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_SECONDS) == 0
        assert not is_answering(page)


def is_answering(page: str) -> bool:
    try:
        urllib.request.urlopen(page, timeout=HANG_SECONDS).close()
    except OSError:
        return False
    return True


def test_killed_crawl_takes_its_search_page_with_it(tmp_path: Path) -> None:
    with served_in_process("--hosts", "10", "--pages", "200", "--latency", "200ms") as url:
        with crawling(url, tmp_path / "crawl") as process:
            page = address_after(process, " at http://")
            assert is_answering(page)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=HANG_SECONDS)  # its pipes end when the last of them is gone
        assert not is_answering(page)


def test_port_that_is_taken_is_told_before_anything_begins(tmp_path: Path) -> None:
    with served_in_process("--hosts", "1", "--pages", "1") as url:
        port = url.split(":")[2].strip("/")
        words = ["crawl", url, "--dir", str(tmp_path / "crawl"), "--allow-private", "--serve", "--port", port]
        assert run(words) != 0
    assert not (tmp_path / "crawl").exists()
