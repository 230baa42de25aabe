"""Pages that name the moment when they expire."""

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import BEGAN, row
from ranked import Crawl
from tarrafa.clock import VirtualClock
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.keep import DocumentRow
from tarrafa.search import Search, SearchRequest
from tarrafa.search.expiry import expired_pattern, expiry_facts, is_expired

END = BEGAN + 3_600
SECONDS = st.integers(-(10**10), 10**11)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path / "crawl")


def found(crawl: Crawl, clock: VirtualClock) -> list[str]:
    """Index what is new at that time; return what is found then."""
    with Indexer(crawl.root, clock=clock) as indexer:
        indexer.update(lambda done, total: None, StopFlag())
    return shown(crawl, clock)


def shown(crawl: Crawl, clock: VirtualClock) -> list[str]:
    search = Search(crawl.root, None, clock=clock)
    return sorted(hit.url[-1] for hit in search.search(SearchRequest("net", per_site=0)).hits)


def expiring(path: str, moment: float) -> DocumentRow:
    return row(path, "net", directives=("noarchive", f"unavailable_after={moment:.0f}"))


def test_page_is_found_until_it_expires(crawl: Crawl) -> None:
    clock = VirtualClock(END - 1)
    crawl.rows = [row("a", "net"), expiring("b", END), expiring("c", END + 10)]
    crawl.commit()
    assert found(crawl, clock) == ["a", "b", "c"]
    asyncio.run(clock.advance(0.5))
    assert found(crawl, clock) == ["a", "b", "c"]
    asyncio.run(clock.advance(0.5))
    assert found(crawl, clock) == ["a", "c"]
    asyncio.run(clock.advance(1_000))
    assert found(crawl, clock) == ["a"]


def test_expired_page_is_not_found_even_if_the_index_is_not_updated(crawl: Crawl) -> None:
    clock = VirtualClock(END - 1)
    crawl.rows = [row("a", "net"), expiring("b", END), expiring("c", END + 10)]
    crawl.commit()
    assert found(crawl, clock) == ["a", "b", "c"]
    search = Search(crawl.root, None, clock=clock)
    counts = [search.search(SearchRequest("net")).count]
    asyncio.run(clock.advance(1))
    counts.append(search.search(SearchRequest("net")).count)
    assert counts == [3, 2]
    assert shown(crawl, clock) == ["a", "c"]


def test_expired_page_is_not_indexed(crawl: Crawl) -> None:
    crawl.rows = [row("a", "net"), expiring("b", END)]
    crawl.commit()
    assert found(crawl, VirtualClock(END)) == ["a"]


def test_page_with_a_later_expiry_is_found_again(crawl: Crawl) -> None:
    clock = VirtualClock(END)
    crawl.rows = [expiring("a", END)]
    crawl.commit()
    assert found(crawl, clock) == []
    crawl.rows = [expiring("a", END + 5)]
    crawl.commit()
    assert found(crawl, clock) == ["a"]


def test_nothing_is_committed_while_no_page_expires(crawl: Crawl) -> None:
    clock = VirtualClock(END - 1)
    crawl.rows = [expiring("a", END)]
    crawl.commit()
    found(crawl, clock)
    state = crawl.folder.index / "state.json"
    before = state.stat().st_ino
    found(crawl, clock)
    assert state.stat().st_ino == before
    asyncio.run(clock.advance(1))
    found(crawl, clock)
    assert state.stat().st_ino != before


@given(SECONDS, SECONDS)
def test_pattern_and_comparison_agree_on_what_has_expired(moment: int, now: int) -> None:
    directives = ["nofollow", f"unavailable_after={moment}"]
    (fact,) = expiry_facts(directives)
    if min(moment, now) >= 0:
        assert bool(re.fullmatch(expired_pattern(now), fact)) == is_expired(directives, now) == (moment <= now)


def test_page_without_a_moment_never_expires() -> None:
    assert expiry_facts(["noindex"]) == []
    assert not is_expired(["noindex"], END)
