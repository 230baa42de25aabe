"""The search page over HTTP: a real server, a small crawl on disk, a search with fixed answers."""

import asyncio
import re
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from serving import (
    COPY,
    HITS,
    HOME,
    HOSTILE,
    HTML,
    NETS,
    NEWS,
    OLD,
    PICTURE,
    PLAIN,
    SECRET,
    Answer,
    FakeSearch,
    Served,
    Visit,
    keep_visits,
    make_crawl,
    served,
)
from tarrafa.clock import VirtualClock
from tarrafa.serve import Rate
from tarrafa.serve.asking import PARAMETERS


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_crawl(tmp_path_factory.mktemp("crawl"))


@pytest.fixture(scope="module")
def page(crawl: Path) -> Iterator[Served]:
    with served(crawl, FakeSearch()) as found:
        yield found


class _Read(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def words_of(answer: Answer) -> str:
    return " ".join(_Read(answer.text).words.split())


# Home and results.


def test_home_says_how_much_can_be_searched(page: Served) -> None:
    answer = page.ask("/")
    assert answer.status == 200
    assert "1,234 documents can be searched" in words_of(answer)


def test_result_shows_title_snippet_address_date_and_rank(page: Served) -> None:
    answer = page.ask("/search?q=tarrafa")
    words = words_of(answer)
    assert "A rede <b>tarrafa</b>: como se faz" in words
    assert "porto.example › redes › tarrafa.html" in words
    assert "Visited 12 Mar 2026" in words
    assert "Rank 3.2" in words
    assert "25 results · 4.2 ms" in words
    assert "1 copy" in words
    assert "<mark>pesca</mark>" in answer.text


def test_everything_from_strangers_is_escaped(page: Served) -> None:
    for path in (
        "/search?q=%3Cscript%3Ealert(1)%3C/script%3E%22onload=%22x",
        f"/facts?url={NEWS}",
        f"/copy?url={HOSTILE}",
    ):
        read = _Read(page.ask(path).text)
        assert [each for each in read.all("script") if each.get("src", "") is None or not each.get("src")] == []
        assert not read.all("b")
        assert not read.all("i")
        assert not [name for _, attributes in read.elements for name in attributes if name.startswith("on")]


def test_pages_of_results_lead_to_each_other(page: Served) -> None:
    first, second, third = (page.ask(f"/search?q=rede&site=&page={number}") for number in (1, 2, 3))
    assert 'rel="next" href="/search?q=rede&amp;page=2"' in first.text
    assert 'rel="prev" href="/search?q=rede"' in second.text
    assert HITS[10].title in second.text
    assert HITS[10].title not in first.text
    assert 'rel="next"' not in third.text


def test_filters_reach_the_search_and_stay_in_links(page: Served) -> None:
    answer = page.ask(
        "/search?q=rede&site=porto.example&language=pt&after=2026-01-01&before=2026-05-01&fresh=1&expand=on"
    )
    asked = page.search.requests[-1]
    assert (asked.site, asked.language, asked.after, asked.before) == (
        "porto.example",
        "pt",
        "2026-01-01",
        "2026-05-01",
    )
    assert asked.fresh
    assert asked.expand
    # Whoever asks for one site wants all of it.
    assert asked.per_site == 0
    following = next(each for each in _Read(answer.text).all("a") if each.get("rel") == "next")
    assert following["href"] == (
        "/search?q=rede&page=2&site=porto.example&language=pt&after=2026-01-01&before=2026-05-01&fresh=1&expand=1"
    )


def test_no_result_offers_another_spelling(page: Served) -> None:
    answer = page.ask("/search?q=nothing")
    assert "No page answers that" in words_of(answer)
    assert 'Did you mean <a href="/search?q=tarrafa">tarrafa</a>' in answer.text


def test_empty_query_shows_the_home_page(page: Served) -> None:
    assert "can be searched" in words_of(page.ask("/search?q=+"))


def test_missing_index_is_a_friendly_page(crawl: Path) -> None:
    with served(crawl) as found:
        for path in ("/", "/search?q=tarrafa"):
            answer = found.ask(path)
            assert answer.status == 200
            assert "Nothing can be searched yet" in words_of(answer)
            assert "/secret" not in answer.text
        assert found.ask("/api/search?q=tarrafa").json["is_indexed"] is False
        assert found.ask("/suggest?q=ta").json == ["ta", []]
        assert found.about("/facts", NETS).status == 200


def test_folder_without_agents_is_a_friendly_page_too(tmp_path: Path) -> None:
    with served(tmp_path) as found:
        assert found.ask("/").status == 200
        assert found.about("/facts", NETS).status == 404
        assert found.about("/copy", NETS).status == 404


# Languages.


def test_browser_that_prefers_portuguese_gets_it(page: Served) -> None:
    answer = page.ask("/search?q=rede", accept_language="fr, pt-BR;q=0.9, en;q=0.8")
    assert '<html lang="pt">' in answer.text
    assert "Visitada em 12 mar. 2026" in words_of(answer)
    assert "Relevância 3,2" in words_of(answer)


def test_language_that_is_asked_for_wins_and_is_kept(page: Served) -> None:
    answer = page.ask("/search?q=rede&lang=pt", accept_language="en")
    assert '<html lang="pt">' in answer.text
    own = [each["href"] for each in _Read(answer.text).all("a") if (each["href"] or "").startswith("/search")]
    assert own
    assert all("lang=" in (href or "") for href in own)
    assert 'lang="pt"' in page.ask("/search?q=rede&lang=xx", accept_language="pt").text


def test_unknown_parameters_do_no_harm(page: Served) -> None:
    for path in ("/?path=x&values=y&self=z", "/search?q=a&path=x&utm_source=y", "/?%00=1&=2&lang=%ff"):
        assert page.ask(path).status == 200


# What is refused.

BAD = [
    f"/search?q={'a' * 1_001}",
    *(f"/search?q=a&page={number}" for number in ("0", "101", "-1", "x", "1e3", "٣", "9" * 5_000)),
    *(f"/search?q=a&after={date}" for date in ("x", "2026-13", "2026-02-30", "26", "2026-1-1", "٢٠٢٦")),
    "/search?q=a&language=%22",
    f"/search?q=a&site={'a' * 301}",
    "/search?q=a&fresh=perhaps",
    "/facts",
    "/facts?url=javascript:alert(1)",
    "/facts?url=file:///etc/passwd",
    f"/copy?url=http://a/{'a' * 8_000}",
]


@pytest.mark.parametrize("path", BAD, ids=lambda path: path[:40])
def test_what_is_out_of_bounds_is_a_clear_page(page: Served, path: str) -> None:
    answer = page.ask(quote(path, safe="/?&=:%"))
    assert answer.status == 400
    assert "That cannot be asked" in words_of(answer)


@pytest.mark.parametrize(
    "path", ["/api/search?q=a&top=101", "/api/search?querry=a", "/api/facts?url=x", "/api/suggest?n=1"]
)
def test_programs_are_refused_in_json(page: Served, path: str) -> None:
    answer = page.ask(path)
    assert answer.status == 400
    assert answer.json["error"]["status"] == 400
    assert answer.json["error"]["message"]


def test_unknown_address_and_method_are_pages_of_ours(page: Served) -> None:
    assert "There is nothing here" in words_of(page.ask("/no/such/page"))
    assert page.ask("/assets/../templates/base.html").status == 404
    assert page.ask("/search?q=a", method="POST").status == 405
    assert page.ask("/", method="HEAD").status == 200


def test_failure_reveals_nothing(page: Served) -> None:
    for path in ("/search?q=broken", "/api/search?q=broken"):
        answer = page.ask(path)
        assert answer.status == 500
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
    assert "Something went wrong here" in words_of(page.ask("/search?q=broken"))


def test_failure_is_told_to_the_operator(page: Served, caplog: pytest.LogCaptureFixture) -> None:
    page.ask("/search?q=broken")
    page.ask("/")  # the reader is answered before the log is written, and the next request comes after it
    assert "/secret/place is broken" in caplog.text


def test_damaged_file_reveals_nothing(tmp_path: Path) -> None:
    root = make_crawl(tmp_path / "crawl")
    for path in root.rglob("*.parquet"):
        path.write_bytes(b"PAR1" * 20)
    with served(root, FakeSearch()) as found:
        answer = found.about("/facts", NETS)
    assert answer.status == 500
    assert str(tmp_path) not in answer.text


ALL_KINDS = [
    *(
        "/",
        "/search?q=rede",
        f"/facts?url={NETS}",
        f"/copy?url={NETS}",
        "/suggest?q=a",
        "/api/search?q=a",
        "/openapi.json",
    ),
    *("/opensearch.xml", "/robots.txt", "/assets/style.css", "/nothing", "/search?q=a&page=0", "/search?q=broken"),
]


@pytest.mark.parametrize("path", ALL_KINDS)
def test_every_answer_keeps_browsers_safe(page: Served, path: str) -> None:
    headers = page.ask(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_no_page_has_script_or_style_within(page: Served) -> None:
    for path in ("/", "/search?q=rede", f"/facts?url={NETS}&q=rede", f"/copy?url={NETS}", "/nothing"):
        read = _Read(page.ask(path).text)
        assert not read.all("style")
        assert all(each.get("src") for each in read.all("script"))
        assert not [1 for _, attributes in read.elements if "style" in attributes]


def test_host_header_may_be_anything(page: Served) -> None:
    assert (
        'template="http://search.example:81/search?q={searchTerms}"'
        in page.ask("/opensearch.xml", host="search.example:81").text
    )
    for host in ('a"><script>', "a b", "@", "[::", "a:99999999"):
        answer = page.ask("/opensearch.xml", host=host)
        assert answer.status == 200
        assert f'template="{page.url}search?q=' in answer.text
        assert page.ask("/", host=host).status == 200


# Rate and slowness.


def test_client_that_asks_too_often_waits(crawl: Path) -> None:
    clock = VirtualClock(1_000.0)
    with served(crawl, FakeSearch(), clock, Rate(per_second=0.5, burst=3.0)) as found:
        assert [found.ask("/search?q=a").status for _ in range(4)] == [200, 200, 200, 429]
        late = found.ask("/search?q=a")
        assert late.headers["retry-after"] == "2"
        assert "Please wait 2 s" in words_of(late)
        assert "default-src 'none'" in late.headers["content-security-policy"]
        assert found.ask("/api/search?q=a").json["error"]["status"] == 429
        assert found.ask("/assets/style.css").status == 200
        asyncio.run(clock.advance(2.0))
        assert [found.ask("/search?q=a").status for _ in range(2)] == [200, 429]


def test_slow_question_does_not_stall_others(crawl: Path) -> None:
    search = FakeSearch()
    with served(crawl, search) as found:
        slow: list[Answer] = []
        thread = threading.Thread(target=lambda: slow.append(found.ask("/search?q=slow")))
        thread.start()
        assert search.is_slow_begun.wait(30)
        assert found.ask("/search?q=rede").status == 200
        assert not slow
        search.may_end.set()
        thread.join()
    assert slow[0].status == 200


# Facts.


def test_facts_tell_links_of_all_agents(page: Served) -> None:
    facts = page.about("/api/facts", NETS).json
    assert {each["url"]: each["text"] for each in facts["links_in"]} == {HOME: "a tarrafa", NEWS: "rede de pesca"}
    assert {each["url"]: each["text"] for each in facts["links_out"]} == {HOME: "início", NEWS: "<i>jornal</i>"}
    assert (facts["links_in_count"], facts["links_out_count"], facts["is_links_in_bounded"]) == (2, 2, False)


def test_link_that_its_page_has_no_longer_is_not_told(page: Served) -> None:
    assert OLD not in page.about("/facts", NETS).text
    assert page.about("/api/facts", OLD).json["links_out"] == []


def test_history_tells_what_changed(page: Served) -> None:
    visits = page.about("/api/facts", NETS).json["visits"]
    assert [(each["status"], each["outcome"], each["is_changed"]) for each in visits] == [
        (200, "fetched", True),
        (304, "unchanged", False),
        (200, "fetched", None),
    ]
    assert "changed" in words_of(page.about("/facts", NETS))


def test_facts_tell_copies_and_header(page: Served) -> None:
    facts = page.about("/api/facts", NETS).json
    assert facts["copies"] == [COPY]
    assert facts["headers"] == [list(pair) for pair in HTML]
    assert facts["status_line"] == "HTTP/1.1 200 OK"
    assert "Server: quay/1.0" in page.about("/facts", NETS).text


def test_facts_explain_the_place_of_a_result(page: Served) -> None:
    facts = page.about("/api/facts", NEWS, q="rede").json
    assert (facts["position"], facts["explanation"]["words"]) == (2, 4.0)
    assert "Position for “rede”: 2" in words_of(page.about("/facts", NEWS, q="rede"))
    assert page.about("/api/facts", COPY, q="rede").json["position"] == 1
    assert "not among the first 100 results" in words_of(page.about("/facts", OLD, q="rede"))


def test_page_that_was_never_visited_is_not_found(page: Served) -> None:
    assert page.about("/facts", "http://nowhere.example/").status == 404
    assert page.about("/copy", "http://nowhere.example/").status == 404
    assert page.about("/api/facts", "http://nowhere.example/").json["error"]["status"] == 404


# Stored copies.


def test_copy_is_shown_in_a_frame_without_permissions(page: Served) -> None:
    (frame,) = _Read(page.about("/copy", HOSTILE).text).all("iframe")
    assert frame["sandbox"] == ""
    assert (frame["src"] or "").startswith("/copy/content?url=")


def test_content_has_a_policy_of_its_own_and_nothing_that_runs_or_loads(page: Served) -> None:
    answer = page.about("/copy/content", HOSTILE)
    policy = answer.headers["content-security-policy"]
    assert {"default-src 'none'", "style-src 'unsafe-inline'", "img-src data:", "sandbox"} <= set(policy.split("; "))
    read = _Read(answer.text)
    assert "Kept words" in read.words
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"script", "link", "meta", "base", "iframe", "object", "embed", "video"}
    values = [(name, value) for _, attributes in read.elements for name, value in attributes.items() if name != "xmlns"]
    assert not [name for name, value in values if name.startswith("on") or "127.0.0.1:9" in (value or "")]
    assert [each["src"] for each in read.all("img") if "src" in each] == [
        "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
    ]


def test_noarchive_is_honoured(page: Served) -> None:
    answer = page.about("/copy", SECRET)
    assert answer.status == 403
    assert "asked that no copy be shown" in words_of(answer)
    assert "iframe" not in answer.text
    content = page.about("/copy/content", SECRET)
    assert (content.status, content.text) == (403, "")
    facts = page.about("/api/facts", SECRET)
    assert (facts.json["may_copy"], facts.json["title"]) == (False, "Segredo")
    assert "private words" not in facts.text


def test_copy_of_an_unchanged_page_is_its_last_content(tmp_path: Path) -> None:
    keep_visits(
        tmp_path / "agents" / "00",
        [Visit(HOME, 0, "<p>old words</p>"), Visit(HOME, 1, status=304, outcome="unchanged")],
    )
    with served(tmp_path, FakeSearch()) as found:
        assert "old words" in found.about("/copy/content", HOME).text


def test_text_is_shown_escaped(page: Served) -> None:
    answer = page.about("/copy/content", PLAIN)
    assert "rede &lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "<script" not in answer.text


def test_what_is_no_text_is_named(page: Served) -> None:
    assert "It is of type image/png" in words_of(page.about("/copy", PICTURE))
    assert page.about("/copy/content", PICTURE).text == ""


# For programs.


def test_every_address_and_parameter_is_described(page: Served) -> None:
    description = page.ask("/openapi.json").json
    assert description["openapi"].startswith("3.1")
    described = {
        path: {each["name"] for each in methods["get"]["parameters"]} for path, methods in description["paths"].items()
    }
    assert described == {path: set(names) for path, names in PARAMETERS.items()}


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        ("/api/search?q=rede&explain=1", "Results"),
        (f"/api/facts?url={NETS}&q=rede", "Facts"),
        ("/api/suggest?q=ta", "Suggestions"),
        ("/api/search?page=0", "Error"),
    ],
)
def test_answers_are_as_described(page: Served, path: str, schema: str) -> None:
    schemas = page.ask("/openapi.json").json["components"]["schemas"]
    told = page.ask(path).json
    assert set(told) == set(schemas[schema]["properties"])
    if schema == "Results":
        assert set(told["hits"][0]) == set(schemas["Hit"]["properties"])
    if schema == "Facts":
        for name in ("visits", "links_in", "links_out"):
            assert set(told[name][0]) == set(schemas["Facts"]["properties"][name]["items"]["properties"])


def test_parameters_of_programs_reach_the_search(page: Served) -> None:
    told = page.ask("/api/search?q=rede&top=3&page=2&per_site=0&explain=true&language=pt-BR").json
    asked = page.search.requests[-1]
    assert (asked.top, asked.page, asked.per_site, asked.explain, asked.language) == (3, 2, 0, True, "pt-BR")
    assert (told["page"], len(told["hits"]), told["query"]) == (2, 3, "rede")
    assert told["hits"][0]["snippet"][1] == {"text": "pesca", "is_marked": True}


def test_suggestions_are_in_the_form_of_browsers(page: Served) -> None:
    answer = page.ask("/suggest?q=ta")
    assert answer.headers["content-type"] == "application/x-suggestions+json"
    assert answer.json == ["ta", ["tarrafa", "tainha <b>"]]
    assert page.ask("/suggest").json == ["", []]


def test_every_page_names_its_search_description(page: Served) -> None:
    for path in ("/", "/search?q=rede", f"/facts?url={NETS}", f"/copy?url={NETS}", "/nothing"):
        assert re.search(r'<link rel="search"[^>]*href="/opensearch.xml"', page.ask(path).text)
