"""URLs by example: what an href means, how a URL is spelt, what its host, site, level and fingerprint are."""

import pytest
import xxhash

from tarrafa import urls
from tarrafa.urls import BaseUrl, canonical, parse, resolve

BASE = "http://example.org/a/b/c.html?d=e"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("", "http://example.org/a/b/c.html?d=e"),
        ("x.html", "http://example.org/a/b/x.html"),
        ("./x/./y/", "http://example.org/a/b/x/y/"),
        ("../../../../x", "http://example.org/x"),
        ("..", "http://example.org/a/"),
        ("/x//y", "http://example.org/x//y"),
        ("//other.net", "http://other.net/"),
        ("?q", "http://example.org/a/b/c.html?q"),
        ("#f g", "http://example.org/a/b/c.html?d=e#f%20g"),
        (" \t/x\n ", "http://example.org/x"),
        ("/x\ty", "http://example.org/xy"),
        ("\\x\\y", "http://example.org/x/y"),
        ("/%2e%2E/x/%2e/y", "http://example.org/x/y"),
        ("http:x", "http://example.org/a/b/x"),
        ("https:x", "https://x/"),
        ("HTTPS://WWW.Example.ORG:443", "https://www.example.org/"),
        ("http://user:pass@h:8080/", "http://user:pass@h:8080/"),
        ("http://bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/"),
        ("mailto:someone@example.org", "mailto:someone@example.org"),
        ("javascript:void(0)", "javascript:void(0)"),
        ("http://a b/", None),
        ("http://[::1", None),
        ("http://h:65536/", None),
        ("http://", None),
        ("/\ud800", "http://example.org/%EF%BF%BD"),
        ("/\0x\0", "http://example.org/%00x"),
    ],
)
def test_href_resolves_as_in_a_browser(href: str, expected: str | None) -> None:
    assert resolve(href, BASE) == expected


def test_without_a_base_only_absolute_addresses_resolve() -> None:
    assert resolve("/x", None) is None
    assert resolve("http://example.org", None) == "http://example.org/"


def test_nothing_resolves_against_a_base_that_is_no_address() -> None:
    assert resolve("http://example.org/", "not a base") is None
    assert BaseUrl("not a base").link("http://example.org/") is None


@pytest.mark.parametrize(
    ("encoding", "query", "expected"),
    [
        ("utf-8", "ação", "a%C3%A7%C3%A3o"),
        ("iso-8859-1", "ação", "a%E7%E3o"),
        ("ISO-8859-1 ", "€", "%80"),
        ("windows-1252", "日", "%26%2326085%3B"),
        ("shift_jis", "日−", "%93%FA%81|"),
        ("euc-kr", "한", "%C7%D1"),
        ("iso-2022-jp", "日\x0e'", "%1B$BF|%1B(B%26%2365533%3B%27"),
        ("gb18030", "日\ue5e5", "%C8%D5%26%2358853%3B"),
        ("utf-16", "ç", "%C3%A7"),
        ("replacement", "ç", "%C3%A7"),
        ("no such encoding", "ç", "%C3%A7"),
        ("\udc80\0", "ç", "%C3%A7"),
        ("latin1", "ç\t\n d", "%E7%20d"),
        ("latin1", "\ud800", "%26%2365533%3B"),
    ],
)
def test_query_is_written_in_the_encoding_of_the_page(encoding: str, query: str, expected: str) -> None:
    """A form's page in Latin-1 links to its own searches in Latin-1; UTF-8 would ask for something else."""
    assert resolve(f" /ç?{query} #ç", BASE, encoding) == f"http://example.org/%C3%A7?{expected}%20#%C3%A7"


def test_spaces_around_an_href_are_not_part_of_its_query() -> None:
    assert resolve(" ?ç \n", BASE, "latin1") == "http://example.org/a/b/c.html?%E7"


def test_only_special_schemes_take_the_encoding_of_the_page() -> None:
    assert resolve("x:/?ç", BASE, "latin1") == "x:/?%C3%A7"
    assert resolve("ws://h/?ç", BASE, "latin1") == "ws://h/?%C3%A7"
    assert resolve("ftp://h/?ç", BASE, "latin1") == "ftp://h/?%E7"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Example.ORG:80", "http://example.org/"),
        ("http://example.org/a/./b/../c#d", "http://example.org/a/c"),
        ("http://example.org/%7Eana/%2Dx%5f", "http://example.org/~ana/-x_"),
        ("http://example.org/%c3%a9?%e9", "http://example.org/%C3%A9?%E9"),
        ("http://example.org/a%2fb%3fc%23d%25e", "http://example.org/a%2Fb%3Fc%23d%25e"),
        ("http://example.org/?a+b%20c%2Bd", "http://example.org/?a+b%20c%2Bd"),
        ("http://example.org/?b=2&a=1&b=2&", "http://example.org/?b=2&a=1&b=2&"),
        ("http://example.org/?", "http://example.org/?"),
        ("http://example.org//a///b", "http://example.org//a///b"),
        ("http://example.org./", "http://example.org./"),
        ("http://example.org/index.html", "http://example.org/index.html"),
        ("http://u:p@example.org/", "http://u:p@example.org/"),
        ("http://example.org/a[b]|{c}^`d", "http://example.org/a%5Bb%5D%7C%7Bc%7D%5E%60d"),
        ("http://example.org/?a[]=b|c\\d", "http://example.org/?a%5B%5D=b%7Cc%5Cd"),
        ("http://[::1]/?[]", "http://[::1]/?%5B%5D"),
        ("http://example.org/90%?%u00e7%", "http://example.org/90%?%u00e7%"),
        ("http://example.org/%%34%31", "http://example.org/%%341"),
        ("http://example.org/%4%31", "http://example.org/%4%31"),
        ("http://example.org/%%7e", "http://example.org/%%7E"),
        ("http://example.org/%a%62", "http://example.org/%a%62"),
        ("http://example.org/%252e%252E/", "http://example.org/%252e%252E/"),
        ("http://example.org/x%2e%2e/%2e%2e.", "http://example.org/x../..."),
        ("http://example.org/\ud800", "http://example.org/%EF%BF%BD"),
        ("ftp://example.org/a#b", "ftp://example.org/a"),
        ('http://a"b.org/', None),
        ("http://{a}.org/", None),
        ("http://a_b!c.org/", "http://a_b!c.org/"),
        ("example.org/a", None),
        ("/a", None),
        ("", None),
    ],
)
def test_canonical_form(text: str, expected: str | None) -> None:
    assert canonical(text) == expected
    assert expected is None or canonical(expected) == expected


def test_addresses_longer_than_the_bound_are_none_before_and_after_spelling() -> None:
    start = "http://example.org/"
    longest = start + "a" * (urls.URL_MAX_CHARS - len(start))
    assert canonical(longest) == longest
    assert canonical(longest + "a") is None
    assert canonical(start + "é" * (urls.URL_MAX_CHARS // 2)) is None
    assert canonical(start + "[" * (urls.URL_MAX_CHARS // 2)) is None
    assert canonical("x" * 5_000_000) is None
    assert BaseUrl(start).link(longest + "a") is None
    assert BaseUrl(start).link("/" + "a" * urls.URL_MAX_CHARS) is None
    assert BaseUrl(longest + "a").link("/") is None


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/x.html", "http://example.org/x.html"),
        ("/x?y=z#w", "http://example.org/x?y=z"),
        ("x.html", "http://example.org/a/b/x.html"),
        ("?y", "http://example.org/a/b/c.html?y"),
        ("#y", "http://example.org/a/b/c.html?d=e"),
        ("", "http://example.org/a/b/c.html?d=e"),
        ("//other.net/x", "http://other.net/x"),
        ("https://other.net/x", "https://other.net/x"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("http://other.net:80/x", "http://other.net/x"),
        ("http://1.2.3/x", "http://1.2.0.3/x"),
        ("http://10.2.3.04/x", "http://10.2.3.4/x"),
        ("/it's?it's", "http://example.org/it's?it%27s"),
        ("/x/../y", "http://example.org/y"),
        ("/%C3%A9%20", "http://example.org/%C3%A9%20"),
        ("/%c3%a9%2d", "http://example.org/%C3%A9-"),
        ("ftp://example.org/", None),
        ("mailto:someone@example.org", None),
        ("javascript:void(0)", None),
        ("http://other net/", None),
    ],
)
def test_link_leads_to_a_canonical_http_url_or_nowhere(href: str, expected: str | None) -> None:
    assert BaseUrl(BASE).link(href) == expected


def test_link_writes_the_query_in_the_encoding_of_the_page() -> None:
    assert BaseUrl(BASE, "latin1").link("/busca?q=ação") == "http://example.org/busca?q=a%E7%E3o"


def test_page_outside_the_web_still_links_to_it() -> None:
    assert BaseUrl("file:///tmp/x.html").link("http://example.org/") == "http://example.org/"
    assert BaseUrl("file:///tmp/x.html").link("y.html") is None


def test_parse_gives_the_parts() -> None:
    assert parse("HTTPS://u:p@[::1]:8443/a/b?c?d#e") == urls.Url(
        "https://u:p@[::1]:8443/a/b?c?d", "https", "u:p", "[::1]", 8443, "/a/b", "c?d"
    )
    assert parse("http://example.org") == urls.Url("http://example.org/", "http", "", "example.org", 80, "/", None)
    assert parse("https://example.org/?") == urls.Url("https://example.org/?", "https", "", "example.org", 443, "/", "")
    assert parse("ftp://example.org/") is None
    assert parse("nonsense") is None


@pytest.mark.parametrize(
    ("url", "host", "name", "path"),
    [
        ("http://example.org/", "http://example.org", "example.org", "/"),
        ("https://example.org:8443/a?b@c/d", "https://example.org:8443", "example.org", "/a?b@c/d"),
        ("http://u:p@example.org:81/a@b", "http://example.org:81", "example.org", "/a@b"),
        ("http://[::1]:8080/x", "http://[::1]:8080", "[::1]", "/x"),
        ("http://h/x", "http://h", "h", "/x"),
    ],
)
def test_host_name_and_path(url: str, host: str, name: str, path: str) -> None:
    assert canonical(url) == url
    assert (urls.host_of(url), urls.host_name(url), urls.path_of(url)) == (host, name, path)


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.com.br", "example.com.br"),
        ("example.org.", "example.org"),
        ("ana.blogspot.com", "ana.blogspot.com"),
        ("com.br", "com.br"),
        ("localhost", "localhost"),
        ("x.host7.unknown", "host7.unknown"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("a..b", "a..b"),
        (".", "."),
        ("", ""),
    ],
)
def test_site_is_the_registrable_domain(name: str, site: str) -> None:
    assert urls.site(name) == site


@pytest.mark.parametrize(
    ("url", "level"),
    [
        ("http://example.com.br/", 10),
        ("http://www.example.com.br/", 11),
        ("http://a.b.example.com.br/", 12),
        ("http://example.com.br/a", 10),
        ("http://example.com.br/a/", 20),
        ("http://example.com.br/a/b?c/d", 20),
        ("http://127.0.0.1:8080/a/b", 20),
        ("http://www.example.com.br./", 11),
    ],
)
def test_level_counts_dots_beyond_the_site_and_ten_times_slashes(url: str, level: int) -> None:
    assert urls.level(url) == level


def test_fingerprints_never_change() -> None:
    """They are stored by every crawl: another value here means that old crawls cannot be opened."""
    assert urls.host_hash("") == xxhash.xxh64_intdigest(bytes(32)), "XXH64 of the text, padded to 32 bytes"
    assert urls.host_hash("http://example.org") == 0x9B95C94F8890CD3A
    assert urls.host_hash("http://example.org", seed=7) == 0x61D5125BEC283CD6
    assert urls.host_hash("https://example.org:8443") == 0x0A1927E42456EAF2
    assert urls.fingerprint("http://example.org/") == 0x57A7067F7E46DF59
    assert urls.fingerprint("http://example.org/a/b?c=d") == 0x46F78510CE626A7A
    assert urls.fingerprint("http://example.org/a/b?c=d", seed=2**64 - 1) == 0xB2309B87B111C591
    assert urls.fingerprint("http://u:p@example.org/a/b?c=d") == 0x0CB03D7540C3AA52


def test_scheme_port_and_credentials_make_another_fingerprint() -> None:
    addresses = [
        "http://h.org/",
        "https://h.org/",
        "http://h.org:81/",
        "http://u@h.org/",
        "http://h.org/u@/",
        "http://h.org/?",
    ]
    assert len({urls.fingerprint(address) for address in addresses}) == len(addresses)
