"""Files that are either complete or absent: written, synced, and known by size and checksum.

Only the manifest says which files count. It is replaced atomically, so after a kill either the old one stands or the
new one does; files that it does not name are garbage. Every file is checked against its checksum when it is read.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.disk import atomic_file
from tarrafa.errors import DamagedError

MANIFEST = "manifest.json"

Buffer: TypeAlias = bytes | NDArray[Any]
# Called with the name of each step of a commit, so that a test can kill the process there.
Step = Callable[[str], None]


class StoredFile(NamedTuple):
    """A file as the manifest names it."""

    name: str
    rows: int
    size_bytes: int
    sum: int


def write_file(folder: Path, name: str, pieces: Sequence[Buffer], rows: int) -> StoredFile:
    """Write the pieces one after the other. The contents are durable on return; the name needs `sync_folder`."""
    path, total, size_bytes = folder / name, xxhash.xxh3_64(), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb", buffering=0) as file:
        for piece in pieces:
            view = np.frombuffer(piece, np.uint8).data if len(piece) else memoryview(b"")
            total.update(view)
            size_bytes += len(view)
            while len(view):
                view = view[file.write(view) :]
        os.fsync(file.fileno())
    return StoredFile(name, rows, size_bytes, total.intdigest())


def read_file(folder: Path, stored: StoredFile) -> bytes:
    """Return the contents of a file, or raise `DamagedError` if they are not what was written."""
    path = folder / stored.name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing; restore it from a copy") from None
    if len(data) != stored.size_bytes:
        raise DamagedError(f"{path} has {len(data):,} bytes instead of {stored.size_bytes:,}; restore it from a copy")
    check_sum(path, data, stored.sum)
    return data


def check_sum(path: Path, data: bytes, right: int) -> None:
    if xxhash.xxh3_64_intdigest(data) != right:
        raise DamagedError(f"{path} is not what was written: its checksum is wrong; restore it from a copy")


def write_manifest(folder: Path, manifest: dict[str, Any], step: Step) -> None:
    """Commit: before the rename nothing has happened, after it everything has."""
    body = json.dumps(manifest, separators=(",", ":"))
    text = json.dumps({"sum": xxhash.xxh3_64_intdigest(body.encode()), "manifest": body})
    with atomic_file(folder / MANIFEST) as file:
        file.write(text.encode())
        file.flush()
        step("manifest written")
    step("manifest renamed")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the last committed manifest, or None if there is none."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        outer = json.loads(path.read_text())
        body = outer["manifest"]
        if xxhash.xxh3_64_intdigest(body.encode()) == outer["sum"]:
            found: dict[str, Any] = json.loads(body)
            return found
    except (ValueError, KeyError, TypeError):
        pass
    raise DamagedError(f"{path} is damaged; restore it from a copy")
