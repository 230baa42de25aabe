"""Indexing a crawl: new rows are indexed, none is missing, none is duplicated."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import ServedWeb, arguments, crawled, run, served
from indexes import index_folder, row, urls
from tarrafa.agent import Checkpoint, CrawlFolder, HostDatabase, Totals
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.disk import FolderLock
from tarrafa.errors import InputError, LockedError
from tarrafa.keep import BEGINNING, DOCUMENTS, DocumentRow, DocumentWriter, join_segments
from tarrafa.search import Search, SearchRequest

KILLS = 25
ROWS = 1_000
CALLS = 25_000


class Kept:
    """The folder of a crawl that only stores documents."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = CrawlFolder(root)
        self._folder.hosts.parent.mkdir(parents=True)
        self._book = HostDatabase(self._folder.hosts)
        self._documents = DocumentWriter(self._folder.documents, 0)
        self._checkpoint = 0

    def save(self, *rows: DocumentRow) -> None:
        for each in rows:
            self._documents.add(each)
        self._checkpoint += 1
        self._documents.sync(self._checkpoint)
        self._book.commit(Checkpoint(self._checkpoint, BEGINNING, Totals()))

    def join(self) -> int:
        return join_segments(self._folder.documents, DOCUMENTS, self._checkpoint)

    def hold(self) -> None:
        self._hold = FolderLock(self._folder.agent)

    def release(self) -> None:
        self._hold.release()

    def close(self) -> None:
        self._book.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    found = Kept(tmp_path / "crawl")
    yield found
    found.close()


def index(kept: Kept, is_new: bool = False) -> int:
    with Indexer(kept.root, is_new) as indexer:
        return indexer.update(lambda done, total: None, StopFlag()).rows


def test_only_new_rows_are_indexed(kept: Kept) -> None:
    kept.save(row("a", "net"), row("b", "net"))
    assert index(kept) == 2
    assert index(kept) == 0
    kept.save(row("c", "net"))
    assert index(kept) == 1
    assert set(urls(Search.open(kept.root), "net")) == {"a", "b", "c"}


def test_merged_segments_are_not_indexed_again(kept: Kept) -> None:
    for number in range(8):
        kept.save(row(f"{number}", "net"))
    index(kept)
    kept.save(row("new", "net"))
    assert kept.join() == 8
    assert index(kept) == 1
    assert Search.open(kept.root).documents_count == 9


def test_rebuild_indexes_everything_again(kept: Kept) -> None:
    kept.save(row("a", "net"))
    index(kept)
    assert index(kept, is_new=True) == 1
    assert urls(Search.open(kept.root), "net") == ["a"]


def test_crawl_without_pages_has_an_empty_index(kept: Kept) -> None:
    assert index(kept) == 0
    assert urls(Search.open(kept.root), "net") == []


def test_index_of_another_crawl_is_refused(kept: Kept, tmp_path: Path) -> None:
    kept.save(row("a", "net"))
    index(kept)
    other = Kept(tmp_path / "other")
    index_folder(kept.root).rename(index_folder(other.root))
    with pytest.raises(InputError, match="--rebuild"):
        index(other)
    other.close()


def test_second_process_is_refused(kept: Kept) -> None:
    with Indexer(kept.root) as first, Indexer(kept.root) as second:
        first.update(lambda done, total: None, StopFlag())
        with pytest.raises(LockedError):
            second.update(lambda done, total: None, StopFlag())


def test_follower_indexes_what_a_crawl_saves_until_it_ends(kept: Kept) -> None:
    kept.hold()
    kept.save(row("a", "net"))

    class Turns(StopFlag):
        """Instead of waiting, let the crawl go on, then end."""

        turns = 0

        def wait(self, seconds: float) -> bool:
            self.turns += 1
            kept.save(row(f"{self.turns}", "net"))
            if self.turns == 3:
                kept.release()
            return False

    with Indexer(kept.root) as indexer:
        done = indexer.follow(lambda done, total: None, Turns())
    assert done.rows == 4
    assert Search.open(kept.root).documents_count == 4


def test_follower_ends_on_request(kept: Kept) -> None:
    kept.save(row("1", "net"))
    kept.hold()
    stop = StopFlag()
    stop.set()
    with Indexer(kept.root) as indexer:
        done = indexer.follow(lambda done, total: None, stop)
    kept.release()
    assert done.rows == 1


def _some_rows(kept: Kept, chance: random.Random) -> dict[str, int]:
    """Visit a few hundred URLs repeatedly; return the number of the last visit of each that is not gone."""
    expected: dict[str, int] = {}
    for start in range(0, ROWS, 50):
        rows: list[DocumentRow] = []
        for number in range(start, start + 50):
            path = str(chance.randrange(ROWS // 2))
            if chance.random() < 0.1:
                rows.append(row(path, outcome="gone", status=404))
                expected.pop(path, None)
            else:
                rows.append(row(path, f"net visit{number}", f"visit {number}", signature=number + 1))
                expected[path] = number
        kept.save(*rows)
    return expected


def test_killed_at_random_moments_nothing_is_missing_or_duplicated(kept: Kept) -> None:
    chance = random.Random(7)
    expected = _some_rows(kept, chance)
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("index_child.py"))]
    killer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    killed = 0
    with killer:
        assert killer.stdin
        assert killer.stdout
        for number in [*(chance.randrange(1, CALLS) for _ in range(KILLS)), 0]:
            killer.stdin.write(f"{kept.root}\t{number}\n")
            killer.stdin.flush()
            killed += killer.stdout.readline() == "killed\n"
    assert killed > KILLS // 2
    search = Search.open(kept.root)
    assert search.documents_count == len(expected)
    pages = [search.search(SearchRequest("net", top=100, page=page, per_site=0)).hits for page in range(1, 6)]
    found = {hit.url.rpartition("/")[2]: hit.title for page in pages for hit in page}
    assert found == {path: f"visit {number}" for path, number in expected.items()}


# The commands, on a real crawl.


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "8", "--pages", "120", "--rng-seed", "4") as found:
        yield found


@pytest.fixture(scope="module")
def crawl(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl") / "crawl"
    crawled(web, folder)
    return folder


def test_crawled_pages_are_found_by_their_titles(web: ServedWeb, crawl: Path) -> None:
    told = run("index", "--dir", str(crawl), "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["documents"] > 0
    search = Search.open(crawl)
    hit = search.search(SearchRequest("a de the of", top=1)).hits[0]
    assert hit.url in {each.url for each in search.search(SearchRequest(f'"{hit.title}"')).hits}
    found = run("search", hit.title, "--dir", str(crawl), "--json", "--explain", "--per-site", "5")
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert hit.url in {each["url"] for each in answer["hits"]}
    assert answer["count"] >= len(answer["hits"]) > 0
    shown = run("search", hit.title, "--dir", str(crawl), "--expand", "--fresh")
    assert hit.url in shown.stdout
    assert "\x1b" not in shown.stdout


def test_follower_of_a_crawl_ends_with_it_and_indexes_all(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, folder, "--pages", "5")
    crawl = subprocess.Popen(
        [sys.executable, "-m", "tarrafa", *arguments(web, folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with crawl:
        followed = run("index", "--dir", str(folder), "--follow", "--json")
        assert followed.returncode == 0, followed.stderr
        crawl.wait(timeout=60)
    assert run("index", "--dir", str(folder)).returncode == 0
    assert Search.open(folder).documents_count > 5


def test_search_before_index_says_what_to_do(web: ServedWeb, tmp_path: Path) -> None:
    crawled(web, tmp_path / "crawl", "--pages", "3")
    done = run("search", "net", "--dir", str(tmp_path / "crawl"))
    assert done.returncode == 2
    assert "tarrafa index" in done.stderr


def test_flag_can_be_set_by_a_signal_handler_while_it_is_waited_for() -> None:
    flag = StopFlag()
    before = signal.signal(signal.SIGALRM, lambda *_: flag.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert flag.wait(600.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert flag.is_set()
    assert not StopFlag().wait(0.0)
