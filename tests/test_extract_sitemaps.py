"""Sitemaps and feeds: which URLs they list."""

import gzip
import pickle
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.extract import Extract, ListedUrl, PageFormat, extract
from tarrafa.extract.bounds import LISTED_LIMIT, UNPACKED_LIMIT_BYTES
from tarrafa.extract.sitemaps import gunzip, listed_lines, listed_urls
from tarrafa.records import Page
from tarrafa.urls import BaseUrl

URL = "http://a.test/map/x.xml"
BASE = BaseUrl(URL)
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
    assert found.format is PageFormat.SITEMAP
    assert tuple(found.listed) == (
        ListedUrl("http://a.test/1?a=1&b=2", "", 86400.0, 0.8),
        ListedUrl("http://a.test/2?a&b"),
        ListedUrl("http://a.test/3"),
    )


def test_index_lists_further_sitemaps() -> None:
    text = (
        "<sitemapindex><sitemap><loc>http://a.test/m.xml.gz</loc><lastmod>1970-01-02</lastmod></sitemap></sitemapindex>"
    )
    assert tuple(read(text).listed) == (ListedUrl("http://a.test/m.xml.gz", "", 86400.0, None, True),)


@pytest.mark.parametrize("media_type", ["application/gzip", "application/octet-stream", "", "text/xml", "text/html"])
def test_packed_sitemap_is_read_whatever_its_type(media_type: str) -> None:
    assert urls(gzip.compress(SITEMAP.encode()), media_type) == urls(SITEMAP)


def test_packed_page_is_not_read() -> None:
    found = read(gzip.compress(b"<html><a href=x>"), "application/gzip")
    assert (found.format, tuple(found.links)) == (PageFormat.OTHER, ())


def test_feeds_list_their_entries() -> None:
    assert tuple(read(RSS).listed) == (
        ListedUrl("http://a.test/1", "One & <b>", 86400.0),
        ListedUrl("http://a.test/2"),
    )
    assert tuple(read(ATOM, "application/atom+xml").listed) == (
        ListedUrl("http://a.test/1", "One", 86400.0),
        ListedUrl("http://a.test/2"),
    )
    assert tuple(read(RDF).listed) == (ListedUrl("http://a.test/1", "One"),)
    assert read(RSS, "text/html").format is PageFormat.FEED


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
        ("<urlset><url><loc>/1</loc></url></oops><url><loc>/2</loc></url></urlset>", ["/1", "/2"]),
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
    assert listed_urls(text, BASE).is_cut
    assert listed_lines("http://a.test/x\n" * (LISTED_LIMIT + 1), BASE).is_cut


def test_list_that_is_as_long_as_allowed_is_not_cut() -> None:
    assert not listed_urls("<urlset>" + "<url><loc>/x</loc></url>" * LISTED_LIMIT + "</urlset>", BASE).is_cut
    assert not listed_lines("http://a.test/x\n" * LISTED_LIMIT, BASE).is_cut


def test_deep_nesting_is_read_to_its_end() -> None:
    text = "<urlset>" + "<x>" * 100_000 + "</x>" * 100_000 + "<url><loc>/1</loc></url></urlset>"
    assert urls(text) == ["http://a.test/1"]


def test_bomb_is_cut_at_the_bound() -> None:
    assert len(gunzip(gzip.compress(bytes(UNPACKED_LIMIT_BYTES * 3)))) == UNPACKED_LIMIT_BYTES


@pytest.mark.parametrize("kept_bytes", range(0, 200, 7))
def test_damaged_gzip_gives_what_could_be_read(kept_bytes: int) -> None:
    whole = SITEMAP.encode()
    assert whole.startswith(gunzip(gzip.compress(whole)[:kept_bytes]))


PARTS = ["<urlset>", "<url>", "</url>", "<loc>", "</loc>", "/x", "&", "&amp;", "<![CDATA[", "]]>", "<item>", "<link/>"]
PARTS += ["<!--", "-->", "<?x", "?>", "<!DOCTYPE a [", "]>", "\x00", "é", "<link href='/y'>"]


@given(st.lists(st.sampled_from(PARTS)))
def test_any_pieces_of_xml_give_urls_of_the_web(parts: list[str]) -> None:
    assert all(url.startswith("http://") for url in urls("<rss>" + "".join(parts)))


@given(st.sampled_from([SITEMAP, RSS, ATOM, RDF]), st.integers(0, 1000), st.binary(max_size=5))
def test_any_damage_gives_urls_of_the_web(text: str, at: int, damage: bytes) -> None:
    raw = text.encode()
    assert all(url.startswith("http") for url in urls(raw[:at] + damage + raw[at + 2 :]))


# Entries, whatever stands around them or in them.

PLAIN = "<url><loc>http://a.test/{0}</loc><lastmod>1970-01-0{0}</lastmod></url>"
FULL = """<url>
 <loc> /{0}?a=1&amp;b=é </loc>\r
 <lastmod>197{0}</lastmod> <changefreq>daily</changefreq><priority>0.{0}</priority></url>
"""
ENTRIES = [form.format(number) for form in (PLAIN, FULL) for number in (1, 2, 3)]
HARMLESS = [
    "<!-- <url><loc>/hidden</loc></url> -->",
    "<x>y</x>",
    "<x:y/>",
    "<?x y?>",
    "]]>",
    "&",
    "text",
    "<url><loc>mailto:x</loc></url>",
    "<url><loc> </loc></url>",
    "<url><lastmod>1970-01-02</lastmod></url>",
    "<url/>",
    "</oops>",
    "\ud800",
]


@given(st.lists(st.sampled_from(ENTRIES)), st.lists(st.sampled_from(HARMLESS)))
def test_entries_are_read_whatever_stands_between_them(entries: list[str], between: list[str]) -> None:
    """Many sitemaps are put together by hand: a comment or a stray element costs no entry."""
    parts = [part for pair in zip_longest(entries, between, fillvalue="") for part in pair]
    alone = [entry for text in entries for entry in listed_urls(text, BASE)]
    assert list(listed_urls(f"<urlset>{''.join(parts)}</urlset>", BASE)) == alone
    assert len(alone) == len(entries)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("<url><loc>/a&b</loc></url>", "/a&b"),
        ("<url><loc>/a&#38;b&#x3d;&lt;</loc></url>", "/a&b=%3C"),
        ("<url><loc>/a&unknown;b</loc></url>", "/a&unknown;b"),
        ("<url><loc>/a&#1114112;</loc></url>", "/a%EF%BF%BD"),
        ("<x:url><x:loc>/a</x:loc></x:url>", "/a"),
        ("<url a='b'><loc c='d'>/a</loc ></url >", "/a"),
        ("<url><image:image><image:loc>/i</image:loc></image:image><loc>/a</loc></url>", "/a"),
        ("<url><loc>/a</loc><loc>/b</loc></url>", "/a"),
        ("<url><loc/><loc>/a</loc></url>", "/a"),
        ("<item><title>t</title><link>/a</link></item>", "/a"),
        ("<entry><link href='/a'/></entry>", "/a"),
        ("<entry><link rel='self' href='/b'/><link rel='alternate' href='/a'/></entry>", "/a"),
        ("<entry><atom:link rel='alternate' href='/a?b&amp;c'/></entry>", "/a?b&c"),
        ("<item><guid isPermaLink='true'>/a</guid></item>", "/a"),
    ],
)
def test_address_of_an_entry_is_read_as_it_is_written(entry: str, expected: str) -> None:
    assert urls(f"<rss><url><loc>/first</loc></url>{entry}</rss>") == [
        "http://a.test/first",
        f"http://a.test{expected}",
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [("0.5", 0.5), ("1", 1.0), ("1.1", None), ("-0.1", None), ("nan", None), ("high", None), ("", None)],
)
def test_priority_is_from_0_to_1_or_none(said: str, expected: float | None) -> None:
    (found,) = listed_urls(f"<url><loc>/1</loc><priority>{said}</priority></url>", BASE)
    assert found.priority == expected


@pytest.mark.parametrize("name", ["lastmod", "updated", "pubDate", "published", "dc:date", "dcterms:modified"])
def test_date_of_an_entry_has_many_names(name: str) -> None:
    (found,) = listed_urls(f"<item><link>/1</link><{name}>1970-01-02</{name}></item>", BASE)
    assert found.modified_seconds == 86400.0


@pytest.mark.parametrize(
    "text",
    [
        *("<url>" * 200_000, "<url><loc>" * 100_000, "<!--" * 200_000, "<![CDATA[" * 200_000, "</url>" * 200_000),
        *("<item><link " * 100_000, "<a:" * 300_000, f"<url>{'<loc>&' * 200_000}", f"<item>{'<guid ' * 200_000}"),
    ],
    ids=["entries", "fields", "comments", "sections", "ends", "links", "prefixes", "ampersands", "guids"],
)
def test_overgrown_file_lists_nothing_and_is_read_in_one_pass(text: str) -> None:
    """Each would take minutes if any part were scanned again for every other."""
    assert urls(f"<rss>{text}</rss>") == []


# What is listed is a sequence, kept by column.


def test_listing_is_a_sequence_of_what_is_listed_also_in_another_process() -> None:
    found = read(SITEMAP).listed
    assert (len(found), found[1], found[-2:]) == (3, ListedUrl("http://a.test/2?a&b"), tuple(found)[1:])
    assert found[0].modified_seconds == 86400.0
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != read(ATOM).listed
    assert repr(found) == repr(tuple(found))


def test_bare_listing_tells_where_to_go_and_what_is_new() -> None:
    dates = [each.modified_seconds for each in read(SITEMAP).listed]
    bare = [ListedUrl(url, modified_seconds=date) for url, date in zip(urls(SITEMAP), dates, strict=True)]
    assert list(read(SITEMAP).listed.bare()) == bare
    index = "<sitemapindex><sitemap><loc>/m</loc><lastmod>1970-01-02</lastmod></sitemap></sitemapindex>"
    assert tuple(read(index).listed.bare()) == (ListedUrl("http://a.test/m", "", 86400.0, None, True),)
