"""Checkpoints by themselves: when one is due, what it saves, and what its thread's errors lead to."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from brains import A, B, urls_of
from tarrafa.agent import Checkpoints, CrawlFolder, CrawlStep, HostTable, Store, checkpoint_of, spent_seconds
from tarrafa.agent.checkpoints import BUFFERED_SECONDS, BYTES_DUE, BYTES_LIMIT, PAGES_DUE, PAGES_LIMIT, SHORT_SECONDS
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.clock import VirtualClock
from tarrafa.errors import WorkError
from tarrafa.hashes import edges_of
from tarrafa.keep import Archive, Place, open_archive
from tarrafa.records import Page
from tarrafa.schedule import UrlKind

T = TypeVar("T")

EVERY_SECONDS = 30.0


class CheckpointBench:
    """Checkpoints of a crawl in a folder, without an agent."""

    def __init__(self, root: Path) -> None:
        self.clock = VirtualClock(1_000.0)
        self.folder = CrawlFolder(root)
        self.store = Store(self.folder)
        self.archive: Archive = open_archive(self.folder.archive, self.store.checkpoint.end, self.clock)
        storage = MemoryHostStorage()
        self.hosts = HostTable(storage, storage)
        self.checkpoints = Checkpoints(self.store, self.archive, self.hosts, self.clock, EVERY_SECONDS)
        self.runner = asyncio.Runner()  # one event loop for all steps of a test

    def run(self, work: Coroutine[None, None, T]) -> T:
        return self.runner.run(work)

    def find(self, *urls: str) -> None:
        for url in urls:
            self.checkpoints.unsaved.offer(url, 1, 0, UrlKind.PAGE, is_outside=False)

    def end(self, *urls: str) -> None:
        """End URLs as if their pages were kept."""
        for url in urls:
            self.checkpoints.unsaved.end(url, self.clock.now(), 200, Place(0, 0))
            self.checkpoints.unsaved.counts["pages"] += 1

    def is_due(self, seconds: float = 0.0, *, is_short: bool = False, is_buffered: bool = False) -> bool:
        now = self.clock.monotonic() + seconds
        return self.checkpoints.is_due(now, is_short=is_short, is_buffered=is_buffered)

    async def begin_and_wait(self, *, is_verifying: bool = True) -> None:
        """Run a checkpoint as the event loop does, until its result is there."""
        done = asyncio.Event()
        self.checkpoints.begin(is_verifying=is_verifying, done=done.set)
        assert self.checkpoints.is_running
        assert self.checkpoints.take() == []
        await done.wait()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[CheckpointBench]:
    made = CheckpointBench(tmp_path)
    yield made
    made.run(made.checkpoints.close())
    made.runner.close()
    made.archive.close()


# When one is due.


def test_nothing_is_due_without_anything_to_save(bench: CheckpointBench) -> None:
    assert not bench.checkpoints.has_news
    assert not bench.is_due(1e6, is_short=True)
    assert bench.checkpoints.wake_at(is_short=True, is_buffered=False) is None


def test_checkpoint_is_due_by_time_if_anything_is_unsaved(bench: CheckpointBench) -> None:
    bench.find(f"{A}/")
    assert not bench.is_due(EVERY_SECONDS - 0.1)
    assert bench.is_due(EVERY_SECONDS)
    assert bench.checkpoints.wake_at(is_short=False, is_buffered=False) == bench.checkpoints.due_at()
    assert bench.checkpoints.due_at() == 1_000.0 + EVERY_SECONDS


def test_what_changed_about_a_host_is_saved_also_without_any_page(bench: CheckpointBench) -> None:
    bench.hosts.meet(A)
    assert not bench.checkpoints.unsaved
    assert bench.checkpoints.has_news
    assert bench.is_due(EVERY_SECONDS)


def test_checkpoint_is_due_at_once_by_pages(bench: CheckpointBench) -> None:
    bench.end(*urls_of(A, PAGES_DUE - 1))
    assert not bench.is_due()
    bench.end(f"{A}/last")
    assert bench.is_due()
    assert not bench.checkpoints.is_full


def test_checkpoint_is_due_at_once_by_bytes_of_pages_and_robots_txt(bench: CheckpointBench) -> None:
    bench.find(f"{A}/")
    bench.checkpoints.unsaved.size_bytes = BYTES_DUE - 10
    assert not bench.is_due()
    bench.hosts.unsaved_bytes = 10
    assert bench.is_due()


@pytest.mark.parametrize(("pages", "size_bytes"), [(PAGES_LIMIT, 0), (0, BYTES_LIMIT)])
def test_visits_wait_for_the_disk_when_far_too_much_is_unsaved(
    pages: int, size_bytes: int, bench: CheckpointBench
) -> None:
    assert not bench.checkpoints.is_full
    bench.end(*urls_of(A, pages))
    bench.checkpoints.unsaved.size_bytes = size_bytes
    assert bench.checkpoints.is_full


@pytest.mark.parametrize(("is_buffered", "seconds"), [(False, SHORT_SECONDS), (True, BUFFERED_SECONDS)])
def test_checkpoint_is_due_sooner_when_visits_run_short(
    is_buffered: bool, seconds: float, bench: CheckpointBench
) -> None:
    bench.find(f"{A}/")
    assert not bench.is_due(seconds / 2, is_short=True, is_buffered=is_buffered)
    assert bench.is_due(seconds, is_short=True, is_buffered=is_buffered)
    assert not bench.is_due(seconds, is_short=False, is_buffered=is_buffered)
    next_at = bench.checkpoints.next_at(is_buffered)
    assert next_at == 1_000.0 + seconds
    assert bench.checkpoints.wake_at(is_short=True, is_buffered=is_buffered) == next_at


def test_none_is_due_while_one_runs_and_the_next_counts_from_its_end(bench: CheckpointBench) -> None:
    async def run() -> None:
        bench.find(f"{A}/")
        bench.checkpoints.begin(is_verifying=True, done=lambda: None)
        bench.find(f"{A}/2")
        assert not bench.is_due(1e6, is_short=True)
        assert bench.checkpoints.wake_at(is_short=True, is_buffered=False) is None
        await bench.clock.advance(7.0)
        await bench.checkpoints.finish()

    bench.run(run())
    assert bench.checkpoints.due_at() == 1_007.0 + EVERY_SECONDS
    assert bench.checkpoints.next_at(is_buffered=True) >= 1_007.0 + BUFFERED_SECONDS


# What it does.


def test_checkpoint_saves_and_its_cycle_schedules_what_is_new(bench: CheckpointBench) -> None:
    bench.find(f"{A}/", f"{B}/")
    bench.hosts.meet(A)
    bench.run(bench.begin_and_wait())
    scheduled = bench.checkpoints.take()
    found = sorted((each.host, each.urls, each.left_count) for each in scheduled)
    assert found == [(A, [f"{A}/"], 1), (B, [f"{B}/"], 1)]
    assert bench.checkpoints.take() == []
    assert not bench.checkpoints.is_running
    assert not bench.checkpoints.has_news
    assert bench.store.checkpoint.number == 1
    assert bench.checkpoints.counts.known == 2
    assert bench.checkpoints.disk_bytes > 0


def test_checkpoint_without_a_cycle_saves_and_schedules_nothing(bench: CheckpointBench) -> None:
    bench.find(f"{A}/")
    bench.run(bench.begin_and_wait(is_verifying=False))
    assert bench.checkpoints.take() == []
    assert bench.store.checkpoint.number == 1
    assert bench.checkpoints.counts.known == 0
    assert not bench.checkpoints.unsaved
    assert bench.checkpoints.has_news
    assert [each.urls for each in bench.run(bench.checkpoints.run_now())] == [[f"{A}/"]]


def test_ended_urls_are_finished_only_once_the_repository_knows_them(bench: CheckpointBench) -> None:
    bench.find(f"{A}/", f"{A}/2")
    bench.end(f"{A}/")
    bench.run(bench.begin_and_wait(is_verifying=False))
    bench.checkpoints.take()
    assert bench.checkpoints.take_finished() == []
    bench.end(f"{A}/2")
    scheduled = bench.run(bench.checkpoints.run_now())
    assert scheduled == []
    assert bench.checkpoints.take_finished() == [f"{A}/", f"{A}/2"]
    assert bench.checkpoints.take_finished() == []


def test_totals_contain_what_is_saved_and_what_is_not(bench: CheckpointBench) -> None:
    bench.end(f"{A}/")
    bench.hosts.meet(A)
    bench.run(bench.checkpoints.run_now())
    bench.end(f"{B}/", f"{B}/2")
    bench.hosts.meet(B)
    assert bench.checkpoints.pages == 3
    assert (bench.checkpoints.totals["pages"], bench.checkpoints.totals["hosts"]) == (3, 2)
    assert bench.store.checkpoint.totals == {"pages": 1, "hosts": 1}


def test_urls_of_a_host_with_the_hash_of_another_are_counted_and_told(
    bench: CheckpointBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The hash is made weak: that of the first letter of a host's name."""
    monkeypatch.setattr("tarrafa.verify.keys.path_starts", lambda texts: edges_of(texts)[:-1] + len("http://x"))
    bench.find(f"{A}/")
    bench.run(bench.checkpoints.run_now())
    bench.find(*urls_of(f"{A}.test", 3))
    bench.run(bench.checkpoints.finish())
    assert bench.store.checkpoint.totals["refusal host hash"] == 3
    assert bench.checkpoints.totals["refusal host hash"] == 3
    assert not bench.checkpoints.has_news
    assert [record.getMessage() for record in caplog.records] == ["host collision"]
    assert [each.host for block in bench.checkpoints.blocks() for each in bench.store.scheduled([block])] == [A]


def test_what_is_found_while_a_checkpoint_runs_waits_for_the_next(bench: CheckpointBench) -> None:
    async def run() -> None:
        bench.find(f"{A}/")
        done = asyncio.Event()
        bench.checkpoints.begin(is_verifying=True, done=done.set)
        await asyncio.sleep(0)
        bench.find(f"{A}/late")
        await done.wait()

    bench.run(run())
    assert [each.urls for each in bench.checkpoints.take()] == [[f"{A}/"]]
    assert [*bench.checkpoints.unsaved.found] == [f"{A}/late"]


def test_block_is_read_again_on_request(bench: CheckpointBench) -> None:
    bench.find(f"{A}/")
    bench.run(bench.checkpoints.run_now())
    blocks = bench.checkpoints.blocks()
    found = [each for block in blocks for each in bench.run(bench.checkpoints.scheduled_of(block))]
    assert [each.urls for each in found] == [[f"{A}/"]]


def test_finish_waits_for_the_running_checkpoint_and_saves_the_rest(bench: CheckpointBench, tmp_path: Path) -> None:
    async def run() -> None:
        bench.find(f"{A}/")
        bench.checkpoints.begin(is_verifying=False, done=lambda: None)
        await asyncio.sleep(0)
        bench.find(f"{B}/")
        bench.end(f"{A}/")
        await bench.checkpoints.finish()

    bench.run(run())
    assert not bench.checkpoints.has_news
    assert not bench.checkpoints.is_running
    assert (bench.checkpoints.counts.known, bench.checkpoints.counts.collected) == (2, 1)
    bench.store.close()
    again = Store(CrawlFolder(tmp_path))
    assert (again.checkpoint.number, again.checkpoint.totals["pages"]) == (bench.store.checkpoint.number, 1)
    assert again.is_settled
    again.close()


def test_pages_after_the_last_checkpoint_are_those_a_kill_leaves_unsaved(bench: CheckpointBench) -> None:
    def append(url: str) -> None:
        bench.archive.append(Page(url, 200, (), b"body", bench.clock.now()))

    append(f"{A}/saved")
    bench.end(f"{A}/saved")
    bench.run(bench.checkpoints.run_now())
    append(f"{A}/unsaved")
    bench.archive.sync()
    assert [stored.page.url for stored in bench.checkpoints.unsaved_pages()] == [f"{A}/unsaved"]


# Errors.


def test_torn_page_is_never_saved(bench: CheckpointBench) -> None:
    bench.find(f"{A}/")
    bench.checkpoints.unsaved.is_torn = True
    with pytest.raises(WorkError, match="nothing is saved"):
        bench.run(bench.checkpoints.run_now())
    assert bench.store.checkpoint.number == 0
    assert [*bench.checkpoints.unsaved.found] == [f"{A}/"]


def test_error_of_the_thread_is_raised_by_take_and_once(
    bench: CheckpointBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise WorkError("the disk is full")

    monkeypatch.setattr(bench.store, "verify", fail)
    bench.find(f"{A}/")
    bench.run(bench.begin_and_wait())
    assert bench.checkpoints.is_running
    with pytest.raises(WorkError, match="the disk is full"):
        bench.checkpoints.take()
    assert not bench.checkpoints.is_running
    assert bench.checkpoints.take() == []
    assert bench.checkpoints.take_finished() == []


def test_error_of_the_thread_is_raised_by_finish(bench: CheckpointBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise WorkError("the disk is full")

    async def run() -> None:
        bench.find(f"{A}/")
        bench.checkpoints.begin(is_verifying=True, done=lambda: None)
        await bench.checkpoints.finish()

    monkeypatch.setattr(bench.store, "save", fail)
    with pytest.raises(WorkError, match="the disk is full"):
        bench.run(run())
    assert bench.store.checkpoint.number == 0


# Time.


def test_time_spent_is_saved_up_to_the_last_cycle_and_is_no_news(bench: CheckpointBench) -> None:
    bench.checkpoints.steps.add(CrawlStep.EXTRACT, 2.0)
    assert not bench.checkpoints.has_news
    bench.end(f"{A}/")
    bench.run(bench.checkpoints.finish())
    saved = spent_seconds(checkpoint_of(bench.folder.hosts).totals)
    assert saved.keys() == {"extract", "checkpoint", "verify"}
    assert saved == spent_seconds(bench.checkpoints.totals)
    assert not bench.checkpoints.has_news
