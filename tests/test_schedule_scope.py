"""Which URLs may be visited, and why others may not."""

import pytest

from tarrafa.errors import InputError
from tarrafa.schedule import Refusal, Scope, UrlBounds, rule_of

SEEDS = ["http://www.example.com.br/start", "https://blog.other.org/", "http://127.0.0.1:8800/"]
EVERYWHERE = Scope(rule_of("any", ()), UrlBounds())


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("any", ["http://example.org/", "http://[::1]/"], []),
        (
            "seeds",
            ["http://example.com.br/", "https://a.b.example.com.br./x", "http://other.org:81/", "http://127.0.0.1/"],
            ["http://example.br/", "http://com.br/", "http://notother.org/", "http://127.0.0.2/"],
        ),
        (
            "br",
            ["http://a.br/", "http://a.gov.br/", "http://br/", "http://a.br./"],
            ["http://abr/", "http://a.br.com/"],
        ),
        (".GOV.br", ["http://gov.br/", "http://x.gov.br/"], ["http://xgov.br/", "http://a.br/"]),
        ("ação.br", ["http://www.xn--ao-siap.br/"], ["http://acao.br/"]),
    ],
)
def test_scope(text: str, inside: list[str], outside: list[str]) -> None:
    judged = Scope(rule_of(text, SEEDS), UrlBounds())
    assert [judged.judge(url, 0) for url in inside] == [None] * len(inside)
    assert [judged.judge(url, 0) for url in outside] == [Refusal.OUTSIDE] * len(outside)


@pytest.mark.parametrize("text", ["", ".", "a b", "br/x", "br?x", "u@br", "br:80", "http://br", "/"])
def test_what_is_no_scope_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match='write "any", "seeds" or a suffix'):
        rule_of(text, SEEDS)


def test_url_that_names_a_user_is_refused() -> None:
    assert EVERYWHERE.judge("http://user:word@example.org/", 0) is Refusal.USERINFO
    assert EVERYWHERE.judge("http://example.org/@user", 0) is None


def test_url_length_is_bounded_and_depth_only_on_request() -> None:
    url = "http://example.org/" + "a" * (2_000 - len("http://example.org/"))
    assert EVERYWHERE.judge(url, distance=100_000) is None
    assert EVERYWHERE.judge(url + "a", 0) is Refusal.LENGTH
    shallow = Scope(lambda _: True, UrlBounds(depth=30))
    assert (shallow.judge(url, distance=30), shallow.judge(url, distance=31)) == (None, Refusal.DEPTH)


@pytest.mark.parametrize("path", ["/a/a/a/a", "/a/b/a/b/a/b/a/b", "/x/a/y/a/z/a/w/a?q", "//////"])
def test_path_that_repeats_itself_is_refused(path: str) -> None:
    assert EVERYWHERE.judge(f"http://example.org{path}", 0) is Refusal.REPETITION


@pytest.mark.parametrize("path", ["/a/a/a", "/a/b/c/d/e/f/g/h", "/a?/a/a/a/a/a", "/2024/01/01/", "/a/a/a/b/c/d/"])
def test_path_that_does_not_is_not(path: str) -> None:
    assert EVERYWHERE.judge(f"http://example.org{path}", 0) is None


def test_scope_forgets_hosts_when_it_knows_too_many() -> None:
    asked: list[str] = []

    def rule(name: str) -> bool:
        asked.append(name)
        return False

    judged = Scope(rule, UrlBounds(), cache_limit=3)
    for number in (0, 0, 1, 2, 3, 0):
        assert judged.judge(f"http://h{number}.org/", 0) is Refusal.OUTSIDE
    assert asked == [f"h{number}.org" for number in (0, 1, 2, 3, 0)]
