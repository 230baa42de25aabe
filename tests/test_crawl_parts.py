"""The parts of an agent, one by one."""

import asyncio
import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.agent.batches import Batches
from tarrafa.agent.gathering import Gathering
from tarrafa.agent.hosts import Checkpoint, Host, HostBook, Standing
from tarrafa.agent.landing import Landed, Noted, portions
from tarrafa.agent.memory import HostMemory
from tarrafa.agent.outcomes import Outcome, outcome_of, reason_of, status_of
from tarrafa.agent.progress import Rates, cpu_seconds, memory_bytes
from tarrafa.agent.reading import Opened, Read, Reading
from tarrafa.agent.robots import Robots, Settled
from tarrafa.agent.supply import Supply
from tarrafa.agent.totals import Totals
from tarrafa.errors import DamagedError, WorkError
from tarrafa.extract import LARGE_BYTES, Extract, ExtractOptions, LinkKind, PageFormat, PageLinks
from tarrafa.keep import BEGINNING, Place, StoredAt
from tarrafa.obey import RobotsStore, first_request, read_robots
from tarrafa.obey.permission import _long_rules
from tarrafa.records import Failure, FailureKind, Page
from tarrafa.schedule import SITEMAP_HINT, Bounds, Level, Scope, Visit, depth_of, hint_of, nearer
from tarrafa.schedule.order import DEPTH_MAX, PRIORITY_MAX

A, B = "http://a.example", "http://b.example"


# Outcomes.


def test_numbers_of_failures_are_those_on_disk() -> None:
    numbers = {kind: status_of(Failure(A, kind, "")) for kind in FailureKind}
    assert list(numbers.values()) == list(range(1_100, 1_111))
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


# Hints.


@given(st.integers(1, PRIORITY_MAX), st.integers(0, 100), st.integers(0, 100))
def test_hint_sorts_by_priority_then_depth_and_keeps_the_least_depth(priority: int, first: int, second: int) -> None:
    hint = hint_of(priority, first)
    assert SITEMAP_HINT < hint < 2**16
    assert depth_of(hint) == min(first, DEPTH_MAX)
    found = nearer(hint, second)
    assert depth_of(found) == min(first, second, DEPTH_MAX)
    assert found >> 6 == priority
    assert min(hint_of(priority, second), hint) == hint_of(priority, min(first, second))


# Supply.


def test_url_is_taken_once_until_the_repository_knows_what_became_of_it() -> None:
    supply = Supply()
    urls = [f"{A}/{number}" for number in range(5)]
    assert supply.take(A, urls, [1] * 5) == 5
    assert supply.take(A, urls, [1] * 5) == 0
    assert supply.give(A, 2) == urls[:2]
    assert supply.has(urls[0])
    supply.forget(urls[:2])
    assert not supply.has(urls[0])
    assert supply.take(A, urls, [1] * 5) == 2


def test_what_comes_back_comes_first_again() -> None:
    supply = Supply()
    supply.take(A, [f"{A}/1", f"{A}/2", f"{A}/3"], [1, 1, 1])
    given_urls = supply.give(A, 2)
    supply.put_back(A, given_urls)
    assert supply.give(A, 9) == [f"{A}/1", f"{A}/2", f"{A}/3"]
    assert supply.give(A, 9) == []


def test_supply_is_bounded_and_what_is_given_up_may_be_taken_again() -> None:
    supply = Supply(waiting_limit=3)
    assert supply.take(A, [f"{A}/{number}" for number in range(5)], [7] * 5) == 3
    assert supply.take(B, [f"{B}/"], [7]) == 0
    assert supply.give_up(A, but=1) == 2
    assert len(supply) == 1
    assert supply.take(B, [f"{B}/"], [7]) == 1
    assert supply.hint(f"{B}/") == 7
    assert supply.give_up(A) == 1
    assert supply.give_up(A) == 0
    assert len(supply) == 1
    assert not supply.is_crowded


# Batches.


def gathered(*urls: str) -> Gathering:
    found = Gathering()
    for url in urls:
        found.offer(url, 65, is_outside=True)
        found.offer(url, 66, is_outside=False)
    found.end(f"{A}/", 12.5, 200, Place(3, 400))
    return found


def test_batches_are_joined_in_their_order(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    assert batches.write(1, gathered(f"{A}/1")) == 2
    batches.write(2, gathered(f"{A}/2", f"{A}/3"))
    batches.write(3, Gathering())
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
    batches = Batches(tmp_path)
    batches.write(1, gathered(f"{A}/1"))
    path = tmp_path / "00000001.arrow"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"00000001\.arrow"):
        batches.read(0, 1)


def test_count_of_links_stays_within_its_column(tmp_path: Path) -> None:
    found = Gathering()
    for _ in range(70_000):
        found.offer(f"{A}/", 65, is_outside=True)
    batches = Batches(tmp_path)
    batches.write(1, found)
    assert batches.read(0, 1).extracted.links.tolist() == [np.iinfo(np.uint16).max]


# Hosts.


def test_checkpoint_and_hosts_are_committed_together(tmp_path: Path) -> None:
    path = tmp_path / "hosts.sqlite"
    book = HostBook(path)
    assert book.checkpoint() == Checkpoint(0, BEGINNING, Totals())
    book.commit(
        Checkpoint(1, Place(2, 30), Totals({"pages": 4})), [Host(A, pages=4, standing=Standing.ASIDE, reason="busy")]
    )
    book.close()
    book = HostBook(path)
    assert book.checkpoint() == Checkpoint(1, Place(2, 30), Totals({"pages": 4}))
    assert book.host(A) == Host(A, pages=4, standing="set aside", reason="busy")
    assert book.host(B) is None
    assert book.standings() == {"set aside": {"busy": 1}}
    book.close()


def test_book_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hosts.sqlite"
    book = HostBook(path)
    book._database.write("PRAGMA user_version = 7")
    book.close()
    with pytest.raises(WorkError, match="format 7"):
        HostBook(path)


def test_memory_of_hosts_forgets_only_what_is_in_the_book(tmp_path: Path) -> None:
    book = HostBook(tmp_path / "hosts.sqlite")
    memory = HostMemory(book, met_count=0, limit=2)
    hosts = [memory.meet(f"http://{number}.example")[0] for number in range(5)]
    assert memory.met_count == 5
    book.commit(Checkpoint(1, BEGINNING, Totals()), hosts[:4])
    memory.trim(unsaved={hosts[4].name})
    assert memory.find(hosts[4].name) is hosts[4]
    assert memory.find(hosts[0].name) == hosts[0]
    assert memory.meet(hosts[1].name)[1] is False
    assert memory.find("http://never.example") is None
    memory.close()


# Reading.


def reading() -> Reading:
    return Reading(Scope(lambda name: name != "b.example", Bounds(depth=3)), Level(), ExtractOptions(), 5_000_000)


def page(body: str, url: str = f"{A}/", *headers: tuple[str, str]) -> Page:
    return Page(url, 200, (("Content-Type", "text/html"), *headers), body.encode(), at=5.0)


def gather(body: str, depth: int = 0, *headers: tuple[str, str]) -> Gathering:
    found, reader = Gathering(), reading()
    (read,) = reader.read([asyncio.run(reader.opened(page(body, f"{A}/", *headers)))])
    reader.gather(found, read, StoredAt(BEGINNING, "sha1:X"), depth, ("content-usage: x",))
    return found


def test_links_are_followed_within_the_scope_and_each_refusal_is_counted() -> None:
    found = gather(
        "<a href=/1>one</a><a href=/1>again</a><a href=/2 rel=nofollow>two</a>"
        f"<a href={B}/>outside</a><a href=/a/a/a/a/>round</a><a href=http://c.example/>other</a>"
    )
    assert found.found == {f"{A}/1": [hint_of(10, 1), 2, 0], "http://c.example/": [hint_of(10, 1), 1, 1]}
    assert found.counts.named("refusal") == {"nofollow": 1, "outside": 1, "repetition": 1}
    assert found.counts.named("outcome") == {"fetched": 1}
    assert found.documents[0].usage == ("content-usage: x",)
    assert len(found.links[0][2]) == 6


def test_depth_ends_the_way() -> None:
    assert gather("<a href=/1>one</a>", depth=2).found == {f"{A}/1": [hint_of(10, 3), 1, 0]}
    assert gather("<a href=/1>one</a>", depth=3).counts.named("refusal") == {"depth": 1}


@pytest.mark.parametrize("header", [("X-Robots-Tag", "nofollow"), ("X-Robots-Tag", "tarrafa: none")])
def test_page_that_says_nofollow_is_kept_and_not_followed(header: tuple[str, str]) -> None:
    found = gather("<title>t</title><a href=/1>one</a>", 0, header)
    assert found.found == {}
    assert found.documents[0].title == "t"
    assert "nofollow" in found.documents[0].directives
    assert len(found.links[0][2]) == 1


def test_sitemaps_come_first_and_what_they_list_is_offered() -> None:
    found, reader = Gathering(), reading()
    body = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>%s/more.xml</loc></sitemap></sitemapindex>"
    answer = Page(f"{A}/sitemap.xml", 200, (("Content-Type", "application/xml"),), (body % A).encode(), at=5.0)
    (read,) = reader.read([asyncio.run(reader.opened(answer))])
    reader.gather(found, read, StoredAt(BEGINNING, ""), 0, ())
    assert found.found == {f"{A}/more.xml": [SITEMAP_HINT, 1, 0]}


@pytest.mark.parametrize("size_bytes", [0, 1_000, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1, 5_000_000, 5_000_001])
def test_page_is_opened_to_its_bound_whether_large_or_not(size_bytes: int) -> None:
    body = gzip.compress(b"x" * size_bytes)
    coded = Page(f"{A}/", 200, (("Content-Encoding", "gzip"),), body, at=5.0)
    opened = asyncio.run(reading().opened(coded))
    assert opened.body == b"x" * min(size_bytes, 5_000_000)
    assert opened.truncated is (size_bytes > 5_000_000)


def test_page_in_two_codings_is_opened_whole() -> None:
    """Where the inner one packs badly, what lies between the two is as large as the page."""
    body = random.Random(1).randbytes(LARGE_BYTES + 100_000)
    coded = gzip.compress(gzip.compress(body))
    opened = asyncio.run(reading().opened(Page(f"{A}/", 200, (("Content-Encoding", "gzip, gzip"),), coded, at=5.0)))
    assert opened.body == body
    assert not opened.truncated


def test_page_is_not_opened_beyond_a_bound_that_is_small() -> None:
    coded = Page(f"{A}/", 200, (("Content-Encoding", "gzip"),), gzip.compress(b"x" * LARGE_BYTES), at=5.0)
    small = Reading(Scope(lambda _: True, Bounds()), Level(), ExtractOptions(), 1_000)
    assert len(asyncio.run(small.opened(coded)).body) == 1_000


# Robots.


@pytest.mark.parametrize("count", [3, 5_000], ids=["short", "long"])
def test_robots_txt_says_the_same_whether_it_was_read_ahead_or_not(count: int, tmp_path: Path) -> None:
    body = "".join(["User-agent: *\n", *(f"Disallow: /folder-{number}/\n" for number in range(count))]).encode()
    robots, request = Robots(RobotsStore(tmp_path / "robots.sqlite", "tarrafa")), first_request(A)
    robots.ask(request)
    found = Page(request.url, 200, (("Content-Encoding", "gzip"),), gzip.compress(body), at=5.0)
    opened = asyncio.run(robots.opened(found))
    read_count = _long_rules.cache_info().misses
    (settled,) = robots.answered(request.url, opened, 5.0)
    assert _long_rules.cache_info().misses == read_count
    assert isinstance(settled, Settled)
    assert settled.permission.rules == read_robots(body, "tarrafa")
    assert settled.permission.refusal(f"{A}/folder-2/x") is not None
    robots.close()


# Landing.


def landed(links_count: int, body: bytes = b"") -> Landed:
    found = Page(f"{A}/", 200, (), body, at=5.0)
    links = PageLinks(("x",) * links_count, ("",) * links_count, ("",) * links_count, (LinkKind.A,) * links_count)
    opened = Opened(found, body, len(body), truncated=False)
    read = Read(found, Extract(found.url, PageFormat.HTML, links=links), len(body), truncated=False)
    return Landed(Visit(A, found.url, "192.0.2.1"), Noted(0), opened, read)


def test_few_dear_pages_are_kept_in_one_step_or_many_cheap_ones() -> None:
    cheap, linked, large = landed(0), landed(4_000), landed(0, b"x" * 600_000)
    all_pages = [*[cheap] * 200, *[linked] * 3, *[large] * 3]
    found = list(portions(all_pages))
    assert [each for portion in found for each in portion] == all_pages
    assert [len(portion) for portion in found] == [84, 84, 33, 2, 2, 1]
    assert not list(portions([]))


# Progress.


def test_rates_are_those_of_the_last_moments() -> None:
    rates = Rates()
    assert rates.note(0.0, 0, 0) == (0.0, 0.0)
    assert rates.note(10.0, 100, 1_000) == (10.0, 100.0)
    assert rates.note(20.0, 300, 1_000) == (20.0, 0.0)


def test_memory_and_time_are_those_of_this_process() -> None:
    assert 10_000_000 < memory_bytes() < 100_000_000_000
    assert cpu_seconds() > 0
