"""Searches in worker processes, and thread pools."""

import asyncio
import itertools
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
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
from tarrafa.serve.params import RefusedError, has_phrase
from tarrafa.serve.worker_process import SearchWorker, WorkerCall
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

    def __call__(self, root: Path) -> SearchWorker:
        worker = MortalWorker(root, self.doomed_calls)
        self.started.append(worker)
        return worker


class MortalWorker(SearchWorker):
    """Is killed after it has received a doomed call, before it replies."""

    def __init__(self, root: Path, doomed_calls: threading.Semaphore) -> None:
        super().__init__(root)
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
    worker = SearchWorker(folder)
    worker.wait_until_ready()
    worker.disconnect()
    assert worker.process.wait(60) == 0


def test_count_of_workers_is_bounded() -> None:
    assert 2 <= workers_count() <= 8


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


def test_thread_pool_refuses_when_its_queue_is_full() -> None:
    async def crowd() -> list[object]:
        pool, may_end = ThreadPool("test", threads=1, queue_limit=2), threading.Event()
        tasks = [asyncio.create_task(pool.run(lambda: may_end.wait(30))) for _ in range(5)]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 2
        may_end.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        pool.close()
        return list(found)

    found = asyncio.run(crowd())
    assert found[:3] == [True] * 3
    assert [each.status_code for each in found[3:] if isinstance(each, RefusedError)] == [503, 503]
