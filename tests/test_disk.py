"""Files are replaced whole, folders are locked by one process, and disk errors say what to do."""

import errno
import os
import re
import threading
from pathlib import Path

import pytest

import tarrafa
from tarrafa.disk import (
    UNFINISHED,
    FolderLock,
    atomic_file,
    disk_bytes,
    is_locked,
    make_folder,
    map_disk_errors,
    output_file,
    remove_unfinished,
    replace_file,
)
from tarrafa.errors import LockedError, WorkError


@pytest.mark.parametrize("sync", [True, False])
def test_file_is_replaced_whole(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    for data in (b"first", b"second and longer", b""):
        replace_file(path, data, sync=sync)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_reader_sees_the_old_contents_until_the_new_are_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    with atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def _write_half(path: Path) -> None:
    with atomic_file(path) as file:
        file.write(b"half of the n")
        raise ZeroDivisionError


def test_failure_leaves_the_old_contents_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    with pytest.raises(ZeroDivisionError):
        _write_half(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """So is any device: an administrator who exports to /dev/null must find it again."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR)  # which never waits for a writer
    with output_file(path) as file:
        file.write(b"data")
    assert os.read(reader, 100) == b"data"
    os.close(reader)
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


def test_output_through_a_link_replaces_what_it_leads_to(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    link.symlink_to(path)
    with output_file(link) as file:
        file.write(b"new")
        file.flush()
        assert link.read_bytes() == b"old"
    assert (link.is_symlink(), path.read_bytes()) == (True, b"new")


@pytest.mark.parametrize(("sync", "expected"), [(True, 2), (False, 0)])
def test_contents_and_name_are_synced_if_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool, expected: int
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    replace_file(tmp_path / "file", b"data", sync=sync)
    assert len(synced) == expected


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    kept, left = tmp_path / "file", tmp_path / f"file{UNFINISHED}"
    kept.write_bytes(b"whole")
    left.write_bytes(b"ha")
    remove_unfinished(tmp_path)
    assert list(tmp_path.iterdir()) == [kept]


def test_folder_is_locked_by_one_until_it_is_released(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    lock = FolderLock(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(LockedError, match=f"in use by process {os.getpid()}"):
        FolderLock(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)
    FolderLock(tmp_path).release()


def test_asking_who_has_a_folder_never_keeps_a_process_from_locking_it(tmp_path: Path) -> None:
    """Two readers ask for the state of a crawl again and again while it starts."""
    FolderLock(tmp_path).release()
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            is_locked(tmp_path)

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(2_000):
            FolderLock(tmp_path).release()
    finally:
        is_over.set()
        for reader in readers:
            reader.join()


def test_lock_stays_when_its_process_asks_for_it(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(LockedError):
        FolderLock(tmp_path)
    lock.release()


def test_new_folders_have_durable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("tarrafa.disk.sync_folder", synced.append)
    make_folder(tmp_path / "one" / "two")
    make_folder(tmp_path / "one" / "two")
    assert sorted(synced) == [tmp_path, tmp_path / "one"]


def test_only_one_module_renames_files() -> None:
    """A rename is durable when the folder is synced, too."""
    source = Path(tarrafa.__file__).parent
    renames = re.compile(r"\.rename\(|os\.(replace|rename)\(|\.replace\(([a-z_.]*path|target)\)")
    found = {str(path.relative_to(source)) for path in source.rglob("*.py") if renames.search(path.read_text())}
    # Temporary files of a sort are not kept, and an engine of the laboratory syncs many folders at once.
    assert found == {"disk.py", "keep/cdxj.py", "lab/engines/host_files.py"}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "nothing was damaged, go on when there is room$"),
        (errno.EROFS, "nothing was damaged, go on with permission, or in another folder$"),
        (errno.EFBIG, "nothing was damaged, .*ulimit -f"),
        (errno.EMFILE, "nothing was damaged, .*ulimit -n"),
        (errno.EIO, "the disk fails"),
        (errno.ESTALE, "the disk fails"),
        (errno.EISDIR, "Is a directory$"),
    ],
)
def test_disk_error_claims_only_what_is_known(tmp_path: Path, number: int, words: str) -> None:
    path = tmp_path / "file"
    with pytest.raises(WorkError, match=f"^{path}: .*{words}") as raised, map_disk_errors(tmp_path):
        raise OSError(number, os.strerror(number), str(path))
    assert ("nothing was damaged" in str(raised.value)) == words.startswith("nothing was damaged")


def test_disk_error_says_where_and_why(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "file"
    with pytest.raises(WorkError, match=r"missing.*No such file or directory"), map_disk_errors(path):
        replace_file(path, b"data")


def test_size_of_a_folder_is_that_of_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "one").write_bytes(b"123")
    (tmp_path / "inner" / "two").write_bytes(b"4567")
    assert disk_bytes(tmp_path) == 7
    assert disk_bytes(tmp_path / "missing") == 0
