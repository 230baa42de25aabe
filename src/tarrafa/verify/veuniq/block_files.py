"""The files of a block. What is written counts only when the manifest names it.

Numbers are stored as plain columns. Texts and visits are Parquet, so that other programs can query them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tarrafa.histories import HISTORY_TYPES, Histories
from tarrafa.verify.veuniq.block import (
    ROW_INDEX,
    ROW_STATE,
    ROW_WEIGHT,
    Block,
    BlockContent,
    BlockHosts,
    FingerprintRun,
    RowColumns,
    StoredTexts,
    no_weights,
)
from tarrafa.verify.veuniq.spills import VISIT
from tarrafa.verify.veuniq.stored_files import Buffer, StoredFile, read_file, write_file
from tarrafa.verify.veuniq.text_columns import gathered, split_by_source

# A visit as it is stored: with the origin of its URL.
STORED_VISIT = np.dtype([("origin", "<u4"), *VISIT.descr])
# Rows of a Parquet file that are decoded together.
_GROUP_ROWS = 32_768
_DELTA = "DELTA_BINARY_PACKED"


class BlockFiles:
    """Reads and writes the files of blocks, in the folder of a repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load_whole(self, block: Block) -> BlockContent:
        """Return what a cycle needs of a block; texts and visits stay on disk."""
        return self.load(block)._replace(histories=self.histories(block))

    def load(self, block: Block) -> BlockContent:
        """Return what readers need of a block."""
        return BlockContent(self.runs(block), self.rows(block), self.hosts(block))

    def runs(self, block: Block) -> list[FingerprintRun]:
        return [self._run(stored) for stored in block.runs]

    def histories(self, block: Block) -> Histories:
        return Histories(*self._columns(block.histories, HISTORY_TYPES))

    def rows(self, block: Block) -> RowColumns:
        """Return what is known of the rows of a block."""
        index, state = self._columns(block.row_index, ROW_INDEX), self._columns(block.row_state, ROW_STATE)
        return RowColumns(*index, *state, *self._weight(block, len(state[0])))

    def _weight(self, block: Block, rows: int) -> list[NDArray[Any]]:
        if not block.row_weight:
            return [no_weights(rows)]
        return self._columns(block.row_weight, (ROW_WEIGHT,))

    def _columns(self, files: list[StoredFile], types: Sequence[Any]) -> list[NDArray[Any]]:
        """Return columns that stand one after the other in each of the files, joined over all files."""
        pieces: list[list[NDArray[Any]]] = [[np.empty(0, each)] for each in types]
        for stored in files:
            data, at = read_file(self.folder, stored), 0
            for each, column in zip(types, pieces, strict=True):
                column.append(np.frombuffer(data, each, stored.rows, at))
                at += column[-1].nbytes
        return [column[-1] if len(column) <= 2 else np.concatenate(column) for column in pieces]

    def _run(self, stored: StoredFile) -> FingerprintRun:
        data = read_file(self.folder, stored)
        fingerprints = np.frombuffer(data, "<u8", stored.rows)
        return FingerprintRun(fingerprints, np.frombuffer(data, "<u4", stored.rows, fingerprints.nbytes))

    def hosts(self, block: Block) -> BlockHosts:
        hashes, names = [np.empty(0, np.uint64)], []
        for stored in block.hosts:
            data = read_file(self.folder, stored)
            hashes.append(np.frombuffer(data, "<u8", stored.rows))
            names += data[8 * stored.rows :].decode("ascii").split("\n")
        return BlockHosts(np.concatenate(hashes), names)

    def texts(self, block: Block, origins: NDArray[Any]) -> pa.LargeStringArray:
        """Return the URLs of these origins, in their order."""
        return gathered(
            _first_origins(block),
            origins,
            lambda number, rows: _unpack_texts(read_file(self.folder, block.texts[number].stored), rows),
        )

    def urls(self, block: Block, origins: NDArray[Any]) -> list[str]:
        """Return the URLs of these origins as Python strings."""
        urls = np.empty(len(origins), np.object_)
        for part in split_by_source(_first_origins(block), origins):
            data = read_file(self.folder, block.texts[part.source].stored)
            urls[part.asked] = _unpack_urls(data, part.inside)
        found: list[str] = urls.tolist()
        return found

    def visits(self, block: Block) -> NDArray[Any]:
        """Return the last visit of each origin, by origin."""
        parts = [_unpack_visits(read_file(self.folder, stored)) for stored in block.visits]
        if not parts:
            return np.empty(0, STORED_VISIT)
        visits = np.concatenate(parts)
        ordered = visits.take(np.argsort(visits["origin"], kind="stable"))
        return ordered[np.concatenate((ordered["origin"][1:] != ordered["origin"][:-1], [True]))]

    def visits_of(self, block: Block, origins: NDArray[Any]) -> NDArray[Any]:
        """Return the last visit of each of these origins, in their order; all of them have one."""
        found = np.zeros(len(origins), STORED_VISIT)
        missing = np.arange(len(origins))
        for stored in reversed(block.visits):  # of several files that tell of an origin, the last counts
            if not len(missing):
                break
            file = pq.ParquetFile(pa.BufferReader(read_file(self.folder, stored)))
            own = file.read(columns=["origin"], use_threads=False)["origin"].to_numpy()
            rows = np.searchsorted(own, origins[missing], side="right") - 1
            is_here = (rows >= 0) & (own[rows] == origins[missing])
            found[missing[is_here]] = _take_visits(file, rows[is_here])
            missing = missing[~is_here]
        return found

    def write_run(self, block: Block, cycle: int, run: FingerprintRun) -> StoredFile:
        return self._write(block, f"run{cycle}", run, len(run.rows))

    def write_row_index(self, block: Block, cycle: int, columns: RowColumns, first: int) -> StoredFile:
        """Write the hosts and origins of the rows from `first` on."""
        pieces = (columns.host[first:], columns.origin[first:])
        return self._write(block, f"row_index{cycle}", pieces, len(pieces[0]))

    def write_row_state(self, block: Block, cycle: int, columns: RowColumns) -> StoredFile:
        state = columns[len(ROW_INDEX) : len(ROW_INDEX) + len(ROW_STATE)]
        return self._write(block, f"row_state{cycle}", state, len(columns.host))

    def write_row_weight(self, block: Block, cycle: int, columns: RowColumns) -> StoredFile:
        return self._write(block, f"row_weight{cycle}", (columns.weight,), len(columns.host))

    def write_histories(self, block: Block, cycle: int, histories: Histories) -> StoredFile:
        return self._write(block, f"histories{cycle}", histories, len(histories.row))

    def write_hosts(self, block: Block, cycle: int, hosts: BlockHosts) -> StoredFile:
        pieces = (hosts.hashes, "\n".join(hosts.names).encode("ascii"))
        return self._write(block, f"hosts{cycle}", pieces, len(hosts.names))

    def write_texts(
        self, block: Block, name: str, hosts: list[str], which: NDArray[Any], paths: pa.LargeStringArray
    ) -> StoredTexts:
        """Write URLs from the next origin on; `which` gives the host of each. `name` begins with the cycle."""
        data = _pack_texts(block.origins, hosts, which, paths, block.since)
        return StoredTexts(block.origins, self._write(block, f"texts{name}.parquet", (data,), len(paths)))

    def write_visits(self, block: Block, name: str, visits: NDArray[Any]) -> StoredFile:
        return self._write(block, f"visits{name}.parquet", (_pack_visits(visits),), len(visits))

    def _write(self, block: Block, name: str, pieces: Sequence[Buffer], rows: int) -> StoredFile:
        return write_file(self.folder, f"{block_folder(block)}/{name}", pieces, rows)


def block_folder(block: Block) -> str:
    return f"blocks/{block.number:05d}"


def _first_origins(block: Block) -> NDArray[np.int64]:
    return np.array([texts.first_origin for texts in block.texts], np.int64)


def _pack_texts(
    first_origin: int, hosts: list[str], which: NDArray[np.integer[Any]], paths: pa.LargeStringArray, cycle: int
) -> pa.Buffer:
    origins = np.arange(first_origin, first_origin + len(paths), dtype=np.uint32)
    table = pa.table(
        {
            "origin": pa.array(origins),
            "host": pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32)), pa.array(hosts, pa.string())),
            "path": paths,
            "cycle": pa.array(np.full(len(paths), cycle, np.uint32)),
        }
    )
    return _pack(table, ["host", "cycle"], {"origin": _DELTA, "path": "PLAIN"})


def _unpack_texts(data: bytes, rows: NDArray[np.int64]) -> pa.LargeStringArray:
    """Return the URLs of these rows of a file."""
    table = _read_rows(data, rows)
    hosts, paths = (table[name].cast(pa.large_string()) for name in ("host", "path"))
    return pc.binary_join_element_wise(hosts, paths, pa.scalar("", pa.large_string())).combine_chunks()


def _unpack_urls(data: bytes, rows: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return the same as Python strings."""
    table = _read_rows(data, rows)
    urls: NDArray[np.object_] = table["host"].to_numpy() + table["path"].to_numpy()
    return urls


def _read_rows(data: bytes, rows: NDArray[np.int64]) -> pa.Table:
    """Read rows of a file of texts. The rows of a block stand together there; other row groups are not decoded."""
    file = pq.ParquetFile(pa.BufferReader(data))
    first, last = int(rows.min()) // _GROUP_ROWS, int(rows.max()) // _GROUP_ROWS
    table = file.read_row_groups(range(first, last + 1), columns=["host", "path"], use_threads=False)
    return table.take(pa.array(rows - first * _GROUP_ROWS))


def _pack_visits(visits: NDArray[np.void]) -> pa.Buffer:
    """Pack visits by origin; where two files tell of the same origin, the later file counts."""
    ordered = visits.take(np.argsort(visits["origin"], kind="stable"))
    table = pa.table({name: pa.array(np.ascontiguousarray(ordered[name])) for name in STORED_VISIT.names or ()})
    return _pack(table, ["status", "file"], {"origin": _DELTA, "offset": _DELTA, "at_seconds": "BYTE_STREAM_SPLIT"})


def _unpack_visits(data: bytes) -> NDArray[np.void]:
    # Without threads: one that released `data` last, while the interpreter exits, would abort the process.
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    visits = np.empty(table.num_rows, STORED_VISIT)
    for name in STORED_VISIT.names or ():
        visits[name] = table[name].to_numpy()
    return visits


def _take_visits(file: pq.ParquetFile, rows: NDArray[np.int64]) -> NDArray[np.void]:
    """Return rows of a file of visits, column by column, because each column of a whole file is large."""
    visits = np.empty(len(rows), STORED_VISIT)
    for name in STORED_VISIT.names or () if len(rows) else ():
        visits[name] = file.read(columns=[name], use_threads=False)[name].to_numpy()[rows]
    return visits


def _pack(table: pa.Table, dictionaries: list[str], encodings: dict[str, str]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=1,
        use_dictionary=dictionaries,
        column_encoding=encodings,
        write_statistics=False,
        row_group_size=_GROUP_ROWS,
    )
    return sink.getvalue()
