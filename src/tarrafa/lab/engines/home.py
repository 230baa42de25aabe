"""The folder of an engine: held by one process, with a manifest that says what counts, and files that only grow."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tarrafa.disk import FolderLock, disk_bytes, map_disk_errors, sync_folder
from tarrafa.errors import DamagedError
from tarrafa.verify.contract import Batch, Cycle, RepositoryCounts
from tarrafa.verify.veuniq.disk import MANIFEST, read_manifest, write_manifest


@dataclass(frozen=True, slots=True)
class State:
    """What every engine keeps: the last batch, which is never taken twice, and what can be counted."""

    seed: int = field(default_factory=lambda: secrets.randbits(63))
    batch: int = -1
    cycle: int = 0
    known: int = 0
    collected: int = 0
    hosts: int = 0

    def after(self, batch: Batch) -> "State":
        """The next state, but for what is counted."""
        return replace(self, batch=batch.number, cycle=self.cycle + 1)

    def counts(self, folder: Path, blocks: int = 1, waiting: int = 0) -> RepositoryCounts:
        return RepositoryCounts(self.known, self.collected, self.hosts, blocks, waiting, disk_bytes(folder))


class Home:
    """A held folder whose manifest is a state and what else the engine needs."""

    def __init__(self, folder: Path, seed: int | None = None) -> None:
        self.folder = folder
        with map_disk_errors(folder):
            self._hold = held(folder)
        with self.opening():
            self.state, self.rest = self._read() or self._begin(State() if seed is None else State(seed))

    def _read(self) -> tuple[State, dict[str, Any]] | None:
        manifest = read_manifest(self.folder)
        return (State(**manifest["state"]), manifest["rest"]) if manifest else None

    def _begin(self, state: State) -> tuple[State, dict[str, Any]]:
        """The first commit is that of nothing: files without a manifest are then known to have lost it."""
        if {path.name for path in self.folder.iterdir()} - {"held-by", f"{MANIFEST}.new"}:
            raise DamagedError(f"{self.folder / MANIFEST} is missing, its files are there; restore it from a copy")
        self.commit(state)
        return state, {}

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Let go of the folder if what is done here fails."""
        try:
            with map_disk_errors(self.folder):
                yield
        except BaseException:
            self.close()
            raise

    def cycle(self, batch: Batch, work: Callable[[Batch, State], Cycle]) -> Cycle:
        """Do the work of a batch, given the next state but for its counts; unless it was done before."""
        if batch.number <= self.state.batch:
            return Cycle(block=-1)
        with map_disk_errors(self.folder):
            return work(batch, self.state.after(batch))

    def commit(self, state: State, **rest: Any) -> None:
        """Before this nothing has happened, after it everything has."""
        sync_folder(self.folder)
        write_manifest(self.folder, {"state": asdict(state), "rest": rest}, _nobody)
        self.state, self.rest = state, rest

    def sweep(self, named: Iterable[str], pattern: str) -> None:
        """Remove the files that the manifest does not name: left by a kill, or no longer needed."""
        keep = set(named)
        for path in self.folder.glob(pattern):
            if path.name not in keep:
                path.unlink()

    def close(self) -> None:
        self._hold.release()


def _nobody(_step: str) -> None:
    """Nobody watches the steps."""


def held(folder: Path) -> FolderLock:
    folder.mkdir(parents=True, exist_ok=True)
    return FolderLock(folder)


def appended(path: Path, size: int, data: bytes) -> int:
    """Add to a file of which the first `size` bytes count, and give what counts then. The rest was left by a kill."""
    if not data:
        return size
    with checked(path, size).open("r+b" if path.exists() else "w+b") as file:
        file.truncate(size)
        file.seek(size)
        file.write(data)
        sync_file(file.fileno())
    return size + len(data)


def sync_file(descriptor: int) -> None:
    os.fsync(descriptor)


def checked(path: Path, size: int) -> Path:
    """The path, if the file holds at least what counts."""
    if size and not path.exists():
        raise DamagedError(f"{path} is missing; restore it from a copy")
    if size and path.stat().st_size < size:
        raise DamagedError(f"{path} is shorter than {size:,} bytes; restore it from a copy")
    return path
