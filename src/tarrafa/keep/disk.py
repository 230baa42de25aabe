"""Files that are whole or not there, names that last, and errors of the disk in words."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tarrafa.errors import WorkError

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
