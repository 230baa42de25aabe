"""Questions answered in other processes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexes import row, write
from tarrafa.clock import SystemClock
from tarrafa.errors import InputError
from tarrafa.search import Request
from tarrafa.serve import Collection, Processes, usual_count
from tarrafa.serve.asking import has_phrase


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


def found(processes: Processes, text: str) -> list[str]:
    results = processes.search(Request(text, per_site=0))
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
        processes.search(Request("net", after="soon"))
    first, second = processes._started
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    for _ in range(4):
        assert len(found(processes, "net")) == 2
    os.kill(second.process.pid, signal.SIGKILL)
    second.process.wait()
    for _ in range(4):
        assert len(found(processes, "net")) == 2


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
    assert has_phrase(Request(text)) is is_phrase
