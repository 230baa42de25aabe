"""Ingest by itself: a page is stored, collected and counted in one step, or it is none of these."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from brains import EPOCH, A, BrainDriver, BrainSettings, DriverClock, make_page, urls_of
from tarrafa.agent import Ingest, PageReader, Refreshes
from tarrafa.agent.ingest import Annotations, check_whole
from tarrafa.agent.instructions import Fetch
from tarrafa.agent.step_times import StepTimes
from tarrafa.agent.unsaved import Unsaved
from tarrafa.configuration import HostTables
from tarrafa.errors import WorkError
from tarrafa.extract import LARGE_BYTES, Extract, ExtractOptions, bounds
from tarrafa.keep import BEGINNING, Archive, HeadReader, StoredAt, StoredPage, open_archive, read_whole_pages
from tarrafa.records import Page
from tarrafa.schedule import RetryPolicy, UrlKind

BODY = b"<title>One</title><p>Some words.<a href=/next>next</a><a href=/other rel=nofollow>other</a>"
HTML = ("Content-Type", "text/html")


class UnsavedHolder:
    def __init__(self) -> None:
        self.unsaved = Unsaved()
        self.steps = StepTimes()


class IngestBench:
    """An ingest over a brain in memory and an archive in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(tries_limit=2)))
        clock = DriverClock(self.brain)
        self.archive: Archive = open_archive(folder, BEGINNING, clock)
        self.owner = UnsavedHolder()
        reader = PageReader(ExtractOptions(), 5_000_000)
        asked = (("User-Agent", "tester"),)
        refreshes = Refreshes(HeadReader(folder), HostTables())
        brain = self.brain
        self.ingest = Ingest(
            *(self.archive, asked, reader, brain.discovery, brain.visits, self.owner, clock, refreshes)
        )

    @property
    def unsaved(self) -> Unsaved:
        return self.owner.unsaved

    def page_of(self, fetch: Fetch, status: int = 200, body: bytes = BODY) -> Page:
        return make_page(fetch.visit.url, status, body, (HTML,), self.brain.at.wall)

    def add(self, fetch: Fetch, status: int = 200, body: bytes = BODY, depth: int = 3) -> None:
        asyncio.run(self.ingest.add(fetch.visit, self.page_of(fetch, status, body), Annotations(depth, ("usage: x",))))

    def stored(self) -> list[StoredPage]:
        return list(read_whole_pages(self.folder, self.archive.sync(), BEGINNING))

    def fail_collecting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(into: Unsaved, found: Extract, depth: int, cash: int) -> None:
            raise RuntimeError(f"{found.url} at {depth} with {into.size_bytes}")

        monkeypatch.setattr(self.brain.discovery, "follow_links", fail)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[IngestBench]:
    made = IngestBench(tmp_path)
    yield made
    made.ingest.close()
    made.archive.close()


def test_page_is_stored_collected_and_counted_once(bench: IngestBench) -> None:
    bench.brain.allow_all(A)
    bench.add(bench.brain.next_fetch())
    (stored,) = bench.stored()
    assert (stored.page.url, stored.page.body) == (f"{A}/", BODY)
    unsaved = bench.unsaved
    assert [(row.url, row.title, row.usage) for row in unsaved.documents] == [(f"{A}/", "One", ("usage: x",))]
    assert unsaved.documents[0].archive_offset == stored.place.offset
    assert [each[0] for each in unsaved.links] == [f"{A}/"]
    assert [each[:5] for each in unsaved.ended] == [(f"{A}/", bench.brain.at.wall, 200, *stored.place)]
    assert unsaved.ended[0].signature == unsaved.documents[0].signature != 0
    assert [*unsaved.found] == [f"{A}/next"]
    assert unsaved.found[f"{A}/next"] == [1, 1, 0, 4, UrlKind.PAGE]
    assert (unsaved.counts["pages"], unsaved.counts["bytes"]) == (1, len(BODY))
    assert unsaved.counts["pages cut"] == 0
    assert unsaved.counts.named("outcome") == {"fetched": 1}
    record = bench.brain.record(A)
    assert (record.pages, record.bytes) == (1, len(BODY))
    assert bench.brain.visits.in_flight == 0
    assert not unsaved.is_torn


def test_page_that_was_cut_is_counted_and_its_row_says_what(
    bench: IngestBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "LINKS_LIMIT", 1)
    monkeypatch.setattr(bounds, "TITLE_CHARS", 2)
    bench.brain.allow_all(A)
    bench.brain.schedule(f"{A}/2")
    bodies = [(200, b"<title>One</title><a href=1>x</a><a href=2>y</a>"), (404, b"<title>Gone</title>")]
    for status, body in bodies:
        bench.add(bench.brain.next_fetch(), status, body)
    assert [row.cuts for row in bench.unsaved.documents] == [("links", "title"), ("title",)]
    assert bench.unsaved.counts["pages cut"] == 1
    assert bench.unsaved.counts.named("cut") == {"links": 1, "title": 1}


def test_page_that_will_be_fetched_again_is_neither_stored_nor_counted(bench: IngestBench) -> None:
    bench.brain.allow_all(A)
    before = bench.archive.end
    bench.add(bench.brain.next_fetch(), 503)
    assert bench.archive.end == before
    assert not bench.unsaved
    assert (bench.brain.record(A).pages, bench.brain.visits.in_flight) == (0, 0)
    again = bench.brain.next_fetch()
    assert again.request.url == f"{A}/"
    bench.add(again, 503)
    assert [stored.page.status for stored in bench.stored()] == [503]
    assert bench.unsaved.counts.named("outcome") == {"failed": 1}


def test_pages_that_arrive_together_are_all_stored_in_their_order(bench: IngestBench) -> None:
    hosts = [f"http://{number}.example" for number in range(20)]
    bench.brain.allow_all(*hosts)
    bench.brain.pass_time()
    fetches: list[Fetch] = []
    while len(fetches) < len(hosts):
        fetches += bench.brain.run()
        if len(fetches) < len(hosts):
            bench.brain.pass_time()

    async def add_all() -> None:
        pages = [bench.page_of(fetch, 200 if number % 4 else 503) for number, fetch in enumerate(fetches)]
        arrivals = zip(fetches, pages, strict=True)
        await asyncio.gather(*[bench.ingest.add(fetch.visit, page, Annotations(0)) for fetch, page in arrivals])

    asyncio.run(add_all())
    kept = [fetch.visit.url for number, fetch in enumerate(fetches) if number % 4]
    assert [stored.page.url for stored in bench.stored()] == kept
    assert [each[0] for each in bench.unsaved.ended] == kept
    assert [row.url for row in bench.unsaved.documents] == kept
    assert bench.brain.visits.in_flight == 0


def test_large_page_is_stored_like_any_other(bench: IngestBench) -> None:
    """It is compressed in a thread before its visit ends."""
    bench.brain.allow_all(A)
    body = BODY + b" " * LARGE_BYTES
    bench.add(bench.brain.next_fetch(), 200, body)
    (stored,) = bench.stored()
    assert stored.page.body == body
    assert bench.unsaved.documents[0].digest == stored.digest
    assert bench.unsaved.counts["pages"] == 1


def test_recovered_page_is_collected_as_it_was_when_it_arrived(bench: IngestBench) -> None:
    bench.brain.schedule(*urls_of(A, 3))
    bench.brain.answer(bench.brain.next_fetch(), 404)
    sitemap = f"<urlset><url><loc>{A}/listed</loc></url></urlset>".encode()
    for status, body in [(200, BODY), (404, b""), (200, sitemap)]:
        bench.add(bench.brain.next_fetch(), status, body)
    first, pages = bench.unsaved, bench.brain.record(A).pages
    bench.owner.unsaved = Unsaved()
    for stored in bench.stored():
        asyncio.run(bench.ingest.recover(stored.page, StoredAt(stored.place, stored.digest), stored.fields))
    assert [each.url for each in bench.unsaved.documents] == urls_of(A, 3)
    assert bench.unsaved == first
    assert bench.brain.record(A).pages == 2 * pages


def test_page_that_was_stored_and_only_partly_collected_stops_everything_after_it(
    bench: IngestBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.brain.schedule(*urls_of(A, 2))
    bench.brain.answer(bench.brain.next_fetch(), 404)
    with monkeypatch.context() as broken:
        bench.fail_collecting(broken)
        fetch = bench.brain.next_fetch()
        with pytest.raises(RuntimeError, match=f"{A}/0"):
            bench.add(fetch)
    assert bench.unsaved.is_torn
    end, fetch = bench.archive.end, bench.brain.next_fetch()
    with pytest.raises(WorkError, match="the archive has it for the next start"):
        bench.add(fetch)
    assert bench.archive.end == end
    with pytest.raises(WorkError):
        check_whole(bench.unsaved)
    assert [stored.page.url for stored in bench.stored()] == [f"{A}/0"]


def test_time_of_a_page_is_that_of_its_fetch(bench: IngestBench) -> None:
    bench.brain.allow_all(A)
    fetch = bench.brain.next_fetch()
    page = bench.page_of(fetch)
    bench.brain.now += 50.0
    asyncio.run(bench.ingest.add(fetch.visit, page, Annotations(0)))
    assert bench.unsaved.documents[0].fetched_at == page.at
    assert bench.brain.record(A).visited_at == EPOCH + bench.brain.now
