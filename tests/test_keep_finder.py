"""Catalogues give the results of a full scan, even if their files are missing, damaged or obsolete."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive_pages import quick_folder
from stored_rows import URLS, VISIT, A, B, C, D, Rows
from tarrafa.keep import DOCUMENTS, LINKS, Link, read_batches
from tarrafa.keep.catalogue import UrlSet
from tarrafa.keep.finder import Finder, find_current, find_newest_links, newest_visits
from tarrafa.keep.segment_writer import write_parquet
from tarrafa.layout import CrawlPaths
from tarrafa.versions import is_mere_visit


@pytest.fixture
def rows() -> Iterator[Rows]:
    with quick_folder() as root:
        yield Rows(CrawlPaths(root))


def check(rows: Rows, finder: Finder) -> None:
    """Compare what the finder says with everything read from end to end."""
    documents, links = rows.scanned(DOCUMENTS), rows.scanned(LINKS)
    with finder.documents(rows.checkpoint) as stretches:
        for urls in ([], [A], URLS):
            wanted = UrlSet.of(urls)
            found = [visit for stretch in stretches for visit in stretch.catalogue.visits_of(wanted)]
            scanned = [row for row in documents if row["url"] in urls]
            assert [(visit.url, visit.fetched_at, visit.outcome, visit.signature) for visit in found] == [
                (row["url"], row["fetched_at"].timestamp(), row["outcome"], row["signature"]) for row in scanned
            ]
        for url in URLS:
            own = [row for row in documents[::-1] if row["url"] == url]
            assert [found.document() for found in newest_visits(stretches, url)] == own
            for at in (own[-1]["fetched_at"], own[0]["fetched_at"]) if own else ():
                before = [row for row in own if row["fetched_at"] <= at]
                current = next((row for row in before if not is_mere_visit(row["outcome"])), before[0])
                current_found = find_current(stretches, url, at.timestamp())
                assert current_found is not None
                assert current_found.document() == current
        for signature in (1, 2, 99):
            alike = [url for stretch in stretches for url in stretch.catalogue.urls_with(signature, 1_000)]
            assert alike == [row["url"] for row in documents if row["signature"] == signature]
    with finder.links(rows.checkpoint) as stretches:
        for url in URLS:
            assert find_newest_links(stretches, url) == scanned_links_of(links, url)
            for at in {row["fetched_at"] for row in links if row["source"] == url}:
                some = [row for row in links if row["fetched_at"] == at]
                assert find_newest_links(stretches, url, at.timestamp()) == scanned_links_of(some, url)
            coming = [link for stretch in stretches[::-1] for link in stretch.catalogue.links_to(url)]
            assert [tuple(link) for link in coming] == [
                (row["source"], row["text"], row["fetched_at"].timestamp())
                for row in links[::-1]
                if row["target"] == url
            ]


def scanned_links_of(links: list[dict[str, Any]], url: str) -> tuple[float, list[dict[str, Any]]]:
    own = [row for row in links if row["source"] == url]
    newest = [row for row in own if row["fetched_at"] == own[-1]["fetched_at"]]
    names = ("target", "text", "rel", "kind")
    return (
        own[-1]["fetched_at"].timestamp() if own else 0.0,
        [{name: row[name] for name in names} for row in newest],
    )


STEP = st.one_of(st.lists(VISIT, max_size=5), st.sampled_from(["join", "keep up", "another process"]))


@settings(max_examples=15)
@given(st.lists(STEP, min_size=1, max_size=8), st.sampled_from([0, 3, 1_000]))
def test_answers_are_those_of_a_plain_scan_while_rows_are_added_and_joined(steps: list[Any], few_rows: int) -> None:
    with quick_folder() as root:
        rows = Rows(CrawlPaths(root))
        finder = Finder(rows.paths, few_rows)
        for step in steps:
            if step == "join":
                for _ in range(8):
                    rows.add([(A, "fetched", 1, [(B, "joined")])])
                rows.join()
            elif step == "keep up":
                finder.update(rows.checkpoint, lambda: False)
            elif step == "another process":
                finder = Finder(rows.paths, few_rows)
            else:
                rows.add(step)
            check(rows, finder)


@settings(max_examples=15)
@given(st.lists(VISIT, min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 12))
def test_segment_of_many_row_groups_has_several_catalogues(
    visits: list[Any], group_rows: int, stretch_rows: int
) -> None:
    """The links of a page may be on both sides of a border."""
    with quick_folder() as root:
        rows = Rows(CrawlPaths(root))
        rows.add(visits)
        for path in root.rglob("*.parquet"):
            layout = DOCUMENTS if path.parent.name == "documents" else LINKS
            table = pa.Table.from_batches(list(read_batches(path.parent, layout, 1)), layout.columns)
            with path.open("wb") as file:
                starts = range(0, table.num_rows, group_rows)
                write_parquet(file, layout, [table.slice(start, group_rows) for start in starts])
        check(rows, Finder(rows.paths, few_rows=0, stretch_rows=stretch_rows))


def some_rows(rows: Rows) -> list[Path]:
    """Of two checkpoints; the catalogues that are kept of them."""
    rows.add([(A, "fetched", 1, [(B, "to b"), (C, "")]), (B, "fetched", 2, [(A, "back")])])
    rows.add([(A, "unchanged", 0, []), (C, "fetched", 1, [(B, "too")])])
    rows.finder().update(rows.checkpoint, lambda: False)
    return catalogue_files(rows)


def test_catalogue_is_made_once_and_opened_by_the_next_process(rows: Rows) -> None:
    paths = some_rows(rows)
    assert [path.name for path in paths] == [
        f"{kind}-0000000{number}-0000000{number}-0000000{number + 1}-000.arrow"
        for kind in ("documents", "links")
        for number in (0, 1)
    ]
    stamps = [path.stat().st_mtime_ns for path in paths]
    check(rows, rows.finder())
    assert [path.stat().st_mtime_ns for path in paths] == stamps


def test_catalogue_that_is_missing_is_made_again(rows: Rows) -> None:
    paths = some_rows(rows)
    paths[0].unlink()
    paths[3].unlink()
    check(rows, rows.finder())
    assert all(path.exists() for path in paths)


@settings(max_examples=15)
@given(st.floats(0, 1), st.booleans())
def test_catalogue_that_is_damaged_is_made_again(place: float, is_cut: bool) -> None:
    with quick_folder() as root:
        rows = Rows(CrawlPaths(root))
        for path in some_rows(rows):
            content = bytearray(path.read_bytes())
            position = int(place * (len(content) - 1))
            content[position] ^= 1
            path.write_bytes(content[:position] if is_cut else content)
        check(rows, rows.finder())
        damaged = [path.read_bytes() for path in catalogue_files(rows)]
        check(rows, rows.finder())
        assert [path.read_bytes() for path in catalogue_files(rows)] == damaged


def catalogue_files(rows: Rows) -> list[Path]:
    return sorted(rows.paths.catalogue.glob("*.arrow"))


def test_catalogue_of_another_segment_of_the_same_name_is_not_believed(rows: Rows) -> None:
    """The crawl was begun anew in its folder, or an older copy of its rows was restored."""
    some_rows(rows)
    with quick_folder() as root:
        other = Rows(CrawlPaths(root))
        other.add([(D, "fetched", 1, [(A, "other")])])
        other.add([(B, "fetched", 2, [(D, "other")])])
        rows.paths.catalogue.rename(other.paths.catalogue)
        check(other, other.finder())


def test_rows_that_change_under_an_open_finder_are_seen(rows: Rows) -> None:
    finder = rows.finder()
    rows.add([(A, "fetched", 1, [(B, "first")])])
    check(rows, finder)
    for path in rows.paths.agent.rglob("*.parquet"):
        path.unlink()
    rows.checkpoint = 0
    rows.add([(C, "fetched", 1, [(B, "second")]), (A, "gone", 0, [])])
    check(rows, finder)


def test_what_belongs_to_no_segment_is_removed(rows: Rows) -> None:
    some_rows(rows)
    finder = rows.finder()
    check(rows, finder)
    for _ in range(8):
        rows.add([(A, "fetched", 1, [(B, "x")])])
    rows.join()
    (rows.paths.catalogue / "links-rubbish.arrow.unfinished").write_bytes(b"half")
    finder.update(rows.checkpoint, lambda: False)
    segments = {f"{path.parent.name}-{path.stem}" for path in rows.paths.agent.rglob("*.parquet")}
    assert {path.name.removesuffix("-000.arrow") for path in rows.paths.catalogue.iterdir()} == {
        *segments,
        "lock",
    }
    check(rows, finder)


def test_reader_that_has_begun_is_not_disturbed_by_a_join(rows: Rows) -> None:
    some_rows(rows)
    finder = rows.finder()
    for _ in range(8):
        rows.add([(D, "fetched", 1, [(B, "x")])])
    with finder.documents(rows.checkpoint) as documents, finder.links(rows.checkpoint) as links:
        rows.join()
        Finder(rows.paths, few_rows=0).update(rows.checkpoint, lambda: False)
        found = find_current(documents, B)
        assert found is not None
        assert found.document()["signature"] == 2
        assert [row["text"] for row in find_newest_links(links, A)[1]] == ["to b", ""]


def test_folder_that_cannot_be_written_to_costs_time_only(rows: Rows, caplog: pytest.LogCaptureFixture) -> None:
    rows.paths.agent.mkdir(parents=True)
    rows.paths.catalogue.write_text("a file is in the way")
    rows.add([(A, "fetched", 1, [(B, "x")])])
    check(rows, rows.finder())
    assert "catalogue not stored" in caplog.text


def test_few_rows_have_no_file(rows: Rows) -> None:
    rows.add([(A, "fetched", 1, [(B, "x")])])
    finder = Finder(rows.paths)
    finder.update(rows.checkpoint, lambda: False)
    check(rows, finder)
    assert not rows.paths.catalogue.exists()


def test_being_stopped_ends_keeping_up(rows: Rows) -> None:
    rows.add([(A, "fetched", 1, [(B, "x")])])
    rows.add([(A, "fetched", 1, [(B, "x")])])
    rows.finder().update(rows.checkpoint, lambda: True)
    assert len(catalogue_files(rows)) == 1


def test_threads_that_ask_at_once_get_the_same_answers(rows: Rows) -> None:
    some_rows(rows)
    finder = rows.finder()
    with ThreadPoolExecutor(4) as threads:
        for asked in [threads.submit(check, rows, finder) for _ in range(4)]:
            asked.result()


def test_visits_and_copies_of_one_are_bounded(rows: Rows) -> None:
    rows.add([(A, "fetched", 1, []) for _ in range(1_200)])
    with rows.finder().documents(1) as (stretch,):
        found = stretch.catalogue.visits_of(UrlSet.of([A]))
        assert [visit.row for visit in found] == list(range(200, 1_200))
        assert stretch.catalogue.urls_with(1, 5) == [A] * 5


def test_current_row_is_found_behind_any_number_of_mere_visits(rows: Rows) -> None:
    rows.add([(A, "gone", 0, []), (A, "fetched", 1, []), *[(A, "unchanged", 0, []) for _ in range(1_200)]])
    with rows.finder().documents(1) as stretches:
        found = find_current(stretches, A)
        assert found is not None
        assert found.visit.row == 1


def test_links_to_one_are_read_as_far_as_they_are_wanted(rows: Rows) -> None:
    links: list[Link] = [(B, f"text {place}", "", "a", place) for place in range(5_000)]
    rows.add([(A, "fetched", 1, [link[:2] for link in links])])
    with rows.finder().links(1) as (stretch,):
        assert [link.text for link in stretch.catalogue.links_to(B)] == [link[1] for link in links[::-1]]
        assert next(stretch.catalogue.links_to(B)).text == "text 4999"


KILLED = """
import os, sys
from pathlib import Path
from tarrafa.keep.finder import Finder
from tarrafa.layout import CrawlPaths

Path.replace = lambda *_: os.kill(os.getpid(), 9)
Finder(CrawlPaths(Path(sys.argv[1])), few_rows=0).update(int(sys.argv[2]), lambda: False)
"""


def test_killed_while_it_makes_a_catalogue_the_next_one_makes_it(rows: Rows) -> None:
    rows.add([(A, "fetched", 1, [(B, "x")])])
    command = [sys.executable, "-c", KILLED, str(rows.paths.root), str(rows.checkpoint)]
    assert subprocess.run(command, timeout=60, check=False).returncode == -9
    assert list(rows.paths.catalogue.glob("*.unfinished"))
    finder = rows.finder()
    check(rows, finder)
    finder.update(rows.checkpoint, lambda: False)
    assert not list(rows.paths.catalogue.glob("*.unfinished"))
