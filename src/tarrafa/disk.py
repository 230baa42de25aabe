"""Files replaced atomically, durable names, folders locked by one process, and disk errors with a clear message."""

import contextlib
import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tarrafa.errors import LockedError, WorkError

# Ends the name of a file that is not complete yet. After a kill, such files are garbage.
UNFINISHED = ".unfinished"
LOCK_FILE = "held-by"
# The process lacks something, and when it may go on. What was written before is whole.
_LACKING = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "when there is room"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "with permission, or in another folder"),
    errno.EFBIG: "with a higher limit on the size of files (ulimit -f)",
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "with a higher limit on open files (ulimit -n)"),
}
# The disk, its driver or its connection fails. What was written before may be damaged.
_FAILING = frozenset(
    (errno.EIO, errno.EUCLEAN, errno.EBADMSG, errno.EREMOTEIO, errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.ETIMEDOUT)
)
_FAILING_REMEDY = "the disk fails, and files on it may be damaged; check the disk, then continue or restore a copy"
_LOCK = struct.Struct("hhqqi4x")  # the system's `struct flock`


@contextlib.contextmanager
def map_disk_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `WorkError` that names the file, or else `path`, and the reason."""
    try:
        yield
    except OSError as error:
        raise WorkError(describe_disk_error(error, path)) from error


def describe_disk_error(error: OSError, path: Path | None = None) -> str:
    """Return what happened to which file, and what to do."""
    name = path if error.filename is None else os.fsdecode(error.filename)
    reason = error.strerror or str(error)
    described = reason if name is None else f"{name}: {reason}"
    if error.errno in _FAILING:
        return f"{described}; {_FAILING_REMEDY}"
    number = error.errno
    if number is None and isinstance(error, PermissionError):  # of a library
        number = errno.EACCES
    return f"{described}; nothing was damaged, go on {_LACKING[number]}" if number in _LACKING else described


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, as fsync does for the contents of a file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, with durable names."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def rename_file(source: Path, target: Path) -> None:
    """Give a synced file a new name in the same folder, in place of a file of that name. The name is durable."""
    source.replace(target)
    sync_folder(target.parent)


@contextlib.contextmanager
def atomic_file(path: Path, *, sync: bool = True, is_private: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends, and leaves `path` alone if it raises.

    A reader sees the old contents or the new, never a part. With `sync` the new contents are durable as well.
    A private file may be read by its owner only, from its first byte on.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        if is_private:
            unfinished.unlink(missing_ok=True)
        with open(unfinished, "wb", opener=_open_private if is_private else None) as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if sync:
            rename_file(unfinished, path)
        else:
            unfinished.replace(path)
    except BaseException:
        # A disk that refuses to write may refuse to remove as well; report the first error.
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def replace_file(path: Path, data: bytes, *, sync: bool = True, is_private: bool = False) -> None:
    """Write `data` to `path` atomically: see `atomic_file`."""
    with atomic_file(path, sync=sync, is_private=is_private) as file:
        file.write(data)


def is_replaceable(path: Path) -> bool:
    """Return True for a regular file, or none yet. A device or pipe is written to, and must never be replaced."""
    return path.is_file() or not path.exists()


@contextlib.contextmanager
def output_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that a user has named, for writing: see `atomic_file`. A link stays, and leads to the new contents.

    A device or pipe, such as /dev/null or /dev/stdout, is written to as the block goes on.
    """
    with map_disk_errors(path):
        if is_replaceable(path):
            with atomic_file(path.resolve()) as file:
                yield file
        else:
            with path.open("wb") as file:
                yield file


def remove_unfinished(folder: Path) -> None:
    """Remove the files that a killed process left incomplete."""
    for path in folder.glob(f"*{UNFINISHED}"):
        path.unlink()


def is_locked(folder: Path) -> bool:
    """Return True if a process has locked the folder. Only asks, so it never hinders a process that locks it."""
    try:
        with (folder / LOCK_FILE).open() as file:
            kind = _LOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, _lock_request()))[0]
    except FileNotFoundError:
        return False
    return bool(kind != fcntl.F_UNLCK)


def _lock_request() -> bytes:
    """Return the request for an exclusive lock on a whole file."""
    return _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


class FolderLock:
    """Lock a folder for one process. A second process is refused and told which one has it; ends with the process.

    The lock belongs to the open file, not to the process (an "open file description lock"): unlike `flock` it can be
    asked for without being taken, and unlike `lockf` it survives that the process opens and closes the file again.
    """

    def __init__(self, folder: Path) -> None:
        self._file = (folder / LOCK_FILE).open("a+")
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock_request())
        except (BlockingIOError, PermissionError):
            self._file.seek(0)
            holder = self._file.read().strip() or "another process"
            self._file.close()
            raise LockedError(f"{folder} is in use by {holder}; stop that first, or use another folder") from None
        except OSError:
            self._file.close()
            raise
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
