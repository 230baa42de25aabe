"""Anchors in the index: those of the newest ranks, whenever these were computed."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from archive_pages import quick_folder
from indexes import index_folder
from ranked import Crawl, link
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.disk import FolderLock
from tarrafa.errors import DamagedError
from tarrafa.search import Search, SearchRequest
from tarrafa.search.index_writer import I64, U64, UNKNOWN_SUM, AnchorSums, anchor_sum

SOURCE = "http://source.test/"
PAGES, KILLS, CALLS = 100, 12, 6_000


def page(number: int) -> str:
    return f"http://pages.test/{number}"


@pytest.fixture
def crawl() -> Iterator[Crawl]:
    with quick_folder() as root:
        yield Crawl(root)


def index(crawl: Crawl, is_new: bool = False) -> int:
    with Indexer(crawl.root, is_new) as indexer:
        return indexer.update(lambda done, total: None, StopFlag()).rows


def named(crawl: Crawl, name: str) -> list[str]:
    """Return the pages that the index finds by a name without ranks."""
    return sorted(hit.url for hit in Search.open(crawl.root).search(SearchRequest(name, per_site=0, top=100)).hits)


def change_anchor(crawl: Crawl) -> None:
    """Index a page with the text of a link to it, then change the link."""
    crawl.visit(page(1), text="boat")
    crawl.visit(SOURCE, link(page(1), "trawler"), text="harbour")
    crawl.ranks()
    index(crawl)
    crawl.visit(SOURCE, link(page(1), "schooner"), text="harbour")
    crawl.ranks()


def test_anchors_computed_after_indexing_are_added(crawl: Crawl) -> None:
    crawl.visit(page(1), text="boat")
    crawl.visit(SOURCE, link(page(1), "trawler"), text="harbour")
    crawl.commit()
    assert index(crawl) == 2
    assert named(crawl, "trawler") == []
    crawl.ranks()
    assert index(crawl) == 0
    assert named(crawl, "trawler") == [page(1)]
    assert named(crawl, "boat") == [page(1)]


def test_anchors_that_are_no_longer_used_are_removed(crawl: Crawl) -> None:
    change_anchor(crawl)
    index(crawl)
    assert named(crawl, "trawler") == []
    assert named(crawl, "schooner") == [page(1)]


def test_only_pages_with_changed_anchors_are_rewritten(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        crawl.visit(page(number), text="boat")
    crawl.visit(SOURCE, *(link(page(number), f"name{number}") for number in range(5)), text="harbour")
    crawl.ranks()
    index(crawl)
    crawl.visit(f"{SOURCE}more", link(page(3), "schooner"), text="harbour")
    crawl.ranks()
    written: list[int] = []
    renew = "tarrafa.search.index_writer.IndexWriter.renew"
    monkeypatch.setattr(renew, lambda _self, _batch, rows: written.extend(rows.tolist()))
    index(crawl)
    assert written == [3]


def test_pages_that_are_gone_do_not_come_back(crawl: Crawl) -> None:
    crawl.visit(page(1), text="boat")
    crawl.visit(page(1), outcome="gone", status=404)
    crawl.visit(page(2), text="boat")
    crawl.visit(page(2), outcome="failed", status=500)
    crawl.visit(SOURCE, link(page(1), "trawler"), link(page(2), "schooner"), text="harbour")
    crawl.commit()
    index(crawl)
    crawl.ranks()
    index(crawl)
    assert named(crawl, "trawler") == []
    assert named(crawl, "schooner") == [page(2)]


def test_ranks_computed_from_scratch_are_noticed(crawl: Crawl) -> None:
    """Generations are numbered from 1 again, so the number alone would tell that nothing has changed."""
    crawl.visit(page(1), text="boat")
    crawl.visit(SOURCE, link(page(1), "trawler"), text="harbour")
    crawl.ranks()
    index(crawl)
    for path in sorted((crawl.root / "ranks").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    crawl.visit(SOURCE, link(page(1), "schooner"), text="harbour")
    crawl.ranks()
    index(crawl)
    assert named(crawl, "schooner") == [page(1)]


def test_follower_notices_new_ranks(crawl: Crawl) -> None:
    crawl.visit(page(1), text="boat")
    crawl.visit(SOURCE, link(page(1), "trawler"), text="harbour")
    crawl.commit()
    hold = FolderLock(crawl.folder.agent)

    class Turns(StopFlag):
        """Instead of waiting, compute ranks and end the crawl."""

        def wait(self, seconds: float) -> bool:
            crawl.ranks()
            hold.release()
            return False

    with Indexer(crawl.root) as indexer:
        indexer.follow(lambda done, total: None, Turns())
    assert named(crawl, "trawler") == [page(1)]


def test_anchors_that_return_after_a_kill_are_indexed(crawl: Crawl) -> None:
    """The kill comes after the commit of the second anchors and before their sums; then the first anchors return."""
    change_anchor(crawl)

    def change(self: AnchorSums, rows: I64, sums: U64 | int) -> None:
        if not isinstance(sums, int):
            raise KeyboardInterrupt
        original(self, rows, sums)

    original = AnchorSums.change
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnchorSums, "change", change)
        with pytest.raises(KeyboardInterrupt):
            index(crawl)
    assert named(crawl, "schooner") == [page(1)]
    crawl.visit(SOURCE, link(page(1), "trawler"), text="harbour")
    crawl.ranks()
    index(crawl)
    assert named(crawl, "schooner") == []
    assert named(crawl, "trawler") == [page(1)]


def _rename_some(crawl: Crawl, chance: random.Random, names: dict[int, str]) -> None:
    """Give two of three pages another name, or one that they had before."""
    for number in range(PAGES):
        if chance.random() < 0.7:
            names[number] = f"name{number}x{chance.randrange(3)}"
            crawl.visit(f"{SOURCE}{number}", link(page(number), names[number]), text="harbour")
    crawl.ranks()


def test_killed_at_random_moments_every_page_has_the_newest_anchors(crawl: Crawl) -> None:
    chance, names = random.Random(5), dict[int, str]()
    for number in range(PAGES):
        crawl.visit(page(number), text="boat")
    crawl.commit()
    index(crawl)
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("index_child.py"))]
    killed = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killer:
        assert killer.stdin
        assert killer.stdout
        for turn in range(KILLS + 1):
            _rename_some(crawl, chance, names)
            killer.stdin.write(f"{crawl.root}\t{chance.randrange(1, CALLS) if turn < KILLS else 0}\n")
            killer.stdin.flush()
            killed += killer.stdout.readline() == "killed\n"
    assert killed > KILLS // 2
    search = Search.open(crawl.root)
    for number in range(PAGES):
        for last in range(3):
            name = f"name{number}x{last}"
            hits = [hit.url for hit in search.search(SearchRequest(name)).hits]
            assert hits == ([page(number)] if names.get(number) == name else []), name


def test_sums_of_uncommitted_rows_are_cut(tmp_path: Path) -> None:
    sums = AnchorSums(tmp_path, 0)
    sums.append(np.array([1, 2, 3], np.uint64))
    sums.sync()
    sums.change(np.array([1]), UNKNOWN_SUM)
    again = AnchorSums(tmp_path, 2)
    assert again.of(np.array([1, 0])).tolist() == [UNKNOWN_SUM, 1]
    again.append(np.array([7], np.uint64))
    again.sync()
    assert again.of(np.array([2])).tolist() == [7]


def test_missing_sums_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="--rebuild"):
        AnchorSums(tmp_path, 1)


def test_sum_of_anchors_is_the_same_everywhere() -> None:
    assert anchor_sum("") == 0
    assert anchor_sum("fishing net") == 11945419988026839538


def test_index_stores_a_sum_for_each_row(crawl: Crawl) -> None:
    crawl.visit(page(1), text="boat")
    crawl.visit(page(1), text="boat")
    crawl.commit()
    index(crawl)
    assert (index_folder(crawl.root) / "anchors.u64").stat().st_size == 16
