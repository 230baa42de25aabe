"""What a page says about itself, and what its author wants of its use."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.obey import NO_DIRECTIVES, Directives, is_nofollow, preferences, read_directives
from tarrafa.obey.directives import TEXTS_MAX_COUNT
from tarrafa.obey.usage import USAGE_LINE_MAX_CHARS

TOKEN = "tarrafa"
MOMENT = datetime(2010, 6, 25, 15, 0, tzinfo=UTC).timestamp()


def of_headers(*values: str) -> Directives:
    return read_directives(tuple(("X-Robots-Tag", value) for value in values), (), TOKEN)


def of_metas(*metas: tuple[str, str]) -> Directives:
    return read_directives((), metas, TOKEN)


INDEX, FOLLOW, BOTH = Directives(noindex=True), Directives(nofollow=True), Directives(noindex=True, nofollow=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), NO_DIRECTIVES),
        (("all",), NO_DIRECTIVES),
        (("noindex",), INDEX),
        (("NoIndex , NOFOLLOW",), BOTH),
        (("none",), BOTH),
        (("noindex", "nofollow"), BOTH),
        (("index", "noindex"), INDEX),
        (("noarchive",), Directives(noarchive=True)),
        (("nocache",), Directives(noarchive=True)),
        (("tarrafa: noindex",), INDEX),
        (("Tarrafa:noindex, nofollow",), BOTH),
        (("*: noindex",), INDEX),
        (("otherbot: noindex, nofollow",), NO_DIRECTIVES),
        (("nofollow, otherbot: noindex",), FOLLOW),
        (("otherbot: noindex, tarrafa: nofollow",), FOLLOW),
        (("otherbot: noindex", "nofollow"), FOLLOW),
        (("max-snippet:20, max-image-preview: large, noindex",), INDEX),
        (("noindexing, xnofollow",), NO_DIRECTIVES),
    ],
)
def test_x_robots_tag(values: tuple[str, ...], expected: Directives) -> None:
    assert of_headers(*values) == expected


@pytest.mark.parametrize(
    ("metas", "expected"),
    [
        ((("robots", "noindex"),), INDEX),
        (((" ROBOTS ", "NOINDEX;NOFOLLOW"),), BOTH),
        ((("robots", "noindex nofollow"),), BOTH),
        ((("tarrafa", "nofollow"),), FOLLOW),
        ((("googlebot", "noindex"),), NO_DIRECTIVES),
        ((("robots", "noindex"), ("tarrafa", "nofollow")), BOTH),
        ((("description", "noindex"),), NO_DIRECTIVES),
    ],
)
def test_meta(metas: tuple[tuple[str, str], ...], expected: Directives) -> None:
    assert of_metas(*metas) == expected


def test_headers_and_metas_are_taken_together() -> None:
    assert read_directives((("x-robots-tag", "noindex"),), [("robots", "nofollow")], TOKEN) == BOTH


@pytest.mark.parametrize(
    "date",
    [
        "25 Jun 2010 15:00:00 GMT",
        "Fri, 25 Jun 2010 15:00:00 GMT",
        "Friday, 25-Jun-10 15:00:00 UTC",
        "25 Jun 2010 07:00:00 PST",
        "2010-06-25T15:00:00Z",
        "2010-06-25T17:00:00+02:00",
        "2010-06-25 15:00",
    ],
)
def test_unavailable_after_is_read_in_every_usual_form(date: str) -> None:
    expected = Directives(noindex=True, unavailable_after=MOMENT, noarchive=True)
    assert of_headers(f"noarchive, unavailable_after: {date}, noindex") == expected
    assert of_headers(f"tarrafa: noarchive, unavailable_after: {date}, noindex") == expected
    assert of_headers(f"otherbot: unavailable_after: {date}, noindex") == NO_DIRECTIVES


def test_earliest_of_several_moments_holds_and_what_is_none_is_ignored() -> None:
    got = of_headers("unavailable_after: 2011-01-01", "unavailable_after: 2010-06-25T15:00Z", "unavailable_after: soon")
    assert got.unavailable_after == MOMENT


# Links.


@pytest.mark.parametrize("rel", ["nofollow", "noopener NOFOLLOW", "ugc", "sponsored", "nofollow,ugc"])
def test_link_is_not_followed_where_its_author_does_not_vouch_for_it(rel: str) -> None:
    assert is_nofollow(rel)


@pytest.mark.parametrize("rel", ["", "noopener", "follow", "nofollows"])
def test_link_with_any_other_rel_is_followed(rel: str) -> None:
    assert not is_nofollow(rel)


# Use.


def test_usage_is_kept_as_it_was_written() -> None:
    headers = (
        ("Content-Usage", "train-ai=n, Search=y"),
        ("Content-Signal", "ai-input=no"),
        ("TDM-Reservation", "1"),
        ("Server", "x"),
    )
    metas = [("tdm-policy", "https://a.example/policy.json"), ("content-usage", "of headers alone")]
    got = read_directives(headers, metas, TOKEN).usage
    assert got == (
        "content-usage: train-ai=n, Search=y",
        "content-signal: ai-input=no",
        "tdm-reservation: 1",
        "tdm-policy: https://a.example/policy.json",
    )
    assert preferences(got) == {"train-ai": False, "search": True, "ai-input": False, "tdm": False}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), {}),
        (("content-usage: train-ai=maybe",), {}),
        (("content-usage: train-ai",), {}),
        (("content-usage: train-ai=n;x=1, =y, é=y",), {"train-ai": False}),
        (("content-usage: train-ai=n, train-ai=y",), {"train-ai": True}),
        (("content-usage: train-ai=n", "content-usage: train-ai=y"), {"train-ai": False}),
        (("content-usage: train-ai=y", "content-usage: train-ai=n"), {"train-ai": False}),
        (("tdm-reservation: 0",), {"tdm": True}),
        (("tdm-reservation: 2", "tdm-policy: x=y"), {}),
    ],
)
def test_preferences(lines: tuple[str, ...], expected: dict[str, bool]) -> None:
    assert preferences(lines) == expected


def test_usage_is_bounded_in_length_and_number() -> None:
    got = read_directives((("Content-Usage", "x" * 10_000),) * 100, (), TOKEN)
    assert {len(line) for line in got.usage} == {USAGE_LINE_MAX_CHARS}
    assert len(got.usage) == TEXTS_MAX_COUNT


# Anything at all.

NAMES = st.sampled_from(["X-Robots-Tag", "Content-Usage", "Content-Signal", "tdm-policy"]) | st.text(max_size=10)
META_NAMES = st.sampled_from(["robots", "tarrafa", "tdm-reservation"]) | st.text(max_size=10)
PIECES = st.sampled_from(
    ["noindex", "tarrafa", "x", ":", ",", ";", " ", "unavailable_after", "Fri", "25 Jun 2010", "\n"]
)
VALUES = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=60)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5), st.lists(st.tuples(META_NAMES, VALUES), max_size=5))
def test_nothing_raises_and_what_is_kept_can_be_stored(
    headers: list[tuple[str, str]], metas: list[tuple[str, str]]
) -> None:
    got = read_directives(tuple(headers), metas, TOKEN)
    assert all(line.isprintable() and line.encode() for line in got.usage)
    preferences(got.usage)
    for _, value in headers:
        is_nofollow(value)
