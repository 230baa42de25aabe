"""Rows of segments count once after any kill, and a join does not disturb readers."""

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from archive_pages import quick_folder
from tarrafa.errors import DamagedError
from tarrafa.keep import DOCUMENTS, LINKS, DocumentRow, DocumentWriter, LinkWriter, join_segments, read_batches


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


def write(folder: Path, checkpoint: int) -> None:
    """One row, which bears the checkpoint's number."""
    links = LinkWriter(folder, checkpoint - 1)
    links.add("http://a.test/", 0.0, [("http://b.test/", "", "", "a", checkpoint)])
    links.sync(checkpoint)


def found_in(folder: Path, checkpoint: int) -> list[int]:
    return [each["position"] for batch in read_batches(folder, LINKS, checkpoint) for each in batch.to_pylist()]


class Life(RuleBasedStateMachine):
    """Rows are added, synced, committed, joined, and lost by kills, against a list of what was committed."""

    def __init__(self) -> None:
        super().__init__()
        self._context = quick_folder()
        self._folder = self._context.__enter__()
        self._links = LinkWriter(self._folder, 0, rows_limit=9)
        self._next = 0
        self._checkpoint = 0
        self._committed: list[int] = []
        self._added: list[int] = []

    def teardown(self) -> None:
        self._context.__exit__(None, None, None)

    def _found(self) -> list[int]:
        found = read_batches(self._folder, LINKS, self._checkpoint, ["position"])
        return [each["position"] for batch in found for each in batch.to_pylist()]

    @rule(count=st.integers(1, 25))
    def add(self, count: int) -> None:
        for _ in range(count):
            self._links.add("http://a.test/", 0.0, [("http://b.test/", "", "", "a", self._next)])
            self._added.append(self._next)
            self._next += 1

    @rule(step=st.integers(1, 3))
    def commit(self, step: int) -> None:
        self._links.sync(self._checkpoint + step)
        self._checkpoint += step
        self._committed += self._added
        self._added = []

    @rule()
    def commit_often(self) -> None:
        for _ in range(9):
            self.add(1)
            self.commit(1)

    @rule()
    def kill(self) -> None:
        (self._folder / "rubbish.parquet.unfinished").write_bytes(b"half")
        self._links = LinkWriter(self._folder, self._checkpoint, rows_limit=9)
        self._added = []

    @rule()
    def kill_after_sync(self) -> None:
        """The rows are written, and the process dies before the checkpoint is committed."""
        self._links.sync(self._checkpoint + 1)
        self.kill()

    @rule()
    def join(self) -> None:
        join_segments(self._folder, LINKS, self._checkpoint)

    @precondition(lambda self: self._checkpoint > 8)
    @rule(kept_count=st.integers(0, 9))
    def kill_within_join(self, kept_count: int) -> None:
        """The joined segment is there, and some of those that went into it are too."""
        before = {path: path.read_bytes() for path in self._folder.glob("*.parquet")}
        join_segments(self._folder, LINKS, self._checkpoint)
        gone = sorted(path for path in before if not path.exists())
        for path in gone[max(0, len(gone) - kept_count) :]:
            path.write_bytes(before[path])
        assert self._found() == self._committed
        self.kill()

    @invariant()
    def every_committed_row_counts_once(self) -> None:
        assert self._found() == self._committed


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=12, stateful_step_count=16)


def test_joining_keeps_the_number_of_segments_small(folder: Path) -> None:
    for checkpoint in range(1, 201):
        write(folder, checkpoint)
        join_segments(folder, LINKS, checkpoint)
    assert len(list(folder.iterdir())) < 25
    assert found_in(folder, 200) == list(range(1, 201))


def test_small_segments_are_joined_beside_a_large_one_and_the_large_one_is_left(folder: Path) -> None:
    links = LinkWriter(folder, 0)
    links.add("http://a.test/", 0.0, [(f"http://b.test/{n * 7**11}", str(n * 7**9), "", "a", n) for n in range(20_000)])
    links.sync(1)
    (large,) = folder.iterdir()
    for checkpoint in range(2, 10):
        write(folder, checkpoint)
    assert join_segments(folder, LINKS, 9) == 8
    assert large.exists()
    assert len(list(folder.iterdir())) == 2


def test_joined_segment_is_read_a_few_rows_at_a_time(folder: Path) -> None:
    """A join reads segments in a crawl that goes on meanwhile. Its memory must not depend on their size."""
    chance = random.Random(1)
    documents = DocumentWriter(folder, 0)
    for checkpoint in range(1, 9):
        for number in range(250):
            text = chance.randbytes(6_000).hex()
            documents.add(DocumentRow(f"http://a.test/{checkpoint}/{number}", 0.0, "fetched", 200, text=text))
        documents.sync(checkpoint)
    assert join_segments(folder, DOCUMENTS, 8) == 8
    (joined,) = folder.iterdir()
    before = pa.total_allocated_bytes()
    held_bytes = [pa.total_allocated_bytes() - before for _ in read_batches(folder, DOCUMENTS, 8)]
    assert 0 < max(held_bytes) < joined.stat().st_size


def test_what_is_not_committed_is_not_joined(folder: Path) -> None:
    for checkpoint in range(1, 9):
        write(folder, checkpoint)
    assert join_segments(folder, LINKS, 7) == 0


def test_reader_that_has_begun_is_not_disturbed_by_a_join(folder: Path) -> None:
    for checkpoint in range(1, 9):
        write(folder, checkpoint)
    reading = read_batches(folder, LINKS, 8)
    first = next(reading)
    assert join_segments(folder, LINKS, 8) == 8
    assert first.num_rows + sum(batch.num_rows for batch in reading) == 8


def test_reader_with_an_older_checkpoint_loses_nothing_by_a_join(folder: Path) -> None:
    for checkpoint in range(1, 9):
        write(folder, checkpoint)
    join_segments(folder, LINKS, 8)
    assert found_in(folder, 5) == list(range(1, 9))


def test_checkpoint_older_than_a_join_is_damage(folder: Path) -> None:
    """The database of the crawl was restored from a copy without its segments."""
    for checkpoint in range(1, 9):
        write(folder, checkpoint)
    join_segments(folder, LINKS, 8)
    with pytest.raises(DamagedError, match="checkpoint 8"):
        LinkWriter(folder, 5)
    assert found_in(folder, 8) == list(range(1, 9))
