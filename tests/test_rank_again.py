"""Ranks computed repeatedly: during a crawl, after damage and kills, and with other processes at work."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive_pages import quick_folder
from ranked import A, B, C, Crawl, D, anchors, link, of
from tarrafa.collection import ranker
from tarrafa.collection.ranker import is_behind, update_ranks
from tarrafa.disk import FolderLock
from tarrafa.errors import DamagedError, LockedError
from tarrafa.keep import DOCUMENTS, LINKS, join_segments
from tarrafa.rank import Ranks, RankSettings


@pytest.fixture
def crawl() -> Iterator[Crawl]:
    with quick_folder() as root:
        yield Crawl(root)


def test_nothing_is_computed_if_nothing_was_added(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    first = crawl.ranks(RankSettings())
    assert not is_behind(crawl.root)
    crawl.commit()  # a checkpoint without rows
    assert update_ranks(crawl.folder, lambda *_: None).generation == first.generation


def test_other_settings_make_other_ranks(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    assert crawl.ranks().generation == 1
    assert crawl.ranks(RankSettings(damping=0.5)).generation == 2


def test_a_reader_keeps_its_generation(crawl: Crawl) -> None:
    crawl.visit(A, link(B, "first"))
    first = crawl.ranks()
    crawl.visit(C, link(B, "second"))
    second = crawl.ranks()
    assert (first.generation, second.generation) == (1, 2)
    assert anchors(first, B) == [("first", 1)]
    assert of(first, B).links_in.tolist() == [1]
    assert of(second, B).links_in.tolist() == [2]
    assert [path.name for path in crawl.folder.ranks.glob("generation-*")] == ["generation-00000002"]


PAGES = st.sampled_from([A, f"{A}1", B, f"{B}1", C])
VISITS = st.lists(st.tuples(PAGES, st.lists(st.tuples(PAGES, st.sampled_from(["", "x", "y"])), max_size=3)), max_size=8)


@settings(max_examples=25)
@given(st.lists(VISITS, min_size=1, max_size=4), st.booleans())
def test_step_by_step_is_the_same_as_at_once(
    steps: list[list[tuple[str, list[tuple[str, str]]]]], is_joined: bool
) -> None:
    with quick_folder() as left, quick_folder() as right:
        stepwise, whole = Crawl(left), Crawl(right)
        for visits in steps:
            for url, links in visits:
                for crawl in (stepwise, whole):
                    crawl.visit(url, *(link(*each) for each in links))
            ranks = stepwise.ranks()
            if is_joined:
                join_segments(stepwise.folder.links, LINKS, stepwise.checkpoint)
        expected = whole.ranks()
        urls = [A, f"{A}1", B, f"{B}1", C]
        for got, wanted in zip(of(ranks, *urls), of(expected, *urls), strict=True):
            assert np.allclose(got, wanted, atol=1e-5)
        assert [anchors(ranks, url) for url in urls] == [anchors(expected, url) for url in urls]
        assert ranks.counts._replace(iterations=0) == expected.counts._replace(iterations=0)


def test_rows_are_read_once_even_if_segments_are_merged_meanwhile(crawl: Crawl) -> None:
    for number in range(10):
        crawl.visit(f"{A}{number}", link(B, f"text {number}"))
        if number % 3 == 0:
            crawl.ranks()
        else:
            crawl.commit()
        if number == 8:
            assert join_segments(crawl.folder.links, LINKS, crawl.checkpoint)
            assert join_segments(crawl.folder.documents, DOCUMENTS, crawl.checkpoint)
    assert of(crawl.ranks(), B).links_in.tolist() == [10]


def test_an_older_copy_of_a_crawl_is_read_again(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.visit(C, link(B))
    crawl.ranks()
    with quick_folder() as other:
        older = Crawl(other)
        older.visit(D, link(B))
        older.commit()
        (crawl.root / "agents").rename(crawl.root / "lost")
        (other / "agents").rename(crawl.root / "agents")
    assert of(update_ranks(crawl.folder, lambda *_: None), B, D).links_in.tolist() == [1, 0]


# Damage, kills and other processes.


def test_a_damaged_column_is_named(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.ranks()
    path = crawl.folder.ranks / "generation-00000001" / "rank.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"rank\.npy"):
        Ranks.open(crawl.folder.ranks)


def test_a_damaged_manifest_is_named(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.ranks()
    (crawl.folder.ranks / "manifest.json").write_text('{"sum": 1, "manifest": "{}"}')
    with pytest.raises(DamagedError, match=r"manifest\.json"):
        Ranks.open(crawl.folder.ranks)


def test_two_processes_do_not_rank_at_once(crawl: Crawl) -> None:
    crawl.visit(A, link(B))
    crawl.ranks()
    crawl.visit(C, link(B))
    crawl.commit()
    hold = FolderLock(crawl.folder.ranks)
    with pytest.raises(LockedError):
        update_ranks(crawl.folder, lambda *_: None)
    hold.release()


KILLED = """
import os, sys
from pathlib import Path
from tarrafa.collection.ranker import update_ranks
from tarrafa.agent import CrawlFolder

left = int(sys.argv[2])

def counted(function):
    def call(*arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return function(*arguments)
    return call

os.fsync, Path.replace = counted(os.fsync), counted(Path.replace)
update_ranks(CrawlFolder(Path(sys.argv[1])), lambda *_: None)
"""


@pytest.mark.parametrize("step", [1, 2, 6, 13, 20, 29, 30])
def test_killed_at_any_file_the_old_ranks_stay_and_the_next_run_computes_the_new_ones(crawl: Crawl, step: int) -> None:
    """A run syncs and renames two parts, merges each with the one before, syncs fifteen columns, and the manifest."""
    crawl.visit(A, link(B))
    crawl.ranks(RankSettings())
    crawl.visit(C, link(B))
    crawl.commit()
    command = [sys.executable, "-c", KILLED, str(crawl.root), str(step)]
    done = subprocess.run(command, timeout=60, check=False)
    assert done.returncode == -9
    old = Ranks.open(crawl.folder.ranks)
    assert old is not None
    assert old.generation == 1
    assert of(old, B).links_in.tolist() == [1]
    new = update_ranks(crawl.folder, lambda *_: None)
    assert new.generation == 2
    assert of(new, B).links_in.tolist() == [2]
    assert not list(crawl.folder.ranks.rglob("*.unfinished"))
    names = sorted(path.name for path in crawl.folder.ranks.iterdir())
    assert names == ["generation-00000002", "held-by", "manifest.json", "parts-3"]


def test_rows_with_many_bytes_become_parts_earlier(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """This bounds the memory for a crawl with long texts."""
    monkeypatch.setattr(ranker, "PART_BYTES", 1)
    for number in range(3):
        crawl.visit(f"{A}{number}", link(B, f"text {number}"))
        crawl.commit()
    ranks = crawl.ranks()
    assert of(ranks, B).links_in.tolist() == [3]
    assert ranks.agent_rows["00"].links == 3
    assert sorted(text for text, _ in anchors(ranks, B)) == ["text 0", "text 1", "text 2"]
