"""Parameters that are dropped from URLs, and those that are kept as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.agent import DroppedParameters, UrlCleaner
from tarrafa.configuration import KEYS, HostSettings, HostTables
from tarrafa.errors import InputError
from tarrafa.extract import Extract, LinkKind, ListedUrls, PageFormat, PageLinks
from tarrafa.urls import canonical

DEFAULT = KEYS["urls.drop_parameters"].default
HEX = "0123456789abcdef"


def cleaner(text: str = DEFAULT, *tables: HostSettings) -> UrlCleaner:
    return UrlCleaner(text, HostTables(tables))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.org/", "http://a.org/"),
        ("http://a.org/?", "http://a.org/?"),
        ("http://a.org/?utm_source=x", "http://a.org/"),
        ("http://a.org/p?b=2&UTM_Source=x&a=1&fbclid=y", "http://a.org/p?b=2&a=1"),
        ("http://a.org/p?b=2&&a", "http://a.org/p?b=2&&a"),
        ("http://a.org/p?utmost=1&gclids=2", "http://a.org/p?utmost=1&gclids=2"),
        ("http://a.org/p;jsessionid=7F.node1/q;v=2?x=1", "http://a.org/p/q;v=2?x=1"),
        ("http://a.org/p;JSESSIONID=7", "http://a.org/p"),
        (f"http://a.org/?sid={HEX}&id=1", "http://a.org/?id=1"),
        ("http://a.org/?sid=1234&id=1", "http://a.org/?sid=1234&id=1"),
        ("http://a.org/gclid=1", "http://a.org/gclid=1"),
        ("http://a.org/p/..;jsessionid=7/q?x=1", "http://a.org/q?x=1"),
    ],
)
def test_url_is_cleaned(url: str, expected: str) -> None:
    assert cleaner().clean(url) == expected


def test_table_of_a_host_replaces_the_list() -> None:
    tables = (HostSettings("host:a.org", drop_parameters="none"), HostSettings("site:b.org", drop_parameters="x"))
    found = cleaner(DEFAULT, *tables)
    urls = [f"http://{name}/?gclid=1&x=2" for name in ("a.org", "www.b.org", "c.org")]
    assert [found.clean(url) for url in urls] == [
        *("http://a.org/?gclid=1&x=2", "http://www.b.org/?gclid=1", "http://c.org/?x=2")
    ]


def test_none_keeps_all() -> None:
    assert not DroppedParameters("none")
    assert cleaner("none").clean("http://a.org/?gclid=1;jsessionid=2") == "http://a.org/?gclid=1;jsessionid=2"


@pytest.mark.parametrize("text", ["a b", "", "a,,b", "sid=dec", "a&b"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not the name of a parameter"):
        DroppedParameters(text)


def test_links_and_listed_urls_of_a_page_are_cleaned() -> None:
    links = PageLinks(("http://a.org/?gclid=1", "http://a.org/x"), ("one", "two"), ("", ""), (LinkKind.A, LinkKind.A))
    listed = ListedUrls(("http://a.org/l?gclid=1",), titles=("t",))
    found = cleaner().clean_extract(Extract("http://a.org/p", PageFormat.HTML, links=links, listed=listed))
    assert found.links.targets == ("http://a.org/", "http://a.org/x")
    assert (found.links.texts, found.listed.urls, found.listed.titles) == (
        *(("one", "two"), ("http://a.org/l",), ("t",)),
    )


def test_page_without_parameters_is_left_as_it_is() -> None:
    page = Extract("http://a.org/", PageFormat.HTML, links=PageLinks(("http://a.org/x",), ("",), ("",), (LinkKind.A,)))
    assert cleaner().clean_extract(page) is page


def test_redirect_that_adds_only_a_dropped_parameter_is_followed() -> None:
    """Hosts that want an identifier in each URL redirect to it."""
    targets = (f"http://a.org/?sid={HEX}", f"http://a.org/x?sid={HEX}")
    links = PageLinks(targets, ("", ""), ("", ""), (LinkKind.REDIRECT, LinkKind.REDIRECT))
    found = cleaner().clean_extract(Extract("http://a.org/", PageFormat.OTHER, links=links))
    assert found.links.targets == (targets[0], "http://a.org/x")


PARAMETERS = st.lists(
    st.sampled_from(["a=1", "b", "gclid=1", "utm_x=2", "sid=1", f"sid={HEX}", "", "c=d=e"]), max_size=6
)


@given(PARAMETERS, PARAMETERS)
def test_cleaning_twice_is_cleaning_once_and_keeps_the_order(query: list[str], path: list[str]) -> None:
    url = f"http://a.org/{';'.join(['p', *path])}" + (f"?{'&'.join(query)}" if query else "")
    once = cleaner().clean(url)
    assert cleaner().clean(once) == once
    dropped = DroppedParameters(DEFAULT)
    kept = [each for each in query if not dropped.drops(each)]
    assert once.partition("?")[2] == "&".join(kept)


@given(st.text("a./;=?&%2eE", max_size=30).map(lambda tail: canonical(f"http://a.org/{tail}")))
def test_cleaned_url_is_canonical_and_clean(url: str) -> None:
    found = cleaner("a, e").clean(url)
    assert found == canonical(found) == cleaner("a, e").clean(found)
