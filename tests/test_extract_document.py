"""What a page says: title, text, language, dates, and what it says to robots."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.extract import Cut, Document, Extract, ExtractOptions, PageFormat, bounds, extract
from tarrafa.extract.bounds import HEADINGS_LIMIT, TEXT_CHARS, TITLE_CHARS
from tarrafa.extract.html import collapse_all
from tarrafa.records import Page

URL = "http://a.test/d/p.html"
PORTUGUESE = "A prefeitura da cidade anunciou hoje as novas regras para o transporte público na região central."


def read(html: str | bytes, media_type: str = "text/html", robots_name: str = "tarrafa", **headers: str) -> Extract:
    body = html if isinstance(html, bytes) else html.encode()
    sent = (("Content-Type", media_type), *((name.replace("_", "-"), value) for name, value in headers.items()))
    return extract(Page(URL, 200, sent, body, at=0.0), body, ExtractOptions(robots_name=robots_name))


def document(html: str | bytes, **headers: str) -> Document:
    return read(html, **headers).document


# Title, description, headings.


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> A\n &amp;  b </title>", "A & b"),
        ("<title>a</title><title>b</title>", "a"),
        ("<svg><title>icon</title></svg><body>x", ""),
        ("<svg><title>icon</title></svg><title>b</title>", "b"),
        ("<title><b>x</b></title>", "<b>x</b>"),
        ("<title></title><p>x", ""),
        ("<title>never closed <p>x", "never closed <p>x"),
        (f"<title>{'x' * 1000}</title>", "x" * TITLE_CHARS),
    ],
)
def test_title(html: str, title: str) -> None:
    assert document(html).title == title


def test_description_is_the_first_that_says_something() -> None:
    assert document("<meta name=Description content=' a  b '>").description == "a b"
    assert document("<meta name=description><meta property=og:description content=b>").description == "b"


def test_headings_are_in_order_and_bounded() -> None:
    assert document("<h1>a<br> b</h1><p>x<h3><a href=x>c</a></h3><h2> </h2>").headings == ("a b", "c")
    assert len(document("<h1>a</h1>" * 1000).headings) == HEADINGS_LIMIT


@pytest.mark.parametrize(
    ("html", "cuts"),
    [
        ("<title>a</title><h1>b</h1><p>c", ()),
        (f"<title>{'x' * 1000}</title><h1>b</h1>", (Cut.TITLE,)),
        ("<h1>a</h1>" * 1000, (Cut.HEADINGS,)),
        (f"<h2>{'x' * 1000}</h2>", (Cut.HEADINGS,)),
        (f"<meta name=description content='{'x' * 2000}'>", (Cut.DESCRIPTION,)),
        ("<p>" + "a b " * TEXT_CHARS, (Cut.TEXT,)),
        (f"<title>{'x' * 1000}</title><p>" + "a b " * TEXT_CHARS, (Cut.TEXT, Cut.TITLE)),
    ],
)
def test_page_says_what_was_cut(html: str, cuts: tuple[Cut, ...]) -> None:
    assert read(html).cuts == cuts


def test_plain_text_and_pages_of_endless_tags_say_what_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read("a b " * TEXT_CHARS, "text/plain").cuts == (Cut.TEXT,)
    monkeypatch.setattr(bounds, "PIECE_TAGS", 1_000)
    monkeypatch.setattr(bounds, "OPEN_PIECES_LIMIT", 3)
    monkeypatch.setattr(bounds, "PIECES_LIMIT", 5)
    assert read("<p>x" * 2_900).cuts == ()
    found = read("<p>x" * 3_100)
    assert (found.document.text.count("x"), found.cuts) == (3_000, (Cut.BODY,))
    closed = read("<p>x</p>" * 2_450)
    assert (closed.document.text.count("x"), closed.cuts) == (2_450, ())
    assert read("<p>x</p>" * 2_550).cuts == (Cut.BODY,)


# Main text.


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><p>b</p>", "a\nb"),
        ("<p>J<b>oh</b>n <i>D</i> <b>oe</b>", "John D oe"),
        ("<div>a</div>b<div>c</div><b>d</b>", "a\nb\nc\nd"),
        ("a<br>b<hr>c", "a\nb\nc"),
        ("<p>a\n   b\t c&nbsp;d", "a b c d"),
        ("<table><tr><td>a<td>b", "a\nb"),
        ("<x-y>a</x-y> <x-y>b</x-y>", "a b"),
        ("<p>a<script>x</script>b<style>y</style><!-- c --> d<template>e</template>", "ab d"),
        ("<noscript>a</noscript>", "a"),
        ("<nav>menu</nav><p>a<aside>b</aside><footer>c<nav>d</nav>e</footer><p>f", "a\nf"),
        ("<ul><li><a href=x>one</a><li><a href=y>two</a></ul><p>text with <a href=z>link</a>.", "text with link."),
        ("<p><a href=x>only links</a>", "only links"),
        ("<title>t</title>", ""),
        ("<select><option>a</select><button>b</button><textarea>c</textarea><p>d", "d"),
    ],
)
def test_main_text_leaves_out_what_stands_beside(html: str, text: str) -> None:
    assert document(html).text == text


def test_text_is_bounded() -> None:
    assert len(document("<p>" + "a b " * TEXT_CHARS).text) == TEXT_CHARS


def test_plain_text_is_kept_and_has_no_links() -> None:
    found = read("see http://b.test/\n\n  x ", "text/plain; charset=utf-8")
    assert (found.format, found.document.text, tuple(found.links), tuple(found.listed)) == (
        PageFormat.TEXT,
        "see http://b.test/\n\n  x",
        (),
        (),
    )


# Language, canonical, robots.


@pytest.mark.parametrize(
    ("html", "headers", "language"),
    [
        ("<html lang=pt-BR>", {}, "pt"),
        ("<html xml:lang=DE>", {}, "de"),
        ("<html lang=''><meta http-equiv=Content-Language content='fr, en'>", {}, "fr"),
        ("x", {"content_language": "es"}, "es"),
        ("<html lang=und>", {}, ""),
        ("<html lang='{{ lang }}'><p>" + PORTUGUESE, {}, "pt"),
        ("<p>" + PORTUGUESE, {}, "pt"),
        ("<p>short", {}, ""),
    ],
)
def test_language_is_what_the_page_says_else_what_it_looks_like(
    html: str, headers: dict[str, str], language: str
) -> None:
    assert document(html, **headers).language == language


@pytest.mark.parametrize(
    ("html", "headers", "url"),
    [
        ("<link rel=canonical href=x#y>", {}, "http://a.test/d/x"),
        ("<base href=/b/><link rel='Canonical' href=x><link rel=canonical href=y>", {}, "http://a.test/b/x"),
        ("<link rel=canonical href=javascript:1>", {}, None),
        ("<link rel=canonical>", {}, None),
        ("<base href=/b/>", {"link": "<x>; rel=canonical"}, "http://a.test/d/x"),
        ("", {}, None),
    ],
)
def test_canonical_url(html: str, headers: dict[str, str], url: str | None) -> None:
    assert document(html, **headers).canonical_url == url


def test_what_is_said_to_robots_is_kept_as_pairs() -> None:
    html = (
        "<meta name=ROBOTS content=' noindex, nofollow '><meta name=tarrafa content=none><meta name=other content=x>"
        "<meta name=tdm-reservation content=1><meta name=robots><meta property=robots content=all>"
    )
    found = [("robots", "noindex, nofollow"), ("tarrafa", "none"), ("tdm-reservation", "1"), ("robots", "")]
    assert read(html).robots == (*found, ("robots", "all"))
    assert ("other", "x") in read(html, robots_name="Other").robots


# Dates.


@pytest.mark.parametrize(
    ("html", "headers", "published", "modified"),
    [
        ("<meta property=article:published_time content=1970-01-02>", {}, 86400, None),
        ("<meta property=article:modified_time content=1970-01-02>", {"last_modified": "x"}, None, 86400),
        ("x", {"last_modified": "Fri, 02 Jan 1970 00:00:00 GMT"}, None, 86400),
        ("<time datetime=1970-01-02>", {}, 86400, None),
        ("<time datetime=1970-01-03><time itemprop=datePublished datetime=1970-01-02>", {}, 86400, None),
        ("<time itemprop=dateModified datetime=1970-01-02>", {}, None, 86400),
        ("<meta name=date content=never><meta name=dc.date content=1970-01-02>", {}, 86400, None),
    ],
)
def test_dates_of_a_page(html: str, headers: dict[str, str], published: float | None, modified: float | None) -> None:
    found = document(html, **headers)
    assert (found.published_seconds, found.modified_seconds) == (published, modified)


# The record.


def test_record_goes_between_processes_and_is_the_same_each_time() -> None:
    html = f"<html lang=pt><title>t</title><a href=x>y</a><p>{PORTUGUESE}"
    found = read(html)
    assert pickle.loads(pickle.dumps(found)) == found == read(html)


@pytest.mark.parametrize(
    ("media_type", "body", "form"),
    [
        ("text/html", b"<p>x", PageFormat.HTML),
        ("application/xhtml+xml", b"<p>x", PageFormat.HTML),
        ("", b"<!DOCTYPE html><p>x", PageFormat.HTML),
        ("", b"  <!-- c --><HTML>", PageFormat.HTML),
        ("application/octet-stream", b"\xef\xbb\xbf<html>", PageFormat.HTML),
        ("text/xml", b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', PageFormat.HTML),
        ("application/xml", b"<svg/>", PageFormat.OTHER),
        ("text/html", b"\x89PNG\r\n\x1a\n", PageFormat.OTHER),
        ("text/html", b"%PDF-1.4", PageFormat.OTHER),
        ("", b"\x00\x01", PageFormat.OTHER),
        ("", b"plain words", PageFormat.TEXT),
        ("image/png", b"<html>", PageFormat.OTHER),
        ("text/html", b"", PageFormat.OTHER),
        ("text/html", b'<?xml version="1.0"?><rss></rss>', PageFormat.FEED),
        ("text/plain", b"<urlset/>", PageFormat.SITEMAP),
        ("text/html", b"<!---->" * 500, PageFormat.HTML),
    ],
)
def test_format_is_told_by_type_and_first_bytes(media_type: str, body: bytes, form: PageFormat) -> None:
    assert read(body, media_type).format is form


# White space.


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one two three <a href=x> four</a>", "one two three four"),
        ("<p>one two three <a href=x>\n  four\n</a> five", "one two three four five"),
        ("<p>one\u3000two three<p>four", "one two three\nfour"),
        ("<p>one\u2028two three", "one two three"),
        ("<p>one &#1;&#2; two", "one \x01\x02 two"),
        ("<div>one two<a href=x> </a></div>three", "one two\nthree"),
    ],
)
def test_white_space_of_a_block_is_collapsed_wherever_it_comes_from(html: str, text: str) -> None:
    assert document(html).text == text


@given(st.lists(st.text(st.sampled_from("ab  \t\n\xa0\u2003|"), max_size=8)))
def test_texts_collapse_together_as_they_do_alone(texts: list[str]) -> None:
    assert collapse_all(texts) == [" ".join(text.split()) for text in texts]
