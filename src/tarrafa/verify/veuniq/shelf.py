"""Blocks on the disk: their files read and written. What is written counts only when the manifest names it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from tarrafa.errors import DamagedError
from tarrafa.verify.veuniq.block import MARKS, PLACES, Block, Columns, Content, Hosts, Run, Texts
from tarrafa.verify.veuniq.disk import Buffer, Stored, read_file, write_file
from tarrafa.verify.veuniq.spill import PART, Waiting, pack, unpack_part, within
from tarrafa.verify.veuniq.tables import KEPT_VISIT, pack_texts, pack_visits, unpack_texts, unpack_urls, unpack_visits
from tarrafa.verify.veuniq.texts import gathered, parted


class Spill(NamedTuple):
    cycle: int
    stored: Stored
    catalogue: Stored  # the file of the index
    parts: NDArray[Any]


class Shelf:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, block: Block) -> Content:
        """What a cycle needs of a block; the texts and visits stay where they are."""
        columns = Columns(*self._columns(block.places, PLACES), *self._columns(block.marks, MARKS))
        return Content([self._run(stored) for stored in block.runs], columns, self.hosts(block))

    def _columns(self, files: list[Stored], kinds: Sequence[Any]) -> list[NDArray[Any]]:
        """The columns that stand one after the other in each of the files, each joined over all files."""
        pieces: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in kinds]
        for stored in files:
            data, at = read_file(self.folder, stored), 0
            for kind, column in zip(kinds, pieces, strict=True):
                column.append(np.frombuffer(data, kind, stored.rows, at))
                at += column[-1].nbytes
        return [column[-1] if len(column) <= 2 else np.concatenate(column) for column in pieces]

    def _run(self, stored: Stored) -> Run:
        data = read_file(self.folder, stored)
        return Run(np.frombuffer(data, "<u8", stored.rows), np.frombuffer(data, "<u4", stored.rows, 8 * stored.rows))

    def hosts(self, block: Block) -> Hosts:
        hashes, names = [np.empty(0, np.uint64)], []
        for stored in block.hosts:
            data = read_file(self.folder, stored)
            hashes.append(np.frombuffer(data, "<u8", stored.rows))
            names += data[8 * stored.rows :].decode("ascii").split("\n")
        return Hosts(np.concatenate(hashes), names)

    def texts(self, block: Block, origins: NDArray[Any]) -> pa.LargeStringArray:
        """The URLs of these origins, in their order."""
        return gathered(
            _starts(block),
            origins,
            lambda number, rows: unpack_texts(read_file(self.folder, block.texts[number].stored), rows),
        )

    def urls(self, block: Block, origins: NDArray[Any]) -> list[str]:
        """The same as Python has them."""
        urls = np.empty(len(origins), np.object_)
        for part in parted(_starts(block), origins):
            data = read_file(self.folder, block.texts[part.number].stored)
            urls[part.positions] = unpack_urls(data, part.inside)
        found: list[str] = urls.tolist()
        return found

    def visits(self, block: Block) -> NDArray[Any]:
        """Every visit that is still true, by origin."""
        parts = [unpack_visits(read_file(self.folder, stored)) for stored in block.visits]
        if not parts:
            return np.empty(0, KEPT_VISIT)
        visits = np.concatenate(parts)
        order = np.argsort(visits["origin"], kind="stable")
        ordered = visits[order]
        lasts = np.concatenate((ordered["origin"][1:] != ordered["origin"][:-1], [True]))
        return ordered[lasts]

    def write_run(self, block: Block, generation: int, run: Run) -> Stored:
        return self._write(block, f"run{generation}", run, len(run.rows))

    def write_places(self, block: Block, generation: int, columns: Columns, first: int) -> Stored:
        """Those of the rows from `first` on."""
        pieces = (columns.host[first:], columns.origin[first:])
        return self._write(block, f"places{generation}", pieces, len(pieces[0]))

    def write_marks(self, block: Block, generation: int, columns: Columns) -> Stored:
        return self._write(block, f"marks{generation}", columns[len(PLACES) :], len(columns.host))

    def write_hosts(self, block: Block, generation: int, hosts: Hosts) -> Stored:
        pieces = (hosts.hashes, "\n".join(hosts.names).encode("ascii"))
        return self._write(block, f"hosts{generation}", pieces, len(hosts.names))

    def write_texts(
        self, block: Block, name: str, hosts: list[str], which: NDArray[Any], paths: pa.LargeStringArray
    ) -> Texts:
        """`name` begins with the number of the cycle."""
        data = pack_texts(block.origins, hosts, which, paths, block.since)
        return Texts(block.origins, self._write(block, f"texts{name}.parquet", (data,), len(paths)))

    def write_visits(self, block: Block, name: str, visits: NDArray[Any]) -> Stored:
        return self._write(block, f"visits{name}.parquet", (pack_visits(visits),), len(visits))

    def _write(self, block: Block, name: str, pieces: Sequence[Buffer], rows: int) -> Stored:
        return write_file(self.folder, f"blocks/{block.number:05d}/{name}", pieces, rows)

    def write_spill(self, cycle: int, waiting: Waiting, blocks: NDArray[Any], firsts: NDArray[Any]) -> Spill:
        parts, index = pack(waiting, blocks, firsts)
        stored = write_file(self.folder, f"spill/cycle{cycle}", parts, len(waiting))
        written = write_file(self.folder, f"spill/cycle{cycle}.index", [index], len(index))
        return Spill(cycle, stored, written, index)

    def open_spill(self, cycle: int, stored: Stored, index: Stored) -> Spill:
        return Spill(cycle, stored, index, np.frombuffer(read_file(self.folder, index), PART))

    def read_spill(self, spill: Spill, block: Block) -> list[Waiting]:
        """What waits for the block: its own part, or a share of the part of the block that it was split from."""
        place = int(np.searchsorted(spill.parts["first"], np.uint64(block.first), side="right")) - 1
        # The part before this block's may be another's; then nothing of it is within the range.
        return (
            [within(unpack_part(self._part(spill, spill.parts[place])), block.first, block.end)] if place >= 0 else []
        )

    def _part(self, spill: Spill, part: np.void) -> bytes:
        path = self.folder / spill.stored.name
        try:
            with path.open("rb") as file:
                file.seek(int(part["offset"]))
                data = file.read(int(part["size"]))
        except FileNotFoundError:
            raise DamagedError(f"{path} is missing; restore it from a copy") from None
        if xxhash.xxh3_64_intdigest(data) != int(part["sum"]):
            raise DamagedError(f"{path} is not what was written: a part's sum is wrong; restore it from a copy")
        return data


def _starts(block: Block) -> NDArray[np.int64]:
    """The first origin of each of its files of texts."""
    return np.array([texts.first_origin for texts in block.texts], np.int64)
