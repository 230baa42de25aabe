from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.errors import InputError
from tarrafa.units import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30.0),
        ("5m", 300.0),
        ("2h", 7200.0),
        ("1d", 86_400.0),
        ("250ms", 0.25),
        ("1.5h", 5400.0),
        ("0s", 0.0),
        ("30 s", 30.0),
    ],
)
def test_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2MB", 2_000_000),
        ("512KiB", 524_288),
        ("1GB", 10**9),
        ("1.5kB", 1_500),
        ("3KB", 3_000),
        ("7B", 7),
        ("0B", 0),
        ("2 TiB", 2**41),
    ],
)
def test_size_is_read_in_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "s", "-3s", "+3s", "nan", "nans", "inf", "1e3s", "3 s ", "３s", "1h30m", "9" * 40 + "s"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match='write for example "30s"'):
        parse_duration(text)


def test_bare_number_is_refused_with_the_same_number_and_a_unit() -> None:
    with pytest.raises(InputError, match=r'"45" has no unit; write for example "45s"'):
        parse_duration("45")
    with pytest.raises(InputError, match=r'"45" has no unit; write for example "45MB"'):
        parse_size("45")


def test_unknown_unit_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r'"sec" is not a unit of duration \(ms, s, m, h, d\)'):
        parse_duration("3sec")
    with pytest.raises(InputError, match=r'"mb" is not a unit of size \(B, kB, KiB, MB,'):
        parse_size("3mb")


def test_part_of_a_byte_is_refused() -> None:
    with pytest.raises(InputError, match="not a whole number of bytes"):
        parse_size("1.5B")


def test_hostile_text_is_shown_on_one_line() -> None:
    with pytest.raises(InputError) as caught:
        parse_duration("3\n\x1b[2J" + "x" * 1000)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0s"), (0.25, "250ms"), (30.0, "30s"), (90.0, "90s"), (5400.0, "90m"), (0.0015, "0.0015s")],
)
def test_duration_is_written_in_its_largest_whole_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(("size", "text"), [(0, "0B"), (5_000_000, "5MB"), (65_536, "64KiB"), (1_001, "1001B")])
def test_size_is_written_in_its_largest_whole_unit(size: int, text: str) -> None:
    assert format_size(size) == text


@given(st.floats(min_value=1e-9, max_value=1e12))
def test_written_duration_is_read_back_to_the_same_seconds(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_written_size_is_read_back_to_the_same_bytes(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with suppress(InputError):
        assert parse_duration(text) >= 0
