"""Questions answered by several processes, so that those who ask at once do not all wait for one interpreter.

Each process has the collection open for itself, and renews it while the crawl goes on. Whatever they cannot do, because
none is ready yet or one was killed, is done here. They end when they are told, or when we are no more: then nobody
holds the other end of their connection.
"""

import logging
import os
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tarrafa.logs import event
from tarrafa.rank import Ranks
from tarrafa.search import Request, Results
from tarrafa.serve.searching import Collection

_MOST = 8
_FAREWELL_SECONDS = 3.0

_log = logging.getLogger(__name__)


def usual_count() -> int:
    """One more than there are processors, within a bound, so that a slow question leaves all of them for the others."""
    return min(len(os.sched_getaffinity(0)) + 1, _MOST)


class _Asked:
    """One process, and our end of the connection to it."""

    def __init__(self, root: Path) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "tarrafa.serve.answering", str(theirs.fileno()), str(root)]
            # In a session of its own, Ctrl-C does not reach it: we end it.
            self.process = subprocess.Popen(  # noqa: S603 - it is ours
                command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), start_new_session=True
            )
        self._connection = Connection(ours.detach())

    def wait_until_ready(self) -> None:
        self._connection.recv()

    def ask(self, name: str, given: tuple[Any, ...]) -> Any:
        """Raises OSError or EOFError if it is there no more."""
        self._connection.send((name, given))
        answer, error = self._connection.recv()
        if error is not None:
            raise error
        return answer

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_FAREWELL_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Processes:
    """What a `Collection` is. Asked by any number of threads."""

    def __init__(self, root: Path, collection: Collection, count: int) -> None:
        self._root = root
        self._collection = collection
        self._count = count
        self._changed = threading.Condition()
        # Filled by _take_in, emptied by close and by _ask when one is gone.
        self._ready: set[_Asked] = set()
        # Filled by _take_in and _ask, emptied by _ask.
        self._idle: list[_Asked] = []
        self._started: list[_Asked] = []  # by begin
        self._is_closed = False

    def begin(self) -> None:
        """They take a while to be ready; until then, questions are answered here."""
        self._started = [_Asked(self._root) for _ in range(self._count)]
        for each in self._started:
            threading.Thread(target=self._take_in, args=(each,), name="process to be ready", daemon=True).start()

    def _take_in(self, asked: _Asked) -> None:
        try:
            asked.wait_until_ready()
        except (OSError, EOFError):
            self._lose(asked)
            return
        with self._changed:
            self._ready.add(asked)
            self._idle.append(asked)
            self._changed.notify()

    def _lose(self, asked: _Asked) -> None:
        with self._changed:
            self._ready.discard(asked)
            self._changed.notify_all()
            if not self._is_closed:
                event(_log, "a searching process has ended", logging.WARNING, left=len(self._ready))

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._ready.clear()
            self._idle.clear()
            self._changed.notify_all()
        for each in self._started:
            each.end()

    @property
    def ready_count(self) -> int:
        return len(self._ready)

    @property
    def ranks(self) -> Ranks | None:
        return self._collection.ranks

    @property
    def documents_count(self) -> int:
        return self._collection.documents_count

    def search(self, request: Request) -> Results | None:
        found: Results | None = self._ask("search", request)
        return found

    def suggest(self, prefix: str, limit: int) -> list[str]:
        found: list[str] = self._ask("suggest", prefix, limit)
        return found

    def _ask(self, name: str, *given: Any) -> Any:
        asked = self._take()
        if asked is None:
            return getattr(self._collection, name)(*given)
        try:
            answer = asked.ask(name, given)
        except (OSError, EOFError):
            self._lose(asked)
            return getattr(self._collection, name)(*given)
        except BaseException:
            self._give_back(asked)
            raise
        self._give_back(asked)
        return answer

    def _take(self) -> _Asked | None:
        """One that is idle; None if there is none to wait for. The one that answered last remembers most."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or not self._ready)
            return self._idle.pop() if self._idle else None

    def _give_back(self, asked: _Asked) -> None:
        with self._changed:
            if not self._is_closed:
                self._idle.append(asked)
            self._changed.notify()
