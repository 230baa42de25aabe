"""Pages as Markdown: what is kept, what is escaped, and that no page makes it raise or grow without bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tarrafa.extract import bounds, markdown_of
from tarrafa.records import Page

URL = "http://a.example/dir/page"


def converted(html: str, title: str = "") -> str:
    body = html.encode()
    return markdown_of(Page(URL, 200, (("Content-Type", "text/html; charset=utf-8"),), body, at=0.0), body, title)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2>One</h2><p>two</p>three", "## One\n\ntwo\n\nthree"),
        ("<p>a <b>bold </b>word, <em>so</em>", "a **bold** word, *so*"),
        ("<p>one<br>two<br>", "one  \ntwo"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>d<li>e</ol>", "- a\n- b\n  - c\n\n1. d\n2. e"),
        ("<ul><li>a<p>b</ul>", "- a\n\n  b"),
        ("<blockquote><p>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
        ("<p>see <code>a`b</code>", "see ``a`b``"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<table><tr><th>A<th>B<tr><td>1|2<td><b>x</b></table>", "| A | B |\n| --- | --- |\n| 1\\|2 | **x** |"),
        ("<table><tr><td>a<td>b</table>", "a\n\nb"),
        ('<img src="i.png" alt="a fish"><img src="j.png">', "![a fish](http://a.example/dir/i.png)"),
    ],
)
def test_element_has_its_form(html: str, markdown: str) -> None:
    assert converted(html) == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<a href="x">one</a>', "[one](http://a.example/dir/x)"),
        ('<base href="/b/"><a href="x">one</a>', "[one](http://a.example/b/x)"),
        ('<a href="/f(1)">one</a>', "[one](<http://a.example/f(1)>)"),
        ('<a href="#top">one</a> <a href="javascript:x()">two</a>', "one two"),
        ('<a href="/x"><h2>one</h2><p>two</p></a>', "[one two](http://a.example/x)"),
        ('<h2><a href="/x">one</a></h2>', "## [one](http://a.example/x)"),
        ('<a href="/x"></a>one', "one"),
    ],
)
def test_link_is_kept_with_its_whole_url(html: str, markdown: str) -> None:
    assert converted(html) == markdown


@pytest.mark.parametrize(
    "text", ["# a", "1. a", "- a", "> a", "*a*", "_a_", "[a](b)", "`a`", "&lt;b&gt;a", "&amp;copy;"]
)
def test_text_that_looks_like_markdown_stays_text(text: str) -> None:
    tokens = MarkdownIt().parse(converted(f"<p>{text}</p>"))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {child.type for child in tokens[1].children or ()} <= {"text", "text_special"}


def test_name_with_underscores_is_not_escaped() -> None:
    assert converted("<p>a_long_name") == "a_long_name"


def test_menu_and_footer_are_left_out_unless_nothing_else_is_there() -> None:
    assert converted("<nav>menu</nav><p>word<footer>foot</footer><script>x()</script>") == "word"
    assert converted("<nav>menu</nav>") == "menu"


def test_title_is_the_heading_of_a_page_without_one() -> None:
    assert converted("<p>word", "The *title*") == "# The \\*title\\*\n\nword"
    assert converted("<h1>Own</h1><p>word", "The title") == "# Own\n\nword"
    assert converted("<script>x()</script>", "The title") == "# The title"


def test_plain_text_stays_as_it_is_and_other_formats_are_empty() -> None:
    def of(media_type: str, body: bytes) -> str:
        return markdown_of(Page(URL, 200, (("Content-Type", media_type),), body, at=0.0), body, "title")

    assert of("text/plain", b" a *b*\n<p>") == "a *b*\n<p>"
    assert of("image/png", b"\x89PNG") == ""
    assert of("text/html", b"") == ""


@pytest.mark.parametrize("tag", ["blockquote", "ul><li", "ol><li", "b><i", "table><tr><td", "a href=/x", "div", "h1"])
def test_deep_nesting_is_read_to_its_end(tag: str) -> None:
    text = converted(f"<{tag}>" * 4_000 + "word")
    assert "word" in text
    assert len(text) < 1_000


def test_text_ends_at_the_bound() -> None:
    paragraph = "word " * 100
    text = converted(f"<p>{paragraph}" * (2 * bounds.TEXT_CHARS // len(paragraph)))
    assert bounds.TEXT_CHARS <= len(text) < bounds.TEXT_CHARS + 2 * len(paragraph)


TAGS = st.sampled_from(
    [
        *("a", "b", "i", "p", "h1", "h2", "ul", "ol", "li", "blockquote", "pre", "code", "table", "tr", "th"),
        *("td", "br", "hr", "img", "div", "nav", "base", "title", "script", "svg"),
    ]
)
PIECES = st.one_of(
    TAGS.map(lambda tag: f"<{tag}>"),
    TAGS.map(lambda tag: f"</{tag}>"),
    st.sampled_from(["<a href='/x'>", "<a href='#'>", "<img src=x alt='y'>", "<base href='//b.example'>", "\x01", "|"]),
    st.text(max_size=8),
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_page_becomes_text_that_a_reader_of_markdown_accepts(html: str) -> None:
    text = converted(html, "title")
    assert "\x01" not in text
    MarkdownIt("commonmark").render(text)


@given(st.binary(max_size=300), st.sampled_from(["", "text/html; charset=utf-16", "text/html; charset=shift_jis"]))
def test_any_bytes_become_text(body: bytes, media_type: str) -> None:
    text = markdown_of(Page(URL, 200, (("Content-Type", media_type),), body, at=0.0), body)
    assert isinstance(text, str)
