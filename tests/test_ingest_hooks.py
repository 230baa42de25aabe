"""Hooks in ingest and discovery: what they change is collected, counted and repeated when a page is recovered."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from brains import BrainDriver, BrainSettings, DriverClock, make_page
from tarrafa.agent import DecodedPage, HookedPage, Ingest, PageReader, ParsedPage, Refreshes
from tarrafa.agent.discovery import Discovery
from tarrafa.agent.ingest import Annotations
from tarrafa.agent.step_times import StepTimes
from tarrafa.agent.unsaved import Unsaved
from tarrafa.configuration import HostTables
from tarrafa.errors import WorkError
from tarrafa.extract import ExtractOptions
from tarrafa.keep import BEGINNING, HeadReader, StoredAt, open_archive, read_whole_pages
from tarrafa.schedule import Level, Scope, UrlBounds

A = "http://a.example"
BODY = b"<title>One</title><p>Words.<a href=/next>next</a><a href=/private/x>other</a>"


class ScriptedHooks:
    """Adds a field and an error, and refuses /private/."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes, int]] = []
        self.counts: Counter[str] = Counter()
        self.is_dropping = False
        self.error: Exception | None = None

    def admits(self, url: str) -> bool:
        return "/private/" not in url

    def change(self, decoded: DecodedPage, parsed: ParsedPage, depth: int) -> HookedPage:
        self.seen.append((parsed.page.url, decoded.body, depth))
        if self.error is not None:
            raise self.error
        self.counts["hook errors"] += 1
        return HookedPage(parsed, {"price": 2.5}, is_dropped=self.is_dropping)

    def take_counts(self) -> Mapping[str, int]:
        taken, self.counts = self.counts, Counter()
        return taken

    async def caught_up(self) -> None:
        return


class HookBench:
    """An ingest with hooks, over an archive in a folder. It also holds what is unsaved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hooks = ScriptedHooks()
        self.unsaved, self.steps = Unsaved(), StepTimes()
        self.brain = BrainDriver(BrainSettings())
        clock = DriverClock(self.brain)
        self.archive = open_archive(folder, BEGINNING, clock)
        discovery = Discovery(Scope(lambda name: True, UrlBounds()), Level(), self.hooks)
        reader = PageReader(ExtractOptions(), 5_000_000)
        refreshes = Refreshes(HeadReader(folder), HostTables())
        self.ingest = Ingest(self.archive, (), reader, discovery, self.brain.visits, self, clock, refreshes, self.hooks)

    def add(self, status: int = 200) -> None:
        self.brain.allow_all(A)
        visit = self.brain.next_fetch().visit
        page = make_page(visit.url, status, BODY, (("Content-Type", "text/html"),), self.brain.at.wall)
        asyncio.run(self.ingest.add(visit, page, Annotations(3)))

    def recover(self) -> None:
        for stored in read_whole_pages(self.folder, self.archive.sync(), BEGINNING):
            asyncio.run(self.ingest.recover(stored.page, StoredAt(stored.place, stored.digest), stored.fields))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[HookBench]:
    made = HookBench(tmp_path)
    yield made
    made.ingest.close()
    made.archive.close()


def test_page_goes_through_the_hooks_with_its_body_and_depth(bench: HookBench) -> None:
    bench.add()
    assert bench.hooks.seen == [(f"{A}/", BODY, 3)]
    assert [row.fields for row in bench.unsaved.documents] == [{"price": 2.5}]
    assert bench.unsaved.counts["hook errors"] == 1


def test_url_that_a_hook_refuses_is_counted_and_not_offered(bench: HookBench) -> None:
    bench.add()
    assert set(bench.unsaved.found) == {f"{A}/next"}
    assert bench.unsaved.counts["refusal hook"] == 1


def test_answer_that_is_no_page_does_not_go_through_the_hooks(bench: HookBench) -> None:
    bench.add(status=404)
    assert bench.hooks.seen == []
    assert [row.status for row in bench.unsaved.documents] == [404]


def test_recovered_page_goes_through_the_hooks_again(bench: HookBench) -> None:
    bench.add()
    before, bench.unsaved = bench.unsaved, Unsaved()
    bench.recover()
    assert bench.unsaved.documents == before.documents
    assert bench.unsaved.found == before.found
    assert len(bench.hooks.seen) == 2


def test_dropped_page_has_no_document_and_is_no_page_but_its_links_are_followed(bench: HookBench) -> None:
    bench.hooks.is_dropping = True
    bench.add()
    unsaved = bench.unsaved
    assert (unsaved.documents, unsaved.links, unsaved.counts["pages"]) == ([], [], 0)
    assert unsaved.counts["refusal dropped"] == 1
    assert [url for url, *_ in unsaved.ended] == [f"{A}/"]
    assert set(unsaved.found) == {f"{A}/next"}


def test_after_an_error_that_stops_the_crawl_nothing_is_saved_and_the_page_is_recovered(bench: HookBench) -> None:
    bench.hooks.error = WorkError("strict")
    with pytest.raises(WorkError, match="strict"):
        bench.add()
    assert bench.unsaved.is_torn
    bench.hooks.error, bench.unsaved = None, Unsaved()
    bench.recover()
    assert [row.fields for row in bench.unsaved.documents] == [{"price": 2.5}]
