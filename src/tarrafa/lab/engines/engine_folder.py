"""The folder of an engine: locked by one process, with a manifest that says which files and bytes count.

Files that grow consist of records: a header with length and checksum, then the body. What a kill left behind the
counted bytes is ignored and overwritten. The list of known hosts is a file that is replaced when there are new hosts.
"""

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
from tarrafa.verify.veuniq.stored_files import (
    MANIFEST,
    StoredFile,
    read_file,
    read_manifest,
    write_file,
    write_manifest,
)


@dataclass(frozen=True, slots=True)
class EngineState:
    """State that every engine keeps: the number of the last batch, which is never taken twice, and counts."""

    seed: int = field(default_factory=lambda: secrets.randbits(63))
    batch: int = -1
    cycle: int = 0
    known: int = 0
    collected: int = 0
    hosts: int = 0

    def after(self, batch: Batch) -> "EngineState":
        """Return the next state, with unchanged counts."""
        return replace(self, batch=batch.number, cycle=self.cycle + 1)

    def counts(self, folder: Path, blocks: int = 1, waiting: int = 0) -> RepositoryCounts:
        return RepositoryCounts(self.known, self.collected, self.hosts, blocks, waiting, disk_bytes(folder))


class EngineFolder:
    """A locked folder whose manifest holds a state and whatever else the engine needs."""

    def __init__(self, folder: Path, seed: int | None = None) -> None:
        self.path = folder
        with map_disk_errors(folder):
            self._hold = lock_folder(folder)
        with self.unlock_on_failure():
            self.state, self.rest = self._read() or self._begin(EngineState() if seed is None else EngineState(seed))

    def _read(self) -> tuple[EngineState, dict[str, Any]] | None:
        manifest = read_manifest(self.path)
        return (EngineState(**manifest["state"]), manifest["rest"]) if manifest else None

    def _begin(self, state: EngineState) -> tuple[EngineState, dict[str, Any]]:
        """Commit an empty state first, so that files without a manifest are known to have lost it."""
        if {path.name for path in self.path.iterdir()} - {"held-by", f"{MANIFEST}.new"}:
            raise DamagedError(f"{self.path / MANIFEST} is missing but its files are there; restore it from a copy")
        self.commit(state)
        return state, {}

    @contextmanager
    def unlock_on_failure(self) -> Iterator[None]:
        """Unlock the folder if the block raises."""
        try:
            with map_disk_errors(self.path):
                yield
        except BaseException:
            self.close()
            raise

    def cycle(self, batch: Batch, work: Callable[[Batch, EngineState], Cycle]) -> Cycle:
        """Call `work` with the batch and the next state, unless the batch was taken before."""
        if batch.number <= self.state.batch:
            return Cycle(block=-1)
        with map_disk_errors(self.path):
            return work(batch, self.state.after(batch))

    def commit(self, state: EngineState, **rest: Any) -> None:
        """Write the manifest: before it nothing has happened, after it everything has."""
        sync_folder(self.path)
        write_manifest(self.path, {"state": asdict(state), "rest": rest}, _ignore_step)
        self.state, self.rest = state, rest

    def sweep(self, named: Iterable[str], pattern: str) -> None:
        """Remove files that the manifest does not name: left by a kill, or obsolete."""
        keep = set(named)
        for path in self.path.glob(pattern):
            if path.name not in keep:
                path.unlink()

    def close(self) -> None:
        self._hold.release()


def _ignore_step(_step: str) -> None:
    """Ignore the steps of a commit, which only tests of other engines watch."""


def lock_folder(folder: Path) -> FolderLock:
    folder.mkdir(parents=True, exist_ok=True)
    return FolderLock(folder)


def append_to(path: Path, size: int, data: bytes) -> int:
    """Append to the first `size` bytes of a file and return the new size. Bytes behind them were left by a kill."""
    if not data:
        return size
    with check_length(path, size).open("r+b" if path.exists() else "w+b") as file:
        file.truncate(size)
        file.seek(size)
        file.write(data)
        sync_file(file.fileno())
    return size + len(data)


def sync_file(descriptor: int) -> None:
    os.fsync(descriptor)


def check_length(path: Path, size: int) -> Path:
    """Return the path, or raise if the file is shorter than `size`."""
    if size and not path.exists():
        raise DamagedError(f"{path} is missing; restore it from a copy")
    if size and path.stat().st_size < size:
        raise DamagedError(f"{path} is shorter than {size:,} bytes; restore it from a copy")
    return path


_HEAD = struct.Struct("<QQ")  # length and checksum of the body
_COUNT = struct.Struct("<I")


def record_of(body: bytes) -> bytes:
    return _HEAD.pack(len(body), xxhash.xxh3_64_intdigest(body)) + body


def record_bytes(body: bytes) -> int:
    """Return the size of a record on disk."""
    return _HEAD.size + len(body)


def complete_records(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the bodies of the records in the first `size` bytes of a file, up to the first incomplete one."""
    while size >= _HEAD.size:
        length, total = _HEAD.unpack(file.read(_HEAD.size))
        body = file.read(min(length, size))
        if len(body) != length or xxhash.xxh3_64_intdigest(body) != total:
            return
        yield body
        size -= record_bytes(body)


def read_records(path: Path, size: int) -> Iterator[bytes]:
    """Yield the bodies of the records in the first `size` bytes of a file; raise if one is incomplete."""
    if not size:
        return
    with check_length(path, size).open("rb") as file:
        for body in complete_records(file, size):
            yield body
            size -= record_bytes(body)
    if size:
        refuse(path)


def only_record(data: bytes, source: object) -> bytes:
    """Return the body of the only record in the data."""
    body = next(complete_records(BytesIO(data), len(data)), None)
    if body is None or record_bytes(body) != len(data):
        refuse(source)
    return body


def pack_rows(rows: Rows, urls: list[str]) -> bytes:
    return record_of(_COUNT.pack(len(rows)) + rows.tobytes() + "\n".join(urls).encode("ascii"))


def unpack_rows(body: bytes, kind: np.dtype[np.void]) -> tuple[Rows, list[str]]:
    count = _COUNT.unpack_from(body)[0]
    rows = np.frombuffer(body, kind, count, _COUNT.size)
    return rows, body[_COUNT.size + rows.nbytes :].decode("ascii").split("\n") if count else []


def refuse(source: object) -> NoReturn:
    raise DamagedError(f"{source} is damaged: its checksum is wrong; restore it from a copy")


class HostList(NamedTuple):
    hashes: U64
    stored: list[StoredFile]  # one, or none yet

    def with_new(self, hashes: U64, folder: Path, name: str) -> "HostList":
        """Return the list with these hosts; if any is new, it is written to a new file of that name."""
        sought = np.unique(hashes)
        sought = sought[~self.holds(sought)]
        if not len(sought):
            return self
        whole = np.insert(self.hashes, np.searchsorted(self.hashes, sought), sought)
        return HostList(whole, [write_file(folder, name, [whole], len(whole))])

    def holds(self, hashes: U64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which of these hosts are in the list."""
        places = np.searchsorted(self.hashes, hashes)
        known = np.zeros(len(hashes), np.bool_)
        inside = places < len(self.hashes)
        known[inside] = self.hashes[places[inside]] == hashes[inside]
        return known


def read_hosts(folder: Path, stored: list[list[object]]) -> HostList:
    """Read the list that the manifest names."""
    files = [StoredFile(*each) for each in stored]  # type: ignore[arg-type]
    hashes = [np.frombuffer(read_file(folder, file), np.uint64) for file in files]
    return HostList(np.concatenate([np.empty(0, np.uint64), *hashes]), files)
