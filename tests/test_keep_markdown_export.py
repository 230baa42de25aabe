"""The header of a page that is exported as Markdown."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tarrafa.keep.markdown_export import front_matter

PAGE: dict[str, Any] = {
    "url": "http://a.example/",
    "title": "A title",
    "fetched_at": datetime(2026, 1, 2, tzinfo=UTC),
    "language": "",
}


def header(**fields: Any) -> list[str]:
    return front_matter({**PAGE, **fields}).splitlines()


def test_header_has_what_is_known_of_the_page() -> None:
    known = ['url: "http://a.example/"', 'title: "A title"', 'fetched_at: "2026-01-02T00:00:00+00:00"']
    assert header() == ["---", *known, "---"]


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0"), (0.0, "0.0"), (False, "false"), ("a: b", '"a: b"'), (["a", "b"], '["a", "b"]'), ("é", '"é"')],
)
def test_values_of_fields_are_written_also_if_they_are_nothing(value: object, written: str) -> None:
    assert f"field: {written}" in header(field=value)


@pytest.mark.parametrize("value", [None, "", []])
def test_field_without_a_value_is_left_out(value: object) -> None:
    assert header(field=value) == header()


@pytest.mark.parametrize(
    ("text", "written"),
    [("a\x85b", '"a\\u0085b"'), ("a\u2028b", '"a\\u2028b"'), ("a\x7f", '"a\\u007f"'), ("a\nb", '"a\\nb"')],
)
def test_characters_that_yaml_does_not_allow_are_escaped(text: str, written: str) -> None:
    assert header(title=text)[2] == f"title: {written}"
