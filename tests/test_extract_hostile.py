"""Whatever the bytes: a record within its bounds, never an exception. None of these pages takes more than a moment."""

import gzip
import os
import re
from itertools import count, islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarrafa.extract import Extract, ExtractOptions, bounds, extract, is_expensive
from tarrafa.extract.sanitize import may_have_long_tags, sanitize
from tarrafa.lab.web import Plan, SyntheticWeb
from tarrafa.records import Page
from webs import get, pages_of

URL = "http://a.test/d/p.html"
SIZE_BYTES = 5_000_000


def read(body: bytes, media_type: str = "text/html", images: bool = False) -> Extract:
    return extract(Page(URL, 200, (("Content-Type", media_type),), body, at=0.0), body, ExtractOptions(images=images))


def assert_within_bounds(found: Extract) -> None:
    document = found.document
    assert len(found.links) <= bounds.LINKS_LIMIT + bounds.REPEATED_LINKS_LIMIT + bounds.HEADER_LINKS_LIMIT + 2
    assert len(found.listed) <= bounds.LISTED_LIMIT
    assert len(found.robots) <= bounds.ROBOTS_LIMIT
    assert len(document.headings) <= bounds.HEADINGS_LIMIT
    assert all(len(heading) <= bounds.HEADING_CHARS for heading in document.headings)
    assert all(len(link.text) <= bounds.ANCHOR_CHARS and len(link.rel) <= bounds.REL_CHARS for link in found.links)
    assert all(link.target.startswith(("http://", "https://")) for link in found.links)
    assert len(document.text) <= bounds.TEXT_CHARS
    assert len(document.title) <= bounds.TITLE_CHARS
    assert len(document.description) <= bounds.DESCRIPTION_CHARS
    assert 0 <= document.signature < 1 << 64
    assert 0 <= document.similarity < 1 << 64


def filled(unit: bytes) -> bytes:
    return (unit * (SIZE_BYTES // len(unit) + 1))[:SIZE_BYTES]


def numbered(pattern: bytes, size_bytes: int = SIZE_BYTES) -> bytes:
    """Return the pattern with ever new numbers in it."""
    return b"".join(pattern % number for number in islice(count(), size_bytes // (len(pattern) + 4)))


TYPES = ["text/html", "text/plain", "application/xml", "application/rss+xml", "application/gzip", "image/png", ""]


@given(st.binary(max_size=2_000), st.sampled_from(TYPES), st.booleans())
@example(b"\x1f\x8b", "", False)
@example(b"<rss>", "", False)
def test_any_bytes_give_a_record(body: bytes, media_type: str, images: bool) -> None:
    assert_within_bounds(read(body, media_type, images))


TAGS = ["a", "p", "b", "table", "td", "select", "svg", "title", "script", "nav", "h1", "template", "frameset", "base"]
TAGS += [
    "noscript",
    "textarea",
    "form",
    "math",
    "li",
    "meta",
    "iframe",
    "plaintext",
    "button",
    "image",
    "x-y",
    "footer",
]
PARTS = [f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS]
PARTS += ["<a href=x>", "<base href=//b/>", "<img srcset='a 1x,b'>", "<meta http-equiv=refresh content='0;x'>", "<!--"]
PARTS += ["-->", "text", " ", "\n", "&amp", "&#xD800;", "\x00", "<", ">", '"', "\x01", "\x02", "é", "<html lang=pt>"]


@given(st.lists(st.sampled_from(PARTS), max_size=60))
def test_any_soup_of_tags_gives_a_record(parts: list[str]) -> None:
    body = "".join(parts).encode()
    found = read(body, images=True)
    assert_within_bounds(found)
    assert found == read(body, images=True)


WEB = SyntheticWeb(Plan(hosts=3, pages=12, rng_seed=5))
BODIES = [get(WEB, host, page).body for host, page in islice(pages_of(WEB), 12)]


@given(st.sampled_from(BODIES), st.integers(0, 20_000), st.binary(max_size=8), st.integers(0, 20))
def test_any_damage_to_a_page_gives_a_record(body: bytes, at: int, damage: bytes, lost: int) -> None:
    assert_within_bounds(read(body[:at] + damage + body[at + lost :]))


@given(st.sampled_from(BODIES), st.integers(0, 20_000))
def test_truncated_page_gives_the_links_before_the_cut(body: bytes, at: int) -> None:
    whole, part = read(body), read(body[:at])
    assert_within_bounds(part)
    assert [link.target for link in part.links] == [link.target for link in whole.links[: len(part.links)]]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(filled(b"<a href=x>y"), id="anchors"),
        pytest.param(filled(b"<a>"), id="bare anchors"),
        pytest.param(b"<div>" * 100_000 + b"<a href=x>", id="deep"),
        pytest.param(b"<ul><li>" * 100_000, id="deep lists"),
        pytest.param(b"<table><td><a href=x>y" * 50_000, id="anchors within anchors"),
        pytest.param(b"<h1><table><td>y" * 50_000, id="headings within headings"),
        pytest.param(b"<nav>" * 100_000 + b"<a href=x>y", id="menus within menus"),
        pytest.param(numbered(b"<p><font a=%d>x"), id="formatting that is repeated"),
        pytest.param(numbered(b"<p><b a=%d>x", 40_000), id="formatting that is repeated in a small page"),
        pytest.param(filled(b"<p><b><i><u><s><tt><em><big><small>x"), id="plain formatting"),
        pytest.param(b"<a " + numbered(b"b%d=1 ") + b"href=x>", id="attributes"),
        pytest.param(b"<a " + numbered(b"b%d='>'") + b"href=x>", id="attributes that hold the end"),
        pytest.param(b"<a " + numbered(b"b%d<") + b"href=x>", id="attributes that hold beginnings"),
        pytest.param(b"<a href=" + b"x" * SIZE_BYTES + b">", id="huge attribute"),
        pytest.param(b"<a href=x title=" + b"'" * SIZE_BYTES, id="quotes"),
        pytest.param(b"<title>" + b"x " * (SIZE_BYTES // 2), id="huge title"),
        pytest.param(b"<a href=x>" + b"y " * (SIZE_BYTES // 2), id="huge anchor"),
        pytest.param(filled(b"<"), id="beginnings"),
        pytest.param(filled(b"<!--"), id="comments"),
        pytest.param(filled(b"&"), id="ampersands"),
        pytest.param(filled(b"<b "), id="tags that never end"),
        pytest.param(filled(b"\x00"), id="zeros"),
        pytest.param(filled(b"\xff"), id="no encoding"),
        pytest.param(b"<meta http-equiv=refresh content='" + b" " * SIZE_BYTES, id="refresh"),
        pytest.param(b"<img srcset='" + b", " * (SIZE_BYTES // 2) + b"'>", id="srcset"),
        pytest.param(filled(b"<meta name=robots content=x>"), id="robots"),
        pytest.param(filled(b"<frameset><frame src=x>"), id="frames"),
    ],
)
def test_overgrown_page_is_read_within_bounds(body: bytes) -> None:
    assert_within_bounds(read(body, images=True))


def test_sanitizing_leaves_ordinary_pages_alone() -> None:
    assert all(sanitize(body) == ([body], b"") for body in BODIES)


def test_large_page_is_parsed_in_pieces_that_lose_nothing() -> None:
    body = numbered(b"<div><p>text <a href=%d>x</a></div>", 300_000)
    pieces, rest = sanitize(body)
    assert len(pieces) > 1
    assert b"".join(pieces) == body
    assert rest == b""
    links = read(body).links
    assert [link.target for link in links] == [f"http://a.test/d/{number}" for number in range(len(links))]
    assert len(links) == body.count(b"<a")


def test_links_stay_where_formatting_is_renamed() -> None:
    body = numbered(b"<p><font a=%d>x <a href=y>z</a>", 60_000)
    assert b"<font" not in b"".join(sanitize(body).pieces)
    assert len(read(body).links) == body.count(b"<a ")


@given(
    st.lists(
        st.sampled_from([b"<", b"</", b"b", b"CODE", b"Strong", b"strike", b"span", b"i", b" a", b"\n", b"/", b">"])
    )
)
def test_renamed_tags_are_those_of_formatting(parts: list[bytes]) -> None:
    page = b"".join(parts)
    crowd = b"<p><font a=b>" * 2_000
    (found,) = sanitize(page + crowd).pieces
    names = rb"b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
    expected = re.sub(rb"(</?)(?=(?:%b)[\s/>])." % names, rb"\1x", page + crowd, flags=re.IGNORECASE)
    assert found == expected


FEW = b" ".join(b"b%d" % number for number in range(98))
MANY = b" ".join(b"b%d" % number for number in range(8_000))


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(b"", id="plain"),
        pytest.param(b"c='>'", id="the end in a value"),
        pytest.param(b'c="</a><a>"', id="tags in a value"),
        pytest.param(b"c = '\">'", id="marks of the other kind in a value"),
        pytest.param(b"c<d", id="beginnings in a name"),
        pytest.param(b'"', id="mark as a name"),
        pytest.param(b'c="' + b"x" * 1_500 + b'"', id="long value"),
        pytest.param(b"c" + b" " * 1_500 + b"=" + b" " * 1_500 + b'">"', id="much white space"),
    ],
)
@pytest.mark.parametrize("filler", [b"", b"<p>text</p>" * 6_000], ids=["small", "large"])
def test_overgrown_tag_loses_its_attributes_however_it_hides_and_the_rest_stays(before: bytes, filler: bytes) -> None:
    overgrown = b"<div " + FEW[:200] + b" " + before + b" " + MANY.replace(b"b2500", b"b2500 " + before) + b">"
    page = b"<a href=1>one</a>" + overgrown + b"<a href=2>two</a></div>" + filler
    assert len(b"".join(sanitize(page).pieces)) < len(page) - len(MANY) + 10
    found = read(page)
    assert [(link.target[-1], link.text) for link in found.links] == [("1", "one"), ("2", "two")]
    assert MANY[:5].decode() not in found.document.text


@given(
    st.lists(
        st.sampled_from(
            [b"<a b='>' ", b"<a ", b"c ", b'd="', b"e='", b'"', b"'", b">", b"= ", b"x" * 30, b"<!--", b"c " * 70]
        ),
        max_size=12,
    ),
    st.integers(5, 60),
)
def test_page_without_an_overgrown_tag_for_the_look_has_none_for_the_parser(parts: list[bytes], step: int) -> None:
    page = b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "TAG_BYTES", step)
        may_have = may_have_long_tags(page)
    assert may_have or most_attributes(page) <= bounds.ATTRIBUTES_LIMIT


def most_attributes(page: bytes) -> int:
    """By the tokenizer of the standard, as far as it matters here, from wherever a tag could begin."""
    return max((attributes_count(page, start.end()) for start in re.finditer(rb"<[a-z]", page)), default=0)


def attributes_count(page: bytes, at: int) -> int:
    attribute = re.compile(rb"""[\s/]*[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)|(?!["'])[^\s>]*))?""")
    count = 0
    while (found := attribute.match(page, at)) is not None:
        count, at = count + 1, found.end()
    return count


def test_ordinary_attributes_stay() -> None:
    page = b"<a " + FEW + b" href=1>one</a>" + b"<p>" + b"long text " * 500
    assert sanitize(page) == ([page], b"")
    assert [link.target[-1] for link in read(page).links] == ["1"]


def test_header_of_hostile_length_gives_a_record() -> None:
    for value in ("<" * 100_000, "<x>;" * 50_000, '<x>; rel="' * 20_000, "<x>;rel=next," * 20_000, "," * 100_000):
        headers = (("Content-Type", "text/html"), ("Link", value), ("Refresh", value))
        assert_within_bounds(extract(Page(URL, 200, headers, b"x", at=0.0), b"x"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<p>word" * 2_000, False),
        (b"longer words " * 9_000, False),
        (b"<b>bold</b>" * 1_900, False),
        (b"<p>" * 2_300 + b"</p>" * 1_400 + b"words " * 1_000, False),
        (b"<div>" * 2_100, True),
        (b"<p a b c d e f g h i j k>" * 6_000, True),
        (b"<p a=''b=''c=''d=''>" * 4_000, True),
        (b"<p a b c d e f g h i j k>" * 900, False),
        (b"<p>" + b"word " * 100_000, True),
        (b"<b>" * 10_000, True),
        (gzip.compress(os.urandom(1_000)), False),
        (gzip.compress(os.urandom(30_000)), False),
        (gzip.compress(b"<url>" * 30_000), True),
        (gzip.compress(os.urandom(30_000))[:10_000], False),
        (b"\x1f\x8b" + os.urandom(30_000), False),
        (b"\n http://a.example/" * 2_000, True),
        (b"http://a.example/\n" * 200, False),
        (b"", False),
    ],
    ids=[
        *(
            "small",
            "few tags",
            "closed tags",
            "tags of which many are closed",
            "tags that are never closed",
            "very many attributes",
            "very many attributes with values",
            "attributes",
            "large",
            "very many tags",
            "small and packed",
            "packed",
            "packed and long",
            "packed and cut",
        ),
        *("damaged", "addresses", "few addresses", "empty"),
    ],
)
def test_expensive_is_what_takes_long_to_read(body: bytes, expected: bool) -> None:
    assert is_expensive(body) is expected
