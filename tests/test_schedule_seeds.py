"""From what a user writes to the URLs that a crawl begins with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.errors import InputError
from tarrafa.schedule import Seeds, join_seeds, read_seed, read_seeds
from tarrafa.urls import canonical


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTP://Example.ORG:80/a/../b#c", "http://example.org/b"),
        ("https://example.org", "https://example.org/"),
        ("example.org", "http://example.org/"),
        ("example.org/news?u=http://x", "http://example.org/news?u=http://x"),
        ("//example.org/", "http://example.org/"),
        ("localhost:8800", "http://localhost:8800/"),
        ("[::1]:8800", "http://[::1]:8800/"),
        ("ação.br", "http://xn--ao-siap.br/"),
        ("example.org/#top", "http://example.org/"),
        ("\ufeffexample.org\r\n", "http://example.org/"),
        ("example.org # a comment", "http://example.org/"),
        ("example.org\t#another # one", "http://example.org/"),
    ],
)
def test_seed(text: str, url: str) -> None:
    assert read_seeds("seeds.txt", [text]) == Seeds((url,))


def test_empty_lines_and_comments_are_nothing() -> None:
    assert read_seeds("seeds.txt", ["", "  \n", "# all of it", "   # too"]) == Seeds()


def test_bad_seed_is_named_with_its_place_and_does_not_stop_the_others() -> None:
    seeds = read_seeds(
        "seeds.txt", ["a.test", "# comment", "ftp://b.test", "who@c.test", "a b", "d.test", "http://a.test"]
    )
    assert seeds.urls == ("http://a.test/", "http://d.test/")
    assert [str(bad) for bad in seeds.bad] == [
        'seeds.txt:3: "ftp://b.test" is not an http or https URL, nor the name of a host',
        'seeds.txt:4: "who@c.test" names a user; pages behind a password are not visited',
        'seeds.txt:5: "a b" is not an http or https URL, nor the name of a host',
    ]


def test_seeds_from_several_places_are_joined_each_once() -> None:
    joined = join_seeds([read_seeds("-", ["a.test", "x y"]), read_seeds("f", ["b.test", "a.test", "ftp://z"])])
    assert joined.urls == ("http://a.test/", "http://b.test/")
    assert [(bad.origin, bad.line) for bad in joined.bad] == [("-", 2), ("f", 3)]


@given(st.lists(st.text()))
def test_whatever_the_text_seeds_are_canonical_or_reported(lines: list[str]) -> None:
    seeds = read_seeds("x", lines)
    assert all(canonical(url) == url for url in seeds.urls)
    assert len(seeds.urls) + len(seeds.bad) <= len(lines)
    assert all("\n" not in str(bad) for bad in seeds.bad)


def test_many_bad_seeds_are_counted_and_the_first_are_kept() -> None:
    found = read_seeds("file", ["mailto:a@b"] * 25)
    assert (len(found.bad), found.bad_count) == (10, 25)
    both = join_seeds([found, found])
    assert (len(both.bad), both.bad_count) == (10, 50)


def test_one_seed_is_read_as_a_crawl_reads_it() -> None:
    assert read_seed(" Example.org:80/a/../b ") == "http://example.org/b"
    with pytest.raises(InputError, match="names a user"):
        read_seed("mailto:a@b")
