"""The search page over HTTP: a real server, a small crawl on disk, a search with fixed answers."""

import asyncio
import threading
from pathlib import Path

import pytest

import serving
from serving import (
    HITS,
    HOSTILE,
    NETS,
    NEWS,
    Answer,
    FakeSearch,
    Read,
    Served,
    served,
    words_of,
)
from tarrafa.clock import VirtualClock
from tarrafa.serve import RateLimit

crawl, page = serving.crawl, serving.page


def test_home_says_how_much_can_be_searched(page: Served) -> None:
    answer = page.ask("/")
    assert answer.status == 200
    assert "1,234 documents can be searched" in words_of(answer)


def test_examples_of_queries_are_in_the_language_of_the_page(page: Served) -> None:
    assert "fishing -net" in words_of(page.ask("/?lang=en"))
    assert "rede -pesca" in words_of(page.ask("/?lang=pt"))


def test_result_shows_title_snippet_address_date_and_rank(page: Served) -> None:
    answer = page.ask("/search?q=tarrafa")
    words = words_of(answer)
    assert "A rede <b>tarrafa</b>: como se faz" in words
    assert "porto.example › redes › tarrafa.html" in words
    assert "Visited 12 Mar 2026" in words
    assert "Rank 3.2" in words
    assert "25 results · 4.2 ms" in words
    assert "1 duplicate" in words
    assert "<mark>pesca</mark>" in answer.text


def test_translations_are_linked_by_their_languages(page: Served) -> None:
    answer = page.ask("/search?q=translated&lang=en")
    assert "Also in English, ja" in words_of(answer)
    assert 'href="http://porto.example/en/net?a&amp;b" hreflang="en"' in answer.text
    (hit,) = page.ask("/api/search?q=translated").json["hits"]
    assert [each["language"] for each in hit["translations"]] == ["en", "ja"]


@pytest.mark.parametrize(
    ("path", "accepted", "languages"),
    [
        ("/search?q=tarrafa", "de-AT, en;q=0.5, *;q=0.1, pt;q=0.8", ("de", "pt", "en")),
        ("/search?q=tarrafa&lang=pt", "de", ("pt", "de")),
        ("/search?q=tarrafa&lang=%22", "", ()),
        ("/api/search?q=tarrafa&lang=pt-BR,fr", "de", ("pt-BR", "fr", "de")),
    ],
)
def test_languages_of_the_reader_are_the_setting_then_those_that_the_browser_accepts(
    page: Served, path: str, accepted: str, languages: tuple[str, ...]
) -> None:
    assert page.ask(path, accept_language=accepted).status == 200
    assert page.search.requests[-1].reader_languages == languages


def test_everything_from_strangers_is_escaped(page: Served) -> None:
    for path in (
        "/search?q=%3Cscript%3Ealert(1)%3C/script%3E%22onload=%22x",
        f"/facts?url={NEWS}",
        f"/copy?url={HOSTILE}",
    ):
        read = Read(page.ask(path).text)
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
    # A query for one site wants all of it.
    assert asked.per_site == 0
    following = next(each for each in Read(answer.text).all("a") if each.get("rel") == "next")
    assert following["href"] == (
        "/search?q=rede&page=2&site=porto.example&language=pt&after=2026-01-01&before=2026-05-01&fresh=1&expand=1"
    )


def test_no_result_offers_another_spelling(page: Served) -> None:
    answer = page.ask("/search?q=nothing")
    assert "No results Try other words" in words_of(answer)
    assert 'Did you mean <a href="/search?q=tarrafa">tarrafa</a>' in answer.text


def test_misspelt_query_gives_results_of_the_corrected_one_and_a_way_back(page: Served) -> None:
    answer = page.ask("/search?q=tarafa")
    assert "These are results for tarrafa. Search instead for tarafa." in words_of(answer)
    assert '<a href="/search?q=tarafa&amp;verbatim=1">tarafa</a>' in answer.text
    assert "These are results for" not in page.ask("/search?q=tarafa&verbatim=1").text


def test_empty_query_shows_the_home_page(page: Served) -> None:
    assert "can be searched" in words_of(page.ask("/search?q=+"))


def test_missing_index_is_a_friendly_page(crawl: Path) -> None:
    with served(crawl) as found:
        for path in ("/", "/search?q=tarrafa"):
            answer = found.ask(path)
            assert answer.status == 200
            assert "Nothing to search yet" in words_of(answer)
            assert "/secret" not in answer.text
        assert found.ask("/api/search?q=tarrafa").json["is_indexed"] is False
        assert found.ask("/suggest?q=ta").json == ["ta", []]
        assert found.about("/facts", NETS).status == 200


def test_folder_without_agents_is_a_friendly_page_too(tmp_path: Path) -> None:
    with served(tmp_path) as found:
        assert found.ask("/").status == 200
        assert found.about("/facts", "http://nowhere.example/").status == 404
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
    own = [each["href"] for each in Read(answer.text).all("a") if (each["href"] or "").startswith("/search")]
    assert own
    assert all("lang=" in (href or "") for href in own)
    assert 'lang="pt"' in page.ask("/search?q=rede&lang=xx", accept_language="pt").text


def test_unknown_parameters_do_no_harm(page: Served) -> None:
    for path in ("/?path=x&values=y&self=z", "/search?q=a&path=x&utm_source=y", "/?%00=1&=2&lang=%ff"):
        assert page.ask(path).status == 200


# Rate and slowness.


def test_client_that_asks_too_often_waits(crawl: Path) -> None:
    clock = VirtualClock(1_000.0)
    with served(crawl, FakeSearch(), clock, RateLimit(per_second=0.5, burst=3.0)) as found:
        assert [found.ask("/search?q=a").status for _ in range(4)] == [200, 200, 200, 429]
        late = found.ask("/search?q=a")
        assert late.headers["retry-after"] == "2"
        assert "Wait 2 s" in words_of(late)
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
