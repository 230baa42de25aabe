"""Columns of numbers: the same as Arrow makes of them, without what it loads for that."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.numbers import as_column


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.booleans()), max_size=30))
def test_numbers_are_those_of_arrow_also_where_some_are_missing(rows: list[tuple[int, bool]]) -> None:
    numbers, is_missing = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.bool_)
    for found, right in (
        (as_column(numbers), pa.array(numbers)),
        (as_column(numbers, is_missing), pa.array(numbers, mask=is_missing)),
    ):
        found.validate(full=True)
        assert found.equals(right)


@pytest.mark.parametrize("kind", ["<u2", "<u4", "<u8", "<i4", "<f8"])
def test_every_second_number_of_a_column_is_taken_as_it_is(kind: str) -> None:
    numbers = np.arange(10).astype(kind)
    assert as_column(numbers[::2]).equals(pa.array(numbers[::2]))
