"""Pages that are asked for again, through ingest into an archive: what is stored, counted, and known after a kill."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from archive_pages import seen_by_fastwarc, seen_by_warcio, warc_files
from brains import A, B, BrainDriver, BrainSettings, DriverClock, make_page
from tarrafa.agent import Ingest, PageReader, Refreshes
from tarrafa.agent.hooks import CrawlHooks
from tarrafa.agent.ingest import Annotations
from tarrafa.agent.landings import PageRefresh
from tarrafa.agent.outcomes import DOUBTED, NO_FILE
from tarrafa.agent.step_times import StepTimes
from tarrafa.agent.unsaved import CollectedVisit, Unsaved
from tarrafa.configuration import HostSettings, HostTables
from tarrafa.extract import LARGE_BYTES, Extract, ExtractOptions, PageFormat
from tarrafa.histories import DAY_SECONDS, Change, Phase, phase_after
from tarrafa.keep import BEGINNING, HeadReader, Place, StoredAt, StoredPage, open_archive, read_whole_pages
from tarrafa.keep.warc import date_of
from tarrafa.records import Headers
from tarrafa.schedule import RetryPolicy
from tarrafa.verify import KnownPage
from test_ingest_hooks import ScriptedHooks

URL = f"{A}/"
EMPTY = Extract(URL, PageFormat.OTHER)
PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
BODY = b"<title>One</title><p>Some words that stay as they are.<a href=/next>next</a>"
SAME_TEXT = b"<title>One</title><p class=new>Some words that stay as they are.<a href=/other>next</a>"
OTHER = b"<title>Two</title><p>Nothing of what stood here before is left.<a href=/next>next</a>"
TAG = (("ETag", '"1"'), ("Content-Type", "text/html"))


class RefreshBench:
    """An ingest over a brain in memory and an archive in a folder. One page is visited again and again."""

    def __init__(self, folder: Path, tables: HostTables | None = None, hooks: CrawlHooks | None = None) -> None:
        self.folder = folder
        self.brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(tries_limit=1)))
        self.brain.now = 1_000.0  # a turn that goes with conditions
        clock = DriverClock(self.brain)
        self.archive = open_archive(folder, BEGINNING, clock)
        self.refreshes = Refreshes(HeadReader(folder), tables or HostTables())
        self.unsaved, self.steps = Unsaved(), StepTimes()
        reader, brain = PageReader(ExtractOptions(), 5_000_000), self.brain
        asked = (("User-Agent", "tester"),)
        self.ingest = Ingest(
            *(self.archive, asked, reader, brain.discovery, brain.visits, self, clock, self.refreshes), hooks=hooks
        )
        self.phases: dict[str, tuple[Phase, int]] = {}

    def first(self, status: int = 200, body: bytes = BODY, headers: Headers = TAG, url: str = URL) -> CollectedVisit:
        self.brain.allow_all(url.removesuffix("/"))
        fetch = self.brain.next_fetch()
        page = make_page(url, status, body, headers, self.brain.at.wall)
        asyncio.run(self.ingest.add(fetch.visit, page, Annotations(2)))
        return self.ended

    @property
    def ended(self) -> CollectedVisit:
        return self.unsaved.ended[-1]

    def known(self, url: str = URL) -> KnownPage:
        """Return what the repository knows, from all visits so far."""
        phase, failures, visited = Phase.LIVE, 0, 0.0
        for each in self.unsaved.ended:
            if each.url == url:
                phase = phase_after(phase, failures, visited, each.at_seconds, each.status)
                failures = 0 if phase <= Phase.MOVED else failures + 1
                visited, last = each.at_seconds, each
        of_content = (last.file, last.offset, last.signature, last.similarity)
        return KnownPage(url, 2, visited, last.status, phase, *of_content, failures=failures)

    def begin(self, url: str = URL, days: float = 2.0) -> PageRefresh:
        """Let some days pass and ask for the page again."""
        self.archive.sync()
        self.brain.now += days * DAY_SECONDS
        return asyncio.run(self.refreshes.begin(self.known(url)))

    def again(
        self, status: int = 200, body: bytes = BODY, headers: Headers = TAG, url: str = URL, days: float = 2.0
    ) -> CollectedVisit:
        refresh = self.begin(url, days)
        self.brain.frontier.urls.finish([url])
        assert self.brain.frontier.refresh_pages([refresh.known], 0, self.brain.at)
        fetch = self.brain.next_fetch()
        if fetch.known is None:  # robots.txt has expired
            self.brain.answer(fetch, 404)
            fetch = self.brain.next_fetch()
        page = make_page(url, status, body, headers, self.brain.at.wall)
        asyncio.run(self.ingest.add(fetch.visit, page, Annotations(2), refresh))
        return self.ended

    def stored(self) -> list[StoredPage]:
        return list(read_whole_pages(self.folder, self.archive.sync(), BEGINNING))

    @property
    def outcomes(self) -> list[str]:
        return [row.outcome for row in self.unsaved.documents]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[RefreshBench]:
    made = RefreshBench(tmp_path)
    yield made
    made.ingest.close()
    made.archive.close()


def test_unmodified_page_refers_to_its_content_and_is_not_counted_again(bench: RefreshBench) -> None:
    first = bench.first()
    assert bench.begin(days=0).conditions == (("If-None-Match", '"1"'),)
    for _ in range(2):
        found = bench.again(304, b"", (("Cache-Control", "max-age=7200"),))
        assert found[2:8] == (304, *first[3:5], Change.NONE, *first[6:8])
        assert found.cache_seconds == 7_200
    stored = bench.stored()
    assert [each.original for each in stored] == [None, Place(*first[3:5]), Place(*first[3:5])]
    assert [each.digest for each in stored] == [stored[0].digest] * 3
    assert bench.outcomes == ["fetched", "unchanged", "unchanged"]
    last = bench.unsaved.documents[-1]
    assert (last.text, last.digest, last.archive_offset) == ("", stored[0].digest, stored[2].place.offset)
    counts, record = bench.unsaved.counts, bench.brain.record(A)
    assert (counts["pages"], counts["refreshes"], counts["refreshes changed"]) == (1, 2, 0)
    assert (counts.named("outcome"), counts.named("refresh")) == ({"fetched": 1}, {"unchanged": 2})
    assert (record.pages, record.refreshes) == (1, 2)
    assert counts["bytes"] == len(BODY)
    assert [*bench.unsaved.found] == [f"{A}/next"]
    assert bench.unsaved.found[f"{A}/next"][1] == 1


def test_same_bytes_are_stored_once_and_the_next_request_has_the_validators_of_today(bench: RefreshBench) -> None:
    first = bench.first()
    found = bench.again(200, BODY, (("ETag", '"2"'), ("Content-Type", "text/html")))
    assert found[5:8] == (Change.NONE, *first[6:8])
    stored = bench.stored()
    assert (stored[1].original, stored[1].page.body) == (Place(*first[3:5]), BODY)
    assert Place(found.file, found.offset) == stored[1].place
    refresh = bench.begin(days=0)
    assert refresh.conditions == (("If-None-Match", '"2"'),)
    assert refresh.head is not None
    assert refresh.head.content.place == stored[0].place
    bench.again(304, b"", ())
    assert bench.stored()[2].original == stored[0].place
    assert bench.outcomes == ["fetched", "unchanged", "unchanged"]


def test_same_text_in_other_bytes_is_unchanged_but_kept_and_its_links_are_followed(bench: RefreshBench) -> None:
    first = bench.first()
    found = bench.again(200, SAME_TEXT)
    assert found[5:8] == (Change.NONE, *first[6:8])
    stored = bench.stored()
    assert (stored[1].original, stored[1].page.body) == (None, SAME_TEXT)
    assert Place(found.file, found.offset) == stored[1].place
    assert bench.outcomes == ["fetched", "unchanged"]
    assert bench.unsaved.found[f"{A}/other"][1] == 0
    assert len(bench.unsaved.links) == 1


def test_changed_page_has_a_document_of_its_own_and_counts_once(bench: RefreshBench) -> None:
    first = bench.first()
    modified = (("Last-Modified", "Sat, 15 Nov 2025 23:00:00 GMT"), ("Date", "Tue, 18 Nov 2025 00:16:00 GMT"))
    found = bench.again(200, OTHER, (*TAG, *modified))
    assert (found.change, found.signature != first.signature) == (Change.FULL, True)
    assert found.content_seconds == 2 * DAY_SECONDS + 4_560
    assert bench.outcomes == ["fetched", "fetched"]
    assert [row.title for row in bench.unsaved.documents] == ["One", "Two"]
    counts = bench.unsaved.counts
    assert (counts["pages"], counts["refreshes"], counts["refreshes changed"]) == (1, 1, 1)
    assert bench.brain.record(A).pages == 1
    assert bench.unsaved.found[f"{A}/next"][1] == 1
    assert len(bench.unsaved.links) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"<meta name=robots content=noindex>" + BODY,
        b'<meta name=description content="What it is about">' + BODY,
        b"<link rel=canonical href=/true>" + BODY,
    ],
)
def test_page_with_the_same_text_and_other_facts_replaces_its_document(bench: RefreshBench, body: bytes) -> None:
    bench.first()
    assert bench.again(200, body).change == Change.NONE
    assert bench.again(200, BODY + b"<!-- -->").change == Change.NONE
    assert bench.again(200, BODY + b"<!-- x -->").change == Change.NONE
    assert bench.outcomes == ["fetched", "fetched", "fetched", "unchanged"]


def test_header_with_directives_changes_a_page_with_the_same_bytes(bench: RefreshBench) -> None:
    bench.first()
    bench.again(200, BODY, (*TAG, ("X-Robots-Tag", "noindex")))
    assert bench.outcomes == ["fetched", "fetched"]
    assert bench.unsaved.documents[1].directives == ("noindex",)


def test_redirect_is_signed_by_its_location(bench: RefreshBench) -> None:
    bench.first()
    moved = bench.again(301, b"", (("Location", "/new"),))
    assert moved.change == Change.FULL
    assert bench.begin(days=0).conditions == ()
    assert bench.again(301, b"<p>Moved", (("Location", "/new"),)).change == Change.NONE
    assert bench.again(302, b"", (("Location", "/newer"),)).change == Change.FULL
    back = bench.again(200, BODY)
    assert back.change == Change.FULL
    assert bench.outcomes == ["fetched", "redirected", "redirected", "redirected", "fetched"]
    assert {f"{A}/new", f"{A}/newer"} <= bench.unsaved.found.keys()


def test_page_that_is_missing_once_stays_and_is_gone_a_day_later(bench: RefreshBench) -> None:
    first = bench.first()
    for days in (2.0, 0.5, 1.5):
        found = bench.again(404, b"<p>Not here.", days=days)
        assert found[3:8] == (*first[3:5], Change.NONE, *first[6:8])
    assert bench.outcomes == ["fetched", "failed", "failed", "gone"]
    assert bench.begin(days=0).conditions == ()
    bench.again(200, BODY)
    assert bench.outcomes[-1] == "fetched"
    assert bench.unsaved.documents[-1].title == "One"
    assert (bench.unsaved.counts["pages"], bench.brain.record(A).pages) == (1, 1)
    assert bench.unsaved.counts.named("refresh") == {"failed": 2, "fetched": 1, "gone": 1}


def test_page_that_was_missing_at_its_first_visit_counts_when_it_comes(bench: RefreshBench) -> None:
    bench.first(404, b"")
    bench.again(200, BODY)
    assert bench.outcomes == ["gone", "fetched"]
    assert (bench.unsaved.counts["pages"], bench.brain.record(A).pages) == (1, 1)
    bench.again(200, OTHER)
    assert (bench.unsaved.counts["pages"], bench.brain.record(A).pages) == (1, 1)


def test_page_that_a_hook_drops_now_ends_what_was_stored_of_it(tmp_path: Path) -> None:
    hooks = ScriptedHooks()
    bench = RefreshBench(tmp_path, hooks=hooks)
    bench.first()
    hooks.is_dropping = True
    bench.again(304, b"", ())
    bench.again(200, OTHER)
    assert bench.outcomes == ["fetched", "unchanged", "dropped"]
    assert [bool(row.text) for row in bench.unsaved.documents] == [True, False, False]
    bench.ingest.close()
    bench.archive.close()


def test_pages_of_a_broken_deployment_are_not_gone(bench: RefreshBench) -> None:
    bench.first()
    known = bench.known()
    lost = [bench.refreshes.lose(known, 410, known.visited_seconds + DAY_SECONDS + n) for n in range(20)]
    assert [each.status for each in lost] == [410] * 9 + [DOUBTED] * 11
    assert bench.refreshes.lose(known, 410, known.visited_seconds + 3 * DAY_SECONDS).status == 410


def test_no_answer_leaves_what_is_known_until_the_page_is_gone(bench: RefreshBench) -> None:
    bench.first()
    known = bench.known()._replace(phase=Phase.FAILING, failures=4)
    landing = bench.refreshes.lose(known, 1_104, known.visited_seconds + 27 * DAY_SECONDS)
    assert (landing.outcome, landing.is_end, landing.place) == ("gone", True, Place(known.file, known.offset))


def test_large_page_is_judged_before_it_is_stored(bench: RefreshBench) -> None:
    first = bench.first(200, BODY + b" " * LARGE_BYTES)
    found = bench.again(200, BODY + b"\n" * LARGE_BYTES)
    assert (found.signature, found.change) == (first.signature, Change.NONE)
    bench.again(200, OTHER + b"\n" * LARGE_BYTES)
    assert bench.ended.change == Change.FULL
    assert [len(each.page.body) >= LARGE_BYTES for each in bench.stored()] == [True] * 3


# Conditions.


def test_page_that_was_cut_or_is_no_page_is_asked_for_without_conditions(bench: RefreshBench) -> None:
    bench.brain.allow_all(A)
    page = make_page(URL, 200, BODY, TAG, bench.brain.at.wall)._replace(truncated=True)
    asyncio.run(bench.ingest.add(bench.brain.next_fetch().visit, page, Annotations(0)))
    assert bench.begin().conditions == ()
    bench.first(404, b"", TAG, f"{B}/")
    assert bench.begin(f"{B}/").conditions == ()


def test_conditions_of_a_user_stand_alone(tmp_path: Path) -> None:
    bench = RefreshBench(
        tmp_path, HostTables([HostSettings(match="host:a.example", headers=(("if-none-match", '"mine"'),))])
    )
    bench.first()
    assert bench.begin().conditions == ()
    bench.archive.close()


def test_host_whose_validators_hide_changes_is_not_believed(bench: RefreshBench) -> None:
    bench.first()
    for number in range(3):
        assert bench.begin(days=0).conditions
        refresh = bench.begin()._replace(conditions=())  # one of those that go without
        page = make_page(URL, 200, OTHER + b"%d" % number, TAG, bench.brain.at.wall)
        bench.refreshes.land(refresh, page, EMPTY, b"%d" % number, "")
    assert bench.begin(days=0).conditions == ()


def test_page_whose_record_is_damaged_is_asked_for_whole(bench: RefreshBench, caplog: pytest.LogCaptureFixture) -> None:
    bench.first()
    bench.archive.sync()
    (path,) = warc_files(bench.folder)
    data = bytearray(path.read_bytes())
    data[bench.ended.offset + 30] ^= 255
    path.write_bytes(data)
    refresh = bench.begin()
    assert (refresh.head, refresh.conditions) == (None, ())
    assert "stored page unreadable" in caplog.text


def test_page_without_a_record_is_asked_for_whole(bench: RefreshBench) -> None:
    bench.first()
    known = bench.known()._replace(file=NO_FILE, offset=0)
    assert asyncio.run(bench.refreshes.begin(known)) == PageRefresh(known)


# The archive.


def test_others_read_the_records_of_refreshes(bench: RefreshBench) -> None:
    bench.first()
    bench.again(304, b"", ())
    bench.again(200, BODY)
    bench.again(200, OTHER)
    bench.archive.sync()
    (path,) = warc_files(bench.folder)
    kinds = [kind for kind, *_ in seen_by_warcio(path)]
    assert [kind for kind in kinds if kind not in ("request", "metadata", "warcinfo")] == [
        *("response", "revisit", "revisit", "response")
    ]
    assert [kind for kind, *_ in seen_by_fastwarc(path)] == kinds
    told = revisits_of(path)
    assert [each["WARC-Profile"] for each in told] == [
        f"{PROFILE}server-not-modified",
        f"{PROFILE}identical-payload-digest",
    ]
    first = bench.stored()[0]
    for each in told:
        assert each["WARC-Refers-To-Target-URI"] == each["WARC-Target-URI"] == URL
        assert each["WARC-Refers-To-Date"] == date_of(first.page.at)
        assert each["WARC-Payload-Digest"] == first.digest
    sent = [dict(each.request_headers).get("If-None-Match") for each in bench.stored()]
    assert sent == [None, '"1"', '"1"', '"1"']


def revisits_of(path: Path) -> list[dict[str, str]]:
    """Return the fields of the revisit records, as an independent reader finds them."""
    with path.open("rb") as file:
        return [dict(each.rec_headers.headers) for each in ArchiveIterator(file) if each.rec_type == "revisit"]


# After a kill.


def test_refreshes_after_the_last_checkpoint_are_collected_as_they_were(bench: RefreshBench) -> None:
    """Only the archive is left; what was known before is not asked again."""
    bench.first()
    bench.again(304, b"", (("Cache-Control", "max-age=7200"),))
    bench.again(200, BODY)
    bench.again(200, SAME_TEXT)
    bench.again(200, OTHER, (*TAG, ("Last-Modified", "Sat, 15 Nov 2025 23:00:00 GMT")))
    bench.again(404, b"")
    bench.again(404, b"")
    bench.again(200, BODY)
    bench.again(301, b"", (("Location", "/new"),))
    before, pages = bench.unsaved, bench.brain.record(A).pages
    bench.unsaved = Unsaved()
    for stored in bench.stored():
        at, is_reference = StoredAt(stored.place, stored.digest), stored.original is not None
        asyncio.run(bench.ingest.recover(stored.page, at, stored.fields, is_reference=is_reference))
    assert str(bench.unsaved.ended) == str(before.ended)
    assert bench.unsaved.documents == before.documents
    assert bench.unsaved.links == before.links
    assert bench.unsaved.found == before.found
    assert bench.unsaved.counts == before.counts
    assert bench.brain.record(A).pages == 2 * pages


def sitemap_of(*entries: tuple[str, float]) -> bytes:
    rows = (f"<url><loc>{A}/{path}</loc><lastmod>{date_of(at)}</lastmod></url>" for path, at in entries)
    return f"<urlset>{''.join(rows)}</urlset>".encode()


def test_sitemap_gives_hints_of_what_changed_since_it_was_read_before(bench: RefreshBench) -> None:
    now = bench.brain.at.wall
    bench.first(body=sitemap_of(("a", now - 6 * DAY_SECONDS), ("b", now - 8 * DAY_SECONDS)))
    assert bench.refreshes.hints.believed().urls == [f"{A}/a"]
    day = now + 2 * DAY_SECONDS - 3_600
    bench.again(body=sitemap_of(("b", now - 2 * DAY_SECONDS), ("c", day), ("d", day + DAY_SECONDS)))
    assert bench.refreshes.hints.believed().urls == [f"{A}/a", f"{A}/c"]


def test_long_sitemap_that_is_parsed_apart_gives_hints(bench: RefreshBench) -> None:
    now = bench.brain.at.wall
    body = sitemap_of(*((f"{page}?{'x' * 1_500}", now - 3_600) for page in range(600)))
    bench.first(body=body)
    assert len(bench.refreshes.hints) == 600


def test_visit_to_a_hinted_page_tells_if_hints_of_its_host_are_right(bench: RefreshBench) -> None:
    hints, told = bench.refreshes.hints, []
    bench.first()
    for status, body in ((200, OTHER), (200, OTHER), (304, b""), (503, b"")):
        at = bench.brain.at.wall + DAY_SECONDS
        hints.note(A, [(URL, at)], None, at)
        bench.again(status, body)
        told.append(hints.precision(A))
    assert told == [2 / 3, 2 / 4, 2 / 5, 2 / 5]
    assert not hints
