"""Memory of ranking: by URLs, and not by links."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa

from archive_pages import quick_folder
from tarrafa.rank import (
    DocumentRows,
    GenerationWriter,
    GraphParts,
    LinkRows,
    RankSettings,
    RowKind,
    Scratch,
    arrays,
    bucket_file,
    compute,
    generation_writer,
    graph_parts,
)

PART_ROWS = 5_000
PAGES_PER_HOST = 1_000
BYTES_PER_URL = 24


def add_links(parts: GraphParts, urls_count: int, links_per_page: int) -> None:
    draw = np.random.default_rng(5)
    for first in range(0, urls_count, PART_ROWS // links_per_page):
        pages = np.arange(first, min(urls_count, first + PART_ROWS // links_per_page))
        sources = np.repeat(pages, links_per_page)
        targets = np.where(np.arange(len(sources)) % 2, draw.integers(0, urls_count, len(sources)), sources + 1)
        documents = DocumentRows()
        documents.add(document_batch(pages))
        parts.add("00", RowKind.DOCUMENTS, PART_ROWS, 1, documents.part())
        rows = LinkRows(lambda _: False)
        rows.add(batch(sources, targets % urls_count))
        parts.add("00", RowKind.LINKS, PART_ROWS, 1, rows.part())


def batch(sources: arrays.I64, targets: arrays.I64) -> pa.RecordBatch:
    columns = {
        "source": [url(number) for number in sources.tolist()],
        "target": [url(number) for number in targets.tolist()],
        "text": [f"text {number % 500}" for number in targets.tolist()],
        "rel": [""] * len(sources),
        "kind": ["a"] * len(sources),
    }
    moments = pa.array([0] * len(sources), pa.timestamp("us", tz="UTC"))
    return pa.RecordBatch.from_pydict({**columns, "fetched_at": moments})


def document_batch(pages: arrays.I64) -> pa.RecordBatch:
    count = len(pages)
    columns = {
        "url": [url(number) for number in pages.tolist()],
        "outcome": ["fetched"] * count,
        "canonical": [""] * count,
        "directives": pa.array([[]] * count, pa.list_(pa.string())),
        "signature": pa.array(pages, pa.uint64()),
    }
    moments = pa.array([0] * count, pa.timestamp("us", tz="UTC"))
    return pa.RecordBatch.from_pydict({**columns, "fetched_at": moments})


def url(number: int) -> str:
    return f"http://host{number // PAGES_PER_HOST}.test/{number}"


def peak_bytes(urls_count: int, links_per_page: int) -> int:
    """Return the peak in a process of its own: what other tests left in this one would be counted too."""
    command = [sys.executable, __file__, str(urls_count), str(links_per_page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def make_buffers_small() -> None:
    """Make the fixed buffers small beside what grows."""
    bucket_file.BUCKET_ROWS = graph_parts.PART_ROWS = PART_ROWS
    arrays.CHUNK_ROWS = generation_writer.CHUNK_ROWS = 1_000


def measure(folder: Path, urls_count: int, links_per_page: int) -> int:
    parts = GraphParts(folder)
    add_links(parts, urls_count, links_per_page)
    with Scratch(folder) as scratch, GenerationWriter(folder) as writer:
        tracemalloc.start()
        try:
            counts = compute(parts, writer, RankSettings(), None, lambda _: None, scratch)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert counts.urls == urls_count
    return peak


def test_a_url_takes_at_most_24_bytes() -> None:
    small, large = (peak_bytes(count, 2) for count in (15_000, 45_000))
    assert large - small <= BYTES_PER_URL * 30_000


def test_links_take_no_memory() -> None:
    """The whole graph in memory took at least 20 bytes for each link."""
    few, many = (peak_bytes(5_000, links) for links in (4, 16))
    assert many - few < 60_000


if __name__ == "__main__":
    make_buffers_small()
    with quick_folder() as made:
        sys.stdout.write(str(measure(made, int(sys.argv[1]), int(sys.argv[2]))))
