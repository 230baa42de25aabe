"""A folder of pairs of bytes, one of which is the state: held by one process, and opened anew after a failure.

What a database raises becomes an error of ours here. Beside the pairs stands a note of the last commit, its cycle and
the size of the file: a log that was cut looks like one whose last writes never happened, a file that is gone like a new
beginning, and a file that is mapped into memory kills whoever reads behind its end. The note is written after the
commit and not synced, so it may be behind the truth, but never ahead of it.
"""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple, Protocol

from tarrafa.disk import map_disk_errors
from tarrafa.errors import DamagedError, WorkError
from tarrafa.lab.engines.home import State, checked, held
from tarrafa.lab.engines.packing import only_piece, piece_of
from tarrafa.verify.contract import Batch, Cycle

Pair = tuple[bytes, bytes]

_STATE = b"m"
_NOTE = "last-commit"
_NUMBERS = struct.Struct("<QQ")


class Pairs(Protocol):
    """Keys with values, on disk."""

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def put(self, pairs: Sequence[Pair]) -> None:
        """All or none; durable when it returns."""
        ...

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        """The pairs whose keys begin like this, in the order of their keys."""
        ...

    def close(self) -> None: ...


def _never(_error: Exception) -> bool:
    return False


class Foreign(NamedTuple):
    """Where pairs are within their folder, and what they raise when they cannot go on."""

    name: str
    kind: type[Exception] = OSError
    is_damage: Callable[[Exception], bool] = _never
    grows: str = ""  # the file that never becomes shorter, if there is one


class _Note(NamedTuple):
    cycle: int = 0
    size_bytes: int = 0


class PairHome:
    def __init__(self, folder: Path, open_pairs: Callable[[Path], Pairs], foreign: Foreign) -> None:
        self.folder = folder
        self._open_pairs, self._foreign = open_pairs, foreign
        with map_disk_errors(folder):
            self._hold = held(folder)
        try:
            with self.translated():
                self._open()
        except BaseException:
            self._hold.release()
            raise

    def _open(self) -> None:
        note = _noted(self.folder / _NOTE)
        checked(self.folder / self._foreign.grows, note.size_bytes)
        self.pairs = self._open_pairs(self.folder)
        try:
            self.state = self._read_state(note)
        except BaseException:
            self.pairs.close()
            raise
        self._is_sure = True  # whether the state is the one on disk

    def _read_state(self, note: _Note) -> State:
        path, stored = self.folder / self._foreign.name, self.pairs.get([_STATE])[0]
        try:
            state = State(**json.loads(stored)) if stored else State()
        except (ValueError, TypeError):
            raise DamagedError(f"{path} is not what was written; restore it from a copy") from None
        if state.cycle < note.cycle:
            raise DamagedError(f"{path} ends with cycle {state.cycle:,}, not {note.cycle:,}; restore it from a copy")
        return state

    def cycle(self, batch: Batch, work: Callable[[Batch, State], Cycle]) -> Cycle:
        """Do the work of a batch, given the next state but for its counts; unless it was done before."""
        with self.translated():
            if not self._is_sure:
                self.pairs.close()
                self._open()
            if batch.number <= self.state.batch:
                return Cycle(block=-1)
            return work(batch, self.state.after(batch))

    def commit(self, pairs: Sequence[Pair], state: State) -> None:
        """If this fails, the pairs may have been written all the same."""
        self._is_sure = False
        self.pairs.put([*pairs, (_STATE, json.dumps(asdict(state)).encode())])
        self.state, self._is_sure = state, True
        self._note()

    def _note(self) -> None:
        """In place, so that no room is needed. What cannot be noted leaves the note behind the truth, as it may be."""
        grows, path = self._foreign.grows, self.folder / _NOTE
        with suppress(OSError):
            size_bytes = (self.folder / grows).stat().st_size if grows else 0
            with path.open("r+b" if path.exists() else "wb") as file:
                file.write(piece_of(_NUMBERS.pack(self.state.cycle, size_bytes)))

    @contextmanager
    def translated(self) -> Iterator[None]:
        try:
            with map_disk_errors(self.folder):
                yield
        except self._foreign.kind as error:
            told = f"{self.folder / self._foreign.name}: {' '.join(str(error).split())}"
            if self._foreign.is_damage(error):
                raise DamagedError(f"{told}; restore it from a copy") from error
            raise WorkError(f"{told}; nothing was damaged, go on when that is mended") from error

    def close(self) -> None:
        self.pairs.close()
        self._note()
        self._hold.release()


def _noted(path: Path) -> _Note:
    """Nothing if there is no note, or one that is not whole."""
    with suppress(OSError, DamagedError):
        return _Note(*_NUMBERS.unpack(only_piece(path.read_bytes(), path)))
    return _Note()
