"""The parts of the search page that need no server."""

import asyncio
import contextlib
import re
import string
import threading
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
from tarrafa.serve import Collection, Rate
from tarrafa.serve.asking import RefusedError, api_request, search_request, url_of
from tarrafa.serve.languages import LANGUAGES, TEXTS, Words, choose
from tarrafa.serve.pool import Pool
from tarrafa.serve.rates import Buckets, client_key
from tarrafa.serve.searching import RENEW_SECONDS, Searching
from tarrafa.serve.showing import trail, with_query
from tarrafa.serve.stored import harmless

SERVE = Path(__file__).parent.parent / "src" / "tarrafa" / "serve"


# How often one may ask.


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0.5, 4)), max_size=60))
def test_nobody_gets_more_than_burst_and_time_allow(asked: list[tuple[float, float]]) -> None:
    """Guarantee 1."""
    rate = Rate(per_second=2.0, burst=5.0)
    buckets, now, got = Buckets(rate), 0.0, 0.0
    for pause, cost in asked:
        now += pause
        if buckets.wait_seconds("10.0.0.1", cost, now) == 0:
            got += cost
        assert got <= rate.burst + now * rate.per_second + 1e-6


@given(st.lists(st.integers(0, 200), max_size=200))
def test_table_of_clients_is_bounded(clients: list[int]) -> None:
    """Guarantee 2."""
    buckets = Buckets(Rate(clients_limit=20))
    for client in clients:
        buckets.wait_seconds(f"10.0.0.{client}", 1.0, 0.0)
        assert len(buckets) <= 20


def test_client_that_waited_as_told_is_answered() -> None:
    buckets = Buckets(Rate(per_second=0.1, burst=1.0))
    assert buckets.wait_seconds("a", 1.0, 0.0) == 0
    wait_seconds = buckets.wait_seconds("a", 1.0, 0.0)
    assert wait_seconds == pytest.approx(10.0)
    assert buckets.wait_seconds("b", 1.0, 0.0) == 0
    assert buckets.wait_seconds("a", 1.0, wait_seconds) == 0


def test_addresses_of_one_ipv6_network_are_one_client() -> None:
    assert client_key("2001:db8:0:1::1") == client_key("2001:db8:0:1:ffff::2") != client_key("2001:db8:0:2::1")
    assert client_key("::ffff:10.0.0.1") == client_key("10.0.0.1")
    assert client_key("no address") == "no address"


# Words.


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", TEXTS)
def test_every_text_is_there_in_every_language_with_the_same_places(key: str) -> None:
    texts = TEXTS[key]
    assert len(texts) == len(LANGUAGES)
    assert all(texts)
    assert len({frozenset(places(text)) for text in texts}) == 1


def test_every_text_that_is_said_is_known_and_every_known_one_is_said() -> None:
    modules = [path for path in SERVE.glob("*.py") if path.name != "languages.py"]
    sources = "".join(path.read_text() for path in [*modules, *(SERVE / "templates").iterdir()])
    said = set(re.findall(r"(?:say|RefusedError)\(\s*\"(\w+)\"", sources))
    said |= set(re.findall(r"\"((?:error|refused|unknown|tip)_\w+)\"", sources))
    composed = ("part_", "outcome_", "code_", "error_")
    assert [key for key in said if key not in TEXTS and key not in composed] == []
    assert [key for key in TEXTS if key not in said and not key.startswith(composed)] == []


def test_numbers_and_dates_are_written_as_usual() -> None:
    assert Words("en").number(1_234_567.891, 1) == "1,234,567.9"
    assert Words("pt").number(1_234_567.891, 1) == "1.234.567,9"
    assert Words("en").moment(0) == "1 Jan 1970, 00:00 UTC"
    assert Words("pt").day(1_773_316_800) == "12 mar. 2026"
    assert (Words("pt").language("en-GB"), Words("en").language("xx")) == ("inglês", "xx")


@pytest.mark.parametrize(
    ("wanted", "accepted", "chosen"),
    [
        ("", "", "en"),
        ("pt", "en", "pt"),
        ("", "pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("", "en;q=0.5, pt;q=0.6", "pt"),
        ("", "pt;q=0, fr", "en"),
        ("", "pt;q=x", "en"),
        ("xx", "de;q=1", "en"),
    ],
)
def test_language_is_the_asked_then_the_accepted_then_the_default(wanted: str, accepted: str, chosen: str) -> None:
    assert choose(wanted, accepted, "en") == chosen


@given(st.text(), st.text())
def test_choice_of_language_never_raises(wanted: str, accepted: str) -> None:
    assert choose(wanted, accepted, "pt") in LANGUAGES


# What is asked.

NAME = st.sampled_from(["q", "page", "top", "site", "language", "after", "before", "fresh"])
VALUE = st.text(max_size=30) | st.sampled_from(["1", "0", "2026-01", "pt", "999", "true"])


@given(st.dictionaries(NAME, VALUE))
def test_whatever_is_asked_becomes_a_request_or_is_refused_in_words(parameters: dict[str, str]) -> None:
    for make in (search_request, api_request):
        try:
            make(parameters)
        except RefusedError as error:
            Words("pt").say(error.key, **error.values)


@given(st.text(max_size=60))
def test_only_addresses_of_the_web_can_be_asked_about(text: str) -> None:
    with contextlib.suppress(RefusedError):
        assert url_of({"url": text}).startswith(("http://", "https://"))


# How it is shown.


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
def test_address_is_shown_as_a_path(url: str, shown: list[str]) -> None:
    assert trail(url) == shown


def test_empty_parameters_are_left_out() -> None:
    assert with_query("/search", q="a b", page="", site=None, fresh=True, expand=False) == "/search?q=a+b&fresh=1"
    assert with_query("/", lang="") == "/"


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
    """Looked at as a browser does that reads the result once more."""
    tree = LexborHTMLParser(harmless("".join(parts)))
    assert tree.css("script, link, meta, base, iframe, object, embed, frame") == []
    for node in tree.css("*"):
        names = {name.lower() for name in node.attributes}
        assert not {name for name in names if name.startswith("on")}
        assert not names & {"src", "href", "action", "data", "srcset", "background", "ping", "poster"}


def test_page_that_would_fill_the_memory_is_tamed() -> None:
    assert len(harmless("<b><p>" * 50_000)) < 5_000_000


# The collection, renewed.


def test_collection_is_renewed_at_most_every_few_seconds(tmp_path: Path) -> None:
    clock, search = VirtualClock(), FakeSearch()
    opened: list[object] = []

    def opener(*parts: object) -> Searching:
        opened.append(parts)
        return search

    collection = Collection(tmp_path, clock, opener)
    for _ in range(5):
        collection.search(SearchRequest("a"))
    assert (len(opened), search.refreshes) == (1, 0)
    asyncio.run(clock.advance(RENEW_SECONDS))
    for _ in range(5):
        collection.suggest("a", 3)
    assert (len(opened), search.refreshes) == (1, 1)


def test_index_that_appears_is_found(tmp_path: Path) -> None:
    clock, search = VirtualClock(), FakeSearch()
    openers: Iterator[Callable[[], Searching]] = iter([no_index, lambda: search])
    collection = Collection(tmp_path, clock, lambda *_: next(openers)())
    assert collection.search(SearchRequest("a")) is None
    assert collection.documents_count == 0
    asyncio.run(clock.advance(RENEW_SECONDS))
    assert collection.search(SearchRequest("a")) is not None


def test_collection_that_cannot_be_renewed_is_asked_as_it_was(tmp_path: Path) -> None:
    class Breaking(FakeSearch):
        def refresh(self) -> None:
            raise WorkError("the disk is gone")

    clock = VirtualClock()
    collection = Collection(tmp_path, clock, lambda *_: Breaking())
    assert collection.search(SearchRequest("a")) is not None
    asyncio.run(clock.advance(RENEW_SECONDS))
    assert collection.search(SearchRequest("a")) is not None


# Threads.


def test_pool_refuses_when_too_many_wait() -> None:
    async def crowd() -> list[object]:
        pool, may_end = Pool("test", workers=1, waiting_limit=2), threading.Event()
        tasks = [asyncio.create_task(pool.run(lambda: may_end.wait(30))) for _ in range(5)]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 2
        may_end.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        pool.close()
        return list(found)

    found = asyncio.run(crowd())
    assert found[:3] == [True] * 3
    assert [each.status for each in found[3:] if isinstance(each, RefusedError)] == [503, 503]
