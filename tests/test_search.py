"""Queries to real indexes, and what the writer puts there."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexes import BEGAN, batch, index_folder, row, searched, urls, write
from tarrafa.clock import VirtualClock
from tarrafa.errors import DamagedError, InputError, LockedError
from tarrafa.search import IndexWriter, Search, SearchRequest
from tarrafa.urls import fingerprint

DAY = 86_400


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Search:
    return searched(
        tmp_path_factory.mktemp("nets"),
        row("net", "A net is made of rope and holes.", "The net"),
        row("fish", "Fishing with a net is done at sea, and fishing boats go out.", "Fishing"),
        row("trap", "A trap catches fish without any rope.", "Traps"),
        row("rede", "A informação sobre redes de pesca.", "Informações", language="pt"),
        row("old", "An ancient anchor", "Anchors", published_at=BEGAN - 400 * DAY),
        row("http://other.org/rope", "Rope is twisted.", "Rope", media_type="text/plain"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("net", {"net", "fish"}),
        ("nets", {"net", "fish"}),
        ("rope anchor", {"net", "trap", "old", "http://other.org/rope"}),
        ("+net +rope", {"net"}),
        ("net -holes", {"fish"}),
        ('"rope and holes"', {"net"}),
        ('"holes and rope"', set()),
        ('"fishing net"', set()),
        ('"fishing net"~3', {"fish"}),
        ("holes -rope", set()),
        ("INFORMACAO", {"rede"}),
        ("informação", {"rede"}),
        ("título pesca", {"rede"}),
        ("title:rope", {"http://other.org/rope"}),
        ("url:trap", {"trap"}),
        ("site:other.org", {"http://other.org/rope"}),
        ("rope site:example.org", {"net", "trap"}),
        ("rope -site:example.org", {"http://other.org/rope"}),
        ("host:other.org", {"http://other.org/rope"}),
        ("lang:pt", {"rede"}),
        ("type:plain", {"http://other.org/rope"}),
        ("type:text/plain", {"http://other.org/rope"}),
        ("anc*", {"old"}),
        ("+anc*", {"old"}),
        ("before:2023", {"old"}),
        ("rope after:2023", {"net", "trap", "http://other.org/rope"}),
        ("before:2023 after:2023", set()),
        ('"rope and', {"net"}),
        ("-rope", {"fish", "rede", "old"}),
        ("nowhere", set()),
        ("", set()),
    ],
)
def test_query_finds(nets: Search, text: str, expected: set[str]) -> None:
    assert set(urls(nets, text)) == expected


def test_title_counts_more_than_text(nets: Search) -> None:
    assert urls(nets, "fishing")[0] == "fish"
    assert urls(nets, "rope")[0] == "http://other.org/rope"


def test_snippet_marks_words_and_their_other_forms(nets: Search) -> None:
    hit = nets.search(SearchRequest("fish")).hits[0]
    assert ("fish", True) in hit.snippet or ("Fishing", True) in hit.snippet


def test_count_includes_all_matches(nets: Search) -> None:
    found = nets.search(SearchRequest("rope", top=1))
    assert (found.count, len(found.hits), found.page) == (3, 1, 1)


def test_pages_follow_each_other(nets: Search) -> None:
    pages = [urls(nets, "rope", top=1, page=number) for number in (1, 2, 3, 4)]
    assert sorted(map(len, pages)) == [0, 1, 1, 1]
    assert len({url for page in pages for url in page}) == 3


def test_misspelt_word_is_corrected(nets: Search) -> None:
    found = nets.search(SearchRequest("fishign boats"))
    assert found.suggestion == "fishing boats"
    assert found.is_corrected
    assert [hit.url for hit in found.hits] == [hit.url for hit in nets.search(SearchRequest("fishing boats")).hits]
    verbatim = nets.search(SearchRequest("fishign", verbatim=True))
    assert (verbatim.suggestion, verbatim.is_corrected, verbatim.hits) == ("fishing", False, ())
    assert nets.search(SearchRequest("fishing boats")).suggestion is None


def test_suggestions_are_words_of_titles(nets: Search) -> None:
    assert nets.suggest("an", 5) == ["anchors"]
    assert nets.suggest("the ne", 5) == ["the net"]
    assert nets.suggest("trap ne", 5) == []
    assert nets.suggest("", 5) == []


def test_explanation_adds_up(nets: Search) -> None:
    hit = nets.search(SearchRequest("fishing net", explain=True)).hits[0]
    parts = hit.explanation
    assert parts["near"] > 0
    assert hit.score == pytest.approx(parts["words"] + parts["near"] + parts["anchors"])


def test_expansion_finds_documents_with_words_of_the_best_results(tmp_path: Path) -> None:
    rows = [row(f"net{number}", "tarrafa is a castnet", f"net {number}") for number in range(3)]
    search = searched(tmp_path, *rows, row("kin", "a castnet"), *(row(f"x{number}", "other") for number in range(9)))
    assert "kin" not in urls(search, "tarrafa")
    assert "kin" in urls(search, "tarrafa", expand=True)


def test_filters_of_the_request_work_as_those_of_the_query(nets: Search) -> None:
    assert urls(nets, "rope", site="other.org") == ["http://other.org/rope"]
    assert urls(nets, "informação", language="pt") == ["rede"]
    assert urls(nets, "anchor", before="2023-01-01") == ["old"]
    assert [each.name for each in nets.search(SearchRequest("rope", site="other.org")).filters] == ["site"]


def test_fresh_pages_come_first_on_request(tmp_path: Path) -> None:
    now = BEGAN + 400 * DAY
    write(tmp_path, row("old", "net net net", "net", published_at=BEGAN), row("new", "net", published_at=now))
    search = Search(tmp_path, None, clock=VirtualClock(now))
    assert urls(search, "net") == ["old", "new"]
    assert urls(search, "net", fresh=True) == ["new", "old"]


def test_copies_are_folded_under_the_shortest_url(tmp_path: Path) -> None:
    search = searched(tmp_path, *(row(path, "a net", signature=7) for path in ("long/path", "b", "a/b")))
    (hit,) = search.search(SearchRequest("net")).hits
    assert hit.url == "http://example.org/b"
    assert hit.copies == ("http://example.org/a/b", "http://example.org/long/path")


def test_canonical_wins_over_the_shortest_url(tmp_path: Path) -> None:
    canonical = "http://example.org/long/path"
    search = searched(tmp_path, *(row(path, "a net", signature=7, canonical=canonical) for path in ("b", "long/path")))
    assert urls(search, "net") == ["long/path"]


def test_flood_of_copies_leaves_room_for_others(tmp_path: Path) -> None:
    """A site may have thousands of pages that only ask to log in."""
    rows = [row(f"login/{number}", "net log in net", "net", signature=7) for number in range(1_100)]
    search = searched(tmp_path, *rows, row("other", "a text in which there is a net among many more words"))
    assert urls(search, "net") == ["login/0", "other"]


def test_results_of_sites_take_turns(tmp_path: Path) -> None:
    rows = [row(f"http://a.org/{number}", "net net net net") for number in range(3)]
    search = searched(tmp_path, *rows, row("http://b.org/", "net net net net too"))
    assert [url.split("/")[2] for url in urls(search, "net")] == ["a.org", "b.org", "a.org", "a.org"]
    assert [url.split("/")[2] for url in urls(search, "net", per_site=0)] == ["a.org", "a.org", "a.org", "b.org"]


def test_indexes_of_several_agents_are_searched_as_one(tmp_path: Path) -> None:
    write(tmp_path, row("a", "a net"), agent="00")
    write(tmp_path, row("b", "a net and a boat"), agent="01")
    search = Search.open(tmp_path)
    assert set(urls(search, "net")) == {"a", "b"}
    assert urls(search, '"net and"') == ["b"]
    assert search.search(SearchRequest("net")).count == 2


def test_refresh_sees_commits_of_other_processes(tmp_path: Path) -> None:
    search = searched(tmp_path, row("a", "net"))
    write(tmp_path, row("b", "net"))
    write(tmp_path, row("c", "net"), agent="01")
    search.refresh()
    assert set(urls(search, "net")) == {"a", "b", "c"}


class Values(NamedTuple):
    rank: np.ndarray
    host_rank: np.ndarray
    links_in: np.ndarray
    links_outside: np.ndarray


class OnePageRanks:
    """Ranks and an anchor of one page."""

    def __init__(self, url: str, text: str = "") -> None:
        self._number, self._text = fingerprint(url), text

    def of(self, fingerprints: np.ndarray) -> Values:
        values = np.where(fingerprints == np.uint64(self._number), 100, 0)
        return Values(values.astype(np.float32), values.astype(np.float32), values, values)

    def anchors(self, fingerprints: np.ndarray) -> list[list[tuple[str, int]]]:
        return [[(self._text, 9)] if number == self._number else [] for number in fingerprints.tolist()]


@pytest.mark.parametrize("text", ["", "Fishing NET"])
def test_linked_page_wins_among_equals(tmp_path: Path, text: str) -> None:
    write(tmp_path, *(row(f"{number}", "a net", signature=number + 1) for number in range(5)))
    search = Search.open(tmp_path, OnePageRanks("http://example.org/3", text))
    found = search.search(SearchRequest("fishing net", explain=True)).hits[0]
    assert found.url == "http://example.org/3"
    assert found.rank == 100.0
    assert (found.explanation["anchors"] > 0) == bool(text)


def test_page_is_found_by_its_anchors(tmp_path: Path) -> None:
    writer = IndexWriter(index_folder(tmp_path), OnePageRanks("http://example.org/a", "casting a line").anchors)
    writer.apply(batch([row("a", "a net"), row("b", "a boat")]))
    writer.commit()
    writer.close()
    assert urls(Search.open(tmp_path), "net line") == ["a"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(alphabet='netfishropANÇã+-"*~: 3', max_size=40))
def test_every_query_is_answered(nets: Search, text: str) -> None:
    found = nets.search(SearchRequest(text, expand=True))
    assert nets.documents_count >= found.count >= len(found.hits)
    assert all(hit.score >= 0 and hit.url for hit in found.hits)


@pytest.mark.parametrize("wrong", [{"top": 0}, {"top": 101}, {"page": 0}, {"page": 101}, {"per_site": -1}])
def test_request_out_of_bounds_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        SearchRequest("net", **wrong)  # type: ignore[arg-type]


def test_request_with_an_invalid_date_is_refused(nets: Search) -> None:
    with pytest.raises(InputError, match="2024-05-17"):
        nets.search(SearchRequest("net", after="soon"))


def test_missing_index_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tarrafa index"):
        Search.open(tmp_path)


# The writer.


def test_later_visit_replaces_an_earlier_one(tmp_path: Path) -> None:
    search = searched(tmp_path, row("a", "old words"), row("b", "other"), row("a", "new words"))
    assert urls(search, "words") == ["a"]
    assert urls(search, "old") == []


@pytest.mark.parametrize(
    ("last", "is_found"),
    [
        ({"outcome": "gone", "status": 404}, False),
        ({"outcome": "redirected", "status": 301}, False),
        ({"outcome": "fetched", "directives": ("noindex",)}, False),
        ({"outcome": "failed", "status": 500}, True),
        ({"outcome": "unchanged", "status": 304}, True),
    ],
)
def test_page_is_removed_when_it_is_gone(tmp_path: Path, last: dict[str, Any], is_found: bool) -> None:
    write(tmp_path, row("a", "a net"))
    search = searched(tmp_path, row("a", "a net", **last))
    assert urls(search, "net") == (["a"] if is_found else [])


def test_rows_applied_twice_are_indexed_once(tmp_path: Path) -> None:
    rows = [row(f"{number}", "a net") for number in range(20)]
    write(tmp_path, *rows)
    search = searched(tmp_path, *rows)
    assert search.search(SearchRequest("net")).count == search.documents_count == 20


def test_writer_resumes_after_the_rows_it_has_applied(tmp_path: Path) -> None:
    write(tmp_path, row("a", "net"), row("b", "net"))
    writer = IndexWriter(index_folder(tmp_path))
    assert writer.rows_count == 2
    writer.close()


def test_second_writer_is_refused(tmp_path: Path) -> None:
    writer = IndexWriter(index_folder(tmp_path))
    with pytest.raises(LockedError):
        IndexWriter(index_folder(tmp_path))
    writer.close()


def test_rebuilt_index_starts_empty(tmp_path: Path) -> None:
    write(tmp_path, row("a", "net"))
    writer = IndexWriter(index_folder(tmp_path), is_new=True)
    assert writer.rows_count == 0
    writer.commit()
    writer.close()
    assert urls(Search.open(tmp_path), "net") == []


@pytest.mark.parametrize("name", ["state.json", "meta.json"])
def test_damaged_file_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    write(tmp_path, row("a", "net"))
    (index_folder(tmp_path) / name).write_text("{")
    with pytest.raises(DamagedError, match="--rebuild"):
        IndexWriter(index_folder(tmp_path))
    writer = IndexWriter(index_folder(tmp_path), is_new=True)
    writer.close()


def test_text_with_odd_characters_is_indexed(tmp_path: Path) -> None:
    """Pages have replacement characters, control characters and ligatures."""
    assert urls(searched(tmp_path, row("a", "net \ufffd \x00 網 ½ ﬁsh")), "網") == ["a"]


def test_page_with_the_whole_identifier_comes_before_pages_with_its_parts(tmp_path: Path) -> None:
    search = searched(
        tmp_path,
        row("parts", "The path of the os is here, and the join of lists and of many other things there, too."),
        row("whole", "Call os.path.join to put the parts of an address together, as it was said before."),
    )
    scores = {hit.url: hit.score for hit in search.search(SearchRequest("os path join", per_site=0)).hits}
    better = {hit.url: hit.score for hit in search.search(SearchRequest("os.path.join", per_site=0)).hits}
    assert urls(search, "os.path.join") == ["whole", "parts"]
    assert [better[url] > scores[url] for url in sorted(scores)] == [False, True]
