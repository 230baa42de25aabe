"""Documents and links as datasets of pyarrow, which DuckDB, polars and pandas read without a copy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tarrafa.disk import map_disk_errors
from tarrafa.hashes import U64
from tarrafa.keep.row_writers import DOCUMENTS
from tarrafa.keep.segment_reader import TableLayout, list_segments, live_segments, read_batches, whole_layout
from tarrafa.keep.url_groups import Mask, current_rows

# A row is known by the sum of these columns, each times an odd number: 64 bits that hardly ever agree by chance.
_KEY_FACTORS = {
    "fetched_at": 0x9E3779B185EBCA87,
    "archive_file": 0xC2B2AE3D27D4EB4F,
    "archive_offset": 0x165667B19E3779F9,
}


class RowFolder(NamedTuple):
    """The rows of an agent, and the checkpoint up to which they count."""

    folder: Path
    checkpoint: int


def open_dataset(parts: Sequence[RowFolder], layout: TableLayout) -> ds.Dataset:
    """Return all rows, with the columns that hooks have added. The files are read when the dataset is used.

    A crawl that goes on may join small files into larger ones; open the dataset again if one of its files is gone.
    """
    schema = layout.columns
    paths: list[str] = []
    for folder, checkpoint in parts:
        with map_disk_errors(folder):
            segments = live_segments(list_segments(folder), checkpoint)
        paths += [str(each.path) for each in segments]
        added = [each for each in whole_layout(folder, layout, checkpoint).columns if each.name not in schema.names]
        schema = pa.schema([*schema, *added])
    return ds.dataset(paths, schema=schema, format="parquet") if paths else ds.dataset(schema.empty_table())


def open_current_documents(parts: Sequence[RowFolder]) -> ds.Dataset:
    """Return the current row of each URL. Finding them takes one pass over all URLs."""
    masks = [current_rows(*part) for part in parts]
    dataset = open_dataset(parts, DOCUMENTS)
    if all(mask.all() for mask in masks):
        return dataset
    # Name the fewer ones: the current rows or the others.
    named = min((True, False), key=lambda kind: sum(int(np.sum(mask == kind)) for mask in masks))
    keys = [_keys_of(part, mask == named) for part, mask in zip(parts, masks, strict=True)]
    is_named = _key({name: pc.field(name) for name in _KEY_FACTORS}).isin(pa.array(np.concatenate(keys)))
    return dataset.filter(is_named if named else ~is_named)


def _keys_of(part: RowFolder, mask: Mask) -> U64:
    """Return the keys of the rows of a mask."""
    found, first = [np.zeros(0, np.uint64)], 0
    for batch in read_batches(part.folder, DOCUMENTS, part.checkpoint, tuple(_KEY_FACTORS)):
        rows = batch.take(pa.array(np.flatnonzero(mask[first : first + batch.num_rows])))
        first += batch.num_rows
        found.append(_key({name: rows.column(name) for name in _KEY_FACTORS}).to_numpy())
    return np.concatenate(found)


def _key(columns: dict[str, Any]) -> Any:
    """Return the keys of rows, from arrays or from expressions."""
    zero = pa.scalar(0, pa.uint64())
    parts = [
        pc.multiply(pc.coalesce(columns[name].cast(pa.int64()).cast(pa.uint64()), zero), pa.scalar(factor, pa.uint64()))
        for name, factor in _KEY_FACTORS.items()
    ]
    return pc.add(pc.add(parts[0], parts[1]), parts[2])
