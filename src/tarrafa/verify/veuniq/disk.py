"""Files that are either whole or not there: written, synced, and known by their size and sum.

Only the manifest says which files count. It is replaced by renaming, so after a kill the old one stands or the new one
does, and files that neither names are rubbish. Every file is checked against its sum when it is read.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.disk import sync_folder
from tarrafa.errors import DamagedError

MANIFEST = "manifest.json"

Buffer: TypeAlias = bytes | NDArray[Any]
# Called with the name of each step of a commit, so that a test can stop the process there.
Step = Callable[[str], None]


class Stored(NamedTuple):
    """A file as the manifest knows it."""

    name: str
    rows: int
    size_bytes: int
    sum: int


def write_file(folder: Path, name: str, pieces: Sequence[Buffer], rows: int) -> Stored:
    """Write the pieces one after the other. Durable when it returns, but for the name: see `sync_folder`."""
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
    return Stored(name, rows, size_bytes, total.intdigest())


def read_file(folder: Path, stored: Stored) -> bytes:
    path = folder / stored.name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing; restore it from a copy") from None
    if len(data) != stored.size_bytes:
        raise DamagedError(f"{path} has {len(data):,} bytes instead of {stored.size_bytes:,}; restore it from a copy")
    if xxhash.xxh3_64_intdigest(data) != stored.sum:
        raise DamagedError(f"{path} is not what was written: its sum is wrong; restore it from a copy")
    return data


def write_manifest(folder: Path, manifest: dict[str, Any], step: Step) -> None:
    """The commit: before the rename nothing has happened, after it everything has."""
    body = json.dumps(manifest, separators=(",", ":"))
    text = json.dumps({"sum": xxhash.xxh3_64_intdigest(body.encode()), "manifest": body})
    temporary = folder / f"{MANIFEST}.new"
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        step("manifest written")
        os.fsync(file.fileno())
    step("manifest synced")
    temporary.replace(folder / MANIFEST)
    step("manifest renamed")
    sync_folder(folder)


def read_manifest(folder: Path) -> dict[str, Any] | None:
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
