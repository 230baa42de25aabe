"""Semantic search: how near a text comes to the meaning of a query, whatever its words. An extra; off by default.

Words of similar meaning have similar vectors. WordLlama ships such vectors in its wheel: 256 numbers for each of 32,000
word pieces. Its files are read here; its code is not run. A word is the sum of its pieces, a text the sum of its words,
and the cosine of two sums is their similarity. This is much faster than a neural network; the order of words is lost.
Only English was tried.

A text is compared passage by passage, each together with the title, and the most similar one counts. Similarity only
raises scores: by at most `MEANING_SHARE` of the best score, and only those of the best `MEANING_LIMIT` results, which
stay the best.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tarrafa.errors import InputError
from tarrafa.search.scores import F64, I64, Scores

MEANING_LIMIT = 50  # results that are compared
MEANING_SHARE = 0.5
_TEXT_MAX_CHARS = 2_000
_HEAD_MAX_CHARS = 500
_WORD_MAX_CHARS = 40
_PIECE_WORDS = 20  # a passage is two pieces in a row, so that each sentence is whole in some passage
_CACHED_WORDS = 20_000
_WORD = re.compile(r"[^\W_]+")

F32 = NDArray[np.float32]


class Passage(NamedTuple):
    """A text to compare; `head` is the title and description of its document."""

    head: str
    text: str


class SemanticModel(Protocol):
    """Used by any number of threads."""

    def similarity(self, words: Sequence[str], passages: Sequence[Passage]) -> F64:
        """Return -1 to 1 for each passage; 0 if there is nothing to compare."""
        ...


class WordVectors:
    """A semantic model that adds the vectors of words."""

    def __init__(self, vectors: F32, numbers: Callable[[str], Sequence[int]]) -> None:
        """`numbers` returns the pieces of a word as row numbers of `vectors`."""
        self._vectors = vectors
        self._numbers = numbers
        self._vector = lru_cache(_CACHED_WORDS)(self._make_vector)

    def similarity(self, words: Sequence[str], passages: Sequence[Passage]) -> F64:
        query = _unit(self._sum(words))
        return np.array([float((self._directions(each) @ query).max()) for each in passages], np.float64)

    def _directions(self, passage: Passage) -> F32:
        """Return a unit vector for each part of the text."""
        head = self._sum(written_words(passage.head[:_HEAD_MAX_CHARS]))
        words = written_words(passage.text[:_TEXT_MAX_CHARS])
        if not words:
            return _unit(head[np.newaxis])
        vectors = np.stack([self._vector(word) for word in words])
        sums = np.add.reduceat(vectors, np.arange(0, len(words), _PIECE_WORDS), axis=0)
        return _unit(head + (sums[:-1] + sums[1:] if len(sums) > 1 else sums))

    def _sum(self, words: Sequence[str]) -> F32:
        return np.sum([self._vector(word) for word in words], axis=0, dtype=np.float32) if words else self._zero()

    def _make_vector(self, word: str) -> F32:
        rows = [number for number in self._numbers(word[:_WORD_MAX_CHARS]) if number < len(self._vectors)]
        return self._vectors[rows].sum(axis=0, dtype=np.float32) if rows else self._zero()

    def _zero(self) -> F32:
        return np.zeros(self._vectors.shape[1], np.float32)


def has_semantic_model() -> bool:
    """Return True if the extra `semantic` is installed."""
    return all(find_spec(name) is not None for name in ("safetensors", "tokenizers", "wordllama"))


@cache
def word_vectors() -> SemanticModel:
    """Load the model on first use; it takes time and 65 MB."""
    if not has_semantic_model():
        raise InputError("semantic search is an extra: install tarrafa[semantic], or search without --semantic")
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = _folder()
    vectors = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    return WordVectors(
        vectors.astype(np.float32), lambda word: list(tokenizer.encode(word, add_special_tokens=False).ids)
    )


def _folder() -> Path:
    found = find_spec("wordllama")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def written_words(text: str) -> list[str]:
    """Return the words in their own case: a name differs from the word that it is spelt like."""
    return _WORD.findall(text)


def searched_words(text: str, searched: Sequence[str]) -> list[str]:
    """Return the words of a query in their own case, without operators and excluded words."""
    known = frozenset(searched)
    return [word for word in written_words(text) if word.lower() in known]


def raise_scores(scores: Scores, places: I64, similarity: F64) -> Scores:
    """Raise the scores at `places` by their similarity; a negative one changes nothing."""
    best = float(scores.total.max(initial=0.0))
    meaning = np.zeros(len(scores.total))
    meaning[places] = MEANING_SHARE * best * np.maximum(similarity, 0.0)
    return scores._replace(total=scores.total + meaning, meaning=meaning)


def _unit(vectors: F32) -> F32:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-9)), np.float32)
