"""Files replaced atomically, durable names, folders locked by one process, and disk errors with a clear message."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tarrafa.errors import LockedError, WorkError

# Ends the name of a file that is not complete yet. After a kill, such files are garbage.
UNFINISHED = ".unfinished"
LOCK_FILE = "held-by"


@contextlib.contextmanager
def map_disk_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `WorkError` that names the path and the reason."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkError(f"{path}: {reason}; nothing was damaged, go on when there is room and permission") from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, as fsync does for the contents of a file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def atomic_file(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends, and leaves `path` alone if it raises.

    A reader sees the old contents or the new, never a part. With `sync` the new contents are durable as well.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        unfinished.replace(path)
        if sync:
            sync_folder(path.parent)
    except BaseException:
        # A disk that refuses to write may refuse to remove as well; report the first error.
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def replace_file(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write `data` to `path` atomically: see `atomic_file`."""
    with atomic_file(path, sync=sync) as file:
        file.write(data)


def remove_unfinished(folder: Path) -> None:
    """Remove the files that a killed process left incomplete."""
    for path in folder.glob(f"*{UNFINISHED}"):
        path.unlink()


def is_locked(folder: Path) -> bool:
    """Return True if a process has locked the folder."""
    try:
        with (folder / LOCK_FILE).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


class FolderLock:
    """Lock a folder for one process. A second process is refused and told which one has it; ends with the process."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / LOCK_FILE).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip() or "another process"
            self._file.close()
            raise LockedError(f"{folder} is in use by {holder}; stop that first, or use another folder") from None
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        self._file.close()


def disk_bytes(folder: Path) -> int:
    """Return the size of all files in a folder; files that vanish meanwhile count nothing."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
