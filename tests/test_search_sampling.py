"""Where too many documents have what is required, a sample of them is looked at."""

from math import inf, prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import row, searched
from tarrafa.search import Search, SearchRequest
from tarrafa.search import bounding as bounding_module
from tarrafa.search import sampling as sampling_module
from tarrafa.search import shard as shard_module
from tarrafa.search import slices as slices_module
from tarrafa.search.sampling import CALLED_BY_ONE, Called, Size, make_sample
from tarrafa.search.slices import SLICES_COUNT

TOTAL = 1_000_000
SIZE = Size(200_000, 20_000, 30_000, 2_000)
CALLED = st.builds(Called, st.integers(1, TOTAL), st.just((("titles", "net"),)), st.floats(0.0, 1.0, exclude_max=True))
CALLED_LISTS = st.lists(CALLED, max_size=5)


@given(st.integers(0, SIZE.expected_min - 1), CALLED_LISTS)
def test_few_documents_are_all_looked_at(expected: int, called: list[Called]) -> None:
    assert make_sample(expected, TOTAL, called, SIZE) is None


@given(st.integers(SIZE.expected_min, TOTAL), CALLED_LISTS)
def test_what_is_looked_at_is_bounded(expected: int, called: list[Called]) -> None:
    sample = make_sample(expected, TOTAL, called, SIZE)
    assert sample is not None
    assert sample.slices / SLICES_COUNT * expected <= SIZE.looked + 1
    assert sum(each.documents_count for each in sample.by_one) <= CALLED_BY_ONE
    counts = [TOTAL * prod(each.documents_count / TOTAL for each in words) for words in sample.together]
    assert sample.together_slices / SLICES_COUNT * sum(counts) <= SIZE.called_together + 1


@given(st.integers(SIZE.expected_min, TOTAL), CALLED_LISTS)
def test_enough_is_looked_at_and_seen_is_no_less(expected: int, called: list[Called]) -> None:
    sample = make_sample(expected, TOTAL, called, SIZE)
    assert sample is not None
    assert sample.slices / SLICES_COUNT - 1e-9 <= sample.seen <= 1.0
    assert sample.seen * expected >= SIZE.called_enough - 1


@given(st.integers(SIZE.expected_min, TOTAL), CALLED_LISTS)
def test_rarest_words_call_alone_and_others_together(expected: int, called: list[Called]) -> None:
    sample = make_sample(expected, TOTAL, called, SIZE)
    assert sample is not None
    assert list(sample.by_one) == sorted(set(called))[: len(sample.by_one)]
    assert not {*sample.by_one} & {each for words in sample.together for each in words}
    assert len({len(words) for words in sample.together}) <= 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All say all; few are called so, and two say something in one place that others say apart."""
    folder = tmp_path_factory.mktemp("sea")
    usual = [row(f"usual{number}", "a boat at sea with a net", signature=number + 1) for number in range(400)]
    called = [row(f"called{number}", "boat, sea, net", "The sea", signature=number + 1_001) for number in range(8)]
    odd = [row(f"odd{number}", "a net sea boat", signature=number + 2_001) for number in range(2)]
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(slices_module, "_STRETCH_ROWS", 1)
        searched(folder, *usual, *called, *odd)
    return folder


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few documents were many."""
    for name, enough in (("WORDS_SIZE", 50), ("NEAR_SIZE", inf), ("PHRASE_SIZE", inf)):
        monkeypatch.setattr(bounding_module, name, Size(320, 80, 10, enough))
    monkeypatch.setattr(sampling_module, "CALLED_BY_ONE", 10)
    monkeypatch.setattr(shard_module, "CANDIDATES_LIMIT", 20)


def asked(folder: Path, text: str) -> tuple[list[str], int, bool]:
    found = Search.open(folder).search(SearchRequest(text, per_site=0))
    return [hit.url.rpartition("/")[2] for hit in found.hits], found.count, found.is_estimated


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("text", ["+boat +sea", "+boat sea net", "+sea -gull", '"boat at sea"', '"boat sea"~2'])
def test_sample_gives_best_results_always_the_same(folder: Path, text: str) -> None:
    found = asked(folder, text)
    assert asked(folder, text) == found
    if text != '"boat at sea"':
        assert sorted(found[0][:8]) == [f"called{number}" for number in range(8)]


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize(("text", "count"), [('"boat at sea"', 400), ('"boat sea"~2', 408)])
def test_documents_with_phrase_are_estimated(folder: Path, text: str, count: int) -> None:
    _, counted, is_estimated = asked(folder, text)
    assert is_estimated
    assert count * 0.7 < counted < count * 1.3


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("text", ["+boat +sea", "+boat sea net", "+sea -gull", "+boat"])
def test_very_many_documents_with_words_are_estimated(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "_COUNTED_LIMIT", 320)
    _, counted, is_estimated = asked(folder, text)
    assert is_estimated
    assert 410 * 0.8 < counted < 410 * 1.2


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("text", ["+boat +sea", "+boat sea net", "+sea -gull", "+boat"])
def test_documents_with_words_are_counted(folder: Path, text: str) -> None:
    assert asked(folder, text)[1:] == (410, False)


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"sea boat"', 2),
        ('"net sea boat"', 2),
        ('"sea net"', 8),
        ("+boat +sea after:2030", 0),
        ("+boat +sea site:other.org", 0),
    ],
)
def test_where_sample_holds_too_few_all_are_looked_at(folder: Path, text: str, count: int) -> None:
    """The words are everywhere, and still few documents match."""
    found, counted, is_estimated = asked(folder, text)
    assert (len(found), counted, is_estimated) == (count, count, False)


@pytest.mark.usefixtures("bounded")
def test_who_asks_for_more_than_sample_holds_gets_it(folder: Path) -> None:
    """A phrase that stands in few of the documents that have its words."""
    search = Search.open(folder)
    first = search.search(SearchRequest('"net sea"', top=1, per_site=0))
    pages = [search.search(SearchRequest('"net sea"', top=1, page=page, per_site=0)) for page in (1, 2, 3)]
    assert [len(page.hits) for page in pages] == [1, 1, 0]
    assert pages[0].hits == first.hits


def test_small_index_is_all_looked_at(folder: Path) -> None:
    assert asked(folder, "+boat +sea")[1:] == (410, False)
