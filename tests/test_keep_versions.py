"""Only the current row of each URL is exported and read, unless all versions are asked for."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tarrafa
from archive_pages import quick_folder
from crawls import run
from stored_rows import VISIT, Rows
from tarrafa.collection.retention import prune_versions
from tarrafa.keep import DOCUMENTS
from tarrafa.keep.datasets import RowFolder, open_current_documents
from tarrafa.keep.export import Snapshot, export_records
from tarrafa.keep.retention import VersionBounds
from tarrafa.keep.url_groups import current_rows
from tarrafa.layout import CrawlPaths
from tarrafa.versions import is_mere_visit
from versioned import VersionedCrawl

A, B, C = (f"http://example.org/{name}" for name in "abc")


@settings(max_examples=25)
@given(st.lists(st.lists(VISIT, max_size=6), max_size=6), st.booleans(), st.sampled_from([1, 3, 1_000]))
def test_current_rows_are_those_of_a_plain_scan(steps: list[list], is_joined: bool, range_rows: int) -> None:  # type: ignore[type-arg]
    with quick_folder() as root:
        rows = Rows(CrawlPaths(root))
        for step in [*steps, *[[] for _ in range(8)]]:
            rows.add(step)
        if is_joined:
            rows.join()
        scanned = rows.scanned(DOCUMENTS)
        current = {row["url"]: number for number, row in enumerate(scanned)}
        current |= {row["url"]: number for number, row in enumerate(scanned) if not is_mere_visit(row["outcome"])}
        mask = current_rows(rows.paths.documents, rows.checkpoint, range_rows)
        assert mask.nonzero()[0].tolist() == sorted(current.values())
        dataset = open_current_documents([RowFolder(rows.paths.documents, rows.checkpoint)])
        assert dataset.to_table().to_pylist() == [scanned[number] for number in sorted(current.values())]


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[VersionedCrawl]:
    found = VersionedCrawl(tmp_path / "crawl")
    found.visit(A, "old a")
    found.visit(B, "only b")
    found.visit(A, "new a")
    found.visit(A, outcome="unchanged")
    found.visit(C, "lost c")
    found.visit(C, outcome="gone")
    found.save()
    yield found
    found.close()


def exported(crawl: VersionedCrawl, kind: str, *options: str) -> Path:
    out = crawl.folder.root.parent / kind
    done = run("export", kind, "--dir", str(crawl.folder.root), "--out", str(out), *options)
    assert done.returncode == 0, done.stderr
    return out


def test_exports_have_current_rows_or_all(crawl: VersionedCrawl) -> None:
    texts = [json.loads(line)["text"] for line in exported(crawl, "jsonl").read_text().splitlines()]
    assert texts == ["only b", "new a", ""]
    every = pq.read_table(exported(crawl, "parquet", "--all-versions"), columns=["text"])["text"].to_pylist()
    assert every == ["old a", "only b", "new a", "", "lost c", ""]
    pages = [path.read_text() for path in sorted(exported(crawl, "markdown").rglob("*.md"))]
    assert [page.splitlines()[-1] for page in pages] == ["new a", "only b"]


@pytest.mark.parametrize("is_pruned", [False, True])
def test_records_leave_out_what_was_replaced(crawl: VersionedCrawl, tmp_path: Path, is_pruned: bool) -> None:
    snapshot = Snapshot(crawl.folder, crawl.checkpoint, crawl.archive.end)
    if is_pruned:
        prune_versions(crawl.folder, VersionBounds(1))
    for all_versions, count in ((False, 3), (True, 6)):
        told: list[str] = []

        def html(page: object, told: list[str] = told) -> str:
            told.append(page.body.decode())  # type: ignore[attr-defined]
            return told[-1]

        snapshots = [snapshot._replace(has_all_versions=all_versions)]
        assert export_records(snapshots, tmp_path / "records", lambda *_: None, html) == count
        assert any("old a" in text for text in told) is all_versions


def test_dataset_of_a_collection_has_one_row_for_each_url(crawl: VersionedCrawl) -> None:
    collection = tarrafa.Collection(crawl.folder.root)
    assert collection.documents().to_table(columns=["url", "text"]).to_pylist() == [
        {"url": B, "text": "only b"},
        {"url": A, "text": "new a"},
        {"url": C, "text": ""},
    ]
    assert collection.documents(versions=True).count_rows() == 6
