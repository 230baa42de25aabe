"""Companion processes of `tarrafa crawl --serve`: one that indexes the crawl as it goes, and the search page.

Each has its own session, so that Ctrl-C reaches the crawl only. If the crawl is killed, the system ends them.
"""

import contextlib
import ctypes
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import typer

from tarrafa.agent import CrawlFolder
from tarrafa.collection.ranker import update_ranks
from tarrafa.serve import listen

_STANDARD_ERROR = 2
_PR_SET_PDEATHSIG = 1  # Linux: the signal to get when the parent ends
_EXIT_SECONDS = 10.0
# Loaded here: between fork and exec another thread may hold the lock of the loader.
_prctl = ctypes.CDLL(None).prctl


class Companions:
    """A context manager; leaving it ends the processes."""

    def __init__(self, root: Path, host: str, port: int) -> None:
        # A port that is taken is an error before the crawl starts.
        with listen(host, port) as sock:
            self.url = f"http://{host}:{sock.getsockname()[1]}/"
            self._listen_options = ("--host", host, "--port", str(sock.getsockname()[1]))
        self._root = root
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
            self._search_page = _start(_STANDARD_ERROR, "serve", "--dir", str(self._root), *self._listen_options)

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
    command = [sys.executable, "-m", "tarrafa", *words]
    return subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        start_new_session=True,
        preexec_fn=_exit_with_parent,
    )


def _exit_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
