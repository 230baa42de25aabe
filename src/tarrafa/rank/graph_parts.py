"""Parts of the graph on disk: rows of a crawl reduced to numbers, so that no row is read twice.

The name of a part has the agent of its rows, their kind, the first row, the row after the last, and the checkpoint at
which they were read: `00-links-000000000000-000001000000-00000012.npz`.

1. The parts of an agent and kind follow one another from row 0 without a gap. Others are garbage and are removed.
2. A part is complete or not there. Every row counts once, also if a merge is killed: a part within another is garbage.
3. There are few parts: neighbours of similar size are merged, up to a limit.

Rows of a crawl are numbered in the order of writing; merging the crawl's segments does not change that.
"""

import re
import zipfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.disk import atomic_file, make_folder, map_disk_errors, remove_unfinished
from tarrafa.errors import DamagedError
from tarrafa.rank.reduction import DocumentPart, DocumentRows, LinkPart, LinkRows

# A version with other columns uses another folder, and reads everything again.
FOLDER = "parts-3"
PART_ROWS = 1_000_000
_NAME = re.compile(r"(.+)-(documents|links)-([0-9]{12,})-([0-9]{12,})-([0-9]{8,})\.npz")


class RowKind(StrEnum):
    """Where rows come from."""

    DOCUMENTS = "documents"
    LINKS = "links"


class GraphPart(NamedTuple):
    """What the name of a part says."""

    agent: str
    kind: RowKind
    first: int  # number of the first row
    end: int  # number of the row after the last
    checkpoint: int
    path: Path


class GraphParts:
    """The parts of one folder, for one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        with map_disk_errors(self._folder):
            make_folder(self._folder)
            remove_unfinished(self._folder)
            listed = self._listed()
            self._parts = _contiguous(listed)
            for part in set(listed).difference(self._parts):
                part.path.unlink()

    def _listed(self) -> list[GraphPart]:
        matches = ((_NAME.fullmatch(path.name), path) for path in self._folder.iterdir())
        return [
            GraphPart(match[1], RowKind(match[2]), int(match[3]), int(match[4]), int(match[5]), path)
            for match, path in matches
            if match
        ]

    def _of(self, agent: str, kind: RowKind) -> list[GraphPart]:
        return [part for part in self._parts if (part.agent, part.kind) == (agent, kind)]

    def rows(self, agent: str, kind: RowKind) -> int:
        """Return how many rows were read so far; the next row has that number."""
        return max((part.end for part in self._of(agent, kind)), default=0)

    def checkpoint(self, agent: str) -> int:
        """Return the checkpoint up to which rows of an agent were read."""
        return max((part.checkpoint for part in self._parts if part.agent == agent), default=0)

    def agents(self) -> set[str]:
        return {part.agent for part in self._parts}

    def forget(self, agent: str) -> None:
        """Remove all parts of an agent, whose rows are read again."""
        with map_disk_errors(self._folder):
            # From the end: after a kill, the remaining parts still follow from row 0.
            for part in sorted(self._parts, key=lambda each: -each.first):
                if part.agent == agent:
                    part.path.unlink()
                    self._parts.remove(part)

    def add(self, agent: str, kind: RowKind, rows: int, checkpoint: int, part: DocumentPart | LinkPart) -> None:
        """Add the next `rows` rows, and merge parts; durable when it returns."""
        first = self.rows(agent, kind)
        self._parts.append(self._write(GraphPart(agent, kind, first, first + rows, checkpoint, self._folder), part))
        while len(last := self._of(agent, kind)[-2:]) == 2 and _are_similar(*last):
            self._merge(*last)

    def _merge(self, older: GraphPart, newer: GraphPart) -> None:
        gathered: DocumentRows | LinkRows = (
            DocumentRows() if older.kind is RowKind.DOCUMENTS else LinkRows(lambda _: False)
        )
        for part in (older, newer):
            gathered.add_part(self._read(part))  # type: ignore[arg-type]
        self._parts.append(self._write(newer._replace(first=older.first), gathered.part()))
        for part in (newer, older):
            part.path.unlink()
            self._parts.remove(part)

    def _write(self, part: GraphPart, content: DocumentPart | LinkPart) -> GraphPart:
        name = f"{part.agent}-{part.kind}-{part.first:012d}-{part.end:012d}-{part.checkpoint:08d}.npz"
        with map_disk_errors(self._folder), atomic_file(self._folder / name) as file:
            np.savez(file, allow_pickle=False, **content._asdict())
        return part._replace(path=self._folder / name)

    def documents(self) -> Iterator[DocumentPart]:
        for part in self._parts:
            if part.kind is RowKind.DOCUMENTS:
                yield DocumentPart(*_read_arrays(part.path, DocumentPart._fields))

    def links(self) -> Iterator[LinkPart]:
        for part in self._parts:
            if part.kind is RowKind.LINKS:
                yield LinkPart(*_read_arrays(part.path, LinkPart._fields))

    def rows_in(self, kind: RowKind) -> int:
        """Return how many rows all parts of a kind were made of; parts leave out rows that do not count."""
        return sum(part.end - part.first for part in self._parts if part.kind is kind)

    def parts_in(self, kind: RowKind) -> int:
        return sum(part.kind is kind for part in self._parts)

    def columns(self, kind: RowKind, *names: str) -> Iterator[list[NDArray[Any]]]:
        """Read some columns of every part of a kind."""
        for part in self._parts:
            if part.kind is kind:
                yield _read_arrays(part.path, names)

    def _read(self, part: GraphPart) -> DocumentPart | LinkPart:
        if part.kind is RowKind.DOCUMENTS:
            return DocumentPart(*_read_arrays(part.path, DocumentPart._fields))
        return LinkPart(*_read_arrays(part.path, LinkPart._fields))


def _contiguous(parts: list[GraphPart]) -> list[GraphPart]:
    """Return the parts that follow one another; of those with the same first row, the longest."""
    found: list[GraphPart] = []
    ends: dict[tuple[str, RowKind], int] = {}
    for part in sorted(parts, key=lambda each: (each.agent, each.kind, each.first, -each.end)):
        key = (part.agent, part.kind)
        if part.first == ends.get(key, 0):
            ends[key] = part.end
            found.append(part)
    return found


def _are_similar(older: GraphPart, newer: GraphPart) -> bool:
    """Return True if two parts should be merged. The rule merges a row rarely, and keeps the last part small."""
    older_rows, newer_rows = older.end - older.first, newer.end - newer.first
    return older_rows <= 2 * newer_rows and older_rows + newer_rows <= PART_ROWS


def _read_arrays(path: Path, names: tuple[str, ...]) -> list[NDArray[Any]]:
    try:
        # Reading a member of a zip file checks its checksum.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return [stored[name] for name in names]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise DamagedError(f"{path} is damaged ({error}); remove it, and its rows are read again") from error
