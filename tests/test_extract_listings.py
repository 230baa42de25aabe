"""Sitemaps and feeds: which URLs they list."""

import gzip
import pickle
import re
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarrafa.extract import Extract, Format, Listed, Listing, extract
from tarrafa.extract.bounds import LISTED_LIMIT, UNPACKED_LIMIT_BYTES
from tarrafa.extract.listings import listed, unpacked
from tarrafa.records import Page
from tarrafa.urls import Base

URL = "http://a.test/map/x.xml"
SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> http://a.test/1?a=1&amp;b=2 </loc><lastmod>1970-01-02</lastmod><priority>0.8</priority></url>
<url><loc><![CDATA[http://a.test/2?a&b]]></loc><priority>7</priority>
<image:image><image:loc>http://a.test/i.png</image:loc></image:image></url>
<url><lastmod>1970-01-02</lastmod></url>
<url><loc>mailto:x</loc></url>
<url><loc>/3</loc><lastmod>never</lastmod></url>
</urlset>"""
RSS = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>c</title><link>http://a.test/</link>
<atom:link rel="self" href="http://a.test/feed"/>
<item><title>One &amp; <![CDATA[<b>]]></title><link>http://a.test/1</link>
<pubDate>Fri, 02 Jan 1970 00:00:00 GMT</pubDate></item>
<item><guid>http://a.test/2</guid></item><item><guid isPermaLink="false">abc</guid></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="/home"/><entry><title>One</title>
<link rel="edit" href="/edit/1"/><link href="/1"/><updated>1970-01-02T00:00:00Z</updated></entry>
<entry><link rel="alternate" href="../2"/></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel/><item><title>One</title><link>http://a.test/1</link></item></rdf:RDF>"""


def read(body: str | bytes, media_type: str = "application/xml") -> Extract:
    raw = body if isinstance(body, bytes) else body.encode()
    return extract(Page(URL, 200, (("Content-Type", media_type),), raw, at=0.0), raw)


def urls(body: str | bytes, media_type: str = "application/xml") -> list[str]:
    return [entry.url for entry in read(body, media_type).listed]


def test_sitemap_lists_urls_with_dates_and_priorities() -> None:
    found = read(SITEMAP)
    assert found.format is Format.SITEMAP
    assert tuple(found.listed) == (
        Listed("http://a.test/1?a=1&b=2", "", 86400.0, 0.8),
        Listed("http://a.test/2?a&b"),
        Listed("http://a.test/3"),
    )


def test_index_lists_further_sitemaps() -> None:
    text = (
        "<sitemapindex><sitemap><loc>http://a.test/m.xml.gz</loc><lastmod>1970-01-02</lastmod></sitemap></sitemapindex>"
    )
    assert tuple(read(text).listed) == (Listed("http://a.test/m.xml.gz", "", 86400.0, None, True),)


@pytest.mark.parametrize("media_type", ["application/gzip", "application/octet-stream", "", "text/xml", "text/html"])
def test_packed_sitemap_is_read_whatever_its_type(media_type: str) -> None:
    assert urls(gzip.compress(SITEMAP.encode()), media_type) == urls(SITEMAP)


def test_packed_page_is_not_read() -> None:
    found = read(gzip.compress(b"<html><a href=x>"), "application/gzip")
    assert (found.format, tuple(found.links)) == (Format.OTHER, ())


def test_feeds_list_their_entries() -> None:
    assert tuple(read(RSS).listed) == (
        Listed("http://a.test/1", "One & <b>", 86400.0),
        Listed("http://a.test/2"),
    )
    assert tuple(read(ATOM, "application/atom+xml").listed) == (
        Listed("http://a.test/1", "One", 86400.0),
        Listed("http://a.test/2"),
    )
    assert tuple(read(RDF).listed) == (Listed("http://a.test/1", "One"),)
    assert read(RSS, "text/html").format is Format.FEED


def test_sitemap_in_plain_text_lists_its_lines() -> None:
    assert urls("http://a.test/1\r\n\r\nhttps://b.test/2 \n", "text/plain") == ["http://a.test/1", "https://b.test/2"]
    assert urls("http://a.test/1\nand more", "text/plain") == []


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16"])
def test_sitemap_in_another_encoding(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><urlset><url><loc>/ação</loc></url></urlset>'
    assert urls(text.encode(encoding)) == ["http://a.test/a%C3%A7%C3%A3o"]


# What is broken or hostile.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<urlset><url><loc>/1</loc></url><url><loc>/2</loc></u", ["/1"]),
        ("<urlset><url><loc>/1</loc></url></oops><url><loc>/2</loc></url></urlset>", ["/1"]),
        ("<urlset><url><loc>/1?a&b</loc></url><url><loc>/2?c&amp;d</loc></url></urlset>", ["/1?a&b", "/2?c&d"]),
        ("<urlset><url><loc><![CDATA[/1?a&b]]></loc></url><url><loc>/2&x</loc></url></urlset>", ["/1?a&b", "/2&x"]),
        ("<rss><item><title>a&nbsp;b</title><link>/1</link></item></rss>", ["/1"]),
        ("\n\n<?xml version='1.0'?><urlset><url><loc>/1</loc></url></urlset>", ["/1"]),
        ("<x:urlset><x:url><x:loc>/1</x:loc></x:url></x:urlset>", ["/1"]),
        ("<urlset><url><loc>/1</loc><loc>/2</loc></url></urlset>", ["/1"]),
        ("<urlset>" + "<url>" * 1000, []),
    ],
)
def test_broken_xml_gives_what_was_readable(text: str, expected: list[str]) -> None:
    assert [url.removeprefix("http://a.test") for url in urls(text)] == expected


def test_entities_are_not_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))
    text = f'<!DOCTYPE urlset [<!ENTITY l0 "ha">{laughs}]><urlset><url><loc>/&l9;</loc></url></urlset>'
    assert urls(text) == []


def test_no_file_is_read_for_an_external_entity() -> None:
    text = '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>/&x;</loc></url></urlset>'
    assert urls(text) == []


def test_listed_urls_are_bounded() -> None:
    text = "<urlset>" + "<url><loc>/x</loc></url>" * (LISTED_LIMIT + 10) + "</urlset>"
    assert len(urls(text)) == LISTED_LIMIT
    assert len(urls("http://a.test/x\n" * (LISTED_LIMIT + 10), "text/plain")) == LISTED_LIMIT


def test_deep_nesting_is_read_to_its_end() -> None:
    text = "<urlset>" + "<x>" * 100_000 + "</x>" * 100_000 + "<url><loc>/1</loc></url></urlset>"
    assert urls(text) == ["http://a.test/1"]


def test_bomb_is_cut_at_the_bound() -> None:
    assert len(unpacked(gzip.compress(bytes(UNPACKED_LIMIT_BYTES * 3)))) == UNPACKED_LIMIT_BYTES


@pytest.mark.parametrize("kept_bytes", range(0, 200, 7))
def test_damaged_gzip_gives_what_could_be_read(kept_bytes: int) -> None:
    whole = SITEMAP.encode()
    assert whole.startswith(unpacked(gzip.compress(whole)[:kept_bytes]))


PARTS = ["<urlset>", "<url>", "</url>", "<loc>", "</loc>", "/x", "&", "&amp;", "<![CDATA[", "]]>", "<item>", "<link/>"]
PARTS += ["<!--", "-->", "<?x", "?>", "<!DOCTYPE a [", "]>", "\x00", "é", "<link href='/y'>"]


@given(st.lists(st.sampled_from(PARTS)))
def test_any_pieces_of_xml_give_urls_of_the_web(parts: list[str]) -> None:
    assert all(url.startswith("http://") for url in urls("<rss>" + "".join(parts)))


@given(st.sampled_from([SITEMAP, RSS, ATOM, RDF]), st.integers(0, 1000), st.binary(max_size=5))
def test_any_damage_gives_urls_of_the_web(text: str, at: int, damage: bytes) -> None:
    raw = text.encode()
    assert all(url.startswith("http") for url in urls(raw[:at] + damage + raw[at + 2 :]))


# Plain entries, which are taken out before the parser comes.

PLAIN = "<url><loc>http://a.test/{0}</loc><lastmod>1970-01-0{0}</lastmod></url>"
FULL = """<url>
 <loc> /{0}?a=1&amp;b=é </loc>\r
 <lastmod>197{0}</lastmod> <changefreq>daily</changefreq><priority>0.{0}</priority></url>
"""
ENTRIES = [form.format(number) for form in (PLAIN, FULL) for number in (1, 2, 3)]
ODD = [
    "<url>",
    "</url>",
    "<loc>",
    "</loc>",
    "<item>",
    "</item>",
    "<x>",
    "</x>",
    "<!--",
    "-->",
    "<?x ",
    "?>",
    "y",
    "]]>",
]
ODD += [
    "<URL>",
    "</URL>",
    "<x:url>",
    "</x:url>",
    "<tarrafa-row/>",
    "<TARRAFA-ROW/>",
    "<![CDATA[",
    "</urlset>",
    "&",
    "'",
]
ODD += ["<url><loc>/a&b</loc></url>", "<url><loc>/a&#38;b</loc></url>", "<url><loc>/\x01</loc></url>", '<x y="', '"/>']
ODD += [
    "<url><loc>/4</loc><priority>0.5</priority><lastmod>1975</lastmod></url>",
    "<url><loc>/5</loc><loc>/6</loc></url>",
]
ODD += ["<url><loc>mailto:x</loc></url>", "<url><loc> </loc></url>", "<url><loc>/7</loc><priority>nan</priority></url>"]
ODD += [
    "<url><loc>/8</loc><lastmod> </lastmod></url>",
    "<sitemap><loc>/9</loc></sitemap>",
    "<title>t</title>",
    "\ud800",
]
NEVER = re.compile("(?!)()()()")


def by_the_parser(text: str) -> Listing:
    with patch("tarrafa.extract.listings._PLAIN", NEVER):
        return listed(text, Base(URL))


def assert_plain_entries_are_read_as_by_the_parser(parts: list[str]) -> None:
    text = f"<?xml version='1.0'?><urlset>{''.join(parts)}</urlset>"
    assert listed(text, Base(URL)) == by_the_parser(text)


@given(st.lists(st.sampled_from(ENTRIES * 3 + ODD)))
@example(["<!--", ENTRIES[0], "-->", ENTRIES[1]])
@example(["<url><loc>", ENTRIES[0], "y</loc></url>"])
@example(["<loc>", ENTRIES[0], "<tarrafa-row at='0'/>"])
def test_plain_entries_are_read_as_by_the_parser_whatever_is_around_them(parts: list[str]) -> None:
    assert_plain_entries_are_read_as_by_the_parser(parts)


@given(st.lists(st.sampled_from(ENTRIES), min_size=1), st.integers(0, 500), st.text(max_size=3), st.integers(0, 3))
def test_plain_entries_are_read_as_by_the_parser_whatever_is_in_them(
    entries: list[str], at: int, damage: str, lost: int
) -> None:
    text = "".join(entries)
    at %= len(text)
    assert_plain_entries_are_read_as_by_the_parser([text[:at], damage, text[at + lost :]])


@pytest.mark.parametrize("chars", [499, 500, 501, 7_990, 8_001, 9_000])
def test_long_addresses_are_read_as_by_the_parser(chars: int) -> None:
    for filler in ("x", "&amp;"):
        assert_plain_entries_are_read_as_by_the_parser([f"<url><loc>/{filler * chars}</loc></url>", *ENTRIES])


def test_rows_of_plain_entries_keep_their_places_and_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "<urlset>" + (ENTRIES[0] * 3 + "<url><loc><x/>/odd</loc></url>") * 3 + "</urlset>"
    assert [url[-3:] for url in urls(text)] == ["t/1", "t/1", "t/1", "odd"] * 3
    monkeypatch.setattr("tarrafa.extract.bounds.LISTED_LIMIT", 6)
    assert [url[-3:] for url in urls(text)] == ["t/1", "t/1", "t/1", "odd", "t/1", "t/1"]


# What is listed is a sequence, kept by column.


def test_listing_is_a_sequence_of_what_is_listed_also_in_another_process() -> None:
    found = read(SITEMAP).listed
    assert (len(found), found[1], found[-2:]) == (3, Listed("http://a.test/2?a&b"), tuple(found)[1:])
    assert found[0].modified_seconds == 86400.0
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != read(ATOM).listed
    assert repr(found) == repr(tuple(found))


def test_bare_listing_tells_where_to_go() -> None:
    assert tuple(read(SITEMAP).listed.bare()) == tuple(Listed(url) for url in urls(SITEMAP))
    index = "<sitemapindex><sitemap><loc>/m</loc><lastmod>1970-01-02</lastmod></sitemap></sitemapindex>"
    assert tuple(read(index).listed.bare()) == (Listed("http://a.test/m", is_sitemap=True),)
