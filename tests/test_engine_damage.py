"""Truncated, changed or lost files of the engines are named in an error, and never believed."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path

import pytest

from repositories import HOSTS, OPENERS, Model, contents, drained, made_batch, new_folder
from tarrafa.errors import DamagedError

OF_FILES = ["central", "files", "veuniq-text of three blocks", "drum", "drum of small arrays", "mercator-b"]
OF_PAIRS = ["memory", "sqlite", "lmdb", "mercator-a", "rocksdb"]
COUNT = 4
FLIPS = 6


@pytest.fixture
def folder() -> Iterator[Path]:
    with new_folder() as folder:
        yield folder


def given(count: int = COUNT) -> Model:
    model = Model()
    for number in range(count):
        model.cycle(made_batch(1, number))
    return model


def fill(name: str, folder: Path) -> None:
    with closing(OPENERS[name](folder)) as repository:
        for number in range(COUNT):
            repository.cycle(made_batch(1, number))


def read_all(name: str, folder: Path) -> None:
    """Look up everything and verify every block; all answers must be true."""
    with closing(OPENERS[name](folder)) as repository:
        told = contents(repository, HOSTS)
        if not repository.counts().waiting:
            assert told == given().known
        repository.cycle(made_batch(1, COUNT))
        drained(repository, COUNT + 1)
        assert contents(repository, HOSTS) == given(COUNT + 1).known


def error_of(name: str, folder: Path) -> str:
    try:
        read_all(name, folder)
    except DamagedError as error:
        return str(error)
    return ""


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "held-by")


def cut(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.truncate(chance.randrange(path.stat().st_size))


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def lose(path: Path, _chance: random.Random) -> None:
    path.unlink()


Damage = Callable[[Path, random.Random], None]
DAMAGES: list[Damage] = [cut, cut, *[flip] * FLIPS, lose]


@contextmanager
def damaged(path: Path, damage: Damage, chance: random.Random) -> Iterator[tuple[Path, Path]]:
    """Yield a copy of the folder `sound` in which one file is damaged, and that file."""
    sound = next(folder for folder in path.parents if folder.name == "sound")
    folder = sound.with_name("damaged")
    shutil.copytree(sound, folder)
    file = folder / path.relative_to(sound)
    damage(file, chance)
    try:
        yield folder, file
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", OF_FILES)
def test_a_damaged_file_is_named_and_never_taken_for_true(name: str, folder: Path) -> None:
    fill(name, folder / "sound")
    chance, sound = random.Random(name), files_of(folder / "sound")
    assert len(sound) > 1
    for path, damage in product(sound, DAMAGES):
        with damaged(path, damage, chance) as (place, file), pytest.raises(DamagedError, match=file.name):
            read_all(name, place)


@pytest.mark.parametrize("name", OF_FILES)
def test_what_is_left_is_not_swept_away_when_the_manifest_is_lost(name: str, folder: Path) -> None:
    fill(name, folder)
    (folder / "manifest.json").unlink()
    left = files_of(folder)
    with pytest.raises(DamagedError, match=r"manifest\.json is missing"):
        OPENERS[name](folder)
    assert files_of(folder) == left


@pytest.mark.parametrize("name", ["central", "drum", "mercator-b"])
def test_a_cycle_over_a_changed_file_commits_nothing(name: str, folder: Path) -> None:
    fill(name, folder)
    chance, central = random.Random(name), next(folder.glob("central*"))
    before, sound = (folder / "manifest.json").read_bytes(), central.read_bytes()
    for number in range(FLIPS):
        flip(central, chance)
        with closing(OPENERS[name](folder)) as repository, pytest.raises(DamagedError, match=central.name):
            repository.cycle(made_batch(2, COUNT + number))
        assert (folder / "manifest.json").read_bytes() == before
        central.write_bytes(sound)
    read_all(name, folder)


def test_files_of_a_host_that_was_cut_at_its_end_is_named(folder: Path) -> None:
    fill("files", folder)
    path = next((folder / "hosts").rglob("*/*/*"))
    path.write_bytes(b"")
    with pytest.raises(DamagedError, match=path.name):
        read_all("files", folder)


# LMDB and SQLite have no checksums, so they cannot detect a changed byte.
WITH_SUMS = ["memory", "rocksdb"]
CASES = [*((name, [cut, lose]) for name in OF_PAIRS), *((name, [flip] * FLIPS) for name in WITH_SUMS)]


@pytest.mark.parametrize(("name", "damages"), CASES)
def test_damaged_pairs_are_named_and_never_taken_for_true(name: str, damages: list[Damage], folder: Path) -> None:
    """Only some files of a database hold data; without the others nothing is lost."""
    fill(name, folder / "sound")
    chance, named = random.Random(name), 0
    sound = [path for path in files_of(folder / "sound") if path.stat().st_size and path.name != "LOG"]
    for path, damage in product(sound, damages):
        with damaged(path, damage, chance) as (place, file):
            told = error_of(name, place)
        assert not told or file.relative_to(place).parts[0] in told
        named += told != ""
    assert named >= len(damages)


def test_a_log_of_a_database_that_was_cut_before_it_was_merged_is_noticed(folder: Path) -> None:
    """RocksDB alone would take the log for one whose last write was interrupted."""
    with closing(OPENERS["rocksdb"](folder / "open")) as repository:
        for number in range(COUNT):
            repository.cycle(made_batch(1, number))
        shutil.copytree(folder / "open", folder / "killed")
    log = max((folder / "killed").rglob("*.log"), key=lambda path: path.stat().st_size)
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 1)
    with pytest.raises(DamagedError, match="runs ends with cycle 3, not 4"):
        OPENERS["rocksdb"](folder / "killed")


@pytest.mark.parametrize("note", [None, b"", b"rubbish" * 10])
def test_a_note_that_is_not_whole_says_nothing(note: bytes | None, folder: Path) -> None:
    fill("sqlite", folder)
    path = folder / "last-commit"
    path.unlink() if note is None else path.write_bytes(note)
    read_all("sqlite", folder)
