"""Ranks for the order of a crawl and the importance of its pages: computed beside it, again when it has grown by half.

A process of its own ranks what the crawl has saved, as `tarrafa rank` does: only new links are read, and memory goes by
pages. Since the collection grows by half in between, all computations together cost at most three times the last one.
Until the first ranks are there, all weights are 0. A computation that fails or cannot be started is told, and the next
one follows when the crawl has grown by half again. Ranks that cannot be read are told, and the former ones hold.
"""

import contextlib
import logging
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.collection.ranker import ranks_stamp
from tarrafa.errors import DamagedError
from tarrafa.layout import CrawlPaths
from tarrafa.logs import event
from tarrafa.rank import Ranks
from tarrafa.task_process import python_command

FIRST_COUNT = 1_000  # collected URLs at which ranks are computed for the first time
GROWTH = 1.5
UNITS = 1_024  # of weight for the mean rank
_EXIT_SECONDS = 10.0
_NICE = 10
_CODE = "from tarrafa.cli import main; main()"
_log = logging.getLogger("tarrafa.crawl")


class RankProcess(Protocol):
    """A process that computes ranks; `subprocess.Popen` fulfils it."""

    def poll(self) -> int | None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


def start_ranking(root: Path) -> RankProcess:
    command = python_command(_CODE, "rank", "--dir", str(root), "--top", "0", "--json")
    nothing = subprocess.DEVNULL
    # A session of its own, so that Ctrl-C reaches the crawl only.
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
    return process


class RankRefresh:
    """Fulfils `Weighing`. The weight of a URL is the rank of its page, or of its host."""

    def __init__(
        self,
        root: Path,
        *,
        of_hosts: bool = False,
        computes: bool = True,  # False: only ranks that others have computed are used
        start: Callable[[Path], RankProcess] = start_ranking,
    ) -> None:
        self._computes = computes
        self._root = root
        self._of_hosts = of_hosts
        self._start = start
        self._process: RankProcess | None = None
        self._stamp: int | None = None
        self._ranks: Ranks | None = None
        self._ranked_count = 0.0  # collected URLs when ranks were last begun

    def current(self, collected_count: int) -> tuple[int, Callable[[pa.LargeStringArray], NDArray[np.uint32]]] | None:
        """Return the generation of the newest ranks, and what weighs URLs by them; begin newer ones if they are due."""
        self._take_result()
        self._reopen()
        is_due = collected_count >= max(FIRST_COUNT, GROWTH * self._ranked_count)
        if self._computes and self._process is None and is_due:
            self._ranked_count = collected_count
            self._begin()
        return None if self._ranks is None else (self._ranks.generation, self._weigh)

    def _begin(self) -> None:
        try:
            self._process = self._start(self._root)
        except OSError as error:  # no memory, or too many processes
            _tell_failure(None, str(error))

    def _take_result(self) -> None:
        code = None if self._process is None else self._process.poll()
        if code is not None:
            self._process = None
            if code:
                _tell_failure(code, "the process failed")

    def _reopen(self) -> None:
        stamp = ranks_stamp(self._root)
        if stamp is not None and stamp != self._stamp:
            self._stamp = stamp
            try:
                self._ranks = Ranks.open(CrawlPaths(self._root).ranks)
            except (DamagedError, OSError) as error:
                _tell_failure(None, str(error))
            if self._ranks is not None and not self._ranked_count:
                self._ranked_count = self._ranks.counts.pages  # those of an earlier run

    def _weigh(self, urls: pa.LargeStringArray) -> NDArray[np.uint32]:
        assert self._ranks is not None
        ranks = self._ranks.lookup_hosts(urls) if self._of_hosts else self._ranks.lookup_many(urls)
        return np.minimum(ranks.astype(np.float64) * UNITS, np.iinfo(np.uint32).max).astype(np.uint32)

    def close(self) -> None:
        """End the computation under way; it begins again where it was."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _tell_failure(code: int | None, reason: str) -> None:
    event(_log, "ranks failed", logging.WARNING, code=code, reason=reason)
