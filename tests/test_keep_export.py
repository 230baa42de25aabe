"""An export is one complete file that other tools read."""

import base64
import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive_pages import make_page, opened, quick_folder, seen_by_fastwarc, seen_by_warcio, warc_files
from tarrafa.errors import DamagedError, WorkError
from tarrafa.keep import DocumentRow, DocumentWriter, Original, Place, read_page
from tarrafa.keep.cdxj import sorted_lines
from tarrafa.keep.export import (
    ExportProgress,
    Snapshot,
    export_cdxj,
    export_jsonl,
    export_parquet,
    export_records,
    export_warc,
)
from tarrafa.layout import CrawlPaths
from tarrafa.records import Page

PAGES = [
    make_page(0),
    make_page(1)._replace(url="http://www.a.test/Z?b=2&a=1"),
    make_page(2, b"", status=404),
    make_page(3)._replace(headers=()),
]


def snapshot(paths: CrawlPaths, *pages: Page) -> Snapshot:
    """An agent's folder; the last page is there twice, and more was written after the checkpoint."""
    archive, documents = opened(paths.archive, file_limit_bytes=4_000), DocumentWriter(paths.documents, 0)
    for page in pages:
        found = archive.append(page)
        row = DocumentRow(page.url, page.at, "fetched", page.status, signature=2**63, digest=found.digest)
        documents.add(row._replace(archive_file=found.place.file, archive_offset=found.place.offset, title="é"))
    archive.append(pages[-1], (), (), Original(found.place, pages[-1].url, pages[-1].at, found.digest))
    end = archive.sync()
    documents.sync(1)
    archive.append(make_page(99))
    archive.sync()
    archive.close()
    documents.add(row)
    documents.sync(2)
    return Snapshot(paths, 1, end)


@pytest.fixture
def snapshots(tmp_path: Path) -> list[Snapshot]:
    """Of two agents."""
    return [snapshot(CrawlPaths(tmp_path, "00"), *PAGES[:2]), snapshot(CrawlPaths(tmp_path, "01"), *PAGES[2:])]


def progress_into(told: list[tuple[int, int]]) -> ExportProgress:
    return lambda done, total: told.append((done, total))


def assert_progress(told: list[tuple[int, int]]) -> None:
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0
    assert {total for _, total in told} == {told[-1][1]}


def quiet(_done: int, _total: int) -> None:
    pass


def test_warc_is_one_archive_with_the_pages_of_all(snapshots: list[Snapshot], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    out = tmp_path / "all.warc.gz"
    assert export_warc(snapshots, out, progress_into(told)) == out.stat().st_size
    urls = [url for kind, url, *_ in seen_by_warcio(out) if kind in ("response", "revisit")]
    assert urls == [page.url for page in (*PAGES[:2], PAGES[1], *PAGES[2:], PAGES[3])]
    assert [kind for kind, *_ in seen_by_fastwarc(out)] == [kind for kind, *_ in seen_by_warcio(out)]
    assert_progress(told)


def test_jsonl_holds_every_document_once(snapshots: list[Snapshot], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    out = tmp_path / "documents.jsonl"
    assert export_jsonl(snapshots, out, progress_into(told)) == 4
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["url"] for row in rows] == [page.url for page in PAGES]
    assert rows[0]["fetched_at"] == "2025-11-16T00:00:00.250000+00:00"
    assert rows[0]["signature"] == "8000000000000000"
    assert rows[0]["title"] == "é"
    place = Place(rows[1]["archive_file"], rows[1]["archive_offset"])
    assert read_page(snapshots[0].paths.archive, place).page.url == PAGES[1].url
    assert_progress(told)


def test_parquet_holds_every_document_once(snapshots: list[Snapshot], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    out = tmp_path / "documents.parquet"
    assert export_parquet(snapshots, out, progress_into(told)) == 4
    assert pq.read_table(out, columns=["url"])["url"].to_pylist() == [page.url for page in PAGES]
    assert_progress(told)


def test_cdxj_points_to_every_page_in_the_order_of_keys(snapshots: list[Snapshot], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    out = tmp_path / "index.cdxj"
    assert export_cdxj(snapshots, out, progress_into(told)) == 6
    lines = out.read_text().splitlines()
    assert lines == sorted(lines)
    key, moment, facts = lines[0].split(" ", 2)
    assert (key, moment) == ("test,a)/z?a=1&b=2", "20251116000001")
    assert json.loads(facts) | {"length": "", "offset": ""} == {
        "url": "http://www.a.test/Z?b=2&a=1",
        "mime": "text/html",
        "status": "200",
        "digest": base64.b32encode(hashlib.sha1(PAGES[1].body).digest()).decode(),
        "length": "",
        "offset": "",
        "filename": "tarrafa-07-20251116000000250-00000.warc.gz",
    }
    assert_progress(told)
    check_offsets(snapshots, [json.loads(line.split(" ", 2)[2]) for line in lines])


def check_offsets(snapshots: list[Snapshot], entries: list[dict[str, str]]) -> None:
    """As another reader finds them."""
    seen = {
        (url, offset, length, "warc/revisit" if kind == "revisit" else "")
        for each in snapshots
        for path in warc_files(each.paths.archive)
        for kind, url, offset, length, _ in seen_by_warcio(path)
        if kind in ("response", "revisit") and "99" not in url
    }
    kinds = {"text/html": "", "unk": "", "warc/revisit": "warc/revisit"}
    assert {(each["url"], int(each["offset"]), int(each["length"]), kinds[each["mime"]]) for each in entries} == seen


def test_records_hold_the_html_of_every_page_and_of_revisits(snapshots: list[Snapshot], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    out = tmp_path / "records.txt"

    def html(page: Page) -> str | None:
        return page.body.decode() + "|||||" if page.media_type == "text/html" else None

    every = [each._replace(has_all_versions=True) for each in snapshots]
    assert export_records(every, out, progress_into(told), html) == 4
    first = f"||| {PAGES[0].url} | {PAGES[0].body.decode()}||&#124;|| |||\n"
    again = f"||| {PAGES[1].url} | {PAGES[1].body.decode()}||&#124;|| |||\n"
    assert out.read_text().startswith(first + 2 * again)
    assert out.read_text().count("|||") == 8
    assert_progress(told)


# Complete or absent.


def test_export_that_fails_leaves_nothing_and_spares_what_was_there(snapshots: list[Snapshot], tmp_path: Path) -> None:
    out = tmp_path / "out" / "all.warc.gz"
    out.parent.mkdir()
    out.write_text("of last week")
    lost = warc_files(snapshots[1].paths.archive)[0]
    lost.write_bytes(lost.read_bytes()[:100])
    for export in (export_warc, export_cdxj):
        with pytest.raises(DamagedError):
            export(snapshots, out, quiet)
    assert [path.read_text() for path in out.parent.iterdir()] == ["of last week"]


@pytest.mark.parametrize("export", [export_warc, export_jsonl, export_parquet, export_cdxj])
def test_export_into_a_pipe_leaves_the_pipe_and_nothing_beside_it(
    export: Callable[..., int], snapshots: list[Snapshot], tmp_path: Path
) -> None:
    folder = tmp_path / "pipes"
    folder.mkdir()
    pipe, file = folder / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        received = threads.submit(pipe.read_bytes)
        export(snapshots, pipe, lambda *_: None)
    export(snapshots, file, lambda *_: None)
    assert received.result() == file.read_bytes()
    assert list(folder.iterdir()) == [pipe]


def test_export_that_is_stopped_leaves_nothing(snapshots: list[Snapshot], tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / "out").mkdir()
    for export in (export_warc, export_jsonl, export_parquet, export_cdxj):
        with pytest.raises(KeyboardInterrupt):
            export(snapshots, tmp_path / "out" / "file", stop)
    assert list((tmp_path / "out").iterdir()) == []


def test_export_into_a_folder_that_is_not_there_is_an_error_of_work(snapshots: list[Snapshot], tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="No such file"):
        export_warc(snapshots, tmp_path / "nowhere" / "out", quiet)


def test_export_of_a_crawl_that_has_kept_nothing_is_an_empty_file(tmp_path: Path) -> None:
    empty = [Snapshot(CrawlPaths(tmp_path), 0, Place(0, 0))]
    for export in (export_warc, export_jsonl, export_cdxj):
        assert export(empty, tmp_path / "out", quiet) == 0
        assert (tmp_path / "out").read_bytes() == b""


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1), max_size=40))
def test_lines_that_do_not_fit_in_memory_are_sorted(lines: list[str]) -> None:
    with quick_folder() as folder, sorted_lines(lines, folder, chunk_lines=3) as ordered:
        assert list(ordered) == sorted(lines)


def test_parts_beyond_the_number_of_open_files_are_merged(tmp_path: Path) -> None:
    lines = ["a", "a\tb", *(f"{number * 7_919 % 10_007:05d}" for number in range(500))]
    with sorted_lines(lines, tmp_path, chunk_lines=2) as ordered:
        assert list(ordered) == sorted(lines)
    assert list(tmp_path.iterdir()) == []
