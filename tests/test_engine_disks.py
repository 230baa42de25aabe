"""A full or read-only disk: a clear error, nothing damaged, and the engine continues when it is repaired."""

import os
import resource
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from repositories import HOSTS, ON_DISK, OPENERS, Model, contents, drained, made_batch, new_folder
from tarrafa.errors import WorkError

NOBODY = 65534
COUNT = 3


def given(name: str, folder: Path) -> None:
    with closing(OPENERS[name](folder)) as repository:
        for number in range(COUNT):
            repository.cycle(made_batch(1, number))


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_all(name: str, folder: Path, count: int) -> None:
    """Check that everything is there after the batches were offered again."""
    model = Model()
    with closing(OPENERS[name](folder)) as repository:
        for number in range(count):
            model.cycle(made_batch(1, number))
            repository.cycle(made_batch(1, number))
        drained(repository, count)
        assert contents(repository, HOSTS) == model.known
        assert repository.counts().known == len(model.known)


@contextmanager
def plain_user(folder: Path) -> Iterator[None]:
    """Permissions do not apply to root, so root becomes the user `nobody`, who is given the folder."""
    is_super = os.geteuid() == 0
    if is_super:
        for path in (folder.parent, folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_super:
            os.seteuid(0)


@contextmanager
def read_only(paths: Iterable[Path]) -> Iterator[None]:
    modes = {path: path.stat().st_mode for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def told(folder: Path) -> AbstractContextManager[object]:
    return pytest.raises(WorkError, match=f"{folder}.*nothing was damaged")


@pytest.mark.parametrize("name", ON_DISK)
def test_a_folder_that_may_not_be_written_to_is_told_and_nothing_is_damaged(name: str) -> None:
    with new_folder() as folder:
        given(name, folder)
        before = contents_of(folder)
        with plain_user(folder):
            with read_only([folder, *folder.rglob("*")]), told(folder):
                OPENERS[name](folder)
            assert contents_of(folder) == before
            check_all(name, folder, COUNT + 1)


@pytest.mark.parametrize("name", ["sqlite", "lmdb", "mercator-a", "rocksdb"])
def test_a_database_that_may_not_be_written_to_is_told_and_nothing_is_damaged(name: str) -> None:
    with new_folder() as folder:
        given(name, folder)
        with plain_user(folder):
            inside = [path for path in folder.rglob("*") if path.name != "held-by"]
            with read_only(inside), told(folder), closing(OPENERS[name](folder)) as repository:
                repository.cycle(made_batch(1, COUNT))
            check_all(name, folder, COUNT + 1)


# Engines that keep files open do not notice that they could not open them again.
OPENS_FILES = [name for name in ON_DISK if name.partition(" ")[0] not in ("sqlite", "lmdb", "mercator-a", "rocksdb")]


@pytest.mark.parametrize("name", OPENS_FILES)
def test_a_folder_that_becomes_read_only_is_told_and_the_same_process_goes_on_when_it_may(name: str) -> None:
    with new_folder() as folder:
        given(name, folder)
        with plain_user(folder):
            with closing(OPENERS[name](folder)) as repository:
                before = contents(repository, HOSTS)
                with read_only([folder, *folder.rglob("*")]), told(folder):
                    repository.cycle(made_batch(1, COUNT))
                assert contents(repository, HOSTS) == before
                repository.cycle(made_batch(1, COUNT))
            check_all(name, folder, COUNT + 1)


@contextmanager
def full_disk(size_bytes: int) -> Iterator[None]:
    """A limit on file sizes stands in for a full disk: the system refuses the write in the same way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size_bytes", [0, 400, 2000])
@pytest.mark.parametrize("name", ON_DISK)
def test_a_full_disk_is_told_and_the_same_process_goes_on_when_there_is_room(name: str, size_bytes: int) -> None:
    """Some engines fit in such small files, and then report no error."""
    with new_folder() as folder:
        given(name, folder)
        with closing(OPENERS[name](folder)) as repository:
            before, failed = contents(repository, HOSTS), False
            with full_disk(size_bytes):
                try:
                    repository.cycle(made_batch(1, COUNT))
                except WorkError as error:
                    failed = "nothing was damaged" in str(error) and str(folder) in str(error)
            assert failed or size_bytes
            assert not failed or contents(repository, HOSTS) == before
            repository.cycle(made_batch(1, COUNT))
        check_all(name, folder, COUNT + 1)
