"""How near a text comes to what a question means, whatever its words. An extra, and never used unless it is asked for.

Words that mean the like have like vectors. Those of WordLlama come inside its wheel: a vector of 256 numbers for each
of 32,000 pieces of words. Its files are read here; its code is not run. A word is the sum of its pieces, a text that of
its words, and the cosine between two sums says how like they are. So fifty texts take tens of milliseconds, where a
network of neurons takes seconds; what the order of words adds is lost. Only English was tried.

A text is compared piece by piece, each together with the title, and its likest piece counts. Likeness only raises: by
at most `MEANING_SHARE` of the best score, and only the best `MEANING_LIMIT` results, which stay the best.
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
from tarrafa.search.ranking import F64, I64, Scores

MEANING_LIMIT = 50  # results that are compared
MEANING_SHARE = 0.5
_TEXT_MAX_CHARS = 2_000
_HEAD_MAX_CHARS = 500
_WORD_MAX_CHARS = 40
_PIECE_WORDS = 20  # two of these in a row are compared, so that no sentence is cut by all
_REMEMBERED_WORDS = 20_000
_WORD = re.compile(r"[^\W_]+")

F32 = NDArray[np.float32]


class Passage(NamedTuple):
    """`head` is what a document says of itself: title and description."""

    head: str
    text: str


class SemanticModel(Protocol):
    """Asked by any number of threads."""

    def likeness(self, words: Sequence[str], passages: Sequence[Passage]) -> F64:
        """From -1 to 1 for each passage; 0 where there is nothing to compare."""
        ...


class WordVectors:
    """`numbers` gives the pieces of a word as rows of `vectors`."""

    def __init__(self, vectors: F32, numbers: Callable[[str], Sequence[int]]) -> None:
        self._vectors = vectors
        self._numbers = numbers
        self._vector = lru_cache(_REMEMBERED_WORDS)(self._made)

    def likeness(self, words: Sequence[str], passages: Sequence[Passage]) -> F64:
        question = _unit(self._sum(words))
        return np.array([float((self._pieces(each) @ question).max()) for each in passages], np.float64)

    def _pieces(self, passage: Passage) -> F32:
        """A direction for each piece of the text."""
        head = self._sum(written_words(passage.head[:_HEAD_MAX_CHARS]))
        words = written_words(passage.text[:_TEXT_MAX_CHARS])
        if not words:
            return _unit(head[np.newaxis])
        vectors = np.stack([self._vector(word) for word in words])
        sums = np.add.reduceat(vectors, np.arange(0, len(words), _PIECE_WORDS), axis=0)
        return _unit(head + (sums[:-1] + sums[1:] if len(sums) > 1 else sums))

    def _sum(self, words: Sequence[str]) -> F32:
        return np.sum([self._vector(word) for word in words], axis=0, dtype=np.float32) if words else self._nothing()

    def _made(self, word: str) -> F32:
        rows = [number for number in self._numbers(word[:_WORD_MAX_CHARS]) if number < len(self._vectors)]
        return self._vectors[rows].sum(axis=0, dtype=np.float32) if rows else self._nothing()

    def _nothing(self) -> F32:
        return np.zeros(self._vectors.shape[1], np.float32)


def has_semantic_model() -> bool:
    return all(find_spec(name) is not None for name in ("safetensors", "tokenizers", "wordllama"))


@cache
def word_vectors() -> SemanticModel:
    """Read once, when somebody asks for the first time: that takes a fifth of a second and 65 MB."""
    if not has_semantic_model():
        raise InputError("searching by meaning is an extra: install tarrafa[semantic], or search without --semantic")
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
    """As they are written: a name is not the word that it is spelt like."""
    return _WORD.findall(text)


def sought_words(text: str, sought: Sequence[str]) -> list[str]:
    """Of a question's words, as they are written, those that are looked for and not left out."""
    known = frozenset(sought)
    return [word for word in written_words(text) if word.lower() in known]


def raised(scores: Scores, places: I64, likeness: F64) -> Scores:
    """Scores with those at `places` raised by their likeness. What is unlike is left as it is."""
    best = float(scores.total.max(initial=0.0))
    meaning = np.zeros(len(scores.total))
    meaning[places] = MEANING_SHARE * best * np.maximum(likeness, 0.0)
    return scores._replace(total=scores.total + meaning, meaning=meaning)


def _unit(vectors: F32) -> F32:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-9)), np.float32)
