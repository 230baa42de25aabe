"""How a row of documents fills the fields of the index."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import BEGAN, batch, row
from tarrafa.search.fields import STORED_SEPARATOR, date_of, facts_of, pack_stored, read_rows, unpack_stored

MOMENTS = st.floats(-2_000_000_000, 4_000_000_000)
TEXTS = st.text(st.sampled_from(f"nets ção{STORED_SEPARATOR}\n"), max_size=12)


@given(fetched_at=MOMENTS, published_at=st.none() | MOMENTS, modified_at=st.none() | MOMENTS)
def test_date_of_a_document_is_its_first_known_moment_in_whole_seconds(
    fetched_at: float, published_at: float | None, modified_at: float | None
) -> None:
    given_row = row("a", "net", fetched_at=fetched_at, published_at=published_at, modified_at=modified_at)
    (read,) = read_rows(batch([given_row]))
    known = [moment for moment in (published_at, modified_at, fetched_at) if moment is not None]
    assert date_of(read) == int(datetime.fromtimestamp(known[0], UTC).timestamp())


@given(title=TEXTS, description=TEXTS, text=TEXTS)
def test_stored_document_is_read_back_whatever_it_contains(title: str, description: str, text: str) -> None:
    (read,) = read_rows(batch([row("a", text, title, description=description)]))
    stored = unpack_stored(pack_stored(read))
    assert stored.url == "http://example.org/a"
    assert stored.title == title.replace(STORED_SEPARATOR, " ")
    assert (stored.description, stored.text) == (description.replace(STORED_SEPARATOR, " "), text)
    assert (stored.fetched_at, stored.published_at) == (int(BEGAN), None)


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("http://example.org/a", {"http://example.org", "example.org"}),
        ("https://example.org:8443/a", {"https://example.org:8443", "example.org:8443", "example.org"}),
        ("http://[2001:db8::1]:81/a", {"http://[2001:db8::1]:81", "[2001:db8::1]:81", "[2001:db8::1]"}),
    ],
)
def test_host_is_found_with_its_scheme_and_port_and_without(url: str, hosts: set[str]) -> None:
    (read,) = read_rows(batch([row(url, "net")]))
    assert {fact.removeprefix("host:") for fact in facts_of(read) if fact.startswith("host:")} == hosts


def test_pages_of_one_host_have_their_own_language_type_and_expiry() -> None:
    rows = [
        row("a", "net"),
        row("b", "rede", language="pt", media_type="application/pdf", directives=("unavailable_after=1800000000",)),
    ]
    first, second = map(facts_of, read_rows(batch(rows)))
    assert {"lang:en", "type:text/html", "type:html"} <= set(first)
    assert {"lang:pt", "type:application/pdf", "type:pdf", "expires:001800000000"} <= set(second)
