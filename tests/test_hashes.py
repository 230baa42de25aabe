"""Hashes of columns: the same as of one text at a time, which the xxhash package computes."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.hashes import hashes_of
from tarrafa.urls import fingerprint

# Lengths around the stripes of 32 bytes.
TEXT = st.one_of(st.text(), st.integers(0, 130).map("x".__mul__))


@given(st.lists(TEXT, max_size=20), st.integers(0, 2**64 - 1))
def test_column_is_hashed_as_each_text_is(texts: list[str], seed: int) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    assert hashes_of(pa.array(texts, pa.large_string()), seed).tolist() == [fingerprint(text, seed) for text in texts]


def test_more_texts_than_one_step_of_every_length() -> None:
    texts = [f"http://a.test/ação/{'y' * (number % 300)}{number}" for number in range(40_000)]
    assert hashes_of(pa.array(texts), 7).tolist() == [fingerprint(text, 7) for text in texts]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["c", "a", "b"])[1:],
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.chunked_array([["a"], ["b"]]),
        pa.array([b"a", b"b"]),
    ],
    ids=["slice", "large", "dictionary", "chunks", "bytes"],
)
def test_every_kind_of_column_is_taken(column: pa.Array) -> None:
    assert hashes_of(column).tolist() == [fingerprint("a"), fingerprint("b")]


def test_very_long_text_beside_an_empty_one() -> None:
    texts = ["", "z" * 3_000_000, ""]
    assert hashes_of(pa.array(texts)).tolist() == [fingerprint(text) for text in texts]
