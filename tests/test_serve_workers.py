"""Searches in worker processes, and thread pools."""

import asyncio
import itertools
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import row, write
from tarrafa.clock import SystemClock
from tarrafa.errors import InputError
from tarrafa.search import SearchRequest
from tarrafa.serve import LiveSearch, SearchWorkers, workers_count
from tarrafa.serve.params import RefusedError, has_phrase
from tarrafa.serve.workers import RESTART_MAX_SECONDS, RESTART_SECONDS, RestartBackoff, ThreadPool, _Worker


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("crawl")
    write(root, row("net", "A net of rope"), row("sea", "A net at sea"))
    return root


@pytest.fixture
def workers(folder: Path) -> Iterator[SearchWorkers]:
    made = SearchWorkers(folder, LiveSearch(folder, SystemClock()), 2)
    yield made
    made.close()


def wait_until_ready(workers: SearchWorkers, count: int) -> None:
    with workers._changed:
        assert workers._changed.wait_for(lambda: workers.ready_count == count, timeout=120)


def wait_until_replaced(workers: SearchWorkers, ended: _Worker) -> None:
    with workers._changed:
        assert workers._changed.wait_for(lambda: workers.ready_count == 2 and ended not in workers._ready, timeout=120)


def found(workers: SearchWorkers, text: str) -> list[str]:
    results = workers.search(SearchRequest(text, per_site=0))
    assert results is not None
    return [hit.url for hit in results.hits]


def test_calls_run_in_this_process_until_a_worker_is_ready(workers: SearchWorkers) -> None:
    assert found(workers, "sea") == ["http://example.org/sea"]
    assert workers.documents_count == 2


def test_workers_answer_like_a_local_search_and_go_on_when_killed(workers: SearchWorkers) -> None:
    workers.start()
    wait_until_ready(workers, 2)
    assert found(workers, "sea") == ["http://example.org/sea"]
    assert workers.suggest("ne", 3) == workers._local.suggest("ne", 3)
    with pytest.raises(InputError, match="takes a year"):
        workers.search(SearchRequest("net", after="soon"))
    first, second = workers._workers
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    for _ in range(4):
        assert len(found(workers, "net")) == 2
    os.kill(second.process.pid, signal.SIGKILL)
    second.process.wait()
    for _ in range(4):
        assert len(found(workers, "net")) == 2


def test_worker_that_ended_is_replaced_without_any_call(workers: SearchWorkers) -> None:
    workers.start()
    wait_until_ready(workers, 2)
    first, second = workers._workers
    os.kill(first.process.pid, signal.SIGKILL)
    wait_until_replaced(workers, first)
    assert first not in workers._workers
    assert second in workers._workers
    assert found(workers, "sea") == ["http://example.org/sea"]


def killed_when_called(worker: _Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker be killed after it has received a call and before it replies."""
    os.kill(worker.process.pid, signal.SIGSTOP)
    send = worker.send

    def send_and_kill(call: tuple[str, tuple[object, ...]]) -> None:
        send(call)
        os.kill(worker.process.pid, signal.SIGKILL)

    monkeypatch.setattr(worker, "send", send_and_kill)


def test_call_whose_worker_is_killed_is_answered_by_another(
    workers: SearchWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.start()
    wait_until_ready(workers, 2)
    monkeypatch.setattr(workers, "_local", None)  # a call would run there otherwise
    killed = workers._idle[-1]
    killed_when_called(killed, monkeypatch)
    assert found(workers, "sea") == ["http://example.org/sea"]
    wait_until_replaced(workers, killed)


def test_call_waits_for_a_new_worker_if_no_other_is_left(
    workers: SearchWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers._count = 1
    workers.start()
    wait_until_ready(workers, 1)
    monkeypatch.setattr(workers, "_local", None)
    monkeypatch.setattr("tarrafa.serve.workers._SECOND_WORKER_SECONDS", 120.0)
    killed_when_called(workers._idle[-1], monkeypatch)
    assert found(workers, "sea") == ["http://example.org/sea"]


def test_call_that_ends_two_workers_is_refused_and_the_next_is_answered(
    workers: SearchWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that takes all memory."""
    workers.start()
    wait_until_ready(workers, 2)
    for each in workers._workers:
        killed_when_called(each, monkeypatch)
    with pytest.raises(RefusedError) as refused:
        workers.search(SearchRequest("net"))
    assert refused.value.status_code == 503
    assert len(found(workers, "net")) == 2


def test_queued_calls_are_answered_when_a_worker_is_killed(
    workers: SearchWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.start()
    wait_until_ready(workers, 2)
    killed_when_called(workers._idle[-1], monkeypatch)
    with ThreadPoolExecutor(8) as pool:
        assert [len(each) for each in pool.map(lambda _: found(workers, "net"), range(40))] == [2] * 40


def test_no_worker_is_started_after_close(workers: SearchWorkers) -> None:
    workers.start()
    wait_until_ready(workers, 2)
    started = list(workers._workers)
    workers.close()
    for supervisor in [each for each in threading.enumerate() if each.name == "worker supervisor"]:
        supervisor.join(60)
    assert workers._workers == started
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


def test_close_ends_all_workers(workers: SearchWorkers) -> None:
    workers.start()
    workers.close()
    assert [each.process.poll() is None for each in workers._workers] == [False, False]


def test_worker_exits_when_its_connection_is_closed(workers: SearchWorkers) -> None:
    """Such as after a kill -9 of the server."""
    workers.start()
    wait_until_ready(workers, 2)
    for each in workers._workers:
        each._connection.close()
        assert each.process.wait(60) == 0


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
