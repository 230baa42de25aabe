"""Searches in worker processes, and thread pools."""

import asyncio
import itertools
import logging
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import row, write
from tarrafa.clock import SystemClock
from tarrafa.errors import InputError
from tarrafa.search import Results, SearchRequest
from tarrafa.serve import LiveSearch, SearchWorkers, workers_count
from tarrafa.serve.fair_queue import FairQueue
from tarrafa.serve.fork_server import ForkedProcess, ForkServer
from tarrafa.serve.params import RefusedError, has_phrase
from tarrafa.serve.worker_process import SearchWorker, WorkerCall, make_fork_server
from tarrafa.serve.workers import RESTART_MAX_SECONDS, RESTART_SECONDS, RestartBackoff, ThreadPool


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("crawl")
    write(root, row("net", "A net of rope"), row("sea", "A net at sea"))
    return root


class Launcher:
    """Starts workers and keeps what it has started. Each of the next `doomed_calls` ends the worker that gets it."""

    def __init__(self) -> None:
        self.started: list[SearchWorker] = []
        self.doomed_calls = threading.Semaphore(0)

    def __call__(self, fork_server: ForkServer) -> SearchWorker:
        worker = MortalWorker(fork_server, self.doomed_calls)
        self.started.append(worker)
        return worker


class MortalWorker(SearchWorker):
    """Is killed after it has received a doomed call, before it replies."""

    def __init__(self, fork_server: ForkServer, doomed_calls: threading.Semaphore) -> None:
        super().__init__(fork_server)
        self.doomed_calls = doomed_calls

    def send(self, call: WorkerCall) -> None:
        if not self.doomed_calls.acquire(blocking=False):
            super().send(call)
            return
        os.kill(self.process.pid, signal.SIGSTOP)
        super().send(call)
        os.kill(self.process.pid, signal.SIGKILL)


class ReadyEvents(logging.Handler):
    """What the log says of workers that are ready: how many."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: SimpleQueue[int] = SimpleQueue()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "search worker ready":
            self.counts.put(vars(record)["fields"]["count"])

    def wait(self, count: int) -> None:
        """Wait until a worker gets ready that makes it so many."""
        while self.counts.get(timeout=120) != count:
            pass


@pytest.fixture
def ready(caplog: pytest.LogCaptureFixture) -> Iterator[ReadyEvents]:
    caplog.set_level(logging.INFO, "tarrafa.serve")
    events = ReadyEvents()
    logging.getLogger("tarrafa.serve").addHandler(events)
    yield events
    logging.getLogger("tarrafa.serve").removeHandler(events)


@pytest.fixture
def launcher() -> Launcher:
    return Launcher()


@pytest.fixture
def workers(folder: Path, launcher: Launcher) -> Iterator[SearchWorkers]:
    with closing(SearchWorkers(folder, LiveSearch(folder, SystemClock()), 2, launcher)) as made:
        yield made


class NoSearch(LiveSearch):
    """Allows no call in the server's own process."""

    def search(self, request: SearchRequest) -> Results | None:
        raise AssertionError(f"this search ran in the server's own process: {request.text}")


def found(workers: SearchWorkers, text: str) -> list[str]:
    results = workers.search(SearchRequest(text, per_site=0))
    assert results is not None
    return [hit.url for hit in results.hits]


def test_calls_run_in_this_process_until_a_worker_is_ready(workers: SearchWorkers) -> None:
    assert found(workers, "sea") == ["http://example.org/sea"]
    assert workers.documents_count == 2


def test_workers_answer_like_a_local_search_and_go_on_when_killed(
    workers: SearchWorkers, launcher: Launcher, ready: ReadyEvents, folder: Path
) -> None:
    workers.start()
    ready.wait(2)
    assert found(workers, "sea") == ["http://example.org/sea"]
    assert workers.suggest("ne", 3) == LiveSearch(folder, SystemClock()).suggest("ne", 3)
    with pytest.raises(InputError, match="takes a year"):
        workers.search(SearchRequest("net", after="soon"))
    for each in launcher.started[:2]:
        os.kill(each.process.pid, signal.SIGKILL)
        each.process.wait()
        for _ in range(4):
            assert len(found(workers, "net")) == 2


def test_worker_that_ended_is_replaced_without_any_call(
    workers: SearchWorkers, launcher: Launcher, ready: ReadyEvents
) -> None:
    workers.start()
    ready.wait(2)
    first, second = launcher.started
    os.kill(first.process.pid, signal.SIGKILL)
    ready.wait(2)
    assert len(launcher.started) == 3
    assert second.process.poll() is None
    assert found(workers, "sea") == ["http://example.org/sea"]


@pytest.mark.parametrize("count", [1, 2])
def test_call_whose_worker_is_killed_is_answered_by_another(
    folder: Path, launcher: Launcher, ready: ReadyEvents, count: int
) -> None:
    """If there is no other, the call waits until a new one is ready."""
    local = NoSearch(folder, SystemClock())
    with closing(SearchWorkers(folder, local, count, launcher, second_worker_seconds=120.0)) as workers:
        workers.start()
        ready.wait(count)
        launcher.doomed_calls.release()
        assert found(workers, "sea") == ["http://example.org/sea"]
        if count == 2:
            ready.wait(2)
        assert len(launcher.started) == count + 1


def test_call_that_ends_two_workers_is_refused_and_the_next_is_answered(
    workers: SearchWorkers, launcher: Launcher, ready: ReadyEvents
) -> None:
    """Such as one that takes all memory."""
    workers.start()
    ready.wait(2)
    launcher.doomed_calls.release(2)
    with pytest.raises(RefusedError) as refused:
        workers.search(SearchRequest("net"))
    assert refused.value.status_code == 503
    assert len(found(workers, "net")) == 2


def test_queued_calls_are_answered_when_a_worker_is_killed(
    workers: SearchWorkers, launcher: Launcher, ready: ReadyEvents
) -> None:
    workers.start()
    ready.wait(2)
    launcher.doomed_calls.release()
    with ThreadPoolExecutor(8) as pool:
        assert [len(each) for each in pool.map(lambda _: found(workers, "net"), range(40))] == [2] * 40


def test_no_worker_is_started_after_close(workers: SearchWorkers, launcher: Launcher, ready: ReadyEvents) -> None:
    workers.start()
    ready.wait(2)
    workers.close()
    assert [each.name for each in threading.enumerate() if each.name == "worker supervisor"] == []
    assert len(launcher.started) == 2
    assert workers.ready_count == 0


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=60))
def test_restarts_have_a_minimum_interval(ends: list[tuple[float, bool]]) -> None:
    """Guarantee 1."""
    backoff, now, starts = RestartBackoff(), 1_000.0, list[float]()
    for seconds, was_ready in ends:
        now += seconds
        if was_ready:
            backoff.ready()
        else:
            backoff.failed()
        starts.append(now + backoff.wait_seconds(now))
    assert not starts or starts[0] == 1_000.0 + ends[0][0]
    assert all(later - earlier >= RESTART_SECONDS - 1e-6 for earlier, later in itertools.pairwise(starts))


def test_backoff_doubles_while_no_worker_is_ready_up_to_a_bound() -> None:
    """Guarantee 2."""
    backoff, waits, told = RestartBackoff(), list[float](), list[bool]()
    for _ in range(8):
        told.append(backoff.failed())
        waits.append(backoff.wait_seconds(0.0))
    gaps = [later - earlier for earlier, later in itertools.pairwise(waits)]
    assert gaps == [6, 12, 24, 48, RESTART_MAX_SECONDS, RESTART_MAX_SECONDS, RESTART_MAX_SECONDS]
    assert told == [True] + [False] * 7
    backoff.ready()
    start = backoff.wait_seconds(10_000.0)
    assert (start, backoff.wait_seconds(10_000.0)) == (0, RESTART_SECONDS)
    assert backoff.failed()


def test_close_ends_all_workers(workers: SearchWorkers, launcher: Launcher) -> None:
    workers.start()
    workers.close()
    assert [each.process.poll() is None for each in launcher.started] == [False, False]


def test_worker_exits_when_its_connection_is_closed(folder: Path) -> None:
    """Such as after a kill -9 of the server."""
    with closing(make_fork_server(folder)) as fork_server:
        worker = SearchWorker(fork_server)
        worker.wait_until_ready()
        worker.disconnect()
        assert worker.process.wait(60) == 0


def test_worker_counts_as_ended_when_its_fork_server_is_killed_and_is_replaced(
    folder: Path, launcher: Launcher, ready: ReadyEvents
) -> None:
    with closing(SearchWorkers(folder, LiveSearch(folder, SystemClock()), 2, launcher)) as workers:
        workers.start()
        ready.wait(2)
        first = launcher.started[0].process
        parent = int(Path(f"/proc/{first.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        first.wait(60)
        ready.wait(2)
        assert found(workers, "sea") == ["http://example.org/sea"]


def test_process_id_is_told_while_another_thread_waits_for_the_end() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = ForkedProcess(ours)
    with theirs, ThreadPoolExecutor(2) as threads:
        ended, told = threads.submit(process.wait, 60), threads.submit(lambda: process.pid)
        theirs.send((4_711).to_bytes(4, "little"))
        assert told.result(60) == 4_711
        theirs.send((3).to_bytes(4, "little"))
        assert ended.result(60) == 3


def test_forked_process_tells_its_exit_code(folder: Path) -> None:
    with closing(make_fork_server(folder)) as fork_server:
        workers = [SearchWorker(fork_server) for _ in range(3)]
        assert len({worker.process.pid for worker in workers}) == 3
        workers[0].process.kill()
        workers[1].process.terminate()
        assert [worker.process.wait(60) for worker in workers[:2]] == [-signal.SIGKILL, -signal.SIGTERM]
        with pytest.raises(subprocess.TimeoutExpired):
            workers[2].process.wait(0.01)
        workers[2].disconnect()
        assert workers[2].process.wait(60) == 0


def test_count_of_workers_is_bounded() -> None:
    assert 2 <= workers_count() <= 4


@pytest.mark.parametrize(("text", "is_phrase"), [("a net", False), ('"a net"', True), ('-"a net" sea', True)])
def test_phrase_is_recognised(text: str, is_phrase: bool) -> None:
    assert has_phrase(SearchRequest(text)) is is_phrase


@pytest.mark.parametrize("length", [0, 2, 9])
def test_reply_that_is_cut_is_an_error_that_callers_expect(length: int) -> None:
    """A worker may be killed while it writes."""
    ours, theirs = socket.socketpair()
    sender, receiver = Connection(ours.detach()), Connection(theirs.detach())
    sender.send(["reply"])
    whole = os.read(receiver.fileno(), 1_000)
    os.write(sender.fileno(), whole[:length])
    sender.close()
    with receiver, pytest.raises((OSError, EOFError)):
        receiver.recv()


async def crowd(clients: Sequence[str], wait_seconds: float) -> tuple[list[int], list[str]]:
    """Call a pool of one thread and two places in its queue, once for each client; none ends until one is refused.

    Return the status of each call, and the clients in the order in which their calls ran.
    """
    pool, may_end, ran = ThreadPool("test", 1, queue_limit=2, wait_seconds=wait_seconds), threading.Event(), list[str]()

    def work(client: str) -> None:
        may_end.wait(30)
        ran.append(client)

    tasks = [asyncio.create_task(pool.run(partial(work, client), client)) for client in clients]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    may_end.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    pool.close()
    return [each.status_code if isinstance(each, RefusedError) else 200 for each in found], ran


def test_full_queue_refuses_the_newest_call_of_the_client_with_most() -> None:
    assert asyncio.run(crowd("aaaab", 60)) == ([200, 200, 429, 429, 200], ["a", "a", "b"])


def test_client_with_one_call_is_told_that_the_server_is_busy() -> None:
    assert asyncio.run(crowd("abcd", 60)) == ([200, 200, 200, 503], ["a", "b", "c"])


def test_call_that_waits_for_too_long_is_refused() -> None:
    assert asyncio.run(crowd("ab", 0.01)) == ([200, 503], ["a"])


def test_cancelled_call_leaves_the_queue() -> None:
    async def cancel() -> list[str]:
        pool, may_end, ran = ThreadPool("test", 1, queue_limit=2, wait_seconds=60), threading.Event(), list[str]()
        tasks: list[asyncio.Task[bool | None]] = [asyncio.create_task(pool.run(lambda: may_end.wait(30), "a"))]
        tasks += [asyncio.create_task(pool.run(partial(ran.append, name), name)) for name in "bc"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait(tasks[1:2])
        may_end.set()
        await asyncio.gather(tasks[0], tasks[2])
        assert await pool.run(lambda: True)
        pool.close()
        return ran

    assert asyncio.run(cancel()) == ["c"]


@given(st.lists(st.one_of(st.sampled_from("abc"), st.none()), max_size=60), st.integers(1, 5))
def test_clients_take_turns(steps: list[str | None], limit: int) -> None:
    """Each step puts an item of a client, or takes one. The queue agrees with lists of what waits."""
    queue: FairQueue[int] = FairQueue(limit)
    waiting: dict[str, list[int]] = {}
    for number, client in enumerate(steps):
        if client is None:
            taken = queue.take()
            first = next(iter(waiting), None)
            assert taken == (waiting[first][0] if first else None)
            if first and (rest := waiting.pop(first)[1:]):
                waiting[first] = rest
        else:
            waiting.setdefault(client, []).append(number)
            refused = queue.put(client, number)
            if sum(map(len, waiting.values())) > limit:
                most = max(map(len, waiting.values()))
                owner = next(each for each, items in waiting.items() if refused in items)
                assert len(waiting[owner]) == most
                assert waiting[owner].pop() == refused
                waiting = {each: items for each, items in waiting.items() if items}
            else:
                assert refused is None
        assert len(queue) == sum(map(len, waiting.values())) <= limit
