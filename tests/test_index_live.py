"""A page is found within half a minute of its fetch, while the crawl goes on."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from threading import Event

from tarrafa.collection.indexer import COMMIT_SECONDS, POLL_SECONDS
from tarrafa.configuration.sections import KeepSection
from tarrafa.lab.web import served_in_process
from tarrafa.serve.live_search import RELOAD_SECONDS

FOUND_WITHIN_SECONDS = 30.0
LOOKS_MAX = 1_000


def test_delays_add_up_to_at_most_half_a_minute() -> None:
    """It waits for the checkpoint, for the follower to look, for its commit, and for the search page to look."""
    waits = (KeepSection().checkpoint_seconds, POLL_SECONDS, COMMIT_SECONDS, RELOAD_SECONDS)
    assert sum(waits) <= FOUND_WITHIN_SECONDS


def found_at(page: str) -> int:
    with urllib.request.urlopen(f"{page}api/search?q=the+de") as answer:
        count: int = json.load(answer)["count"]
    return count


def test_page_is_found_while_the_crawl_goes_on(tmp_path: Path) -> None:
    """Each host is visited every five seconds and has hundreds of pages, so the crawl does not end by itself."""
    with served_in_process("--hosts", "4", "--pages", "2000") as url:
        own = ["--allow-private", "--scope", "any", "--delay", "5s", "--serve", "--port", "0", "--json"]
        command = [sys.executable, "-m", "tarrafa", "crawl", url, "--dir", str(tmp_path / "crawl"), *own]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                told = next(line for line in process.stderr if " at http://" in line)
                page = re.search(r"http://\S+/", told)
                assert page
                pause = Event()
                looks = (pause.wait(0.2) or found_at(page[0]) for _ in range(LOOKS_MAX))
                assert next((count for count in looks if count), 0)
                assert process.poll() is None
            finally:
                process.kill()
