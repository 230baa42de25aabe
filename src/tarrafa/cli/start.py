"""How a process begins and ends. What it is to be like is settled before the rest is imported."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

from tarrafa.memory import collect_seldom, take_large_pages

_LARGE = frozenset({"crawl", "index"})  # commands that look here and there in much memory


def main() -> NoReturn:
    # Nothing of ours multiplies matrices: the threads that numpy would start for that only cost, waiting.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What is imported stays: to look through it again and again took a fifteenth of the start.
    collect_seldom()
    if not _LARGE.isdisjoint(sys.argv[1:]):
        # Before anything is imported that starts a thread. A word that only looks like one of these costs nothing.
        take_large_pages()
    from tarrafa.cli.run import run  # under what was settled above

    _leave(run(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """At once: whatever must be ended is ended by now, and to take all else apart takes longer than to leave it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
