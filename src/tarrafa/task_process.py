"""A process that runs functions of ours, one at a time, over two pipes.

Unlike the processes of `multiprocessing` it never runs the program's main module again, so a program needs no guard for
it, and nothing else is started. It ends when the process that started it is gone, and leaves Ctrl-C to that one.

Functions, arguments and results go over the pipes as pickles, functions by their names.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Thread
from typing import IO, Any, TypeVar, cast

T = TypeVar("T")

_CODE = "from tarrafa.task_process import serve_tasks; serve_tasks()"
# What the other end of a pipe causes when its process has ended.
_BROKEN = (EOFError, OSError, pickle.UnpicklingError)


def python_command(code: str, *words: str) -> list[str]:
    """Return the command of a process that finds modules where they are found here.

    Without that, a file in the current folder with the name of a module would be run in place of it.
    """
    return [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}", *words]


class ProcessEndedError(Exception):
    """The process ended before it gave a result: the task, the system or `kill` has ended it."""


class TaskProcess:
    """Used by one thread at a time, but for `kill`."""

    def __init__(self) -> None:
        # Ctrl-C in a terminal reaches a whole group of processes, so it has one of its own.
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            python_command(_CODE), stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )

    @property
    def process_id(self) -> int:
        return self._process.pid

    def run(self, task: Callable[..., T], *arguments: object) -> T:
        """Return the result of a function. What it raises is raised here, too."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((task, *arguments), self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
            error, result = pickle.load(self._process.stdout)  # noqa: S301 - our own process
        except _BROKEN as broken:
            raise ProcessEndedError from broken
        if error is not None:
            raise error
        return cast("T", result)

    def kill(self) -> None:
        """End the process, whatever it does. A thread that waits for a result gets a `ProcessEndedError`."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process and close the pipes. No other thread may be waiting."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not sent is not needed
                    pipe.close()


def serve_tasks() -> None:
    """Be the process: run tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not get between the results.
    os.dup2(2, 1)
    read_end, write_end = os.pipe()
    Thread(target=_forward, args=(given, write_end), name="tasks", daemon=True).start()
    with os.fdopen(read_end, "rb") as tasks:
        while True:
            try:
                task, *arguments = pickle.load(tasks)  # noqa: S301 - from our own process
            except EOFError:
                return
            pickle.dump(_run(task, arguments), results, pickle.HIGHEST_PROTOCOL)
            results.flush()


def _forward(given: IO[bytes], write_end: int) -> None:
    """Pass the tasks on, and end the process at once when the one that started it is gone, also during a task."""
    while data := os.read(given.fileno(), 1 << 16):
        written = 0
        while written < len(data):
            written += os.write(write_end, data[written:])
    os._exit(0)


def _run(task: Callable[..., Any], arguments: list[object]) -> tuple[Exception | None, Any]:
    try:
        return None, task(*arguments)
    except Exception as error:  # noqa: BLE001 - raised again by the process that gave the task
        return error, None
