"""Kill it at any moment: what was committed is there, what was not has not happened, and replay ends the same."""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash_child import BATCHES, BOUNDS, SEED, offer
from tarrafa.verify import Known, Veuniq

MOMENTS = 200
STEPS = [
    "spill written",
    "files written",
    "folders synced",
    "manifest written",
    "manifest renamed",
    "old files removed",
]
MEMORY = Path("/dev/shm")

Snapshot = tuple[int, int, frozenset[Known]]


class Killer:
    """Asks the forking process to work in a folder and to die."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("crash_child.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, folder: Path, kind: str, number: int, name: str = "") -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{folder}\t{kind}\t{number}\t{name}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def end(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    killer = Killer()
    yield killer
    killer.end()


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a kill does not lose what the system has taken, and syncs cost nothing."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as path:
        yield Path(path)


def snapshot(repository: Veuniq) -> Snapshot:
    return repository.last_batch, repository.counts().waiting, frozenset(repository.urls())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Snapshot]:
    """Return what is known before the first batch, after each, and at the end."""
    repository = Veuniq(tmp_path_factory.mktemp("undisturbed"), bounds=BOUNDS, seed=SEED)
    states = [snapshot(repository)]
    for batch in BATCHES:
        repository.cycle(batch)
        states.append(snapshot(repository))
    offer(repository, [])
    states.append(snapshot(repository))
    assert repository.counts().blocks > 2
    repository.close()
    return states


def check_recovery(folder: Path, undisturbed: list[Snapshot]) -> None:
    repository = Veuniq(folder, bounds=BOUNDS, seed=SEED)
    assert list(repository.problems()) == []
    if repository.last_batch < len(BATCHES) - 1:
        assert snapshot(repository) == undisturbed[repository.last_batch + 1]
    offer(repository, BATCHES)
    assert snapshot(repository)[1:] == undisturbed[-1][1:]
    assert list(repository.problems()) == []
    repository.close()


@pytest.mark.parametrize("time", [1, 3])
@pytest.mark.parametrize("name", STEPS)
def test_kill_at_each_step_of_a_commit(
    name: str, time: int, folder: Path, killer: Killer, undisturbed: list[Snapshot]
) -> None:
    assert killer.ask(folder, "step", time, name) == "killed"
    check_recovery(folder, undisturbed)


def test_kill_at_random_moments(folder: Path, killer: Killer, undisturbed: list[Snapshot]) -> None:
    calls = int(killer.ask(folder / "counted", "count", 0))
    chance = random.Random(3)
    for moment in range(MOMENTS):
        place = folder / str(moment)
        assert killer.ask(place, "call", chance.randrange(1, calls * 9 // 10)) == "killed"
        check_recovery(place, undisturbed)
