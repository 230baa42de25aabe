"""Helpers for tests of search: rows of documents, and indexes of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from tarrafa.keep import DocumentRow
from tarrafa.keep.row_writers import document_table
from tarrafa.layout import CrawlPaths
from tarrafa.search import IndexWriter, Search, SearchRequest

BEGAN = 1_700_000_000.0


def row(path: str, text: str = "", title: str = "", **more: Any) -> DocumentRow:
    """Return a row of a fetched page of example.org; `more` changes its values."""
    url = path if "//" in path else f"http://example.org/{path}"
    usual: dict[str, Any] = {"fetched_at": BEGAN, "outcome": "fetched", "status": 200, "media_type": "text/html"}
    return DocumentRow(**{**usual, "url": url, "text": text, "title": title, "language": "en", **more})


def batch(rows: Iterable[DocumentRow]) -> pa.RecordBatch:
    (found,) = document_table(list(rows)).combine_chunks().to_batches()
    return found


def index_folder(root: Path, agent: str = "00") -> Path:
    return CrawlPaths(root, agent).index


def write(root: Path, *rows: DocumentRow, agent: str = "00") -> None:
    writer = IndexWriter(index_folder(root, agent))
    try:
        if rows:
            writer.apply(batch(rows))
        writer.commit()
    finally:
        writer.close()


def searched(root: Path, *rows: DocumentRow) -> Search:
    write(root, *rows)
    return Search.open(root)


def urls(search: Search, text: str, **more: Any) -> list[str]:
    """Return the URLs of the results, best first, without http://example.org/."""
    return [hit.url.removeprefix("http://example.org/") for hit in search.search(SearchRequest(text, **more)).hits]
