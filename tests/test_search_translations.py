"""Translations: told by addresses and languages, folded, and chosen by the languages of the reader."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawls import run
from indexes import row, searched, write
from serving import make_crawl
from tarrafa.errors import InputError
from tarrafa.search import Hit, Search, SearchRequest
from tarrafa.search.fields import StoredDocument
from tarrafa.search.results import choose_copy
from tarrafa.search.translations import choose_language, is_translation, translated_urls
from tarrafa.urls import fingerprint

LANGUAGES = ("de", "en", "fr", "ja", "pt")


@pytest.mark.parametrize(
    ("url", "language", "other", "named"),
    [
        ("http://a.example/de/mod/core.html", "de", "http://a.example/pt-br/mod/core.html", "pt"),
        ("http://a.example/pt-BR/x", "pt", "http://a.example/zh-Hans/x", "zh"),
        ("http://a.example/ch01.fr.html", "fr", "http://a.example/ch01.zh-cn.html", "zh"),
        ("http://a.example/x.html.fr", "fr", "http://a.example/x.html.en", "en"),
        ("http://fr.a.example/x", "fr", "http://en.a.example/x", "en"),
        ("http://a.example/x?hl=fr&y=1", "fr", "http://a.example/x?hl=ja&y=1", "ja"),
        ("http://a.example/docs/de/x", "de", "http://a.example/docs/x", ""),
        ("http://a.example/x.de.html", "de", "http://a.example/x.html", ""),
        ("http://a.example/x.html.de", "de", "http://a.example/x.html", ""),
        ("http://a.example/x.html", "en", "http://a.example/de/x.html", "de"),
        ("http://a.example/x.html", "en", "http://a.example/x.de.html", "de"),
    ],
)
def test_translations_have_addresses_that_differ_in_the_language_part(
    url: str, language: str, other: str, named: str
) -> None:
    assert (other, named) in set(translated_urls(url, language))


def test_part_in_the_language_of_the_page_is_the_one_that_is_replaced() -> None:
    """The pages of a department IT are in English."""
    found = {url for url, _ in translated_urls("http://a.example/en/it/support", "en")}
    assert "http://a.example/de/it/support" in found
    assert "http://a.example/en/de/support" not in found


def test_page_without_language_has_no_translations() -> None:
    assert list(translated_urls("http://a.example/de/x", "")) == []


@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
def test_no_address_is_its_own_translation(rest: str, language: str) -> None:
    url = f"http://a.example/{rest}"
    found = list(translated_urls(url, language))
    assert url not in [other for other, _ in found]
    assert len(found) <= 1_000


@given(st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES), st.sampled_from(["/{}/x", "/y/x.{}.html", "/x?lang={}"]))
def test_translations_lead_back(one: str, other: str, shape: str) -> None:
    urls = [f"http://a.example{shape.format(language)}" for language in (one, other)]
    assert one == other or (urls[1], other) in set(translated_urls(urls[0], one))


def test_language_must_agree_with_the_address() -> None:
    assert is_translation("de", "de", "en")
    assert is_translation("en", "da", "de")
    assert is_translation("en", "en", "en")
    assert not is_translation("en", "de", "en")
    assert not is_translation("", "de", "en")
    assert is_translation("de", "", "en")
    assert not is_translation("en", "", "en")
    assert not is_translation("", "", "en")


@given(st.lists(st.sampled_from(LANGUAGES), min_size=1, max_size=5), st.lists(st.sampled_from(LANGUAGES)))
def test_first_language_of_the_reader_is_chosen_else_the_best_result(has: list[str], wanted: list[str]) -> None:
    chosen = has[choose_language(has, wanted)]
    known = [each for each in wanted if each in has]
    assert chosen == (known[0] if known else has[0])


def test_region_of_the_reader_does_not_matter() -> None:
    assert choose_language(["en", "pt"], ["pt-BR"]) == 1


def manual(root: Path) -> Search:
    """Index a manual in three languages whose pages match equally well, and one page that is only in English."""
    texts = {"de": "der Name des Rechners", "en": "the name of the host", "ja": "ホストの名前", "pt-br": "o nome"}
    pages = [row(f"{tag}/core.html", f"ServerAlias {text}", language=tag[:2]) for tag, text in texts.items()]
    alone = row("en/other.html", "ServerAlias " + "and more words " * 20, language="en")
    return searched(root, *pages, alone)


def shown(search: Search, *languages: str, **more: Any) -> list[Hit]:
    return list(search.search(SearchRequest("ServerAlias", reader_languages=languages, **more)).hits)


@pytest.mark.parametrize(("languages", "first"), [(("de",), "de"), (("pt-BR",), "pt-br"), (("fr", "en", "de"), "en")])
def test_language_of_the_reader_is_shown_and_the_others_are_listed(
    tmp_path: Path, languages: tuple[str, ...], first: str
) -> None:
    best, other = shown(manual(tmp_path), *languages)
    assert best.url == f"http://example.org/{first}/core.html"
    assert {code for code, _ in best.translations} == {"de", "en", "ja", "pt"} - {first[:2]}
    assert ("de", "http://example.org/de/core.html") in [*best.translations, (best.language, best.url)]
    assert other.url.endswith("/en/other.html")
    assert other.translations == ()


def test_language_of_the_reader_filters_nothing(tmp_path: Path) -> None:
    search = manual(tmp_path)
    assert len(shown(search, "fr")) == len(shown(search)) == 2
    assert shown(search, "fr") == shown(search)


def test_translations_are_not_repeated_on_later_pages(tmp_path: Path) -> None:
    search = manual(tmp_path)
    pages = [shown(search, "en", top=1, page=number) for number in (1, 2, 3)]
    assert [[hit.url.rpartition("/")[2] for hit in hits] for hits in pages] == [["core.html"], ["other.html"], []]


def test_result_in_a_required_language_stands_alone(tmp_path: Path) -> None:
    search = manual(tmp_path)
    (hit,) = search.search(SearchRequest("ServerAlias", language="ja", reader_languages=("en",))).hits
    assert (hit.language, hit.translations) == ("ja", ())


def test_pages_in_one_language_that_their_addresses_do_not_name_stay_apart(tmp_path: Path) -> None:
    pages = [row(f"{part}/x", f"net {part}", language="en") for part in ("de", "fr", "it")]
    assert len(searched(tmp_path, *pages).search(SearchRequest("net")).hits) == 3


def test_pages_of_other_sites_stay_apart(tmp_path: Path) -> None:
    one = row("http://www.example.de/x", "net", language="de")
    other = row("http://www.example.fr/x", "net", language="fr")
    assert len(searched(tmp_path, one, other).search(SearchRequest("net")).hits) == 2


@pytest.mark.parametrize("language", ["", "english", "pt\n"])
def test_malformed_language_of_the_reader_is_refused(language: str) -> None:
    with pytest.raises(InputError, match="code such as en"):
        SearchRequest("net", reader_languages=(language,))


def stored(url: str, canonical: str = "") -> StoredDocument:
    return StoredDocument(url, "", "example.org", "example.org", "en", canonical, 0, None, "", "")


@pytest.mark.parametrize(
    ("urls", "links", "best"),
    [
        (["http://e.org/a", "http://e.org/longer"], [1, 5], 1),
        (["http://e.org/old/x", "http://e.org/guide/x"], [2, 2], 1),
        (["http://e.org/1.2/x", "http://e.org/stable/x"], [0, 0], 1),
        (["http://e.org/x?print=1", "http://e.org/articles/x"], [0, 0], 1),
        (["http://e.org/cold", "http://e.org/longer-gold"], [0, 0], 0),
        (["http://e.org/b", "http://e.org/aa"], [0, 0], 0),
    ],
)
def test_original_is_the_most_linked_else_the_one_that_looks_like_it(
    urls: list[str], links: list[int], best: int
) -> None:
    assert choose_copy([stored(url) for url in urls], links).url == urls[best]


def test_original_of_untranslated_pages_is_in_the_folder_of_their_language() -> None:
    copies = [stored(f"http://e.org/{code}/x") for code in ("da", "en", "pt-br")]
    assert choose_copy(copies, [9, 0, 3]).url == "http://e.org/en/x"


def test_untranslated_copies_are_folded_with_translations(tmp_path: Path) -> None:
    english = [row(f"{code}/x", "net", language="en", signature=7) for code in ("da", "en", "tr")]
    search = searched(tmp_path, *english, row("fr/x", "net filet", language="fr"))
    (hit,) = search.search(SearchRequest("net", reader_languages=("en",))).hits
    assert (hit.url, hit.translations) == ("http://example.org/en/x", (("fr", "http://example.org/fr/x"),))


@pytest.mark.parametrize("text", ["net", "net net net net"])
def test_page_that_is_not_translated_is_folded_with_translations(tmp_path: Path, text: str) -> None:
    """Whichever comes first, and without the original: it may not be collected."""
    search = searched(tmp_path, row("da/x", text, language="en"), row("fr/x", "net filet net", language="fr"))
    (hit,) = search.search(SearchRequest("net", reader_languages=("en",))).hits
    assert (hit.url, hit.translations) == ("http://example.org/da/x", (("fr", "http://example.org/fr/x"),))


def test_canonical_wins_over_links() -> None:
    copies = [stored("http://e.org/a"), stored("http://e.org/b", "http://e.org/b"), stored("http://e.org/c")]
    assert choose_copy(copies, [9, 0, 3]).url == "http://e.org/b"


class LinkCounts(NamedTuple):
    rank: np.ndarray
    host_rank: np.ndarray
    links_in: np.ndarray
    links_outside: np.ndarray


class OneLinkedPage:
    """Ranks that know nothing but the links to one page."""

    def __init__(self, url: str) -> None:
        self._number = np.uint64(fingerprint(url))

    def of(self, fingerprints: np.ndarray) -> LinkCounts:
        none = np.zeros(len(fingerprints), np.float32)
        return LinkCounts(none, none, np.where(fingerprints == self._number, 7, 0).astype(np.uint32), none)

    def anchors(self, fingerprints: np.ndarray) -> list[list[tuple[str, int]]]:
        return [[] for _ in fingerprints]


def test_most_linked_copy_is_shown(tmp_path: Path) -> None:
    write(tmp_path, *(row(path, "a net", signature=7) for path in ("a", "b", "long/path")))
    (hit,) = Search.open(tmp_path, OneLinkedPage("http://example.org/long/path")).search(SearchRequest("net")).hits
    assert hit.url == "http://example.org/long/path"
    assert hit.copies == ("http://example.org/a", "http://example.org/b")


def test_command_takes_the_languages_of_the_reader(tmp_path: Path) -> None:
    folder = make_crawl(tmp_path / "crawl")
    write(folder, *(row(f"{code}/x", f"linha {code}", language=code) for code in ("de", "en", "pt")))
    asked = ("search", "linha", "--dir", str(folder), "--lang", "fr", "--lang", "pt-BR")
    (hit,) = json.loads(run(*asked, "--json").stdout)["hits"]
    assert hit["url"] == "http://example.org/pt/x"
    assert sorted(hit["translations"]) == [["de", "http://example.org/de/x"], ["en", "http://example.org/en/x"]]
    assert "de: http://example.org/de/x" in " ".join(run(*asked).stdout.split())


def test_command_refuses_a_malformed_language(tmp_path: Path) -> None:
    folder = make_crawl(tmp_path / "crawl")
    write(folder, row("x", "linha"))
    done = run("search", "linha", "--dir", str(folder), "--lang", "portuguese")
    assert (done.returncode, "code such as en" in done.stderr) == (2, True)
