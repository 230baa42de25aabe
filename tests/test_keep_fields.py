"""Fields that hooks add to documents are columns of their own, in segments, joins and exports."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tarrafa.keep import (
    BEGINNING,
    DOCUMENTS,
    DocumentRow,
    DocumentWriter,
    FieldValue,
    field_types,
    join_segments,
    read_batches,
)
from tarrafa.keep.export import Snapshot, export_jsonl, export_parquet
from tarrafa.keep.segment_reader import list_segments, read_rows_from, whole_layout
from tarrafa.keep.segment_writer import JOIN_COUNT
from tarrafa.layout import CrawlPaths

EVERY: dict[str, FieldValue] = {
    "name": "net",
    "count": 3,
    "price": 2.5,
    "sold": True,
    "seen_at": datetime(2026, 3, 1, tzinfo=UTC),
    "colours": ("red", "blue"),
}


def write(folder: Path, *checkpoints: Mapping[str, FieldValue]) -> None:
    """Write a document with these fields for each checkpoint."""
    for number, fields in enumerate(checkpoints):
        writer = DocumentWriter(folder, number)
        writer.add(DocumentRow(f"http://a.test/{number}", 1e9, "fetched", 200, fields=fields))
        writer.sync(number + 1)


def rows(folder: Path, checkpoint: int) -> list[dict[str, object]]:
    layout = whole_layout(folder, DOCUMENTS, checkpoint)
    table = pa.Table.from_batches(read_batches(folder, layout, checkpoint), layout.columns)
    added = table.column_names[len(DOCUMENTS.columns) :]
    return list(table.select(added).to_pylist())


def test_each_type_of_field_is_read_back_as_it_was(tmp_path: Path) -> None:
    write(tmp_path, EVERY)
    assert rows(tmp_path, 1) == [{**EVERY, "colours": ["red", "blue"]}]
    assert field_types(tmp_path, 1) == {name: type(value) for name, value in EVERY.items()}


def test_documents_without_a_field_have_none(tmp_path: Path) -> None:
    write(tmp_path, {}, {"price": 1.5}, {"name": "net"})
    assert rows(tmp_path, 3) == [
        {"price": None, "name": None},
        {"price": 1.5, "name": None},
        {"price": None, "name": "net"},
    ]


def test_fields_of_later_checkpoints_are_not_seen(tmp_path: Path) -> None:
    write(tmp_path, {"price": 1.5}, {"name": "net"})
    assert rows(tmp_path, 1) == [{"price": 1.5}]


def test_join_of_segments_keeps_the_fields_of_all(tmp_path: Path) -> None:
    write(tmp_path, *({"price": float(number)} if number % 2 else {"name": "net"} for number in range(JOIN_COUNT)))
    before = rows(tmp_path, JOIN_COUNT)
    assert join_segments(tmp_path, DOCUMENTS, JOIN_COUNT) == JOIN_COUNT
    assert len(list_segments(tmp_path)) == 1
    assert rows(tmp_path, JOIN_COUNT) == before


def test_readers_of_named_columns_get_only_these(tmp_path: Path) -> None:
    write(tmp_path, {"price": 1.5}, {})
    assert [batch.schema.names for batch in read_batches(tmp_path, DOCUMENTS, 2, ["url"])] == [["url"]] * 2
    plain = list(read_batches(tmp_path, DOCUMENTS, 2))
    assert all(batch.schema.equals(DOCUMENTS.columns) for batch in plain)
    found = [batch.schema.names for batch in read_rows_from(tmp_path, DOCUMENTS, 2, ["url", "price"], 0)]
    assert found == [["url", "price"], ["url"]]


def test_column_of_another_type_in_a_segment_is_empty_in_the_whole(tmp_path: Path) -> None:
    write(tmp_path, {"price": 1.5}, {"price": "cheap"})
    assert rows(tmp_path, 2) == [{"price": 1.5}, {"price": None}]


def test_exports_have_the_fields(tmp_path: Path) -> None:
    paths = CrawlPaths(tmp_path)
    write(paths.documents, EVERY, {})
    snapshots = [Snapshot(paths, 2, BEGINNING)]
    assert export_parquet(snapshots, tmp_path / "all.parquet", lambda *_: None) == 2
    assert pq.read_table(tmp_path / "all.parquet").column("price").to_pylist() == [2.5, None]
    export_jsonl(snapshots, tmp_path / "all.jsonl", lambda *_: None)
    first = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[0])
    assert (first["colours"], first["seen_at"]) == (["red", "blue"], "2026-03-01T00:00:00+00:00")


def test_duckdb_reads_segments_with_different_fields(tmp_path: Path) -> None:
    write(tmp_path, {"price": 1.5}, {}, {"price": 2.0})
    query = f"select sum(price) from read_parquet('{tmp_path}/*.parquet', union_by_name = true)"
    with duckdb.connect() as database:
        assert database.execute(query).fetchall() == [(3.5,)]
