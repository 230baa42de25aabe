"""One worker process of the search page: how the server starts, calls and stops it, and what runs in it.

The two ends exchange pickled messages: a call names a method of `LiveSearch` and its arguments; the reply holds what it
returned or raised.
"""

import contextlib
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tarrafa.clock import SystemClock
from tarrafa.memory import collect_seldom
from tarrafa.serve.live_search import LiveSearch
from tarrafa.task_process import python_command

_EXIT_SECONDS = 3.0  # for a worker to exit before it is killed
_READY = "ready"
_WORKER_CODE = "from tarrafa.serve.worker_process import run_worker; run_worker()"

WorkerCall = tuple[str, tuple[Any, ...]]  # a method of LiveSearch and its arguments
WorkerReply = tuple[Any, Exception | None]  # what it returned, or raised instead


class SearchWorker:
    """One worker process and the server's end of its connection, which is closed by the caller that holds it."""

    def __init__(self, root: Path) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = python_command(_WORKER_CODE, str(theirs.fileno()), str(root))
            # In a session of its own Ctrl-C does not reach it; the server stops it.
            self.process = subprocess.Popen(  # noqa: S603 - our own code
                command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), start_new_session=True
            )
        self._connection = Connection(ours.detach())

    def wait_until_ready(self) -> None:
        self._connection.recv()

    def send(self, call: WorkerCall) -> None:
        """Raise OSError if the worker has ended."""
        self._connection.send(call)

    def receive(self) -> WorkerReply:
        """Raise OSError or EOFError if the worker ends before it replies."""
        reply: WorkerReply = self._connection.recv()
        return reply

    def disconnect(self) -> None:
        self._connection.close()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_worker() -> None:
    """Be a worker process until the connection is closed."""
    connection = Connection(int(sys.argv[1]))
    with contextlib.suppress(EOFError, ConnectionError):
        search = LiveSearch(Path(sys.argv[2]), SystemClock())
        _ = search.documents_count  # opens the index before the first call
        collect_seldom()
        connection.send(_READY)
        while True:
            name, arguments = connection.recv()
            connection.send(_reply(search, name, arguments))


def _reply(search: LiveSearch, name: str, arguments: tuple[Any, ...]) -> WorkerReply:
    try:
        return getattr(search, name)(*arguments), None
    except Exception as error:  # noqa: BLE001 - raised again for the caller
        return None, error
