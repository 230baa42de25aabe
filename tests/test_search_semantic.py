"""Semantic search: what raises a result, by how much, and what happens if the extra is not installed."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawls import run
from indexes import row, write
from serving import make_crawl
from tarrafa.errors import InputError
from tarrafa.search import Passage, Search, SearchRequest, semantic
from tarrafa.search.scores import F64, Scores
from tarrafa.search.semantic import (
    MEANING_LIMIT,
    MEANING_SHARE,
    WordVectors,
    raise_scores,
    searched_words,
    word_vectors,
)
from tarrafa.serve import params

WORDS = {"car": 0, "automobile": 1, "road": 2, "banana": 3}
VECTORS = np.array([[1.0, 0.1], [1.0, 0.2], [0.8, 0.6], [0.0, 1.0]], np.float32)
OUT_OF_REACH = 99


def tiny() -> WordVectors:
    return WordVectors(VECTORS, lambda word: [WORDS[word]] if word in WORDS else [OUT_OF_REACH])


def scores_of(totals: Sequence[float]) -> Scores:
    nothing = np.zeros(len(totals))
    return Scores(np.array(totals, np.float64), *[nothing] * (len(Scores._fields) - 1))


def test_text_with_other_words_of_the_same_meaning_is_more_similar_than_others() -> None:
    passages = [Passage("automobile", "road"), Passage("banana", ""), Passage("", "banana banana")]
    like, fruit, other = tiny().similarity(["car"], passages)
    assert like > 0.9 > 0.2 > fruit
    assert fruit == pytest.approx(other)


def test_most_similar_passage_of_a_text_counts() -> None:
    """A long page that speaks of it once is as similar as a short one."""
    spread = " ".join(["banana"] * 100 + ["car"] * 40)
    assert tiny().similarity(["car"], [Passage("", spread)])[0] == pytest.approx(1.0)


def test_text_without_known_words_is_similar_to_nothing() -> None:
    known, unknown = [Passage("car", "")], [Passage("", ""), Passage("zzz", "…"), Passage("", "zzz")]
    assert tiny().similarity(["car"], unknown).tolist() == [0.0, 0.0, 0.0]
    assert tiny().similarity([], known).tolist() == [0.0]
    assert tiny().similarity(["car"], []).tolist() == []


@given(st.lists(st.sampled_from([*WORDS, "zzz"])), st.lists(st.tuples(st.text(), st.text(max_size=300))))
def test_similarity_is_a_cosine_whatever_is_compared(words: list[str], texts: list[tuple[str, str]]) -> None:
    found = tiny().similarity(words, [Passage(*each) for each in texts])
    assert len(found) == len(texts)
    assert (np.abs(found) <= 1.00001).all()


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-1, 1)), min_size=1, max_size=20), st.integers(0, 20))
def test_meaning_only_raises_and_those_compared_stay_the_best(pairs: list[tuple[float, float]], count: int) -> None:
    scores = scores_of(sorted((total for total, _ in pairs), reverse=True))
    places = np.arange(min(count, len(pairs)), dtype=np.int64)
    found = raise_scores(scores, places, np.array([like for _, like in pairs])[places])
    assert (found.total >= scores.total).all()
    assert (found.total <= scores.total + MEANING_SHARE * scores.total[0] + 1e-9).all()
    assert found.total[places].min(initial=np.inf) >= found.total[len(places) :].max(initial=0.0)
    assert found.total == pytest.approx(scores.total + found.meaning)


def test_searched_words_keep_their_case() -> None:
    text = '+Algol "Syntax Trees" -Fortran site:example.org'
    assert searched_words(text, ["algol", "syntax", "trees"]) == ["Algol", "Syntax", "Trees"]


class WordModel:
    """Finds texts with a given word similar, and records what it was asked."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[tuple[list[str], list[Passage]]] = []

    def similarity(self, words: Sequence[str], passages: Sequence[Passage]) -> F64:
        self.asked.append((list(words), list(passages)))
        return np.array([float(self.word in f"{each.head} {each.text}") for each in passages])


def test_similar_result_comes_first_and_explains_why(tmp_path: Path) -> None:
    write(tmp_path, row("a", "net net rope"), row("b", "net and rope", "Boats", description="at sea"))
    meaning = WordModel("at sea")
    search = Search(tmp_path, None, lambda: meaning)
    usual = search.search(SearchRequest("Net -trap", per_site=0)).hits
    assert meaning.asked == []
    first, second = search.search(SearchRequest("Net -trap", per_site=0, semantic=True, explain=True)).hits
    assert [first.url, second.url] == [hit.url for hit in reversed(usual)]
    assert first.explanation["meaning"] == pytest.approx(MEANING_SHARE * usual[0].score)
    assert second.explanation["meaning"] == 0.0
    ((words, passages),) = meaning.asked
    assert words == ["Net"]
    assert passages == [Passage(" ", "net net rope"), Passage("Boats at sea", "net and rope")]


def test_only_the_best_results_are_compared_and_none_is_lost(tmp_path: Path) -> None:
    rows = [row(f"p{number}", "net " * (1 + number % 7), signature=number + 1) for number in range(MEANING_LIMIT + 20)]
    write(tmp_path, *rows)
    meaning = WordModel("net")
    hits = Search(tmp_path, None, lambda: meaning).search(SearchRequest("net", top=100, per_site=0, semantic=True)).hits
    assert len({hit.url for hit in hits}) == len(rows)
    assert len(meaning.asked[0][1]) == MEANING_LIMIT


# Without the extra.


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"install tarrafa\[semantic\]"):
        word_vectors.__wrapped__()


def test_api_refuses_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not params.api_request({"q": "net"}).semantic
    monkeypatch.setattr(params, "has_semantic_model", lambda: True)
    assert params.api_request({"q": "net", "semantic": "1"}).semantic
    monkeypatch.setattr(params, "has_semantic_model", lambda: False)
    assert not params.api_request({"q": "net", "semantic": "0"}).semantic
    with pytest.raises(params.RefusedError) as refused:
        params.api_request({"q": "net", "semantic": "1"})
    assert (refused.value.key, refused.value.status_code) == ("refused_semantic", 400)


# With the real vectors.

is_installed = pytest.mark.skipif(not semantic.has_semantic_model(), reason="tarrafa[semantic] is not installed")


@is_installed
def test_real_vectors_know_words_of_similar_meaning() -> None:
    passages = [Passage("", text) for text in ("An automobile with its driver.", "A recipe with bananas and sugar.")]
    like, unlike = word_vectors().similarity(["car"], passages)
    assert like > unlike + 0.1
    assert word_vectors() is word_vectors()


@is_installed
def test_vectors_are_read_without_running_the_code_they_came_with() -> None:
    """That code configures logging for the whole process, and may download other vectors."""
    code = "from tarrafa.search.semantic import word_vectors as v; v(); import sys; print('wordllama' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@is_installed
def test_command_line_searches_semantically(tmp_path: Path) -> None:
    folder = make_crawl(tmp_path / "crawl")
    write(folder, row("a", "The bank of the river where boats lie."), row("b", "The bank lends money for a house."))
    done = run("search", "bank loan mortgage", "--dir", str(folder), "--semantic", "--explain", "--json")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["hits"]
    assert first["url"] == "http://example.org/b"
    assert first["explanation"]["meaning"] > second["explanation"]["meaning"]
