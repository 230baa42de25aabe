"""The next generation of ranks, written column by column while they are computed."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.disk import atomic_file, remove_unfinished, sync_folder
from tarrafa.rank.generation import (
    COLUMN_TYPES,
    FORMAT,
    MANIFEST,
    AgentRows,
    GenerationColumns,
    RankCounts,
    RankSettings,
    file_checksum,
    generation_name,
    read_manifest,
)

_NAME = re.compile(r"generation-[0-9]{8,}")
_HEADER_BYTES = 128  # of a numpy file with one column
CHUNK_ROWS = 1 << 17


class GenerationWriter:
    """Writes the next generation, column by column. The caller has locked the folder.

    Nothing refers to the new files before commit, so a process may be killed at any moment.
    """

    def __init__(self, folder: Path) -> None:
        former = read_manifest(folder)
        self._folder, self._generation = folder, 1 + (former["generation"] if former else 0)
        self._place = folder / generation_name(self._generation)
        shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir(parents=True)
        self._files = {name: (self._place / f"{name}.npy").open("w+b") for name in GenerationColumns._fields}
        for name in self._files:
            self._write_header(name, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def _write_header(self, name: str, count: int) -> None:
        """Write the header of a column. It has the same size for each count."""
        header = {"descr": COLUMN_TYPES[name].str, "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(self._files[name], header)

    def append(self, name: str, values: NDArray[Any]) -> None:
        self._files[name].write(np.ascontiguousarray(values, COLUMN_TYPES[name]).data)

    def chunks(self, *names: str) -> Iterator[list[NDArray[Any]]]:
        """Yield what was appended to some columns, a number of rows at a time. Append nothing to them meanwhile."""
        for name in names:
            self._files[name].seek(_HEADER_BYTES)
        while (found := [self._read(name) for name in names]) and len(found[0]):
            yield found

    def _read(self, name: str) -> NDArray[Any]:
        return np.frombuffer(self._files[name].read(CHUNK_ROWS * COLUMN_TYPES[name].itemsize), COLUMN_TYPES[name])

    def commit(self, counts: RankCounts, agent_rows: Mapping[str, AgentRows], settings: RankSettings) -> None:
        """Make the new generation the current one, and remove the one before."""
        manifest = {
            "format": FORMAT,
            "generation": self._generation,
            "agent_rows": agent_rows,
            "counts": counts._asdict(),
            "settings": asdict(settings),
            "files": {name: self._close(name) for name in self._files},
        }
        sync_folder(self._place)
        _write_manifest(self._folder, manifest)
        _remove_leftovers(self._folder, self._generation)

    def _close(self, name: str) -> tuple[int, int]:
        """Make a column durable; return the size and checksum of its file."""
        with self._files[name] as file:
            size_bytes = file.seek(0, os.SEEK_END)
            file.seek(0)
            self._write_header(name, (size_bytes - _HEADER_BYTES) // COLUMN_TYPES[name].itemsize)
            file.flush()
            os.fsync(file.fileno())
        return size_bytes, file_checksum(self._place / f"{name}.npy")


def _remove_leftovers(folder: Path, generation: int) -> None:
    """Remove what a killed process left, and all other generations."""
    remove_unfinished(folder)
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) and path.name != generation_name(generation):
            shutil.rmtree(path, ignore_errors=True)


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    body = json.dumps(manifest, separators=(",", ":"))
    with atomic_file(folder / MANIFEST) as file:
        file.write(json.dumps({"sum": xxhash.xxh3_64_intdigest(body.encode()), "manifest": body}).encode())
