"""Old versions are removed within bounds, and everything that is left can be read."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tarrafa
from archive_pages import quick_folder
from crawls import run
from ranked import link, of
from tarrafa.clock import VirtualClock
from tarrafa.collection.ranker import update_ranks
from tarrafa.collection.retention import prune_versions
from tarrafa.errors import DamagedError, LockedError, PageMissingError
from tarrafa.keep import DOCUMENTS, LINKS, Place, read_batches, read_page, read_whole_pages
from tarrafa.keep.export import Snapshot, export_cdxj, export_warc
from tarrafa.keep.retention import RemovedVersions, VersionBounds
from tarrafa.versions import MERE_VISITS, is_mere_visit
from versioned import BEGAN, DAY, VersionedCrawl

URLS = [f"http://example.org/{name}" for name in "abc"]
LONG = " words" * 400  # a body that is stored once
VISITS = st.lists(
    st.tuples(
        st.sampled_from(URLS),
        st.sampled_from([*["fetched"] * 4, *MERE_VISITS, "gone"]),
        st.sampled_from(["one", "two", f"three{LONG}"]),
    ),
    max_size=16,
)
BOUNDS = st.builds(VersionBounds, st.integers(0, 3), st.none() | st.integers(1, 12).map(lambda days: days * DAY))
KILLED = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from tarrafa.agent import CrawlFolder
from tarrafa.collection.retention import prune_versions
from tarrafa.keep.retention import VersionBounds

left = int(sys.argv[2])
def killed(event, _):
    global left
    if event in ("os.rename", "os.remove"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(killed)
prune_versions(CrawlFolder(Path(sys.argv[1])), VersionBounds(1))
"""


def rows(crawl: VersionedCrawl) -> list[dict[str, Any]]:
    parts = read_batches(crawl.folder.documents, DOCUMENTS, crawl.checkpoint)
    return [row for part in parts for row in part.to_pylist()]


def old_rows(found: list[dict[str, Any]], bounds: VersionBounds, now: float) -> set[int]:
    """Return the numbers of the rows that are before the oldest version that is kept of their URL."""
    old: set[int] = set()
    for url in {row["url"] for row in found}:
        own = [number for number, row in enumerate(found) if row["url"] == url]
        versions = [number for number in own if found[number]["outcome"] == "fetched"]
        kept = versions[-1:]
        for place, number in enumerate(versions[:-1]):
            later = [other for other in own if other > number and not is_mere_visit(found[other]["outcome"])]
            is_many = bounds.versions and len(versions) - place > bounds.versions
            is_aged = bounds.age_seconds is not None and (
                found[later[0]]["fetched_at"].timestamp() < now - bounds.age_seconds
            )
            kept += [] if is_many or is_aged else [number]
        old.update(number for number in own if kept and number < min(kept))
    return old


def check_readable(crawl: VersionedCrawl, found: list[dict[str, Any]]) -> None:
    """Every row that has a place has its page there, with its body."""
    for row in found:
        if row["archive_file"] is not None:
            stored = read_page(crawl.folder.archive, Place(row["archive_file"], row["archive_offset"]))
            assert stored.page.url == row["url"]
            assert row["text"].encode() in stored.page.body


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VISITS, BOUNDS, st.booleans())
def test_what_is_removed_is_what_a_plain_model_removes(
    visits: list[tuple[str, str, str]], bounds: VersionBounds, is_joined: bool
) -> None:
    with quick_folder() as root:
        crawl = VersionedCrawl(root / "crawl", file_limit_bytes=3_000)
        for number, (url, outcome, text) in enumerate([*visits, *[("http://last.example/", "gone", "")] * 12]):
            crawl.visit(url, text if outcome == "fetched" else "", outcome, [link(URLS[number % 3], "x")])
            if number % 3 == 2:
                crawl.save()
        crawl.save()
        if is_joined:
            crawl.join()
        before = rows(crawl)
        clock = VirtualClock(crawl.now)
        old = old_rows(before, bounds, crawl.now) if bounds.are_set else set()
        old = {number for number in old if before[number]["archive_file"] is not None}
        expected = sum(before[number]["outcome"] == "fetched" for number in old)
        counted = (
            prune_versions(crawl.folder, bounds, clock=clock, is_dry=True) if bounds.are_set else RemovedVersions()
        )
        assert counted.versions == expected
        assert rows(crawl) == before
        if bounds.are_set:
            removed = prune_versions(crawl.folder, bounds, clock=clock)
            assert removed[:2] == counted[:2]
            assert removed.archive_files >= counted.archive_files
            assert prune_versions(crawl.folder, bounds, clock=clock) == RemovedVersions()
        after = rows(crawl)
        emptied: dict[str, Any] = {
            "text": "",
            "description": "",
            "headings": [],
            "archive_file": None,
            "archive_offset": None,
        }
        assert after == [row | (emptied if number in old else {}) for number, row in enumerate(before)]
        check_readable(crawl, after)
        links = [row for part in read_batches(crawl.folder.links, LINKS, crawl.checkpoint) for row in part.to_pylist()]
        assert [(row["source"], row["fetched_at"]) for row in links] == [
            (row["url"], row["fetched_at"]) for number, row in enumerate(before) if number not in old
        ]
        assert len(list(read_whole_pages(crawl.folder.archive, crawl.archive.end))) <= len(before)
        crawl.close()


@pytest.fixture
def crawl(tmp_path: Path) -> Any:
    """A page that changes every day for ten days, beside one that does not; an archive file takes two pages."""
    found = VersionedCrawl(tmp_path / "crawl", file_limit_bytes=5_000)
    for number in range(10):
        found.visit(URLS[0], f"version{number}", links=[link(URLS[1], f"text{number}")])
        if number == 4:
            found.visit(URLS[1], "constant page")
        found.save()
    yield found
    found.close()


def test_archive_files_that_hold_nothing_current_go(crawl: VersionedCrawl, tmp_path: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in crawl.folder.archive.glob("*.gz")}
    update_ranks(crawl.folder, lambda *_: None)
    crawl.index()
    removed = prune_versions(crawl.folder, VersionBounds(1))
    left = {path.name for path in crawl.folder.archive.glob("*.gz")}
    assert (removed.versions, removed.links) == (9, 9)
    assert removed.archive_files == len(sizes) - len(left) > 0
    assert removed.archive_bytes == sum(size for name, size in sizes.items() if name not in left)
    collection = tarrafa.Collection(crawl.folder.root)
    assert collection.page(URLS[0]).text == "version9"
    assert "constant page" in collection.page(URLS[1]).html
    assert [each.has_copy for each in collection.history(URLS[0])] == [True, *[False] * 9]
    with pytest.raises(PageMissingError, match="no longer stored as it was on"):
        collection.page(URLS[0], at="2025-11-14")
    with pytest.raises(DamagedError, match="was removed with the versions"):
        read_page(crawl.folder.archive, Place(0, 0))
    snapshot = Snapshot(crawl.folder, crawl.checkpoint, crawl.archive.end)
    assert export_warc([snapshot], tmp_path / "all.warc.gz", lambda *_: None) > 0
    assert export_cdxj([snapshot], tmp_path / "all.cdxj", lambda *_: None) == len(
        list(read_whole_pages(crawl.folder.archive))
    )


def test_index_and_ranks_go_on_after_rows_were_removed(crawl: VersionedCrawl) -> None:
    update_ranks(crawl.folder, lambda *_: None)
    crawl.index()
    prune_versions(crawl.folder, VersionBounds(1))
    crawl.visit(URLS[2], "newest words", links=[link(URLS[1], "later"), *[link(URLS[0], f"{n}") for n in range(20)]])
    crawl.save()
    assert crawl.index() == 1
    ranks = update_ranks(crawl.folder, lambda *_: None)
    assert of(ranks, URLS[0], URLS[1]).links_in.tolist() == [1, 2]
    assert tarrafa.Collection(crawl.folder.root).search("newest")[0].url == URLS[2]
    assert np.isclose(of(ranks, *URLS).rank.sum(), 3.0, atol=0.5)


@pytest.mark.parametrize("step", [1, 2, 5, 9, 12, 14])
def test_killed_at_any_file_everything_left_can_be_read_and_the_rest_goes_later(
    crawl: VersionedCrawl, step: int
) -> None:
    update_ranks(crawl.folder, lambda *_: None)
    command = [sys.executable, "-c", KILLED, str(crawl.folder.root), str(step)]
    assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL
    check_readable(crawl, rows(crawl))
    assert tarrafa.Collection(crawl.folder.root).page(URLS[0]).text == "version9"
    prune_versions(crawl.folder, VersionBounds(1))
    assert prune_versions(crawl.folder, VersionBounds(1)) == RemovedVersions()
    assert sum(row["archive_file"] is not None for row in rows(crawl)) == 2
    assert of(update_ranks(crawl.folder, lambda *_: None), URLS[1]).links_in.tolist() == [1]
    held = {stored.page.url for stored in read_whole_pages(crawl.folder.archive)}
    assert held == set(URLS[:2])


def test_running_crawl_is_not_pruned(crawl: VersionedCrawl) -> None:
    lock = crawl.folder.lock()
    with pytest.raises(LockedError):
        prune_versions(crawl.folder, VersionBounds(1))
    lock.release()


def test_command_tells_what_it_removes(crawl: VersionedCrawl) -> None:
    options = ["prune", "--dir", str(crawl.folder.root)]
    without = run(*options)
    assert (without.returncode, "--versions N" in without.stderr) == (2, True)
    told = json.loads(run(*options, "--versions", "4", "--dry-run", "--json").stdout)
    assert (told["versions"], told["is_dry_run"]) == (6, True)
    assert "Removed 6 versions, 6 links and" in run(*options, "--versions", "4").stdout
    assert "Removed 0 versions" in run(*options, "--version-age", "36500d").stdout
    assert crawl.now > BEGAN
