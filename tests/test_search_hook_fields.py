"""Documents are found by the fields that hooks have added."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from indexes import index_folder, row, urls
from tarrafa.keep import DocumentRow
from tarrafa.keep.row_writers import document_table, field_columns
from tarrafa.search import IndexWriter, Search

FIRST: dict[str, Any] = {
    "price": 2.5,
    "count": 3,
    "whole": 12.0,
    "sold": True,
    "brand": "Acme Corp",
    "seen_at": datetime(2026, 3, 1, 10, tzinfo=UTC),
    "colours": ("Red", "blue"),
}


def searched(root: Path, *rows: DocumentRow) -> Search:
    added = field_columns(rows)
    (batch,) = document_table(rows, added).combine_chunks().to_batches()
    writer = IndexWriter(index_folder(root))
    writer.field_names = [each.name for each in added]
    writer.apply(batch)
    writer.commit()
    writer.close()
    return Search.open(root)


@pytest.mark.parametrize(
    "query",
    [
        *("field:price=2.5", "field:count=3", "field:whole=12", "field:sold=true", 'field:"brand=acme corp"'),
        *("field:seen_at=2026-03-01", "field:colours=red", "field:colours=BLUE", "field:brand", "acme", "blue"),
    ],
)
def test_document_is_found_by_a_value_a_name_or_a_word_of_a_field(tmp_path: Path, query: str) -> None:
    search = searched(tmp_path, row("a", "net", fields=FIRST), row("b", "net", fields={"price": 7.0}))
    assert urls(search, query) == ["a"]


def test_fields_narrow_and_exclude(tmp_path: Path) -> None:
    search = searched(
        tmp_path, row("a", "net", fields={"price": 2.5}), row("b", "net", fields={"price": 7.0}), row("c", "net")
    )
    assert urls(search, "net field:price=7") == ["b"]
    assert sorted(urls(search, "net -field:price=7", per_site=0)) == ["a", "c"]
    assert urls(search, "net -field:price") == ["c"]


def test_rows_without_fields_are_indexed_beside_others(tmp_path: Path) -> None:
    assert sorted(urls(searched(tmp_path, row("a", "net"), row("b", "net two")), "net", per_site=0)) == ["a", "b"]
