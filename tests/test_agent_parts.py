"""The parts of an agent, one by one."""

import asyncio
import gzip
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.agent.discovery import Discovery
from tarrafa.agent.hooks import HookedPage
from tarrafa.agent.ingest import Annotations, StoredVisit, annotations_of, collect
from tarrafa.agent.landings import first_landing
from tarrafa.agent.outcomes import Outcome, outcome_of, reason_of, status_of
from tarrafa.agent.page_reader import PageReader
from tarrafa.agent.progress_meter import Rates, cpu_seconds, memory_bytes
from tarrafa.agent.unsaved import Unsaved
from tarrafa.agent.url_batches import UrlBatches, batch_of, count_urls
from tarrafa.agent.url_buffer import UrlBuffer
from tarrafa.errors import DamagedError
from tarrafa.extract import LARGE_BYTES, ExtractOptions
from tarrafa.keep import BEGINNING, Place, StoredAt
from tarrafa.records import Failure, FailureKind, Page
from tarrafa.schedule import SITEMAP_PRIORITY, Level, Scope, UrlBounds, UrlKind
from tarrafa.schedule.order import PRIORITY_MAX

A, B = "http://a.example", "http://b.example"


# Outcomes.


def test_numbers_of_failures_are_those_on_disk() -> None:
    numbers = {kind: status_of(Failure(A, kind, "")) for kind in FailureKind}
    assert sorted(numbers.values()) == list(range(1_100, 1_113))
    assert status_of(None) == 1_000
    assert reason_of(1_104) == "timeout"
    assert reason_of(1_000) == "disallowed by robots.txt"
    assert reason_of(404) == ""


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *[(200, "fetched"), (206, "fetched"), (304, "unchanged"), (301, "redirected"), (404, "gone"), (410, "gone")],
        *[(403, "failed"), (503, "failed"), (1_000, "refused"), (1_105, "failed")],
    ],
)
def test_every_status_has_an_outcome(status: int, outcome: str) -> None:
    assert outcome_of(status) is Outcome(outcome)


# Found URLs.


@given(st.integers(1, PRIORITY_MAX), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_url_that_is_found_twice_keeps_the_least_depth_however_deep(priority: int, first: int, second: int) -> None:
    found = Unsaved()
    for depth in (first, second):
        found.offer(f"{A}/", priority, depth, UrlKind.PAGE, is_outside=False)
    extracted = batch_of(1, found).extracted
    assert [column.tolist() for column in extracted[1:]] == [[priority], [2], [0], [min(first, second)], [0], [0]]


def test_page_that_is_named_as_a_sitemap_too_is_a_sitemap() -> None:
    found = Unsaved()
    for priority, kind in ((11, UrlKind.PAGE), (SITEMAP_PRIORITY, UrlKind.SITEMAP), (11, UrlKind.PAGE)):
        found.offer(f"{A}/map", priority, 3, kind, is_outside=False)
    assert found.found == {f"{A}/map": [SITEMAP_PRIORITY, 3, 0, 3, UrlKind.SITEMAP]}


# The buffer of URLs.


def test_url_is_buffered_once_until_the_repository_knows_its_outcome() -> None:
    buffer = UrlBuffer()
    urls = [f"{A}/{number}" for number in range(5)]
    assert buffer.add(A, urls, [1] * 5, [1] * 5) == 5
    assert buffer.add(A, urls, [1] * 5, [1] * 5) == 0
    assert buffer.pop(A, 2) == urls[:2]
    assert urls[0] in buffer
    buffer.finish(urls[:2])
    assert urls[0] not in buffer
    assert buffer.add(A, urls, [1] * 5, [1] * 5) == 2


def test_url_that_is_put_back_comes_first_again() -> None:
    buffer = UrlBuffer()
    buffer.add(A, [f"{A}/1", f"{A}/2", f"{A}/3"], [1, 1, 1], [1, 1, 1])
    buffer.put_back(A, buffer.pop(A, 2))
    assert buffer.pop(A, 9) == [f"{A}/1", f"{A}/2", f"{A}/3"]
    assert buffer.pop(A, 9) == []


def test_buffer_is_bounded_and_dropped_urls_may_be_added_again() -> None:
    buffer = UrlBuffer(limit=3)
    assert buffer.add(A, [f"{A}/{number}" for number in range(5)], [7] * 5, [7] * 5) == 3
    assert buffer.add(B, [f"{B}/"], [7], [7]) == 0
    assert buffer.drop(A, keep=1) == 2
    assert len(buffer) == 1
    assert buffer.add(B, [f"{B}/"], [7], [7]) == 1
    assert (buffer.distance(f"{B}/"), buffer.is_sitemap(f"{B}/")) == (7, False)
    assert buffer.drop(A) == 1
    assert buffer.drop(A) == 0
    assert len(buffer) == 1
    assert not buffer.is_crowded


# Batches.


def unsaved_urls(*urls: str) -> Unsaved:
    found = Unsaved()
    for url in urls:
        found.offer(url, 65, 0, UrlKind.PAGE, is_outside=True)
        found.offer(url, 66, 0, UrlKind.PAGE, is_outside=False)
    found.end(f"{A}/", 12.5, 200, Place(3, 400))
    return found


def test_batches_are_joined_in_their_order(tmp_path: Path) -> None:
    batches = UrlBatches(tmp_path)
    first = batch_of(1, unsaved_urls(f"{A}/1"))
    assert count_urls(first) == 2
    batches.write(first)
    batches.write(batch_of(2, unsaved_urls(f"{A}/2", f"{A}/3")))
    batches.write(batch_of(3, Unsaved()))
    batch = batches.read(0, 3)
    assert batch.number == 3
    assert list(map(str, batch.extracted.urls)) == [f"{A}/1", f"{A}/2", f"{A}/3"]
    assert batch.extracted.priority.tolist() == [65] * 3
    assert batch.extracted.links.tolist() == [2] * 3
    assert batch.extracted.outside.tolist() == [1] * 3
    assert (batch.collected.status.tolist(), batch.collected.offset.tolist()) == ([200, 200], [400, 400])
    assert list(map(str, batches.read(1, 2).extracted.urls)) == [f"{A}/2", f"{A}/3"]
    batches.remove(2)
    assert len(batches.read(0, 3).collected.urls) == 0


@pytest.mark.parametrize("place", [0, 100, -1])
def test_damaged_batch_is_named(place: int, tmp_path: Path) -> None:
    batches = UrlBatches(tmp_path)
    batches.write(batch_of(1, unsaved_urls(f"{A}/1")))
    path = tmp_path / "00000001.arrow"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"00000001\.arrow"):
        batches.read(0, 1)


def test_count_of_links_stays_within_its_column() -> None:
    found = Unsaved()
    for _ in range(70_000):
        found.offer(f"{A}/", 65, 0, UrlKind.PAGE, is_outside=True)
    assert batch_of(1, found).extracted.links.tolist() == [np.iinfo(np.uint16).max]


def test_urls_of_a_page_that_is_read_again_are_offered_and_not_counted() -> None:
    found, again, listed = Unsaved(), Unsaved(), Unsaved()
    found.offer(f"{A}/", 65, 3, UrlKind.PAGE, is_outside=True)
    for url in (f"{A}/", f"{A}/new"):
        again.offer(url, 10, 1, UrlKind.PAGE, is_outside=True)
    listed.offer(f"{A}/listed", 10, 0, UrlKind.SITEMAP, is_outside=True)
    listed.counts["refusal outside"] += 2
    again.merge_listed(listed)
    found.merge_again(again)
    assert found.found == {f"{A}/": [10, 1, 1, 1, 0], f"{A}/new": [10, 0, 0, 1, 0]}
    assert found.listed == [{f"{A}/listed": [10, 0, 0, 0, 1]}]
    assert found.counts.named("refusal") == {"outside": 2}


# Pages.


def reader(body_limit_bytes: int = 5_000_000) -> PageReader:
    return PageReader(ExtractOptions(), body_limit_bytes)


def page(body: str, url: str = f"{A}/", *headers: tuple[str, str]) -> Page:
    return Page(url, 200, (("Content-Type", "text/html"), *headers), body.encode(), at=5.0)


def collected(found: Page, depth: int = 0) -> Unsaved:
    into, discovery = Unsaved(), Discovery(Scope(lambda name: name != "b.example", UrlBounds(depth=3)), Level())
    (parsed,) = reader().parse([asyncio.run(reader().decode(found))])
    landing = first_landing(found, parsed.extract, found.body)
    visit = StoredVisit(StoredAt(BEGINNING, "sha1:X"), Annotations(depth, ("content-usage: x",)), landing)
    collect(into, into, HookedPage(parsed), visit, discovery, "tarrafa")
    discovery.follow_listed(into, parsed.extract, depth + 1)
    return into


def test_annotations_come_back_from_the_archive() -> None:
    noted = Annotations(3, ("content-usage: train-ai=n", "x"), 2**32)
    assert annotations_of(noted.fields()) == noted
    assert annotations_of(()) == Annotations(0)


def test_links_are_followed_within_the_scope_and_each_refusal_is_counted() -> None:
    found = collected(
        page(
            "<a href=/1>one</a><a href=/1>again</a><a href=/2 rel=nofollow>two</a>"
            f"<a href={B}/>outside</a><a href=/a/a/a/a/>round</a><a href=http://c.example/>other</a>"
        )
    )
    assert found.found == {f"{A}/1": [10, 2, 0, 1, 0], "http://c.example/": [10, 1, 1, 1, 0]}
    assert found.counts.named("refusal") == {"nofollow": 1, "outside": 1, "repetition": 1}
    assert found.counts.named("outcome") == {"fetched": 1}
    assert found.documents[0].usage == ("content-usage: x",)
    assert len(found.links[0][2]) == 6


def test_depth_bounds_the_crawl() -> None:
    assert collected(page("<a href=/1>one</a>"), depth=2).found == {f"{A}/1": [10, 1, 0, 3, 0]}
    assert collected(page("<a href=/1>one</a>"), depth=3).counts.named("refusal") == {"depth": 1}


@pytest.mark.parametrize("header", [("X-Robots-Tag", "nofollow"), ("X-Robots-Tag", "tarrafa: none")])
def test_page_that_says_nofollow_is_kept_and_not_followed(header: tuple[str, str]) -> None:
    found = collected(page("<title>t</title><a href=/1>one</a>", f"{A}/", header))
    assert found.found == {}
    assert found.documents[0].title == "t"
    assert "nofollow" in found.documents[0].directives
    assert len(found.links[0][2]) == 1


def test_sitemaps_come_first_and_the_urls_that_they_list_are_offered() -> None:
    body = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>%s/more.xml</loc></sitemap></sitemapindex>"
    answer = Page(f"{A}/sitemap.xml", 200, (("Content-Type", "application/xml"),), (body % A).encode(), at=5.0)
    assert collected(answer).found == {f"{A}/more.xml": [SITEMAP_PRIORITY, 1, 0, 1, UrlKind.SITEMAP]}


@pytest.mark.parametrize("size_bytes", [0, 1_000, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1, 5_000_000, 5_000_001])
def test_page_is_decoded_to_its_bound_whether_large_or_not(size_bytes: int) -> None:
    body = gzip.compress(b"x" * size_bytes)
    coded = Page(f"{A}/", 200, (("Content-Encoding", "gzip"),), body, at=5.0)
    decoded = asyncio.run(reader().decode(coded))
    assert decoded.body == b"x" * min(size_bytes, 5_000_000)
    assert decoded.truncated is (size_bytes > 5_000_000)


def test_page_in_two_codings_is_decoded_whole() -> None:
    """If the inner one compresses badly, what lies between the two is as large as the page."""
    body = random.Random(1).randbytes(LARGE_BYTES + 100_000)
    coded = gzip.compress(gzip.compress(body))
    decoded = asyncio.run(reader().decode(Page(f"{A}/", 200, (("Content-Encoding", "gzip, gzip"),), coded, at=5.0)))
    assert decoded.body == body
    assert not decoded.truncated


def test_page_is_not_decoded_beyond_a_small_bound() -> None:
    coded = Page(f"{A}/", 200, (("Content-Encoding", "gzip"),), gzip.compress(b"x" * LARGE_BYTES), at=5.0)
    assert len(asyncio.run(reader(1_000).decode(coded)).body) == 1_000


# Progress.


def test_rates_are_those_of_the_last_moments() -> None:
    rates = Rates()
    assert rates.note(0.0, 0, 0) == (0.0, 0.0)
    assert rates.note(10.0, 100, 1_000) == (10.0, 100.0)
    assert rates.note(20.0, 300, 1_000) == (20.0, 0.0)


def test_memory_and_time_are_those_of_this_process() -> None:
    assert 10_000_000 < memory_bytes() < 100_000_000_000
    assert cpu_seconds() > 0


# Progress.

_BUSY = """
import subprocess, sys, time
while time.process_time() < 0.3: pass
if sys.argv[1:]:
    child = subprocess.Popen([sys.executable, *sys.orig_argv[1:-1]], stdout=subprocess.PIPE)
    child.stdout.readline()
print(flush=True)
sys.stdin.read()
"""


def test_cpu_time_is_that_of_the_whole_tree_of_processes_also_of_live_ones() -> None:
    """The process that extracts large pages is a grandchild, and lives as long as the crawl."""
    before = cpu_seconds()
    command = [sys.executable, "-c", _BUSY, "and a child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        spent_seconds = cpu_seconds() - before
        child.communicate()
    assert spent_seconds >= 0.5
