"""Companion processes of `tarrafa crawl --serve`: one that indexes the crawl as it goes, and the search page.

Each has its own session, so that Ctrl-C reaches the crawl only. If the crawl is killed, the system ends them. They ask
for that themselves: code of ours between fork and exec could wait for ever for a lock that another thread held at the
fork.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import typer

from tarrafa.agent import CrawlFolder
from tarrafa.cli.app import main
from tarrafa.collection.ranker import update_ranks
from tarrafa.serve import listen
from tarrafa.task_process import python_command

_STANDARD_ERROR = 2
_PR_SET_PDEATHSIG = 1  # Linux: the signal to get when the parent ends
_EXIT_SECONDS = 10.0
_CODE = "from tarrafa.cli.companions import run_companion; run_companion()"


class Companions:
    """A context manager; leaving it ends the processes."""

    def __init__(self, root: Path, host: str, port: int, *, is_shown: bool) -> None:
        """If a live view shows the address (`is_shown`), the search page does not tell it too."""
        # A port that is taken is an error before the crawl starts.
        with listen(host, port) as sock:
            self.url = f"http://{host}:{sock.getsockname()[1]}/"
            self._listen_options = ("--host", host, "--port", str(sock.getsockname()[1]))
        self._root = root
        self._output = subprocess.DEVNULL if is_shown else _STANDARD_ERROR
        self._index: subprocess.Popen[bytes] | None = None
        self._search_page: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._index, self._search_page):
            if process is not None:
                _stop(process)

    def start(self) -> None:
        """Start the processes, if not done yet. The folder of the crawl must exist."""
        if self._index is None:
            self._index = _start(subprocess.DEVNULL, "index", "--dir", str(self._root), "--follow")
            self._search_page = _start(self._output, "serve", "--dir", str(self._root), *self._listen_options)

    def wait(self) -> None:
        """Rank and index all that was crawled, then wait for Ctrl-C. The crawl must have released its folder."""
        if self._index is None or self._search_page is None:
            return
        with contextlib.suppress(KeyboardInterrupt):
            self._index.wait()
            update_ranks(CrawlFolder(self._root), lambda *_: None)
            # Once more, to add the anchor texts that the ranking has found.
            self._index = _start(subprocess.DEVNULL, "index", "--dir", str(self._root))
            self._index.wait()
            typer.echo(f"The search page stays at {self.url}. Press Ctrl-C to stop it.", err=True)
            sys.stdout.flush()
            self._search_page.wait()


def _start(output: int, *words: str) -> subprocess.Popen[bytes]:
    command = python_command(_CODE, str(os.getpid()), *words)
    return subprocess.Popen(  # noqa: S603 - our own command
        command, stdin=subprocess.DEVNULL, stdout=output, start_new_session=True
    )


def run_companion() -> None:
    """Be a companion process that ends with its parent. Arguments: the process id of the parent, and a command."""
    parent = int(sys.argv.pop(1))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == parent:  # else it has ended already
        main()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
