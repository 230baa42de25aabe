"""The Parquet files of a block: what the URLs are, and what became of those that were collected."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tarrafa.numbers import as_column
from tarrafa.verify.veuniq.spill import VISIT

# A visit as it is kept: with the origin of its URL.
KEPT_VISIT = np.dtype([("origin", "<u4"), *VISIT.descr])
# Rows of a file that are read together.
GROUP_ROWS = 32_768
_DELTA = "DELTA_BINARY_PACKED"


def pack_texts(
    first_origin: int, hosts: list[str], which: NDArray[np.integer[Any]], paths: pa.LargeStringArray, cycle: int
) -> pa.Buffer:
    """URLs in the order of their origin, by which other files mean them; `which` says whose of the hosts each is."""
    origins = np.arange(first_origin, first_origin + len(paths), dtype=np.uint32)
    table = pa.table(
        {
            "origin": as_column(origins),
            "host": pa.DictionaryArray.from_arrays(as_column(which.astype(np.int32)), pa.array(hosts, pa.string())),
            "path": paths,
            "cycle": as_column(np.full(len(paths), cycle, np.uint32)),
        }
    )
    return _packed(table, ["host", "cycle"], {"origin": _DELTA, "path": "PLAIN"})


def unpack_texts(data: bytes, rows: NDArray[np.int64]) -> pa.LargeStringArray:
    """The URLs of these rows of a file."""
    table, places = _read_around(data, rows)
    table = table.take(as_column(places))
    hosts, paths = (table[name].cast(pa.large_string()) for name in ("host", "path"))
    return pc.binary_join_element_wise(hosts, paths, pa.scalar("", pa.large_string())).combine_chunks()


def unpack_urls(data: bytes, rows: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return the same as Python strings."""
    table, places = _read_around(data, rows)
    table = table.take(as_column(places))
    urls: NDArray[np.object_] = table["host"].to_numpy() + table["path"].to_numpy()
    return urls


def _read_around(data: bytes, rows: NDArray[np.int64]) -> tuple[pa.Table, NDArray[np.int64]]:
    """The part of a file that has these rows, and their places in it.

    A block's rows stand together there, so the rest of the file is not decoded.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    first, last = int(rows.min()) // GROUP_ROWS, int(rows.max()) // GROUP_ROWS
    table = file.read_row_groups(range(first, last + 1), columns=["host", "path"], use_threads=False)
    return table, rows - first * GROUP_ROWS


def pack_visits(visits: NDArray[np.void]) -> pa.Buffer:
    """By origin; a later file is right where two files tell of the same origin."""
    ordered = visits[np.argsort(visits["origin"], kind="stable")]
    table = pa.table({name: as_column(ordered[name]) for name in KEPT_VISIT.names or ()})
    return _packed(table, ["status", "file"], {"origin": _DELTA, "offset": _DELTA, "at_seconds": "BYTE_STREAM_SPLIT"})


def unpack_visits(data: bytes) -> NDArray[np.void]:
    # Not by threads: the last to let go of `data` may be one that does so when Python ends, which aborts.
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    visits = np.empty(table.num_rows, KEPT_VISIT)
    for name in KEPT_VISIT.names or ():
        visits[name] = table[name].to_numpy()
    return visits


def _packed(table: pa.Table, dictionaries: list[str], encodings: dict[str, str]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=1,
        use_dictionary=dictionaries,
        column_encoding=encodings,
        write_statistics=False,
        row_group_size=GROUP_ROWS,
    )
    return sink.getvalue()
