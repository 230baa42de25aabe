"""Where a page leads, as a browser without scripts finds it."""

import pytest

from tarrafa.extract import Cut, Extract, ExtractOptions, LinkKind, PageLinks, bounds, extract
from tarrafa.extract.bounds import ANCHOR_CHARS
from tarrafa.records import Headers, Page

URL = "http://a.test/d/p.html"


def page(body: bytes = b"", headers: Headers = (), status: int = 200) -> Page:
    return Page(URL, status, (("Content-Type", "text/html; charset=utf-8"), *headers), body, at=0.0)


def read(html: str, headers: Headers = (), status: int = 200, options: ExtractOptions = ExtractOptions()) -> Extract:  # noqa: B008
    body = html.encode()
    return extract(page(body, headers, status), body, options)


def targets(html: str) -> list[str]:
    return [link.target.removeprefix("http://a.test") for link in read(html).links]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=x>", ["/d/x"]),
        ("<A HREF='x'>", ["/d/x"]),
        ('<a href="  x\n">', ["/d/x"]),
        ('<a href="x\n\ty">', ["/d/xy"]),
        ('<a href="?a=1&amp;b=2">', ["/d/p.html?a=1&b=2"]),
        ('<a href="?a=1&copy=2">', ["/d/p.html?a=1&copy=2"]),
        ('<a href="?a&#x3d;1&#38;b">', ["/d/p.html?a=1&b"]),
        ("<a href>", ["/d/p.html"]),
        ("<a href=''>", ["/d/p.html"]),
        ("<a href=#top>", ["/d/p.html"]),
        ("<a name=x>", []),
        ("<a href=x href=y>", ["/d/x"]),
        ("<a href=x/y>", ["/d/x/y"]),
        ("<a href=mailto:a@b><a href=javascript:void(0)><a href=tel:1><a href=data:,x>", []),
        ("<a href=//b.test>", ["http://b.test/"]),
        ("<a href='http://b.test:99999/'>", []),
        ("<a href=x<b>", ["/d/x%3Cb"]),
        ('<a title=">" href=x>', ["/d/x"]),
        ("<a\nhref\n=\nx>", ["/d/x"]),
        ('<p><a href="x">never closed <div><table><a href=y', ["/d/x"]),
        ("<a href=x><a href=y>", ["/d/x", "/d/y"]),
        ("<table><tr><td><a href=x><table><td><a href=y>z", ["/d/x", "/d/y"]),
        ("<!-- <a href=x> --><a href=y>", ["/d/y"]),
        ("<!--> <a href=x> -->", ["/d/x"]),
        ("<template><a href=x></template><a href=y>", ["/d/y"]),
        ("<noscript><a href=x></noscript>", ["/d/x"]),
        ("<head><noscript><img src=i></noscript><base href=/b/></head><a href=x>", ["/b/x"]),
        ("<script>'<a href=x>'</script><style><a href=y></style><textarea><a href=z></textarea>", []),
        ("<title><a href=x></title><xmp><a href=y></xmp>", []),
        ("<svg><a xlink:href=x>t</a><a href=y></a></svg>", ["/d/x", "/d/y"]),
        ("<map><area href=x alt=t></map>", ["/d/x"]),
        ("<iframe src=x><a href=y></a></iframe>", ["/d/x"]),
        ("<frameset><frame src=x><frame src=y></frameset>", ["/d/x", "/d/y"]),
        ("<iframe></iframe><iframe src=''></iframe>", []),
        ("<form action=x><button formaction=y></form>", []),
        ("<img src=x srcset='y 2x'><object data=z></object><embed src=w><video src=v>", []),
        ("<nav><a href=x></nav><footer><nav><a href=y></nav></footer><a href=z>", ["/d/x", "/d/y", "/d/z"]),
        ("<select><option><a href=x>", ["/d/x"]),
        ("\ufeff<a href=x>", ["/d/x"]),
        ("<a href=x\x00y>", ["/d/x%EF%BF%BDy"]),
    ],
)
def test_links_are_those_of_a_browser(html: str, expected: list[str]) -> None:
    assert targets(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<base href=/b/><a href=x>", ["/b/x"]),
        ("<a href=x><base href=/b/>", ["/b/x"]),
        ("<base href=/b/><base href=/c/><a href=x>", ["/b/x"]),
        ("<base target=_top><base href=/c/><a href=x>", ["/c/x"]),
        ("<base href=b/c><a href=x><a href=../y>", ["/d/b/x", "/d/y"]),
        ("<base href='http://['><a href=x>", ["/d/x"]),
        ("<base href=javascript:1><a href=x>", ["/d/x"]),
        ("<base href=data:,x><a href=x>", ["/d/x"]),
        ("<base href='//b.test'><a href=x>", ["http://b.test/x"]),
        ("<base href=''><a href=x>", ["/d/x"]),
    ],
)
def test_first_base_with_an_href_counts_wherever_it_stands(html: str, expected: list[str]) -> None:
    assert targets(html) == expected


def test_base_is_told() -> None:
    assert read("<base href=/b/>").base_url == "http://a.test/b/"
    assert read("").base_url == URL


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0;url=x", ["/d/x"]),
        (" 5 ; URL = 'x y' z", ["/d/x%20y"]),
        ("0,x", ["/d/x"]),
        ("0 x", ["/d/x"]),
        (".5;url=x", ["/d/x"]),
        ('1.5; url="x"y', ["/d/x"]),
        ("0;url", ["/d/url"]),
        ("0", []),
        ("0;", []),
        ("x;url=y", []),
        ("0x;url=y", []),
        ("", []),
    ],
)
def test_meta_refresh_is_read_as_the_standard_says(content: str, expected: list[str]) -> None:
    content = content.replace('"', "&quot;")
    assert targets(f'<meta http-equiv=Refresh content="{content}">') == expected


@pytest.mark.parametrize(
    ("attributes", "leads"),
    [
        ("rel=canonical", True),
        ("rel='NEXT'", True),
        ("rel=prev", True),
        ("rel=alternate hreflang=pt", True),
        ("rel=alternate type=application/rss+xml", True),
        ("rel=alternate type='application/json+oembed'", False),
        ("rel='alternate stylesheet'", False),
        ("rel=stylesheet", False),
        ("rel='shortcut icon'", False),
        ("rel=preload as=document", False),
        ("rel=dns-prefetch", False),
        ("rel=pingback", False),
        ("", False),
    ],
)
def test_link_elements_lead_by_their_rel(attributes: str, leads: bool) -> None:
    links = read(f"<link href=x {attributes}>").links
    assert [(link.target, link.kind) for link in links] == [("http://a.test/d/x", LinkKind.LINK)] * leads


def test_images_are_links_when_asked_for() -> None:
    html = "<img src=a.png alt=A srcset='b.png 1x, c,d.png\n2x,e.png'><source srcset='f.png, g.png 2x'>"
    found = read(html, options=ExtractOptions(images=True)).links
    names = [link.target.rpartition("/")[2] for link in found]
    assert names == ["a.png", "b.png", "c,d.png", "e.png", "f.png", "g.png"]
    assert {link.kind for link in found} == {LinkKind.IMAGE}
    assert found[0].text == "A"


# What belongs to a link.


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<a href=x> a\n  b\tc </a>", "a b c"),
        ("<a href=x>a<b>b</b> c</a>d", "ab c"),
        ("<a href=x><div>a</div></a>", "a"),
        ("<a href=x>caf&eacute;&nbsp;x</a>", "café x"),
        ("<a href=x><img alt=i></a>", ""),
        ("<a href=x>" + "y" * 1000, "y" * ANCHOR_CHARS),
    ],
)
def test_anchor_text_is_collapsed_and_cut(html: str, text: str) -> None:
    assert [link.text for link in read(html).links] == [text]


def test_rel_kind_and_position_are_kept() -> None:
    links = read("<a href=1 rel='NoFollow  ugc'>a</a><iframe src=2></iframe><area href=3><a href=4>b").links
    assert [(link.rel, link.kind, link.position) for link in links] == [
        ("nofollow ugc", LinkKind.A, 0),
        ("", LinkKind.IFRAME, 1),
        ("", LinkKind.AREA, 2),
        ("", LinkKind.A, 3),
    ]


def test_links_are_bounded_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    html = "".join(f"<a href={number}>x</a>" for number in range(120))
    assert len(read(html).links) == 120
    assert read(html).cuts == ()
    monkeypatch.setattr(bounds, "LINKS_LIMIT", 100)
    assert targets(html)[-1] == "/d/99"
    assert read(html).cuts == (Cut.LINKS,)


def test_links_to_other_places_of_the_same_target_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference manual links to thousands of places on few pages."""
    html = "".join(f"<a href={number % 90}#{number}>x</a>" for number in range(1_000))
    monkeypatch.setattr(bounds, "LINKS_LIMIT", 100)
    found = read(html)
    assert (len(found.links), len(set(found.links.targets)), found.cuts) == (1_000, 90, ())
    monkeypatch.setattr(bounds, "REPEATED_LINKS_LIMIT", 10)
    found = read(html)
    assert (len(found.links), len(set(found.links.targets)), found.cuts) == (100, 90, (Cut.LINKS,))


def test_query_is_spelt_in_the_encoding_of_the_page() -> None:
    body = "<meta charset=iso-8859-1><base href='/b/?ü'><a href='?q=ação'>ação</a>".encode("latin-1")
    found = extract(Page(URL, 200, (("Content-Type", "text/html"),), body, at=0.0), body)
    assert [(link.target, link.text) for link in found.links] == [("http://a.test/b/?q=a%E7%E3o", "ação")]


# The header.


def test_redirect_leads_to_its_location_and_its_body_is_not_read() -> None:
    found = read("<a href=y>", (("Location", "/x?a b"),), status=302)
    assert [(link.target, link.kind) for link in found.links] == [("http://a.test/x?a%20b", LinkKind.REDIRECT)]


def test_location_beyond_ascii_is_taken_for_utf_8() -> None:
    """Header values arrive as Latin-1, whatever the host meant."""
    found = read("", (("location", "/ação".encode().decode("latin-1")),), status=301)
    assert [link.target for link in found.links] == ["http://a.test/a%C3%A7%C3%A3o"]


def test_location_without_a_redirect_leads_nowhere() -> None:
    assert read("", (("Location", "/x"),), status=200).links == PageLinks()


def test_links_of_the_header_are_against_the_page_and_come_first() -> None:
    value = '<x>; rel="next"; title="a,b", </s.css>; rel=stylesheet, <y>;rel=prev;anchor="/z", <z> ; rel="a up"'
    found = read("<base href=/b/><a href=x>", (("Link", value), ("Refresh", "3; url=/r")))
    assert [(link.target[len("http://a.test") :], link.kind, link.position) for link in found.links] == [
        ("/r", LinkKind.REFRESH, 0),
        ("/d/x", LinkKind.HEADER, 1),
        ("/d/z", LinkKind.HEADER, 2),
        ("/b/x", LinkKind.A, 3),
    ]
