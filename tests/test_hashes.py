"""Hashes of columns: however many, the same as one by one."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.hashes import FEW_TEXTS, hashes_of
from tarrafa.urls import fingerprint


@given(st.lists(st.text(), max_size=20), st.integers(0, 2**64 - 1))
def test_few_are_hashed_as_one_is(texts: list[str], seed: int) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    found = hashes_of(pa.array(texts, pa.large_string()), seed)
    assert found.tolist() == [fingerprint(text, seed) for text in texts]


def test_many_are_hashed_as_one_is() -> None:
    texts = [f"http://a.test/ação/{number}" for number in range(FEW_TEXTS + 1)]
    found = hashes_of(pa.array(texts, pa.large_string()), 7)
    assert found[-1] == fingerprint(texts[-1], 7)
    assert found[:-1].tolist() == hashes_of(pa.array(texts[:-1], pa.large_string()), 7).tolist()
