"""Pages that say until when they may be shown."""

import asyncio
import re
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import BEGAN, row
from ranked import Crawl
from tarrafa.clock import VirtualClock
from tarrafa.collection.indexing import Indexing
from tarrafa.keep import DocumentRow
from tarrafa.search import Search, SearchRequest
from tarrafa.search.until import is_over, over_pattern, until_facts

END = BEGAN + 3_600
SECONDS = st.integers(-(10**10), 10**11)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path / "crawl")


def found(crawl: Crawl, clock: VirtualClock) -> list[str]:
    """What is found after a look at that time."""
    with Indexing(crawl.root, clock=clock) as indexing:
        indexing.catch_up(lambda done, total: None, Event())
    return shown(crawl, clock)


def shown(crawl: Crawl, clock: VirtualClock) -> list[str]:
    search = Search(crawl.root, None, clock=clock)
    return sorted(hit.url[-1] for hit in search.search(SearchRequest("net", per_site=0)).hits)


def until(path: str, moment: float) -> DocumentRow:
    return row(path, "net", directives=("noarchive", f"unavailable_after={moment:.0f}"))


def test_page_is_found_until_its_moment_and_not_after(crawl: Crawl) -> None:
    clock = VirtualClock(END - 1)
    crawl.rows = [row("a", "net"), until("b", END), until("c", END + 10)]
    crawl.commit()
    assert found(crawl, clock) == ["a", "b", "c"]
    asyncio.run(clock.advance(0.5))
    assert found(crawl, clock) == ["a", "b", "c"]
    asyncio.run(clock.advance(0.5))
    assert found(crawl, clock) == ["a", "c"]
    asyncio.run(clock.advance(1_000))
    assert found(crawl, clock) == ["a"]


def test_page_is_not_shown_after_its_moment_though_nobody_indexes(crawl: Crawl) -> None:
    clock = VirtualClock(END - 1)
    crawl.rows = [row("a", "net"), until("b", END), until("c", END + 10)]
    crawl.commit()
    assert found(crawl, clock) == ["a", "b", "c"]
    search = Search(crawl.root, None, clock=clock)
    counts = [search.search(SearchRequest("net")).count]
    asyncio.run(clock.advance(1))
    counts.append(search.search(SearchRequest("net")).count)
    assert counts == [3, 2]
    assert shown(crawl, clock) == ["a", "c"]


def test_page_whose_moment_is_over_is_not_taken(crawl: Crawl) -> None:
    crawl.rows = [row("a", "net"), until("b", END)]
    crawl.commit()
    assert found(crawl, VirtualClock(END)) == ["a"]


def test_page_that_is_to_be_shown_again_is(crawl: Crawl) -> None:
    clock = VirtualClock(END)
    crawl.rows = [until("a", END)]
    crawl.commit()
    assert found(crawl, clock) == []
    crawl.rows = [until("a", END + 5)]
    crawl.commit()
    assert found(crawl, clock) == ["a"]


def test_look_that_finds_nothing_over_commits_nothing(crawl: Crawl) -> None:
    clock = VirtualClock(END - 1)
    crawl.rows = [until("a", END)]
    crawl.commit()
    found(crawl, clock)
    mark = crawl.folder.index / "mark.json"
    before = mark.stat().st_ino
    found(crawl, clock)
    assert mark.stat().st_ino == before
    asyncio.run(clock.advance(1))
    found(crawl, clock)
    assert mark.stat().st_ino != before


@given(SECONDS, SECONDS)
def test_moments_are_over_by_pattern_as_by_number(moment: int, now: int) -> None:
    directives = ["nofollow", f"unavailable_after={moment}"]
    (fact,) = until_facts(directives)
    if min(moment, now) >= 0:
        assert bool(re.fullmatch(over_pattern(now), fact)) == is_over(directives, now) == (moment <= now)


def test_pages_that_say_nothing_are_never_over() -> None:
    assert until_facts(["noindex"]) == []
    assert not is_over(["noindex"], END)
