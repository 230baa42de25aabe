"""What a row of documents says, as the index takes it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import batch, row
from tarrafa.search.fields import dated, facts, kept_of, rows_of
from tarrafa.search.index import KEPT_MARK

MOMENTS = st.floats(-2_000_000_000, 4_000_000_000)
TEXTS = st.text(st.sampled_from(f"nets ção{KEPT_MARK}\n"), max_size=12)


@given(fetched_at=MOMENTS, published_at=st.none() | MOMENTS, modified_at=st.none() | MOMENTS)
def test_document_is_dated_by_the_first_moment_that_is_known_in_whole_seconds(
    fetched_at: float, published_at: float | None, modified_at: float | None
) -> None:
    given_row = row("a", "net", fetched_at=fetched_at, published_at=published_at, modified_at=modified_at)
    (read,) = rows_of(batch([given_row]))
    known = [moment for moment in (published_at, modified_at, fetched_at) if moment is not None]
    assert dated(read) == int(datetime.fromtimestamp(known[0], UTC).timestamp())


@given(title=TEXTS, description=TEXTS, text=TEXTS)
def test_what_is_kept_has_its_parts_whatever_they_hold(title: str, description: str, text: str) -> None:
    (read,) = rows_of(batch([row("a", text, title, description=description)]))
    parts = kept_of(read).decode().split(KEPT_MARK, 9)
    assert len(parts) == 10
    assert parts[0] == "http://example.org/a"
    assert parts[1] == title.replace(KEPT_MARK, " ")
    assert parts[8:] == [description.replace(KEPT_MARK, " "), text]


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("http://example.org/a", {"http://example.org", "example.org"}),
        ("https://example.org:8443/a", {"https://example.org:8443", "example.org:8443", "example.org"}),
        ("http://[2001:db8::1]:81/a", {"http://[2001:db8::1]:81", "[2001:db8::1]:81", "[2001:db8::1]"}),
    ],
)
def test_host_is_found_with_its_scheme_and_port_and_without(url: str, hosts: set[str]) -> None:
    (read,) = rows_of(batch([row(url, "net")]))
    assert {fact.removeprefix("host:") for fact in facts(read) if fact.startswith("host:")} == hosts


def test_pages_of_one_host_have_their_own_languages_types_and_ends() -> None:
    rows = [
        row("a", "net"),
        row("b", "rede", language="pt", media_type="application/pdf", directives=("unavailable_after=1800000000",)),
    ]
    first, second = map(facts, rows_of(batch(rows)))
    assert {"lang:en", "type:text/html", "type:html"} <= set(first)
    assert {"lang:pt", "type:application/pdf", "type:pdf", "until:001800000000"} <= set(second)
