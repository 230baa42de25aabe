"""Which anchors each row of documents brought into the index: a sum for each row, in a file beside the index.

1. Of every row that the mark counts there is a sum. What follows is of rows that were not committed, and is cut off.
2. A sum is that of the anchors that the index has of the row, or `UNKNOWN`. Before a row is written with other anchors
   it becomes unknown, and after the commit it becomes known again. Killed between the two, it is written once more.

Ranks of long ago are gone when new ones come, so nothing else remembers what they said.
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarrafa.errors import DamagedError
from tarrafa.urls import fingerprint

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
UNKNOWN = 0xFFFFFFFFFFFFFFFF
_NAME = "anchors.u64"
_ROW_BYTES = 8


def anchor_sum(text: str) -> int:
    """0 if there is none; never `UNKNOWN`."""
    return min(fingerprint(text), UNKNOWN - 1) if text else 0


class AnchorSums:
    def __init__(self, folder: Path, rows_count: int) -> None:
        self._path = folder / _NAME
        self._path.touch()
        if self._path.stat().st_size < rows_count * _ROW_BYTES:
            raise DamagedError(f"{self._path} is too short; make the index anew with tarrafa index --rebuild")
        os.truncate(self._path, rows_count * _ROW_BYTES)
        # Filled by append, emptied by sync.
        self._waiting: list[U64] = []

    def append(self, sums: U64) -> None:
        """Of the rows that follow; durable after `sync`."""
        self._waiting.append(sums)

    def sync(self) -> None:
        if self._waiting:
            with self._path.open("ab") as file:
                for sums in self._waiting:
                    file.write(sums.astype("<u8").tobytes())
                file.flush()
                os.fsync(file.fileno())
            self._waiting.clear()

    def of(self, rows: I64) -> U64:
        """Of rows by number, which were synced."""
        return self._mapped("r")[rows].astype(np.uint64) if len(rows) else np.zeros(0, np.uint64)

    def change(self, rows: I64, sums: U64 | int) -> None:
        """Durable when it returns."""
        if len(rows):
            mapped = self._mapped("r+")
            mapped[rows] = sums
            mapped.flush()

    def _mapped(self, mode: str) -> np.memmap[tuple[int], np.dtype[np.uint64]]:
        return np.memmap(self._path, "<u8", mode)  # type: ignore[call-overload, no-any-return]
