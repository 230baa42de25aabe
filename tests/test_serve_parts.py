"""The parts of the search page that need no server."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from serving import FakeSearch, no_index
from tarrafa.clock import VirtualClock
from tarrafa.errors import WorkError
from tarrafa.search import SearchRequest
from tarrafa.serve import LiveSearch, RateLimit, SearchEngine
from tarrafa.serve.host_names import host_names
from tarrafa.serve.i18n import Translator
from tarrafa.serve.live_search import RELOAD_SECONDS
from tarrafa.serve.middleware import TokenBuckets, client_key
from tarrafa.serve.page_templates import result_page_url, trail, with_query
from tarrafa.serve.params import RefusedError, api_request, search_request, url_of
from tarrafa.serve.stored_copy import make_harmless

# The rate limit.


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0.5, 4)), max_size=60))
def test_client_gets_at_most_what_burst_and_time_allow(asked: list[tuple[float, float]]) -> None:
    """Guarantee 1."""
    limit = RateLimit(per_second=2.0, burst=5.0)
    buckets, now, got = TokenBuckets(limit), 0.0, 0.0
    for pause, cost in asked:
        now += pause
        if buckets.wait_seconds("10.0.0.1", cost, now) == 0:
            got += cost
        assert got <= limit.burst + now * limit.per_second + 1e-6


@given(st.lists(st.integers(0, 200), max_size=200))
def test_table_of_clients_is_bounded(clients: list[int]) -> None:
    """Guarantee 2."""
    buckets = TokenBuckets(RateLimit(clients_limit=20))
    for client in clients:
        buckets.wait_seconds(f"10.0.0.{client}", 1.0, 0.0)
        assert len(buckets) <= 20


def test_client_that_waited_as_told_may_go_on() -> None:
    buckets = TokenBuckets(RateLimit(per_second=0.1, burst=1.0))
    assert buckets.wait_seconds("a", 1.0, 0.0) == 0
    wait_seconds = buckets.wait_seconds("a", 1.0, 0.0)
    assert wait_seconds == pytest.approx(10.0)
    assert buckets.wait_seconds("b", 1.0, 0.0) == 0
    assert buckets.wait_seconds("a", 1.0, wait_seconds) == 0


def test_addresses_of_one_ipv6_network_are_one_client() -> None:
    assert client_key("2001:db8:0:1::1") == client_key("2001:db8:0:1:ffff::2") != client_key("2001:db8:0:2::1")
    assert client_key("::ffff:10.0.0.1") == client_key("10.0.0.1")
    assert client_key("no address") == "no address"


# Names of the server.


def test_names_are_compared_as_browsers_send_them() -> None:
    names = host_names("quay", ["Pérola.example.", "search.example"])
    assert all(
        map(names.is_known, ["xn--prola-bsa.example", "SEARCH.example.", "quay", "localhost", "::1", "10.0.0.1"])
    )
    assert not any(map(names.is_known, ["example", "a.search.example", "search.example.org", "", "127.0.0.1.nip.io"]))


# Parameters.

NAME = st.sampled_from(["q", "page", "top", "site", "language", "after", "before", "fresh"])
VALUE = st.text(max_size=30) | st.sampled_from(["1", "0", "2026-01", "pt", "999", "true"])


@given(st.dictionaries(NAME, VALUE))
def test_any_parameters_become_a_request_or_are_refused_with_a_text(parameters: dict[str, str]) -> None:
    for make in (search_request, api_request):
        refused: list[RefusedError] = []
        try:
            assert make(parameters).top >= 1
        except RefusedError as error:
            refused.append(error)
        assert all(Translator("pt").translate(error.key, **error.values) for error in refused)


@given(st.text(max_size=60))
def test_only_http_urls_are_accepted(text: str) -> None:
    with contextlib.suppress(RefusedError):
        assert url_of({"url": text}).startswith(("http://", "https://"))


# URLs in pages.


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://example.org/", ["example.org"]),
        ("https://example.org:8443/a/b%20c?q=1", ["example.org:8443", "a", "b c", "?q=1"]),
        ("http://example.org/caf%C3%A9/%FF", ["example.org", "café", "\ufffd"]),
        ("http://example.org/%E2%80%AEgpj", ["example.org", "\\u202egpj"]),
        ("http://example.org/1/2/3/4/5/6", ["example.org", "1", "2", "…", "5", "6"]),
        ("http://user@example.org/a", ["example.org", "a"]),
    ],
)
def test_url_is_shown_as_a_trail(url: str, shown: list[str]) -> None:
    assert trail(url) == shown


def test_empty_parameters_are_left_out() -> None:
    assert with_query("/search", q="a b", page="", site=None, fresh=True, expand=False) == "/search?q=a+b&fresh=1"
    assert with_query("/", lang="") == "/"


@given(
    st.text(min_size=1, max_size=20),
    st.none() | st.text(min_size=1, max_size=20),
    st.none() | st.sampled_from(["2026", "2026-05-17"]),
    st.booleans(),
    st.sampled_from(["", "pt"]),
    st.integers(1, 100),
)
def test_pages_of_results_have_the_url_of_their_parameters(
    text: str, site: str | None, after: str | None, fresh: bool, lang: str, number: int
) -> None:
    url = result_page_url(SearchRequest(text, site=site, after=after, fresh=fresh), lang)(number)
    page = number if number > 1 else ""
    assert url == with_query("/search", q=text, page=page, site=site, after=after, fresh=fresh, lang=lang)


# Stored copies.

HOSTILE_PIECES = [
    *("<script>x</script>", "<img src=x onerror=y>", "<a href='javascript:x'>", "<svg><script>x</script>", "</title>"),
    *("<iframe srcdoc='<script>x</script>'>", "<base href=//x>", "<math><mtext><style><img src=x>", "<!--", "-->"),
    *(
        "<noscript><p title='</noscript><img src=x>'>",
        "<template><script>x</script></template>",
        "text",
        "\0",
        "\ud800",
    ),
    *("<style>@import 'x'</style>", "<link rel=preconnect href=//x>", "<object data=x>", "<form action=x>"),
    *("<meta http-equiv=refresh content='0;url=//x'>", "<body onload=x background=y>"),
]


@given(st.lists(st.sampled_from(HOSTILE_PIECES) | st.text(max_size=10), max_size=12))
def test_nothing_in_a_copy_runs_or_loads_however_it_is_nested(parts: list[str]) -> None:
    """Parsed again, as a browser does."""
    tree = LexborHTMLParser(make_harmless("".join(parts)))
    assert tree.css("script, link, meta, base, iframe, object, embed, frame") == []
    for node in tree.css("*"):
        names = {name.lower() for name in node.attributes}
        assert not {name for name in names if name.startswith("on")}
        assert not names & {"src", "href", "action", "data", "srcset", "background", "ping", "poster"}


def test_page_that_would_fill_the_memory_is_bounded() -> None:
    assert len(make_harmless("<b><p>" * 50_000)) < 5_000_000


# The index, reloaded.


def test_index_is_reloaded_at_most_every_few_seconds(tmp_path: Path) -> None:
    clock, search = VirtualClock(), FakeSearch()
    opened: list[object] = []

    def opener(*parts: object) -> SearchEngine:
        opened.append(parts)
        return search

    live = LiveSearch(tmp_path, clock, opener)
    for _ in range(5):
        live.search(SearchRequest("a"))
    assert (len(opened), search.refreshes) == (1, 0)
    asyncio.run(clock.advance(RELOAD_SECONDS))
    for _ in range(5):
        live.suggest("a", 3)
    assert (len(opened), search.refreshes) == (1, 1)


def test_index_that_appears_is_found(tmp_path: Path) -> None:
    clock, search = VirtualClock(), FakeSearch()
    openers: Iterator[Callable[[], SearchEngine]] = iter([no_index, lambda: search])
    live = LiveSearch(tmp_path, clock, lambda *_: next(openers)())
    assert live.search(SearchRequest("a")) is None
    assert live.documents_count == 0
    asyncio.run(clock.advance(RELOAD_SECONDS))
    assert live.search(SearchRequest("a")) is not None


def test_index_that_cannot_be_reloaded_stays_in_use(tmp_path: Path) -> None:
    class Breaking(FakeSearch):
        def refresh(self) -> None:
            raise WorkError("the disk is gone")

    clock = VirtualClock()
    live = LiveSearch(tmp_path, clock, lambda *_: Breaking())
    assert live.search(SearchRequest("a")) is not None
    asyncio.run(clock.advance(RELOAD_SECONDS))
    assert live.search(SearchRequest("a")) is not None
