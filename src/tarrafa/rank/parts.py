"""GraphParts on disk: what was read of a crawl's rows, so that it need not be read again.

A part is named by the agent whose rows it holds, by their kind, by the first row and the one behind the last, and by
the checkpoint up to which the agent's rows were known: `00-links-000000000000-000001000000-00000012.npz`.

1. The parts of an agent and kind follow one another from row 0 without a gap; what does not is rubbish.
2. A part is whole or not there. Whenever a join is killed, every row counts once: a part within another does not count.
3. There are few parts: neighbours of like size are joined up to a bound.

Rows of a crawl are counted in the order of writing, which joining its segments does not change.
"""

import re
import zipfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.disk import atomic_file, map_disk_errors, remove_unfinished
from tarrafa.errors import DamagedError
from tarrafa.rank.reducing import DocumentPart, DocumentRows, LinkPart, LinkRows

# Other columns need another folder: what is not understood is read anew.
FOLDER = "parts-1"
PART_ROWS = 1_000_000
_NAME = re.compile(r"(.+)-(documents|links)-([0-9]{12,})-([0-9]{12,})-([0-9]{8,})\.npz")


class RowKind(StrEnum):
    DOCUMENTS = "documents"
    LINKS = "links"


class Part(NamedTuple):
    agent: str
    kind: RowKind
    first: int
    end: int
    checkpoint: int
    path: Path


class GraphParts:
    """The parts of one folder, for one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        with map_disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            remove_unfinished(self._folder)
            listed = self._listed()
            self._parts = _following(listed)
            for part in set(listed).difference(self._parts):
                part.path.unlink()

    def _listed(self) -> list[Part]:
        matches = ((_NAME.fullmatch(path.name), path) for path in self._folder.iterdir())
        return [
            Part(match[1], RowKind(match[2]), int(match[3]), int(match[4]), int(match[5]), path)
            for match, path in matches
            if match
        ]

    def _of(self, agent: str, kind: RowKind) -> list[Part]:
        return [part for part in self._parts if (part.agent, part.kind) == (agent, kind)]

    def rows(self, agent: str, kind: RowKind) -> int:
        """How many rows were taken so far: the number of the one that comes next."""
        return max((part.end for part in self._of(agent, kind)), default=0)

    def checkpoint(self, agent: str) -> int:
        return max((part.checkpoint for part in self._parts if part.agent == agent), default=0)

    def agents(self) -> set[str]:
        return {part.agent for part in self._parts}

    def forget(self, agent: str) -> None:
        """All of an agent: its rows are not those that were taken, because an older copy of it was restored."""
        with map_disk_errors(self._folder):
            # The last ones first: what a kill leaves still follows from row 0.
            for part in sorted(self._parts, key=lambda each: -each.first):
                if part.agent == agent:
                    part.path.unlink()
                    self._parts.remove(part)

    def add(self, agent: str, kind: RowKind, rows: int, checkpoint: int, part: DocumentPart | LinkPart) -> None:
        """The next `rows` rows. Durable when it returns."""
        first = self.rows(agent, kind)
        self._parts.append(self._written(Part(agent, kind, first, first + rows, checkpoint, self._folder), part))
        while len(last := self._of(agent, kind)[-2:]) == 2 and _are_alike(*last):
            self._join(*last)

    def _join(self, older: Part, newer: Part) -> None:
        gathered: DocumentRows | LinkRows = (
            DocumentRows() if older.kind is RowKind.DOCUMENTS else LinkRows(lambda _: False)
        )
        for part in (older, newer):
            gathered.add_part(self._read(part))  # type: ignore[arg-type]
        self._parts.append(self._written(newer._replace(first=older.first), gathered.part()))
        for part in (newer, older):
            part.path.unlink()
            self._parts.remove(part)

    def _written(self, part: Part, content: DocumentPart | LinkPart) -> Part:
        name = f"{part.agent}-{part.kind}-{part.first:012d}-{part.end:012d}-{part.checkpoint:08d}.npz"
        with map_disk_errors(self._folder), atomic_file(self._folder / name) as file:
            np.savez(file, allow_pickle=False, **content._asdict())
        return part._replace(path=self._folder / name)

    def documents(self) -> Iterator[DocumentPart]:
        for part in self._parts:
            if part.kind is RowKind.DOCUMENTS:
                yield DocumentPart(*_arrays(part.path, DocumentPart._fields))

    def links(self) -> Iterator[LinkPart]:
        for part in self._parts:
            if part.kind is RowKind.LINKS:
                yield LinkPart(*_arrays(part.path, LinkPart._fields))

    def rows_in(self, kind: RowKind) -> int:
        """How many rows all parts of that kind were made of; those that do not count are left out of the parts."""
        return sum(part.end - part.first for part in self._parts if part.kind is kind)

    def columns(self, kind: RowKind, *names: str) -> Iterator[list[NDArray[Any]]]:
        """Some columns only, of every part of that kind."""
        for part in self._parts:
            if part.kind is kind:
                yield _arrays(part.path, names)

    def _read(self, part: Part) -> DocumentPart | LinkPart:
        if part.kind is RowKind.DOCUMENTS:
            return DocumentPart(*_arrays(part.path, DocumentPart._fields))
        return LinkPart(*_arrays(part.path, LinkPart._fields))


def _following(parts: list[Part]) -> list[Part]:
    """Those that follow one another, of each agent and kind; the widest of those that begin together."""
    found: list[Part] = []
    ends: dict[tuple[str, RowKind], int] = {}
    for part in sorted(parts, key=lambda each: (each.agent, each.kind, each.first, -each.end)):
        whose = (part.agent, part.kind)
        if part.first == ends.get(whose, 0):
            ends[whose] = part.end
            found.append(part)
    return found


def _are_alike(older: Part, newer: Part) -> bool:
    """So a row is joined rarely, and the last part stays small enough to be joined fast."""
    older_rows, newer_rows = older.end - older.first, newer.end - newer.first
    return older_rows <= 2 * newer_rows and older_rows + newer_rows <= PART_ROWS


def _arrays(path: Path, names: tuple[str, ...]) -> list[NDArray[Any]]:
    try:
        # A zip file knows the sum of each of its members, and reading one checks it.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return [stored[name] for name in names]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise DamagedError(f"{path} is damaged ({error}); remove it, and what it holds is read again") from error
