"""Documents and links as datasets of pyarrow, which DuckDB, polars and pandas read without a copy."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from tarrafa.disk import map_disk_errors
from tarrafa.keep.segment_reader import TableLayout, list_segments, live_segments, whole_layout


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
