"""Worker processes that search, and bounded thread pools for work beside the event loop.

Searches run in several processes, so that concurrent requests do not share one interpreter. Each worker has the index
open for itself and reloads it while the crawl goes on. The life of a worker:

1. A supervisor thread starts it, forked from a process that has loaded the code (`fork_server`). When the index is open
   it reports that it is ready, and becomes idle.
2. A call takes an idle worker, sends it the name and arguments of a method of `LiveSearch`, and receives the result.
3. When it ends by itself (killed, out of memory), its supervisor replaces it, not faster than `RestartBackoff` allows.
   The call that it was running is sent to a second worker. It never goes to a third, nor runs in this process: it may
   be the call that kills them, and it would end the server.
4. It exits when its connection is closed, so also when the server is killed.

While no worker is ready, calls run in this process.
"""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from tarrafa.logs import event
from tarrafa.rank import Ranks
from tarrafa.search import Results, SearchRequest
from tarrafa.serve.fair_queue import FairQueue
from tarrafa.serve.fork_server import ForkServer
from tarrafa.serve.live_search import SearchBackend
from tarrafa.serve.params import RefusedError
from tarrafa.serve.worker_process import SearchWorker, WorkerCall, WorkerReply, make_fork_server

RESTART_SECONDS = 3.0
RESTART_MAX_SECONDS = 60.0
SECOND_WORKER_SECONDS = 10.0  # that a call whose worker has ended waits for another

QUEUE_SECONDS = 0.5  # that a call waits for a thread before it is refused
_CROWD_RETRY_SECONDS = 1  # after which a client with too many calls may try again
_WORKERS_MIN, _WORKERS_MAX = 2, 4

_log = logging.getLogger(__name__)

T = TypeVar("T")


class ThreadPool:
    """A few threads, and a bounded queue in which clients take turns. Used from one event loop.

    A call is refused if the queue is full or if it waits for longer than `wait_seconds`: with status 429 if its client
    has other calls here, else with 503, since other clients keep the threads busy.
    """

    def __init__(self, name: str, threads: int, queue_limit: int, wait_seconds: float = QUEUE_SECONDS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._wait_seconds = wait_seconds
        self._free_count = threads
        # Calls that wait for a thread: filled by _wait_turn, emptied by _pass_on and _wait_turn.
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(queue_limit)
        self._counts: Counter[str] = Counter()  # calls of each client, running and waiting

    async def run(self, work: Callable[[], T], client: str = "") -> T:
        """Return the result of the work. Raise RefusedError if there is too much of it."""
        self._counts[client] += 1
        try:
            await self._wait_turn(client)
            try:
                return await asyncio.get_running_loop().run_in_executor(self._executor, work)
            finally:
                self._pass_on()
        finally:
            self._counts[client] -= 1
            if not self._counts[client]:
                del self._counts[client]

    async def _wait_turn(self, client: str) -> None:
        if self._free_count:
            self._free_count -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        if (refused := self._queue.put(client, turn)) is not None:
            refused.cancel()
        try:
            await asyncio.wait((turn,), timeout=self._wait_seconds)
        except asyncio.CancelledError:
            self._leave(client, turn)
            raise
        if turn.cancelled() or not turn.done():
            self._leave(client, turn)
            raise self._refusal(client)

    def _leave(self, client: str, turn: asyncio.Future[None]) -> None:
        """Leave the queue; a turn that came meanwhile goes to the next."""
        if turn.done() and not turn.cancelled():
            self._pass_on()
        else:
            self._queue.remove(client, turn)

    def _pass_on(self) -> None:
        turn = self._queue.take()
        if turn is None:
            self._free_count += 1
        else:
            turn.set_result(None)

    def _refusal(self, client: str) -> RefusedError:
        if self._counts[client] == 1:
            return RefusedError("busy", HTTPStatus.SERVICE_UNAVAILABLE)
        refused = RefusedError("busy", HTTPStatus.TOO_MANY_REQUESTS)
        refused.headers = {"retry-after": str(_CROWD_RETRY_SECONDS)}
        return refused

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


class RestartBackoff:
    """When the next worker may be started in place of one that has ended. Pure: time is passed in.

    1. The first is restarted at once; between two restarts there are at least `RESTART_SECONDS`.
    2. The interval doubles with each worker that ends before it was ready, up to `RESTART_MAX_SECONDS`. It is reset as
       soon as one is ready.
    """

    def __init__(self) -> None:
        self._next_at = 0.0
        self._interval_seconds = RESTART_SECONDS
        self._is_failing = False  # a worker has failed since the last one that was ready

    def wait_seconds(self, now: float) -> float:
        """Return how long the next restart has to wait, and count it."""
        start_at = max(now, self._next_at)
        self._next_at = start_at + self._interval_seconds
        return start_at - now

    def ready(self) -> None:
        self._interval_seconds, self._is_failing = RESTART_SECONDS, False

    def failed(self) -> bool:
        """Count a worker that ended before it was ready. Return True for the first in a row, which is logged."""
        is_first, self._is_failing = not self._is_failing, True
        self._interval_seconds = min(2 * self._interval_seconds, RESTART_MAX_SECONDS)
        return is_first


class SearchWorkers:
    """A `SearchBackend` in worker processes. Thread-safe. `launch` starts a worker."""

    def __init__(
        self,
        root: Path,
        local: SearchBackend,
        count: int,
        launch: Callable[[ForkServer], SearchWorker] = SearchWorker,
        second_worker_seconds: float = SECOND_WORKER_SECONDS,
    ) -> None:
        self._fork_server = make_fork_server(root)
        self._local = local
        self._count = count
        self._launch = launch
        self._second_worker_seconds = second_worker_seconds
        self._changed = threading.Condition()
        # Workers that can be called: filled by _admit, emptied by _remove and close.
        self._ready: set[SearchWorker] = set()
        # Those of them that run no call: filled by _release, emptied by _take, _remove and close.
        self._idle: list[SearchWorker] = []
        self._workers: list[SearchWorker] = []  # the current one of each supervisor; set by start and _restart
        self._supervisors: list[threading.Thread] = []  # set by start
        self._backoff = RestartBackoff()
        self._is_closed = False
        self._closing = threading.Event()  # set by close; wakes supervisors that back off

    def start(self) -> None:
        """Start the workers; calls run in this process until the first one is ready."""
        self._workers = [self._launch(self._fork_server) for _ in range(self._count)]
        for number in range(self._count):
            thread = threading.Thread(target=self._supervise, args=(number,), name="worker supervisor", daemon=True)
            thread.start()
            self._supervisors.append(thread)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._closing.set()
            self._ready.clear()
            for worker in self._idle:
                worker.disconnect()
            self._idle.clear()
            self._changed.notify_all()
        for worker in self._workers:
            worker.stop()
        self._fork_server.close()
        for thread in self._supervisors:
            thread.join()

    @property
    def ready_count(self) -> int:
        return len(self._ready)

    @property
    def ranks(self) -> Ranks | None:
        return self._local.ranks

    @property
    def documents_count(self) -> int:
        return self._local.documents_count

    def search(self, request: SearchRequest) -> Results | None:
        found: Results | None = self._run("search", request)
        return found

    def suggest(self, prefix: str, limit: int) -> list[str]:
        found: list[str] = self._run("suggest", prefix, limit)
        return found

    # Calls.

    def _run(self, name: str, *arguments: Any) -> Any:
        call = (name, arguments)
        worker = self._send(call, self._take)
        if worker is None:
            return getattr(self._local, name)(*arguments)
        reply = self._receive(worker) or self._retry(call)
        if reply is None:
            raise RefusedError("busy", HTTPStatus.SERVICE_UNAVAILABLE)
        value, error = reply
        if error is not None:
            raise error
        return value

    def _retry(self, call: WorkerCall) -> WorkerReply | None:
        """Send the call to a second worker, the last that gets it. Return None if that one ends too."""
        worker = self._send(call, self._take_or_wait)
        reply = self._receive(worker) if worker else None
        if reply is None and not self._is_closed:
            event(_log, "a call ended two workers", logging.WARNING, call=repr(call))
        return reply

    def _send(self, call: WorkerCall, take: Callable[[], SearchWorker | None]) -> SearchWorker | None:
        """Return the worker that got the call. A worker that cannot be reached had ended before."""
        while (worker := take()) is not None:
            try:
                worker.send(call)
            except OSError:
                self._discard(worker)
            else:
                return worker
        return None

    def _receive(self, worker: SearchWorker) -> WorkerReply | None:
        """Return None if the worker has ended instead of replying."""
        try:
            reply = worker.receive()
        except (OSError, EOFError):
            self._discard(worker)
            return None
        except BaseException:
            self._release(worker)
            raise
        self._release(worker)
        return reply

    def _take(self) -> SearchWorker | None:
        """Return an idle worker, or None if none is ready. The one that was used last has the most in its caches."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or not self._ready)
            return self._idle.pop() if self._idle else None

    def _take_or_wait(self) -> SearchWorker | None:
        """Return an idle worker; wait also for one that is yet to be started."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or self._is_closed, self._second_worker_seconds)
            return self._idle.pop() if self._idle else None

    def _release(self, worker: SearchWorker) -> None:
        with self._changed:
            if worker in self._ready:
                self._idle.append(worker)
            else:
                worker.disconnect()
            # One waiting call, so that the others keep their order.
            self._changed.notify()

    def _discard(self, worker: SearchWorker) -> None:
        """Make sure that a worker that cannot be called any more ends; its supervisor replaces it."""
        self._remove(worker)
        worker.disconnect()
        worker.process.kill()

    # Supervision.

    def _supervise(self, number: int) -> None:
        while not self._is_closed:
            worker = self._workers[number]
            was_ready = self._admit(worker)
            worker.process.wait()
            self._remove(worker)
            self._restart(number, was_ready)

    def _admit(self, worker: SearchWorker) -> bool:
        """Wait until the worker is ready. Return False if it ended before."""
        try:
            worker.wait_until_ready()
        except (OSError, EOFError):
            self._discard(worker)
            return False
        with self._changed:
            if not self._is_closed:
                self._ready.add(worker)
                self._backoff.ready()
                event(_log, "search worker ready", count=len(self._ready))
        self._release(worker)
        return True

    def _remove(self, worker: SearchWorker) -> None:
        with self._changed:
            self._ready.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)
                worker.disconnect()
            self._changed.notify_all()

    def _restart(self, number: int, was_ready: bool) -> None:
        with self._changed:
            is_logged = was_ready or self._backoff.failed()
            wait_seconds = self._backoff.wait_seconds(time.monotonic())
            if is_logged and not self._is_closed:
                code = self._workers[number].process.returncode
                event(_log, "search worker ended", logging.WARNING, code=code, left=len(self._ready))
        self._closing.wait(wait_seconds)
        with self._changed:
            if not self._is_closed:
                # A process that cannot be started for lack of memory is tried again after the next back-off.
                with contextlib.suppress(OSError):
                    self._workers[number] = self._launch(self._fork_server)


def workers_count() -> int:
    """Return as many as there are processors, within bounds; two at least, so that a slow search delays no others."""
    return max(_WORKERS_MIN, min(len(os.sched_getaffinity(0)), _WORKERS_MAX))
