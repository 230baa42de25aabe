"""Files that are whole or not there, names that last, folders for one process, and errors of the disk in words."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tarrafa.errors import HeldError, WorkError

# Ends the name of a file that is not whole yet. What bears it after a kill is rubbish.
UNFINISHED = ".unfinished"


@contextlib.contextmanager
def translated(place: Path) -> Iterator[None]:
    """What a disk refuses becomes an error of ours that says where and why."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkError(f"{place}: {reason}; nothing was damaged, go on when there is room and permission") from error


def sync_folder(folder: Path) -> None:
    """Make names in the folder durable, as fsync makes contents."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when it is complete and durable. A failure leaves nothing."""
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        sync_folder(path.parent)
    except BaseException:
        # A disk that refuses to write may refuse to remove too; the first error is the one to tell.
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    for path in folder.glob(f"*{UNFINISHED}"):
        path.unlink()


def is_held(folder: Path) -> bool:
    """Whether a process holds the folder now."""
    try:
        with (folder / "held-by").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


class Hold:
    """One process at a time: the second is refused and told who holds the folder. Ends with the process."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "held-by").open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip() or "another process"
            self._file.close()
            raise HeldError(f"{folder} is in use by {holder}; stop that first, or use another folder") from None
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        self._file.close()


def disk_bytes(folder: Path) -> int:
    """Of everything in it, as far as it is there while one looks."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
