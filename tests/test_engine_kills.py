"""Kill an engine at any moment: its state is that after the last committed batch, and a replay ends the same."""

import random
import signal
from contextlib import closing
from pathlib import Path

import pytest

from kill_child import BATCHES, SEED, Child, count_calls, work, work_until
from repositories import HOSTS, OPENERS, contents, drained, made_batch, new_folder
from tarrafa.verify import Known, RepositoryCounts, UniquenessEngine

KILLS_AT_A_CALL, KILLS_AT_ANY_TIME = 8, 7
# Production's engine has its own kill test. The blocks of veuniq-text follow from a secret, unless there are three; and
# an array of drum that is never full never reaches the disk.
ENGINES = [
    *("memory", "veuniq-text of three blocks", "drum of small arrays", "central", "files", "sqlite", "lmdb", "rocksdb"),
    *("mercator-a of a small cache", "mercator-b"),
]

State = tuple[dict[str, Known], RepositoryCounts]


def state(repository: UniquenessEngine) -> State:
    return contents(repository, HOSTS), repository.counts()._replace(disk_bytes=0)


def undisturbed(name: str, folder: Path) -> list[State]:
    """Return the states before the first batch, after each, and when nothing waits."""
    with closing(OPENERS[name](folder)) as repository:
        states = [state(repository)]
        for number in range(BATCHES):
            repository.cycle(made_batch(SEED, number))
            states.append(state(repository))
        drained(repository, BATCHES)
        states.append(state(repository))
    return states


def check_recovery(name: str, folder: Path, told: int, states: list[State]) -> None:
    """Check that the state is that after the last reported batch, or the next."""
    with closing(OPENERS[name](folder)) as repository:
        assert state(repository) in states[told : told + 2]
        for number in range(BATCHES):
            repository.cycle(made_batch(SEED, number))
        drained(repository, BATCHES)
        assert state(repository) == states[-1]


def killed_at_a_call(name: str, folder: Path, call: int) -> int:
    """Return the number of reported batches."""
    told, code = Child(work_until, name, folder, call).end()
    assert code == -signal.SIGKILL
    return len(told)


def killed_at_any_time(name: str, folder: Path, chance: random.Random) -> int:
    """Kill after some batches and a random amount of work."""
    child = Child(work, name, folder)
    told = [child.told.recv() for _ in range(chance.randrange(BATCHES - 1))]
    sum(range(chance.randrange(200_000)))
    child.kill()
    return len(told) + len(child.end()[0])


@pytest.mark.parametrize("name", ENGINES)
def test_5_nothing_that_was_committed_is_lost_by_a_kill(name: str) -> None:
    """A kill at a call interrupts Python code; a kill at any time may interrupt a database's own code."""
    chance = random.Random(name)
    with new_folder() as folder:
        states = undisturbed(name, folder / "undisturbed")
        calls = Child(count_calls, name, folder / "counted").end()[0][-1]
        for kill in range(KILLS_AT_A_CALL):
            told = killed_at_a_call(name, folder / f"call{kill}", chance.randrange(1, calls))
            check_recovery(name, folder / f"call{kill}", told, states)
        for kill in range(KILLS_AT_ANY_TIME):
            told = killed_at_any_time(name, folder / f"time{kill}", chance)
            check_recovery(name, folder / f"time{kill}", told, states)
