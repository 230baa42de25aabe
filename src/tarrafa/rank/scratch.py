"""Temporary files of one computation. They have no names, so a process that is killed leaves nothing behind."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray


class ArrayFile:
    """A temporary file of arrays, which are written and read by position."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, position: int, values: NDArray[Any]) -> None:
        self._file.seek(position)
        self._file.write(np.ascontiguousarray(values).view(np.uint8).data)

    def read(self, position: int, values: NDArray[Any]) -> None:
        """Fill an array."""
        self._file.seek(position)
        self._file.readinto(values.view(np.uint8).data)  # type: ignore[attr-defined]

    def close(self) -> None:
        """Give the disk space back before the computation ends."""
        self._file.close()


class Scratch:
    """Makes temporary files in a folder, and closes all of them at its end."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def file(self) -> ArrayFile:
        return ArrayFile(self._files.enter_context(TemporaryFile(dir=self._folder)))
