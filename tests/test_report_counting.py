"""What a report counts with: each is bounded, and checked against the obvious way."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.report.copies import Copies
from tarrafa.report.documents import levels_of
from tarrafa.report.spread import Spread
from tarrafa.report.tally import Tally
from tarrafa.report.timeline import Moment, Timeline
from tarrafa.urls import host_name, host_of, level, site

WORDS = st.lists(st.text("abc", max_size=2), max_size=60)
SIZES = st.lists(st.floats(1e-8, 1e12), min_size=1, max_size=80)


# Tallies.


@given(WORDS, st.integers(1, 5))
def test_tally_counts_as_a_counter_does(words: list[str], limit: int) -> None:
    tally, counted = Tally(), Counter(words)
    tally.add_column(pa.array(words, pa.string()))
    top = tally.top(limit)
    assert top.rows == sorted(counted.items(), key=lambda row: (-row[1], row[0]))[:limit]
    assert sum(count for _, count in top.rows) + top.others == tally.total == len(words)


@given(WORDS)
def test_tally_loses_nothing_at_its_bound(words: list[str]) -> None:
    """A host may send a new media type with every page."""
    tally = Tally(texts_limit=3)
    for word in words:
        tally.add(word, 1)
    assert tally.total == len(words)
    assert tally.top(100).different == min(3, len(set(words)))


# Spreads.


@given(SIZES)
def test_quantile_is_as_close_as_promised(values: list[float]) -> None:
    spread, ordered = Spread(), sorted(values)
    spread.add(np.array(values))
    for share in (0.01, 0.5, 0.9, 1.0):
        exact = ordered[max(1, int(np.ceil(share * len(values)))) - 1]
        assert spread.quantile(share) == pytest.approx(exact, rel=0.021)


@given(SIZES)
def test_bars_hold_every_value_once(values: list[float]) -> None:
    spread = Spread()
    spread.add(np.array(values[:10]))
    spread.add(np.array(values[10:]))
    bars = spread.bars()
    assert [sum(bar.low <= value < bar.high for value in values) for bar in bars] == [bar.values for bar in bars]
    assert sum(bar.values for bar in bars) == spread.count == len(values)
    assert (spread.least, spread.greatest) == (min(values), max(values))


def test_zero_has_no_place_among_powers_of_ten() -> None:
    spread = Spread()
    spread.add(np.array([0, 5, 0]))
    assert (spread.count, spread.zeros, spread.mean) == (1, 2, 5.0)


def test_spread_of_nothing_says_zero() -> None:
    told = Spread().told()
    assert (told["count"], told["median"], told["least"], told["bars"]) == (0, 0.0, 0.0, [])


# Timelines.

MOMENTS = st.lists(st.tuples(st.floats(0, 3e9), st.integers(0, 10**6)), min_size=1, max_size=50)


@given(MOMENTS, st.integers(2, 30))
def test_timeline_keeps_every_page_and_byte_at_any_width(pages: list[tuple[float, int]], spans_limit: int) -> None:
    timeline = Timeline(spans_limit)
    for at_seconds, size_bytes in pages:
        timeline.add(np.array([at_seconds]), np.array([size_bytes]))
    moments = timeline.moments(100)
    assert sum(moment.pages for moment in moments) == len(pages)
    assert sum(moment.bytes for moment in moments) == sum(size for _, size in pages)
    assert timeline.seconds == max(at for at, _ in pages) - min(at for at, _ in pages)


@given(MOMENTS, st.integers(1, 20))
def test_timeline_has_no_more_spans_than_asked_for_and_no_gaps(pages: list[tuple[float, int]], limit: int) -> None:
    timeline = Timeline()
    timeline.add(np.array([at for at, _ in pages]), np.array([size for _, size in pages]))
    moments = timeline.moments(limit)
    starts = [moment.at_seconds for moment in moments]
    assert 1 <= len(moments) <= limit
    assert starts == list(range(starts[0], starts[-1] + 1, moments[0].width_seconds))


def test_pause_between_two_runs_is_seen() -> None:
    timeline = Timeline()
    timeline.add(np.array([1000.5, 1000.7, 1003.0]), np.array([10, 20, 30]))
    assert timeline.moments(10) == [
        Moment(1000, 1, 2, 30),
        Moment(1001, 1, 0, 0),
        Moment(1002, 1, 0, 0),
        Moment(1003, 1, 1, 30),
    ]
    assert timeline.moments(10)[0].pages_per_minute == 120


def test_timeline_of_nothing_is_empty() -> None:
    assert (Timeline().moments(10), Timeline().first_at, Timeline().seconds) == ([], None, 0.0)


# Copies.

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=60)


@given(PAIRS)
def test_copies_are_other_urls_with_the_same_signature(pairs: list[tuple[int, int]]) -> None:
    """A URL that was visited again and has not changed is no copy of itself."""
    copies = Copies()
    for start in (0, 30):
        part = pairs[start : start + 30]
        copies.add(np.array([pair[0] for pair in part], np.uint64), np.array([pair[1] for pair in part], np.uint64))
    real = {pair for pair in pairs if pair[0]}
    contents = Counter(signature for signature, _ in real)
    found = copies.found()
    assert (found.pages, found.contents, found.is_exact) == (len(real), len(contents), True)
    assert found.most == max(contents.values(), default=0)


def test_copies_beyond_the_bound_are_estimated_and_said_to_be() -> None:
    copies, draw = Copies(pairs_limit=5_000), np.random.default_rng(3)
    contents = draw.integers(1, 2**64, 50_000, np.uint64)
    signatures = draw.permutation(np.concatenate([contents, contents[:25_000]]))
    urls = np.arange(len(signatures), dtype=np.uint64)
    for start in range(0, len(signatures), 1_000):
        copies.add(signatures[start : start + 1_000], urls[start : start + 1_000])
    found = copies.found()
    assert not found.is_exact
    assert found.pages == pytest.approx(75_000, rel=0.1)
    assert found.copies == pytest.approx(25_000, rel=0.15)


# Levels.

URLS = [
    "http://example.org/",
    "http://example.com.br/a",
    "http://www.example.com.br/a/b.html?from=/x/y",
    "https://a.b.example.org:8443/a/b/c/",
    "http://127.0.0.1:8080/p",
    "http://localhost/",
    "http://example.org/?a=/",
]


def test_levels_of_a_column_are_those_of_each_url() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"url": URLS, "host": [host_of(url) for url in URLS], "site": [site(host_name(url)) for url in URLS]}
    )
    assert levels_of(batch).tolist() == [level(url) for url in URLS]
