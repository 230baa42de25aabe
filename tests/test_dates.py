"""Dates as pages and headers write them."""

import math
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.dates import parse_date, parse_end


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-02-29", 1709164800),
        ("2024-02-29T12:30:00Z", 1709209800),
        ("2024-02-29T12:30:00.123-03:00", 1709220600),
        ("2024-02-29 12:30", 1709209800),
        ("20240229T123000+0530", 1709190000),
        ("2024", 1704067200),
        ("2024-02", 1706745600),
        ("Thu, 29 Feb 2024 12:30:00 GMT", 1709209800),
        ("Thursday, 29-Feb-24 12:30:00 GMT", 1709209800),
        ("29 Feb 2024 12:30 EST", 1709227800),
        ("Thu Feb 29 12:30:00 2024", 1709209800),
        ("Sun Nov  6 08:49:37 1994", 784111777),
        ("2024-02-30", None),
        ("2024-02-29T25:00", None),
        ("1850-01-01", None),
        ("9999-01-01", None),
        ("29 Fev 2024", None),
        ("yesterday", None),
        ("", None),
        ("2024-01-01T00:00+99:99", 1704067200 - 3 * 3600 - 39 * 60),
    ],
)
def test_dates_are_read_in_every_usual_form(text: str, seconds: int | None) -> None:
    assert parse_date(text) == seconds


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2024", "2024-12-31T23:59:59.999999"),
        ("2024-02", "2024-02-29T23:59:59.999999"),
        ("2024-12", "2024-12-31T23:59:59.999999"),
        ("2024-02-29", "2024-02-29T23:59:59.999999"),
        ("2024-02-29 12:30", "2024-02-29T12:30:59.999999"),
        ("2024-02-29T12:30:00Z", "2024-02-29T12:30:00.999999"),
        ("2024-02-29T12:30:00.25-03:00", "2024-02-29T15:30:00.259999"),
        ("2024-02-29t12:30:00.123456z", "2024-02-29T12:30:00.123456"),
    ],
)
def test_end_of_what_a_date_names_is_its_last_microsecond(text: str, end: str) -> None:
    assert parse_end(text) == datetime.fromisoformat(f"{end}+00:00").timestamp()


@pytest.mark.parametrize("text", ["", "2024-02-30", "2024-13", "2024-02-29T25:00", "1850", "20240229", "2024-02-29T12"])
def test_what_is_no_whole_date_has_no_end(text: str) -> None:
    assert parse_end(text) is None


@given(
    st.text(max_size=40) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}[+-][0-9]{4}", fullmatch=True)
)
def test_no_text_makes_the_end_of_a_date_raise(text: str) -> None:
    moment = parse_end(text)
    assert moment is None or math.isfinite(moment)


@given(st.text(max_size=70))
def test_no_text_makes_a_date_raise(text: str) -> None:
    moment = parse_date(text)
    assert moment is None or math.isfinite(moment)


@pytest.mark.parametrize(
    "text", ["1 Jan 99999999999 00:00", "0001-01-01", "9999-12-31T23:59:59-23:59", "1 2 3 4 5 6", "-:"]
)
def test_odd_dates_do_not_raise(text: str) -> None:
    moment = parse_date(text)
    assert moment is None or math.isfinite(moment)
