"""The counters of a report: each is bounded, and compared with the obvious implementation."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.report.counters import DuplicateCounter, Histogram, TextCounter, Timeline, TimeSpan
from tarrafa.report.document_facts import levels_of
from tarrafa.urls import host_name, host_of, level, site

WORDS = st.lists(st.text("abc", max_size=2), max_size=60)
SIZES = st.lists(st.floats(1e-8, 1e12), min_size=1, max_size=80)


# Texts.


@given(WORDS, st.integers(1, 5))
def test_texts_are_counted_as_a_counter_does(words: list[str], limit: int) -> None:
    counter, counted = TextCounter(), Counter(words)
    counter.add_column(pa.array(words, pa.string()))
    top = counter.top(limit)
    assert top.rows == sorted(counted.items(), key=lambda row: (-row[1], row[0]))[:limit]
    assert sum(count for _, count in top.rows) + top.others == counter.total == len(words)


@given(WORDS)
def test_counter_loses_nothing_at_its_bound(words: list[str]) -> None:
    """A host may send a new media type with every page."""
    counter = TextCounter(texts_limit=3)
    for word in words:
        counter.add(word, 1)
    assert counter.total == len(words)
    assert counter.top(100).different == min(3, len(set(words)))


# Histograms.


@given(SIZES)
def test_quantile_is_as_close_as_promised(values: list[float]) -> None:
    histogram, ordered = Histogram(), sorted(values)
    histogram.add(np.array(values))
    for share in (0.01, 0.5, 0.9, 1.0):
        exact = ordered[max(1, int(np.ceil(share * len(values)))) - 1]
        assert histogram.quantile(share) == pytest.approx(exact, rel=0.021)


@given(SIZES)
def test_bars_hold_every_value_once(values: list[float]) -> None:
    histogram = Histogram()
    histogram.add(np.array(values[:10]))
    histogram.add(np.array(values[10:]))
    bars = histogram.bars()
    assert [sum(bar.low <= value < bar.high for value in values) for bar in bars] == [bar.values for bar in bars]
    assert sum(bar.values for bar in bars) == histogram.count == len(values)
    assert (histogram.least, histogram.greatest) == (min(values), max(values))


def test_zero_has_no_place_among_powers_of_ten() -> None:
    histogram = Histogram()
    histogram.add(np.array([0, 5, 0]))
    assert (histogram.count, histogram.zeros, histogram.mean) == (1, 2, 5.0)


def test_histogram_of_nothing_says_zero() -> None:
    told = Histogram().as_json()
    assert (told["count"], told["median"], told["least"], told["bars"]) == (0, 0.0, 0.0, [])


# Timelines.

MOMENTS = st.lists(st.tuples(st.floats(0, 3e9), st.integers(0, 10**6)), min_size=1, max_size=50)


@given(MOMENTS, st.integers(2, 30))
def test_timeline_keeps_every_page_and_byte_at_any_width(pages: list[tuple[float, int]], spans_limit: int) -> None:
    timeline = Timeline(spans_limit)
    for at_seconds, size_bytes in pages:
        timeline.add(np.array([at_seconds]), np.array([size_bytes]))
    spans = timeline.spans(100)
    assert sum(span.pages for span in spans) == len(pages)
    assert sum(span.bytes for span in spans) == sum(size for _, size in pages)
    assert timeline.seconds == max(at for at, _ in pages) - min(at for at, _ in pages)


@given(MOMENTS, st.integers(1, 20))
def test_timeline_has_no_more_spans_than_asked_for_and_no_gaps(pages: list[tuple[float, int]], limit: int) -> None:
    timeline = Timeline()
    timeline.add(np.array([at for at, _ in pages]), np.array([size for _, size in pages]))
    spans = timeline.spans(limit)
    starts = [span.at_seconds for span in spans]
    assert 1 <= len(spans) <= limit
    assert starts == list(range(starts[0], starts[-1] + 1, spans[0].width_seconds))


def test_pause_between_two_runs_is_seen() -> None:
    timeline = Timeline()
    timeline.add(np.array([1000.5, 1000.7, 1003.0]), np.array([10, 20, 30]))
    assert timeline.spans(10) == [
        TimeSpan(1000, 1, 2, 30),
        TimeSpan(1001, 1, 0, 0),
        TimeSpan(1002, 1, 0, 0),
        TimeSpan(1003, 1, 1, 30),
    ]
    assert timeline.spans(10)[0].pages_per_minute == 120


def test_timeline_of_nothing_is_empty() -> None:
    assert (Timeline().spans(10), Timeline().first_at, Timeline().seconds) == ([], None, 0.0)


# Copies.

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=60)


@given(PAIRS)
def test_copies_are_other_urls_with_the_same_signature(pairs: list[tuple[int, int]]) -> None:
    """A URL that was visited again and has not changed is no copy of itself."""
    copies = DuplicateCounter()
    for start in (0, 30):
        part = pairs[start : start + 30]
        copies.add(np.array([pair[0] for pair in part], np.uint64), np.array([pair[1] for pair in part], np.uint64))
    real = {pair for pair in pairs if pair[0]}
    contents = Counter(signature for signature, _ in real)
    found = copies.counts()
    assert (found.pages, found.contents, found.is_exact) == (len(real), len(contents), True)
    assert found.most == max(contents.values(), default=0)


def test_copies_beyond_the_bound_are_estimated_and_said_to_be() -> None:
    copies, draw = DuplicateCounter(pairs_limit=5_000), np.random.default_rng(3)
    contents = draw.integers(1, 2**64, 50_000, np.uint64)
    signatures = draw.permutation(np.concatenate([contents, contents[:25_000]]))
    urls = np.arange(len(signatures), dtype=np.uint64)
    for start in range(0, len(signatures), 1_000):
        copies.add(signatures[start : start + 1_000], urls[start : start + 1_000])
    found = copies.counts()
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
