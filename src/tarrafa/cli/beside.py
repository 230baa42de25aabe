"""Commands of ours beside a crawl, each in a process of its own: an index that follows it, and the search page.

They have sessions of their own, so that a Ctrl-C for the crawl does not reach them; and should the crawl's process be
killed, the system ends them.
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
from tarrafa.collection.ranking import update_ranks
from tarrafa.serve import listen

_STANDARD_ERROR = 2
_SIGNAL_WHEN_PARENT_ENDS = 1  # Linux's number of that setting of a process
_FAREWELL_SECONDS = 10.0
# Found here, because between fork and exec nothing may be looked up: another thread may hold a lock.
_prctl = ctypes.CDLL(None).prctl


class Beside:
    """As a context it ends what still runs."""

    def __init__(self, root: Path, host: str, port: int) -> None:
        # Whether the port can be had is told before anything begins.
        with listen(host, port) as sock:
            self.url = f"http://{host}:{sock.getsockname()[1]}/"
            self._place = ("--host", host, "--port", str(sock.getsockname()[1]))
        self._root = root
        self._index: subprocess.Popen[bytes] | None = None
        self._page: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._index, self._page):
            if process is not None:
                _end(process)

    def begin(self) -> None:
        """To be called when the folder of the crawl is there, once or more often."""
        if self._index is None:
            self._index = _started(subprocess.DEVNULL, "index", "--dir", str(self._root), "--follow")
            self._page = _started(_STANDARD_ERROR, "serve", "--dir", str(self._root), *self._place)

    def stay(self) -> None:
        """Until Ctrl-C, with all that was crawled, and ranks. The crawl must have let go of its folder."""
        if self._index is None or self._page is None:
            return
        with contextlib.suppress(KeyboardInterrupt):
            self._index.wait()
            update_ranks(CrawlFolder(self._root), lambda *_: None)
            # Once more: it learns what others call the pages.
            self._index = _started(subprocess.DEVNULL, "index", "--dir", str(self._root))
            self._index.wait()
            typer.echo(f"the search page stays at {self.url} until Ctrl-C", err=True)
            sys.stdout.flush()
            self._page.wait()


def _started(output: int, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tarrafa", *words]
    return subprocess.Popen(  # noqa: S603 - it is ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )


def _end_with_parent() -> None:
    _prctl(_SIGNAL_WHEN_PARENT_ENDS, signal.SIGTERM)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_FAREWELL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
