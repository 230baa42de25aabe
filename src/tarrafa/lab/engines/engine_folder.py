"""The folder of an engine: held by one process, with a manifest that says what counts, and files that only grow."""

import os
import secrets
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
import xxhash

from tarrafa.disk import FolderLock, disk_bytes, map_disk_errors, sync_folder
from tarrafa.errors import DamagedError
from tarrafa.lab.engines.offers import U64, Rows
from tarrafa.verify.contract import Batch, Cycle, RepositoryCounts
from tarrafa.verify.veuniq.disk import MANIFEST, Stored, read_file, read_manifest, write_file, write_manifest


@dataclass(frozen=True, slots=True)
class EngineState:
    """What every engine keeps: the last batch, which is never taken twice, and what can be counted."""

    seed: int = field(default_factory=lambda: secrets.randbits(63))
    batch: int = -1
    cycle: int = 0
    known: int = 0
    collected: int = 0
    hosts: int = 0

    def after(self, batch: Batch) -> "EngineState":
        """The next state, but for what is counted."""
        return replace(self, batch=batch.number, cycle=self.cycle + 1)

    def counts(self, folder: Path, blocks: int = 1, waiting: int = 0) -> RepositoryCounts:
        return RepositoryCounts(self.known, self.collected, self.hosts, blocks, waiting, disk_bytes(folder))


class EngineFolder:
    """A held folder whose manifest is a state and what else the engine needs."""

    def __init__(self, folder: Path, seed: int | None = None) -> None:
        self.path = folder
        with map_disk_errors(folder):
            self._hold = held(folder)
        with self.opening():
            self.state, self.rest = self._read() or self._begin(EngineState() if seed is None else EngineState(seed))

    def _read(self) -> tuple[EngineState, dict[str, Any]] | None:
        manifest = read_manifest(self.path)
        return (EngineState(**manifest["state"]), manifest["rest"]) if manifest else None

    def _begin(self, state: EngineState) -> tuple[EngineState, dict[str, Any]]:
        """The first commit is that of nothing: files without a manifest are then known to have lost it."""
        if {path.name for path in self.path.iterdir()} - {"held-by", f"{MANIFEST}.new"}:
            raise DamagedError(f"{self.path / MANIFEST} is missing, its files are there; restore it from a copy")
        self.commit(state)
        return state, {}

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Let go of the folder if what is done here fails."""
        try:
            with map_disk_errors(self.path):
                yield
        except BaseException:
            self.close()
            raise

    def cycle(self, batch: Batch, work: Callable[[Batch, EngineState], Cycle]) -> Cycle:
        """Do the work of a batch, given the next state but for its counts; unless it was done before."""
        if batch.number <= self.state.batch:
            return Cycle(block=-1)
        with map_disk_errors(self.path):
            return work(batch, self.state.after(batch))

    def commit(self, state: EngineState, **rest: Any) -> None:
        """Before this nothing has happened, after it everything has."""
        sync_folder(self.path)
        write_manifest(self.path, {"state": asdict(state), "rest": rest}, _nobody)
        self.state, self.rest = state, rest

    def sweep(self, named: Iterable[str], pattern: str) -> None:
        """Remove the files that the manifest does not name: left by a kill, or no longer needed."""
        keep = set(named)
        for path in self.path.glob(pattern):
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


_HEAD = struct.Struct("<QQ")  # bytes after the head, their sum
_COUNT = struct.Struct("<I")


def piece_of(body: bytes) -> bytes:
    return _HEAD.pack(len(body), xxhash.xxh3_64_intdigest(body)) + body


def piece_bytes(body: bytes) -> int:
    """What a piece takes on disk."""
    return _HEAD.size + len(body)


def whole_pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The bodies of the pieces that are the first `size` bytes of a file, up to the first that is not whole."""
    while size >= _HEAD.size:
        length, total = _HEAD.unpack(file.read(_HEAD.size))
        body = file.read(min(length, size))
        if len(body) != length or xxhash.xxh3_64_intdigest(body) != total:
            return
        yield body
        size -= piece_bytes(body)


def read_pieces(path: Path, size: int) -> Iterator[bytes]:
    """The bodies of the pieces that are the first `size` bytes of a file: all that counts of it."""
    if not size:
        return
    with checked(path, size).open("rb") as file:
        for body in whole_pieces(file, size):
            yield body
            size -= piece_bytes(body)
    if size:
        refuse(path)


def only_piece(data: bytes, source: object) -> bytes:
    """The body of the one piece that is all the data."""
    body = next(whole_pieces(BytesIO(data), len(data)), None)
    if body is None or piece_bytes(body) != len(data):
        refuse(source)
    return body


def packed(rows: Rows, urls: list[str]) -> bytes:
    return piece_of(_COUNT.pack(len(rows)) + rows.tobytes() + "\n".join(urls).encode("ascii"))


def unpacked(body: bytes, kind: np.dtype[np.void]) -> tuple[Rows, list[str]]:
    count = _COUNT.unpack_from(body)[0]
    rows = np.frombuffer(body, kind, count, _COUNT.size)
    return rows, body[_COUNT.size + rows.nbytes :].decode("ascii").split("\n") if count else []


def refuse(source: object) -> NoReturn:
    raise DamagedError(f"{source} is not what was written: its sum is wrong; restore it from a copy")


class HostList(NamedTuple):
    hashes: U64
    stored: list[Stored]  # one, or none yet

    def with_new(self, hashes: U64, folder: Path, name: str) -> "HostList":
        """With these, in a file of that name if any of them is new."""
        sought = np.unique(hashes)
        sought = sought[~self.holds(sought)]
        if not len(sought):
            return self
        whole = np.insert(self.hashes, np.searchsorted(self.hashes, sought), sought)
        return HostList(whole, [write_file(folder, name, [whole], len(whole))])

    def holds(self, hashes: U64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these are here."""
        places = np.searchsorted(self.hashes, hashes)
        known = np.zeros(len(hashes), np.bool_)
        inside = places < len(self.hashes)
        known[inside] = self.hashes[places[inside]] == hashes[inside]
        return known


def read_hosts(folder: Path, stored: list[list[object]]) -> HostList:
    """As the manifest says."""
    files = [Stored(*each) for each in stored]  # type: ignore[arg-type]
    hashes = [np.frombuffer(read_file(folder, file), np.uint64) for file in files]
    return HostList(np.concatenate([np.empty(0, np.uint64), *hashes]), files)
