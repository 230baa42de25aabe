"""The fast ways to mark words, fold copies and spread sites, beside the obvious ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search.compiling import Question
from tarrafa.search.query import parse
from tarrafa.search.ranking import fold_copies, spread
from tarrafa.search.showing import Marker
from tarrafa.search.words import Language, split, telling

LANGUAGE = Language()
WORDS = [
    *("net", "nets", "network", "networks", "networking", "fish", "fishing", "fished", "fisher", "happy", "happiness"),
    *("informação", "informações", "informar", "rede", "redes", "coração", "corações", "maçã", "maca", "é", "e", "a"),
    *("Łódź", "сеть", "straße", "ação", "ações", "x", "10", "ÜBER", "uber"),
]


def obvious(text: str, language: str, sought: list[str]) -> dict[str, str]:
    folds = {LANGUAGE.folded[word]: word for word in sought}
    stems = {stem: word for word in sought for stem in LANGUAGE.variants(word, None)}
    senses = {
        word: folds.get(LANGUAGE.folded[word]) or stems.get(LANGUAGE.stems(language)[word]) for word in split(text)
    }
    return {word: sense for word, sense in senses.items() if sense}


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(WORDS), max_size=20),
    st.sampled_from(["en", "pt", "fi"]),
    st.sampled_from([" ", ", ", "\n"]),
)
def test_words_are_marked_as_if_each_was_looked_at(
    sought: list[str], written: list[str], language: str, between: str
) -> None:
    question = Question(parse(" ".join(sought)), None, 0.0)
    text = between.join(written)
    marked = Marker(LANGUAGE, question).meant(text, language)
    # Which of two words of the question is meant does not matter where both have the same form.
    assert marked.keys() == obvious(text, language, telling([*question.query.words])).keys()


def spread_one_by_one(groups: list[list[int]], site: list[int], per_site: int) -> list[list[int]]:
    turns: dict[int, int] = {}
    placed: list[tuple[int, list[int]]] = []
    for group in groups:
        count = turns[site[group[0]]] = turns.get(site[group[0]], 0) + 1
        placed.append(((count - 1) // per_site, group))
    return [group for _, group in sorted(placed, key=lambda each: each[0])]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 3))
def test_sites_are_spread_as_if_one_by_one(site: list[int], per_site: int) -> None:
    groups = [[place] for place in range(len(site))]
    assert spread(groups, np.array(site, np.uint64), per_site) == spread_one_by_one(groups, site, per_site)


@given(st.lists(st.integers(0, 5), max_size=30))
def test_copies_are_folded_in_order_and_none_is_lost(signature: list[int]) -> None:
    groups = fold_copies(np.array(signature, np.uint64))
    assert sorted(place for group in groups for place in group) == list(range(len(signature)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    for group in groups:
        assert len({signature[place] for place in group}) == 1
        assert len(group) == 1 or signature[group[0]]
