"""Run commands as a user who may write nothing. Arguments: a user's number, and commands as JSON lists.

Each command runs twice, first as the user of the tests: the second time nothing has to be imported, and Python itself
may lie in a folder that the other user cannot read.
"""

import contextlib
import io
import json
import os
import sys
import threading
import urllib.request
from pathlib import Path

from tarrafa import wiring
from tarrafa.agent import CrawlFolder
from tarrafa.cli.app import run
from tarrafa.clock import SystemClock
from tarrafa.configuration import load
from tarrafa.serve import FactsReader, LiveSearch, RateLimit, SearchPage, SearchServer, listen, make_application


def show(root: Path, path: str) -> int:
    """Write the answer of a crawl's search page. It has no worker processes: they would have to start Python."""
    clock = SystemClock()
    explain = wiring.crawl_reader(load(crawl_file=root / "crawl.toml"), CrawlFolder(root)).explain
    page = SearchPage(LiveSearch(root, clock), FactsReader(root), explain, clock, "en", RateLimit(0, 0), 1)
    server = SearchServer(make_application(page), listen("127.0.0.1", 0))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        with urllib.request.urlopen(server.url + path) as reply:
            sys.stdout.write(reply.read().decode())
            return 0
    finally:
        server.stop()
        thread.join()


def answer(words: list[str]) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = show(Path(words[1]), words[2]) if words[0] == "get" else run(words)
    return code, out.buffer.getvalue().decode(errors="replace"), err.getvalue()


if __name__ == "__main__":
    commands = list(map(json.loads, sys.argv[2:]))
    list(map(answer, commands))
    if os.geteuid() == 0:
        number = int(sys.argv[1])
        os.setgroups([])
        os.setgid(number)
        os.setuid(number)
    sys.stdout.write(json.dumps(list(map(answer, commands))))
