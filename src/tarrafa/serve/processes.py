"""Questions answered by several processes, so that those who ask at once do not all wait for one interpreter.

Each process has the collection open for itself, and renews it while the crawl goes on. They end when they are told, or
when we are no more: then nobody holds the other end of their connection.

One that ends by itself, killed or out of memory, is replaced, within the bounds of `pausing`. The question that it was
answering is given to another. That other may end too, if it is the question that does it; so such a question is never
answered here, where it would end the server, and not given to a third. All other questions are answered here as long as
no process is ready.
"""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tarrafa.logs import event
from tarrafa.rank import Ranks
from tarrafa.search import Results, SearchRequest
from tarrafa.serve.asking import RefusedError
from tarrafa.serve.messages import Messages
from tarrafa.serve.pausing import Pauses
from tarrafa.serve.searching import Collection

_MOST = 8
_FAREWELL_SECONDS = 3.0
_PATIENCE_SECONDS = 10.0  # of a question whose process has ended, until another is ready

_log = logging.getLogger(__name__)

_Question = tuple[str, tuple[Any, ...]]  # a method of the collection, and what it is given
_Reply = tuple[Any, Exception | None]  # what was answered, or raised instead


def usual_count() -> int:
    """One more than there are processors, within a bound, so that a slow question leaves all of them for the others."""
    return min(len(os.sched_getaffinity(0)) + 1, _MOST)


class _Asked:
    """One process, and our end of the connection to it, which is closed by whoever has it when it is of no more use."""

    def __init__(self, root: Path) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "tarrafa.serve.answering", str(theirs.fileno()), str(root)]
            # In a session of its own, Ctrl-C does not reach it: we end it.
            self.process = subprocess.Popen(  # noqa: S603 - it is ours
                command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), start_new_session=True
            )
        self._connection = Messages(ours)

    def wait_until_ready(self) -> None:
        self._connection.receive()

    def tell(self, question: _Question) -> None:
        """Raises OSError if it is there no more."""
        self._connection.send(question)

    def hear(self) -> _Reply:
        """Raises OSError or EOFError if it has ended meanwhile."""
        reply: _Reply = self._connection.receive()
        return reply

    def let_go(self) -> None:
        self._connection.close()

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
        # Those that can be asked: filled by _take_in, emptied by _leave_out and close.
        self._ready: set[_Asked] = set()
        # Those of them that nobody asks: filled by _give_back, emptied by _take, _leave_out and close.
        self._idle: list[_Asked] = []
        self._started: list[_Asked] = []  # one for each place, by begin and _replace
        self._pauses = Pauses()
        self._is_closed = False
        self._is_ending = threading.Event()  # set by close, for keepers that pause

    def begin(self) -> None:
        """They take a while to be ready; until then, questions are answered here."""
        self._started = [_Asked(self._root) for _ in range(self._count)]
        for place in range(self._count):
            threading.Thread(target=self._keep, args=(place,), name="keeper of a process", daemon=True).start()

    def _keep(self, place: int) -> None:
        """See to it that there is a process in that place, until the end."""
        while not self._is_closed:
            asked = self._started[place]
            is_ready = self._take_in(asked)
            asked.process.wait()
            self._leave_out(asked)
            self._replace(place, is_ready)

    def _take_in(self, asked: _Asked) -> bool:
        try:
            asked.wait_until_ready()
        except (OSError, EOFError):
            self._end(asked)
            return False
        with self._changed:
            if not self._is_closed:
                self._ready.add(asked)
                self._pauses.ready()
                event(_log, "a searching process is ready", count=len(self._ready))
        self._give_back(asked)
        return True

    def _leave_out(self, asked: _Asked) -> None:
        with self._changed:
            self._ready.discard(asked)
            if asked in self._idle:
                self._idle.remove(asked)
                asked.let_go()
            self._changed.notify_all()

    def _replace(self, place: int, was_ready: bool) -> None:
        with self._changed:
            is_told = was_ready or self._pauses.failed()
            wait_seconds = self._pauses.wait_seconds(time.monotonic())
            if is_told and not self._is_closed:
                code = self._started[place].process.returncode
                event(_log, "a searching process has ended", logging.WARNING, code=code, left=len(self._ready))
        self._is_ending.wait(wait_seconds)
        with self._changed:
            if not self._is_closed:
                # Where there is no memory for one now, there may be later.
                with contextlib.suppress(OSError):
                    self._started[place] = _Asked(self._root)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._is_ending.set()
            self._ready.clear()
            for each in self._idle:
                each.let_go()
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

    def search(self, request: SearchRequest) -> Results | None:
        found: Results | None = self._ask("search", request)
        return found

    def suggest(self, prefix: str, limit: int) -> list[str]:
        found: list[str] = self._ask("suggest", prefix, limit)
        return found

    def _ask(self, name: str, *given: Any) -> Any:
        question = (name, given)
        asked = self._tell_one(question, self._take)
        if asked is None:
            return getattr(self._collection, name)(*given)
        reply = self._hear(asked) or self._ask_another(question)
        if reply is None:
            raise RefusedError("busy", HTTPStatus.SERVICE_UNAVAILABLE)
        answer, error = reply
        if error is not None:
            raise error
        return answer

    def _ask_another(self, question: _Question) -> _Reply | None:
        """What ended one process may end the next, so this is the last that is asked; then None."""
        other = self._tell_one(question, self._take_patiently)
        reply = self._hear(other) if other else None
        if reply is None and not self._is_closed:
            event(_log, "a question was not answered by two processes", logging.WARNING, question=repr(question))
        return reply

    def _tell_one(self, question: _Question, take: Callable[[], _Asked | None]) -> _Asked | None:
        """The one that was told. Those that cannot be told ended before."""
        while (asked := take()) is not None:
            try:
                asked.tell(question)
            except OSError:
                self._end(asked)
            else:
                return asked
        return None

    def _hear(self, asked: _Asked) -> _Reply | None:
        """None if it has ended instead."""
        try:
            reply = asked.hear()
        except (OSError, EOFError):
            self._end(asked)
            return None
        except BaseException:
            self._give_back(asked)
            raise
        self._give_back(asked)
        return reply

    def _end(self, asked: _Asked) -> None:
        """It cannot be asked any more. Its keeper sees that it has ended."""
        self._leave_out(asked)
        asked.let_go()
        asked.process.kill()

    def _take(self) -> _Asked | None:
        """One that is idle; None if there is none to wait for. The one that answered last remembers most."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or not self._ready)
            return self._idle.pop() if self._idle else None

    def _take_patiently(self) -> _Asked | None:
        """Also one that has yet to be started."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or self._is_closed, _PATIENCE_SECONDS)
            return self._idle.pop() if self._idle else None

    def _give_back(self, asked: _Asked) -> None:
        with self._changed:
            if asked in self._ready:
                self._idle.append(asked)
            else:
                asked.let_go()
            # One of those who wait, so that the others keep their turns.
            self._changed.notify()
