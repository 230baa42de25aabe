"""Rows of documents and links count once and can be read by other tools."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive_pages import quick_folder
from tarrafa.errors import DamagedError, WorkError
from tarrafa.keep import (
    DOCUMENTS,
    LINKS,
    DocumentRow,
    DocumentWriter,
    LinkWriter,
    count_rows,
    read_batches,
)

FILES = Path(__file__).parent.parent / "docs" / "reference" / "files.md"


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


def row(number: int) -> DocumentRow:
    return DocumentRow(f"http://host{number % 3}.test/{number}", 1e9 + number, "fetched", 200, text=f"text {number}")


def full_row() -> DocumentRow:
    return DocumentRow(
        url="https://www.example.com.br:8443/a?b",
        fetched_at=1_763_251_200.25,
        outcome="fetched",
        status=200,
        media_type="text/html",
        encoding="utf-8",
        language="pt",
        title="Título",
        description="d",
        headings=("um", "dois"),
        text="texto",
        canonical="https://example.com.br/a",
        published_at=1e9,
        modified_at=None,
        signature=2**64 - 1,
        similarity=1,
        directives=("noarchive",),
        usage=("train-ai=n",),
        size_bytes=5_000_000_000,
        cuts=("links", "text"),
        digest="sha1:A",
        archive_file=2**32 - 1,
        archive_offset=2**64 - 1,
    )


def rows_of(folder: Path, checkpoint: int) -> list[dict[str, Any]]:
    return [each for batch in read_batches(folder, DOCUMENTS, checkpoint) for each in batch.to_pylist()]


def urls_of(folder: Path, checkpoint: int) -> list[str]:
    return [each["url"] for each in rows_of(folder, checkpoint)]


def write(folder: Path, *rows: DocumentRow, checkpoint: int = 1) -> None:
    documents = DocumentWriter(folder, checkpoint - 1)
    for each in rows:
        documents.add(each)
    documents.sync(checkpoint)


def test_row_comes_back_with_host_and_site(folder: Path) -> None:
    write(folder, full_row())
    (found,) = rows_of(folder, 1)
    assert found["host"] == "https://www.example.com.br:8443"
    assert found["site"] == "example.com.br"
    moments = {name: found.pop(name) for name in ("fetched_at", "published_at", "modified_at")}
    assert moments["fetched_at"].isoformat() == "2025-11-16T00:00:00.250000+00:00"
    assert moments["published_at"].timestamp() == 1e9
    assert moments["modified_at"] is None
    lists = {
        "headings": ["um", "dois"],
        "directives": ["noarchive"],
        "usage": ["train-ai=n"],
        "cuts": ["links", "text"],
    }
    given = {**full_row()._asdict(), **lists}
    assert {name: given[name] for name in found if name not in ("host", "site")} == {
        name: value for name, value in found.items() if name not in ("host", "site")
    }


def test_duckdb_reads_the_same(folder: Path) -> None:
    write(folder, full_row(), *map(row, range(20)))
    query = f"select url, site, signature, epoch(fetched_at), headings from read_parquet('{folder}/*.parquet')"
    found = duckdb.connect().execute(query).fetchall()
    assert found[0] == (full_row().url, "example.com.br", 2**64 - 1, full_row().fetched_at, ["um", "dois"])
    assert [url for url, *_ in found[1:]] == [row(number).url for number in range(20)]


def test_links_of_a_page_come_back_in_their_order(folder: Path) -> None:
    links = LinkWriter(folder, 0)
    links.add(
        "http://a.test/", 1.5, [("http://b.test/", "B", "nofollow", "a", 0), ("http://c.test/", "", "", "frame", 1)]
    )
    links.add("http://empty.test/", 2.0, [])
    links.add("http://b.test/", 2.5, [("http://a.test/", "A", "", "a", 0)])
    links.sync(1)
    rows = [each for batch in read_batches(folder, LINKS, 1) for each in batch.to_pylist()]
    found = [each for each in rows if each["source"] == "http://a.test/"]
    assert [(each["target"], each["text"], each["rel"], each["kind"], each["position"]) for each in found] == [
        ("http://b.test/", "B", "nofollow", "a", 0),
        ("http://c.test/", "", "", "frame", 1),
    ]
    assert {each["fetched_at"].timestamp() for each in found} == {1.5}
    assert count_rows(folder, LINKS, 1) == 3


def test_half_a_character_does_not_stop_anything(folder: Path) -> None:
    write(folder, row(0)._replace(title="a\ud800b", headings=("\udfff",)), row(1))
    assert [(each["title"], each["headings"]) for each in rows_of(folder, 1)] == [("a?b", ["?"]), ("", [])]


def test_many_rows_or_long_ones_are_written_before_the_checkpoint(folder: Path) -> None:
    documents = DocumentWriter(folder / "rows", 0, rows_limit=10)
    for number in range(25):
        documents.add(row(number))
    assert len(list((folder / "rows").iterdir())) == 2
    documents = DocumentWriter(folder / "bytes", 0, bytes_limit=10_000)
    for number in range(25):
        documents.add(row(number)._replace(text="x" * 1_000))
    assert len(list((folder / "bytes").iterdir())) == 3
    links = LinkWriter(folder / "links", 0, rows_limit=10)
    links.add("http://a.test/", 0.0, [("http://b.test/", "", "", "a", number) for number in range(25)])
    assert len(list((folder / "links").iterdir())) == 1


def test_checkpoint_without_rows_writes_nothing(folder: Path) -> None:
    write(folder)
    assert list(folder.iterdir()) == []


@settings(max_examples=30)
@given(st.integers(0, 2_000))
def test_damaged_segment_is_named(position: int) -> None:
    with quick_folder() as folder:
        write(folder, *map(row, range(3)))
        (path,) = folder.iterdir()
        path.write_bytes(path.read_bytes()[:position])
        with pytest.raises(DamagedError, match=path.name):
            rows_of(folder, 1)


def test_segment_of_another_version_is_refused(folder: Path) -> None:
    write(folder, row(0))
    (path,) = folder.iterdir()
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({b"tarrafa": b"documents 99"}), path)
    with pytest.raises(WorkError, match="documents 99"):
        rows_of(folder, 1)


def test_folder_that_cannot_be_is_an_error_of_work(folder: Path) -> None:
    (folder / "documents").write_text("a file")
    with pytest.raises(WorkError, match="documents"):
        DocumentWriter(folder / "documents", 0)


def test_folder_that_vanished_while_rows_waited_is_an_error_of_work(folder: Path) -> None:
    documents = DocumentWriter(folder / "documents", 0)
    documents.add(row(0))
    shutil.rmtree(folder / "documents")
    with pytest.raises(WorkError, match="No such file"):
        documents.sync(1)


@pytest.mark.parametrize("layout", [DOCUMENTS, LINKS], ids=lambda layout: str(layout.name))
def test_every_column_is_documented_with_its_type(layout: Any) -> None:
    _, found, rest = FILES.read_text().partition(f"\n## {layout.name}/\n")
    assert found
    text = rest.partition("\n## ")[0]
    rows = [f"| `{column.name}` | {column.type} |" for column in layout.columns]
    assert [start for start in rows if start not in text] == []
    assert text.count("\n| `") == len(rows)
