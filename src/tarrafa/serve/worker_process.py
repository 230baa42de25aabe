"""One worker process of the search page: how the server starts, calls and stops it, and what runs in it.

The two ends exchange pickled messages: a call names a method of `LiveSearch` and its arguments; the reply holds what it
returned or raised.
"""

import contextlib
import socket
import subprocess
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tarrafa.clock import SystemClock
from tarrafa.memory import collect_seldom, return_freed_memory, return_large_blocks
from tarrafa.serve.fork_server import ForkServer
from tarrafa.serve.live_search import LiveSearch

_EXIT_SECONDS = 3.0  # for a worker to exit before it is killed
_IDLE_SECONDS = 1.0  # after which a worker returns memory that it does not use
_READY = "ready"

WorkerCall = tuple[str, tuple[Any, ...]]  # a method of LiveSearch and its arguments
WorkerReply = tuple[Any, Exception | None]  # what it returned, or raised instead


class SearchWorker:
    """One worker process and the server's end of its connection, which is closed by the caller that holds it."""

    def __init__(self, fork_server: ForkServer) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = fork_server.start(theirs)
            except OSError:
                ours.close()
                raise
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


def make_fork_server(root: Path) -> ForkServer:
    """Return what starts the workers of a crawl."""
    return ForkServer(f"{__name__}:{run_worker.__name__}", str(root))


def run_worker(descriptor: int, root: str) -> None:
    """Be a worker process until the connection is closed."""
    connection = Connection(descriptor)
    return_large_blocks()
    with contextlib.suppress(EOFError, ConnectionError):
        search = LiveSearch(Path(root), SystemClock())
        _ = search.documents_count  # opens the index before the first call
        collect_seldom()
        connection.send(_READY)
        while True:
            if not connection.poll(_IDLE_SECONDS):
                return_freed_memory()
            name, arguments = connection.recv()
            connection.send(_reply(search, name, arguments))


def _reply(search: LiveSearch, name: str, arguments: tuple[Any, ...]) -> WorkerReply:
    try:
        return getattr(search, name)(*arguments), None
    except Exception as error:  # noqa: BLE001 - raised again for the caller
        return None, error
