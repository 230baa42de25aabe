"""Ranks on disk: columns that are mapped into memory, and a manifest that says which of them count.

    ranks/
    ├── manifest.json           generation, files with sizes and sums, what was taken of each agent, counts, settings
    ├── generation-00000007/    a numpy file for each column
    ├── parts-1/                what was read so far; see `parts`
    └── held-by                 the process that works here

1. The manifest is replaced by renaming: before it the old generation stands, after it the new one.
2. Who has a generation open goes on reading it, also when its files have lost their names.
3. Every file is checked against its size and sum when a generation is opened.
"""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.disk import atomic_file, map_disk_errors, remove_unfinished
from tarrafa.errors import DamagedError
from tarrafa.rank.columns import F32, I64, U32, U64, Marks
from tarrafa.rank.computing import Columns, RankCounts, RankSettings

FORMAT = 1
MANIFEST = "manifest.json"
_NAME = re.compile(r"generation-[0-9]{8,}")
_OPENING_TRIES = 5
_REMEDY = "remove the folder, and rank again"


class AgentRows(NamedTuple):
    """What of an agent's rows the ranks are made of."""

    checkpoint: int
    documents: int
    links: int


class RankColumns(NamedTuple):
    """Of some URLs; what is not known is 0."""

    rank: F32  # the mean is 1
    host_rank: F32  # the mean of all hosts is 1
    links_in: U32  # nodes that link to the URL or to what is one with it
    links_outside: U32  # of these, from other hosts


class BestHost(NamedTuple):
    host_hash: int
    rank: float
    pages: int


class Ranks:
    """One generation, for reading."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.generation: int = manifest["generation"]
        self.taken = {agent: AgentRows(*taken) for agent, taken in manifest["taken"].items()}
        self.counts = RankCounts(**manifest["counts"])
        self.settings: dict[str, Any] = manifest["settings"]
        place = folder / _name(self.generation)
        self._columns = Columns(*(_mapped(place / f"{name}.npy", *manifest["files"][name]) for name in Columns._fields))

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """The ranks of that folder as they are now; None if there are none yet."""
        for _ in range(_OPENING_TRIES):
            manifest = read_manifest(folder)
            if manifest is None:
                return None
            try:
                return cls(folder, manifest)
            except FileNotFoundError:
                # It may have been replaced since the manifest was read.
                continue
        raise DamagedError(f"{folder} lacks files of its generation; {_REMEDY}")

    def of(self, fingerprints: U64) -> RankColumns:
        rows, is_known = self._rows(fingerprints)
        columns = self._columns
        both = (columns.rank, columns.host_rank, columns.links_in, columns.links_outside)
        return RankColumns(*(_picked(column, rows, is_known) for column in both))

    def anchors(self, fingerprints: U64) -> list[list[tuple[str, int]]]:
        """For each URL the texts of links to it, and how many hosts use them; best first."""
        rows, is_known = self._rows(fingerprints)
        return [
            self._anchors(int(self._columns.nodes[row])) if known else []
            for row, known in zip(rows.tolist(), is_known.tolist(), strict=True)
        ]

    def _anchors(self, node: int) -> list[tuple[str, int]]:
        columns = self._columns
        first, end = columns.anchor_starts[node : node + 2].tolist()
        texts, votes = columns.anchor_texts[first:end].tolist(), columns.anchor_votes[first:end].tolist()
        return [(self._text(text), count) for text, count in zip(texts, votes, strict=True)]

    def _text(self, number: int) -> str:
        start, end = self._columns.text_edges[number : number + 2].tolist()
        return self._columns.text_bytes[start:end].tobytes().decode("utf-8", "replace")

    def best(self, count: int) -> U64:
        """Fingerprints of the best pages that were fetched, best first; of copies only the home."""
        homes = self._columns.homes[self._columns.homes != 0]
        ranks = self.of(homes).rank
        # Among equals the order is that of fingerprints, so that it is the same each time.
        best: U64 = homes[np.lexsort((homes, -ranks))[:count]]
        return best

    def best_hosts(self, count: int) -> list[BestHost]:
        """Of hosts with pages that were fetched, best first."""
        hosts, ranks, pages = self._columns.hosts, self._columns.host_ranks, self._columns.host_pages
        visited = np.flatnonzero(pages)
        order = visited[np.lexsort((hosts[visited], -ranks[visited]))[:count]]
        rows = zip(hosts[order].tolist(), ranks[order].tolist(), pages[order].tolist(), strict=True)
        return [BestHost(*row) for row in rows]

    def _rows(self, fingerprints: U64) -> tuple[I64, Marks]:
        urls = self._columns.urls
        if not len(urls):
            return np.zeros(len(fingerprints), np.int64), np.zeros(len(fingerprints), np.bool_)
        rows = np.minimum(np.searchsorted(urls, fingerprints), len(urls) - 1)
        return rows, urls[rows] == fingerprints


def _picked(column: NDArray[Any], rows: I64, is_known: Marks) -> NDArray[Any]:
    if not len(column):
        return np.zeros(len(rows), column.dtype)
    return np.where(is_known, column[rows], column.dtype.type(0))


def write_generation(
    folder: Path, columns: Columns, counts: RankCounts, taken: Mapping[str, AgentRows], settings: RankSettings
) -> None:
    """The caller holds the folder. What is there of another generation is removed after the new one counts."""
    with map_disk_errors(folder):
        manifest = read_manifest(folder)
        generation = 1 + (manifest["generation"] if manifest else 0)
        place = folder / _name(generation)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        files = {name: _written(place / f"{name}.npy", column) for name, column in columns._asdict().items()}
        told = {
            "format": FORMAT,
            "generation": generation,
            "taken": taken,
            "counts": counts._asdict(),
            "settings": asdict(settings),
            "files": files,
        }
        _write_manifest(folder, told)
        remove_leftovers(folder, generation)


def remove_leftovers(folder: Path, generation: int | None) -> None:
    """What a killed process left, and all generations but the given one."""
    remove_unfinished(folder)
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) and (generation is None or path.name != _name(generation)):
            shutil.rmtree(path, ignore_errors=True)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """None if there is none, or none that this version understands: ranks can be made again."""
    path = folder / MANIFEST
    try:
        outer = json.loads(path.read_text())
        body = outer["manifest"]
        if xxhash.xxh3_64_intdigest(body.encode()) == outer["sum"]:
            found: dict[str, Any] = json.loads(body)
            return found if found["format"] == FORMAT else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise DamagedError(f"{path} is damaged; {_REMEDY}")


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    body = json.dumps(manifest, separators=(",", ":"))
    with atomic_file(folder / MANIFEST) as file:
        file.write(json.dumps({"sum": xxhash.xxh3_64_intdigest(body.encode()), "manifest": body}).encode())


def _name(generation: int) -> str:
    return f"generation-{generation:08d}"


def _written(path: Path, column: NDArray[Any]) -> tuple[int, int]:
    """The size and the sum of the file."""
    with atomic_file(path) as file:
        np.save(file, column, allow_pickle=False)
    return path.stat().st_size, _sum(path)


def _sum(path: Path) -> int:
    with path.open("rb") as file:
        total = xxhash.xxh3_64()
        while piece := file.read(1 << 20):
            total.update(piece)
    return total.intdigest()


def _mapped(path: Path, size_bytes: int, total: int) -> NDArray[Any]:
    if path.stat().st_size != size_bytes or _sum(path) != total:
        raise DamagedError(f"{path} is not what was written; {_REMEDY}")
    mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    # As a plain array it is the same memory, and each access costs less.
    return np.asarray(mapped)
