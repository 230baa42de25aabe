"""A process to be killed: it offers batches to an engine, and tells the number of each after its cycle.

The processes are forked from one that has imported whatever takes long, so that starting one costs little.
"""

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from crash_child import countdown
from repositories import OPENERS, made_batch
from tarrafa.lab.engines import ENGINES

SEED, BATCHES = 7, 8

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", *(module for module, _ in ENGINES.values())])


def work(name: str, folder: Path, told: Connection) -> None:
    repository = OPENERS[name](folder)
    for number in range(BATCHES):
        repository.cycle(made_batch(SEED, number))
        told.send(number)
    repository.close()


def work_until(name: str, folder: Path, told: Connection, call: int) -> None:
    """Die at this call or return of any function."""
    sys.setprofile(countdown(call))
    work(name, folder, told)


def count_calls(name: str, folder: Path, told: Connection) -> None:
    """Tell how many calls and returns the work takes, after the numbers of the batches."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    work(name, folder, told)
    sys.setprofile(None)
    told.send(calls)


class Child:
    """A process that works, and what it tells."""

    def __init__(self, work: Callable[..., None], name: str, folder: Path, *rest: int) -> None:
        self.told, tell = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=work, args=(name, folder, tell, *rest))
        self._process.start()
        tell.close()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> tuple[list[int], int | None]:
        """Return the lines that were not read yet, and the exit code."""
        numbers = []
        try:
            while True:
                numbers.append(self.told.recv())
        except EOFError:
            pass
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        self.told.close()
        return numbers, code
