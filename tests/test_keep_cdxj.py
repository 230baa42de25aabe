"""Keys of a CDXJ index are those that the tools of web archives make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.keep.cdxj import surt
from tarrafa.urls import parse

SESSION = "0123456789abcdefghijklemopqrstuv"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.archive.org/", "org,archive)/"),
        ("https://archive.org/", "org,archive)/"),
        ("http://archive.org/goo/", "org,archive)/goo"),
        ("http://archive.org/goo/?", "org,archive)/goo"),
        ("http://archive.org/goo/?b&a", "org,archive)/goo?a&b"),
        ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
        ("http://www34.archive.org/Index.html?X=Y", "org,archive)/index.html?x=y"),
        ("http://www2foo.com/", "com,www2foo)/"),
        ("http://www2.www2foo.com/", "com,www2foo)/"),
        ("http://www.com/", "com)/"),
        ("http://archive.org:8080/", "org,archive:8080)/"),
        ("http://user:word@archive.org/", "org,archive)/"),
        ("http://127.0.0.1:8800/p", "1,0,0,127:8800)/p"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]:8080)/"),
        ("http://host.com//twoslashes?more//slashes", "com,host)/twoslashes?more//slashes"),
        ("http://host.com/ab%23cd", "com,host)/ab%23cd"),
        ("http://host.com/%2525252525", "com,host)/%25"),
        ("http://host.com/caf%C3%A9", "com,host)/caf%c3%a9"),
        ("http://host.com/x?r=http%3A//a.org/&b=%28A%29", "com,host)/x?b=(a)&r=http://a.org/"),
        ("http://visit.test/visit.gif?&r=1&b=2", "test,visit)/visit.gif?&b=2&r=1"),
        (f"http://a.org/i.php?PHPSESSID={SESSION}&action=profile;u=4", "org,a)/i.php?action=profile;u=4"),
        (f"http://a.org/?jsessionid={SESSION}", "org,a)/"),
        (f"http://a.org/?jsessionid={SESSION}0", f"org,a)/?jsessionid={SESSION}0"),
        (f"http://a.org/?one=two&jsessionid={SESSION}", "org,a)/?&one=two"),
        ("http://a.org/?CFID=12412453&CFTOKEN=15501799&dt=19", "org,a)/?dt=19"),
        (f"http://a.org/x;jsessionid={SESSION}", "org,a)/x"),
        ("http://a.org/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "org,a)/mileg.aspx"),
        ("http://a.org/(4hqa0555fwsecu455xqckv45)/mileg.aspx", "org,a)/mileg.aspx"),
        ("http://a.org/photos/36050182@N05/", "org,a)/photos/36050182@n05"),
    ],
)
def test_key_of_a_url(url: str, key: str) -> None:
    parsed = parse(url)
    assert parsed
    assert surt(parsed.url) == key


@given(st.text(st.characters(max_codepoint=300), max_size=60))
def test_key_is_one_word_of_visible_ascii(path: str) -> None:
    parsed = parse(f"http://a.test/{path}")
    assert parsed
    key = surt(parsed.url)
    assert key.isascii()
    assert key.isprintable()
    assert " " not in key
    assert key == key.lower()
