"""Questions answered in other processes."""

import itertools
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import row, write
from tarrafa.clock import SystemClock
from tarrafa.errors import InputError
from tarrafa.search import SearchRequest
from tarrafa.serve import Collection, Processes, usual_count
from tarrafa.serve.asking import RefusedError, has_phrase
from tarrafa.serve.pausing import LONGEST_SECONDS, PAUSE_SECONDS, Pauses
from tarrafa.serve.processes import _Asked


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("crawl")
    write(root, row("net", "A net of rope"), row("sea", "A net at sea"))
    return root


@pytest.fixture
def processes(folder: Path) -> Iterator[Processes]:
    made = Processes(folder, Collection(folder, SystemClock()), 2)
    yield made
    made.close()


def wait_until_ready(processes: Processes, count: int) -> None:
    with processes._changed:
        assert processes._changed.wait_for(lambda: processes.ready_count == count, timeout=120)


def wait_until_replaced(processes: Processes, ended: _Asked) -> None:
    with processes._changed:
        assert processes._changed.wait_for(
            lambda: processes.ready_count == 2 and ended not in processes._ready, timeout=120
        )


def found(processes: Processes, text: str) -> list[str]:
    results = processes.search(SearchRequest(text, per_site=0))
    assert results is not None
    return [hit.url for hit in results.hits]


def test_before_any_is_ready_questions_are_answered_here(processes: Processes) -> None:
    assert found(processes, "sea") == ["http://example.org/sea"]
    assert processes.documents_count == 2


def test_processes_answer_as_the_collection_does_and_go_on_when_killed(processes: Processes) -> None:
    processes.begin()
    wait_until_ready(processes, 2)
    assert found(processes, "sea") == ["http://example.org/sea"]
    assert processes.suggest("ne", 3) == processes._collection.suggest("ne", 3)
    with pytest.raises(InputError, match="takes a year"):
        processes.search(SearchRequest("net", after="soon"))
    first, second = processes._started
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    for _ in range(4):
        assert len(found(processes, "net")) == 2
    os.kill(second.process.pid, signal.SIGKILL)
    second.process.wait()
    for _ in range(4):
        assert len(found(processes, "net")) == 2


def test_process_that_ended_is_replaced_though_nobody_asks(processes: Processes) -> None:
    processes.begin()
    wait_until_ready(processes, 2)
    first, second = processes._started
    os.kill(first.process.pid, signal.SIGKILL)
    wait_until_replaced(processes, first)
    assert first not in processes._started
    assert second in processes._started
    assert found(processes, "sea") == ["http://example.org/sea"]


def killed_when_told(asked: _Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hears the question and ends before it has answered."""
    os.kill(asked.process.pid, signal.SIGSTOP)
    tell = asked.tell

    def tell_and_kill(question: tuple[str, tuple[object, ...]]) -> None:
        tell(question)
        os.kill(asked.process.pid, signal.SIGKILL)

    monkeypatch.setattr(asked, "tell", tell_and_kill)


def test_question_whose_process_is_killed_is_answered_by_another(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.begin()
    wait_until_ready(processes, 2)
    monkeypatch.setattr(processes, "_collection", None)  # it would be asked here otherwise
    killed = processes._idle[-1]
    killed_when_told(killed, monkeypatch)
    assert found(processes, "sea") == ["http://example.org/sea"]
    wait_until_replaced(processes, killed)


def test_question_waits_for_a_new_process_if_no_other_is_left(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes._count = 1
    processes.begin()
    wait_until_ready(processes, 1)
    monkeypatch.setattr(processes, "_collection", None)
    monkeypatch.setattr("tarrafa.serve.processes._PATIENCE_SECONDS", 120.0)
    killed_when_told(processes._idle[-1], monkeypatch)
    assert found(processes, "sea") == ["http://example.org/sea"]


def test_question_that_ends_two_processes_is_refused_and_the_next_is_answered(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does that takes all memory."""
    processes.begin()
    wait_until_ready(processes, 2)
    for each in processes._started:
        killed_when_told(each, monkeypatch)
    with pytest.raises(RefusedError) as refused:
        processes.search(SearchRequest("net"))
    assert refused.value.status == 503
    assert len(found(processes, "net")) == 2


def test_questions_that_wait_are_answered_when_a_process_is_killed(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.begin()
    wait_until_ready(processes, 2)
    killed_when_told(processes._idle[-1], monkeypatch)
    with ThreadPoolExecutor(8) as pool:
        assert [len(each) for each in pool.map(lambda _: found(processes, "net"), range(40))] == [2] * 40


def test_nothing_is_started_after_the_end(processes: Processes) -> None:
    processes.begin()
    wait_until_ready(processes, 2)
    started = list(processes._started)
    processes.close()
    for keeper in [each for each in threading.enumerate() if each.name == "keeper of a process"]:
        keeper.join(60)
    assert processes._started == started
    assert processes.ready_count == 0


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=60))
def test_processes_are_replaced_with_pauses_between(ends: list[tuple[float, bool]]) -> None:
    """Guarantee 1."""
    pauses, now, starts = Pauses(), 1_000.0, list[float]()
    for seconds, was_ready in ends:
        now += seconds
        if was_ready:
            pauses.ready()
        else:
            pauses.failed()
        starts.append(now + pauses.wait_seconds(now))
    assert not starts or starts[0] == 1_000.0 + ends[0][0]
    assert all(later - earlier >= PAUSE_SECONDS - 1e-6 for earlier, later in itertools.pairwise(starts))


def test_pauses_grow_while_none_is_ready_up_to_a_bound() -> None:
    """Guarantee 2."""
    pauses, waits, told = Pauses(), list[float](), list[bool]()
    for _ in range(8):
        told.append(pauses.failed())
        waits.append(pauses.wait_seconds(0.0))
    gaps = [later - earlier for earlier, later in itertools.pairwise(waits)]
    assert gaps == [6, 12, 24, 48, LONGEST_SECONDS, LONGEST_SECONDS, LONGEST_SECONDS]
    assert told == [True] + [False] * 7
    pauses.ready()
    start = pauses.wait_seconds(10_000.0)
    assert (start, pauses.wait_seconds(10_000.0)) == (0, PAUSE_SECONDS)
    assert pauses.failed()


def test_none_is_left_when_it_ends(processes: Processes) -> None:
    processes.begin()
    processes.close()
    assert [each.process.poll() is None for each in processes._started] == [False, False]


def test_process_ends_when_nobody_holds_the_other_end(processes: Processes) -> None:
    """As after a kill -9 of the server."""
    processes.begin()
    wait_until_ready(processes, 2)
    for each in processes._started:
        each._connection.close()
        assert each.process.wait(60) == 0


def test_count_of_processes_is_bounded() -> None:
    assert 2 <= usual_count() <= 8


@pytest.mark.parametrize(("text", "is_phrase"), [("a net", False), ('"a net"', True), ('-"a net" sea', True)])
def test_phrase_is_seen(text: str, is_phrase: bool) -> None:
    assert has_phrase(SearchRequest(text)) is is_phrase
