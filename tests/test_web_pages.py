"""Pages as they are served: size, links, head, text, charsets, copies, paths."""

import statistics
from collections import Counter
from collections.abc import Iterator

import pytest

from tarrafa.lab.web import Fault, Plan, SyntheticWeb
from tarrafa.lab.web.history import DAY_MS
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.vocabulary import TOPICS
from tarrafa.records import Page
from tarrafa.urls import BaseUrl, canonical, host_of
from webs import Reader, body_of, charset_of, followed, get, hosts_of, pages_of, read_page


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return SyntheticWeb(Plan(hosts=300, pages=6_000, rng_seed=5))


@pytest.fixture(scope="module")
def sample(web: SyntheticWeb) -> list[tuple[SyntheticHost, int, Page, Reader]]:
    """Return four hundred pages from the whole web, including front pages."""
    every = list(pages_of(web))
    chosen = every[:: len(every) // 400]
    found = [(host, page, get(web, host, page)) for host, page in chosen]
    return [(host, page, got, read_page(got)) for host, page, got in found]


Sample = list[tuple[SyntheticHost, int, Page, Reader]]


def targets(page: Page, reader: Reader) -> Iterator[str]:
    base = BaseUrl(BaseUrl(page.url).link(reader.base) or page.url)
    return (url for href, _ in reader.links if (url := base.link(href)))


def test_pages_have_10_to_30_kilobytes_and_19_on_average(sample: Sample) -> None:
    sizes = [len(page.body) for _, _, page, _ in sample]
    assert 10_000 < min(sizes) < max(sizes) < 31_000
    assert 18_500 < statistics.mean(sizes) < 20_000


def test_pages_have_about_60_links_of_which_77_percent_stay_on_the_host(sample: Sample) -> None:
    counts = [len(reader.links) for _, _, _, reader in sample]
    urls = [(host.origin, url) for host, _, page, reader in sample for url in targets(page, reader)]
    assert 57 < statistics.mean(counts) < 63
    assert 0.75 < sum(host_of(url) == origin for origin, url in urls) / len(urls) < 0.79


def test_every_href_is_an_address_of_this_web(web: SyntheticWeb, sample: Sample) -> None:
    for _, _, page, reader in sample:
        found = list(targets(page, reader))
        assert len(found) == len(reader.links)
        assert all(web.hosts.find(host_of(url).removeprefix("http://")) for url in found)


def test_few_pages_are_linked_to_far_more_than_others(web: SyntheticWeb, sample: Sample) -> None:
    cited = Counter(url for _, _, page, reader in sample for url in targets(page, reader))
    most = [count for _, count in cited.most_common(len(cited) // 10)]
    assert sum(most) > 0.4 * cited.total()


def test_every_page_has_title_description_headings_and_language(sample: Sample) -> None:
    for host, _, _, reader in sample:
        assert 10 < len(reader.title) < 120
        assert reader.meta["description"].startswith(reader.title)
        assert len(reader.headings) >= 6
        assert reader.headings[0] == reader.title
        assert reader.language == {"pt": "pt-BR", "en": "en"}[host.language]
        assert len(reader.images) == 1


def test_both_languages_and_all_charsets_occur_and_the_text_decodes_as_declared(
    web: SyntheticWeb, sample: Sample
) -> None:
    assert {host.language for host, *_ in sample} == {"pt", "en"}
    assert {host.charset for host, *_ in sample} == {"utf-8", "iso-8859-1", "windows-1252"}
    for host, _, page, reader in sample:
        assert reader.meta["charset"] == charset_of(page, page.body) == host.charset
        text = page.body.decode(host.charset)
        assert "�" not in text
        assert text.encode(host.charset) == page.body


def test_charset_is_declared_in_the_header_by_most_hosts_and_in_the_page_alone_by_others(web: SyntheticWeb) -> None:
    declared = Counter("charset" in host.html_type for host in hosts_of(web))
    assert set(declared) == {True, False}
    assert declared[True] > declared[False]


def test_portuguese_text_has_letters_beyond_ascii_in_every_charset(sample: Sample) -> None:
    seen = {host.charset for host, _, page, _ in sample if host.language == "pt" and not page.body.isascii()}
    assert seen == {"utf-8", "iso-8859-1", "windows-1252"}


def test_words_of_the_topic_occur_in_the_text(web: SyntheticWeb, sample: Sample) -> None:
    for host, page, _, reader in sample:
        shown = web.pages.copy_of(host, page)
        topic = web.pages.entry(*(shown[:2] if shown else (host, page))).topic
        words = " ".join(reader.text).lower().split()
        own = sum(word.strip(".,") in TOPICS[topic][host.language] for word in words)
        assert own / len(words) > 0.15, (host.origin, page)


def test_every_topic_is_talked_about(web: SyntheticWeb) -> None:
    assert {web.pages.entry(host, page).topic for host, page in pages_of(web)} == set(TOPICS)


def test_words_follow_zipfs_law(sample: Sample) -> None:
    words = Counter(
        word.strip(".,").lower()
        for host, _, _, reader in sample
        if host.language == "pt"
        for word in " ".join(reader.text).split()
    )
    (_, first), *_ = words.most_common(1)
    assert first > 0.03 * words.total()
    assert sum(count == 1 for count in words.values()) > 0.02 * len(words)
    assert len(words) > 5_000


# Marks.


def test_all_marks_occur(sample: Sample) -> None:
    marks = Counter(reader.meta.get("robots", "") for *_, reader in sample)
    assert {"noindex", "nofollow", "noarchive"} <= set(marks)
    assert 0.01 < marks["noindex"] / len(sample) < 0.06
    assert any(reader.base for *_, reader in sample)
    assert 0.05 < sum(bool(reader.canonical) for *_, reader in sample) / len(sample) < 0.2
    assert any(rel == "nofollow" for *_, reader in sample for _, rel in reader.links)
    assert any(page.header("x-robots-tag") == "noindex" for _, _, page, _ in sample)


def test_front_pages_have_no_marks_so_that_a_crawl_gets_on(web: SyntheticWeb) -> None:
    for host in hosts_of(web):
        reader = read_page(get(web, host, 0))
        assert "robots" not in reader.meta
        assert not reader.base


def test_a_page_that_is_no_copy_calls_only_itself_canonical(web: SyntheticWeb, sample: Sample) -> None:
    named = [(host, page, got, reader) for host, page, got, reader in sample if reader.canonical]
    for host, page, got, reader in named:
        if web.pages.copy_of(host, page) is None:
            assert reader.canonical == got.url


def test_the_same_url_is_written_in_many_ways(sample: Sample) -> None:
    hrefs = [href for *_, reader in sample for href, _ in reader.links]
    assert any(href.startswith("//") for href in hrefs)
    assert any(href.startswith("HTTP://") for href in hrefs)
    assert any(href.startswith("../") for href in hrefs)
    assert any(href.startswith("/x/../") for href in hrefs)
    assert any(href.endswith("#texto") for href in hrefs)
    assert any(href.startswith("/%") and not href.startswith("/%C3") for href in hrefs)
    assert any("?item=" in href for href in hrefs)
    assert any(not href.startswith(("/", ".", "http", "HTTP")) for href in hrefs)


def test_with_a_base_relative_links_still_lead_to_pages(web: SyntheticWeb) -> None:
    based = [(host, page) for host, page in pages_of(web) if page and web.pages.entry(host, page).has_base][:40]
    followed = 0
    for host, page in based:
        got = get(web, host, page)
        reader = read_page(got)
        shown = web.pages.shown(host, page)
        if shown != (host, page):
            continue
        assert reader.base
        for href, _ in reader.links:
            if not href.startswith(("/", "http", "HTTP")):
                url = BaseUrl(reader.base).link(href)
                assert url
                assert web.pages.find(host, url.removeprefix(host.origin)) is not None, href
                followed += 1
    assert followed > 10


# Paths.


@pytest.mark.parametrize("names", [False, True])
def test_from_page_to_path_and_back_is_the_same_for_every_page(names: bool) -> None:
    web = SyntheticWeb(Plan(hosts=60, pages=3_000, rng_seed=8, names=names))
    for host in hosts_of(web):
        paths = [web.pages.entry(host, page).path for page in range(2 * host.size)]
        assert len(set(paths)) == len(paths)
        for page, path in enumerate(paths):
            assert web.pages.find(host, path) == page
            assert canonical(host.origin + path) == host.origin + path
    assert {host.path_style for host in hosts_of(web)} == {0, 1, 2, 3}


def test_a_path_lies_below_its_parents_folder(web: SyntheticWeb) -> None:
    for host, page in pages_of(web):
        if page:
            parent = web.pages.entry(host, (page - 1) // host.branching)
            assert web.pages.entry(host, page).path.startswith(parent.folder)


@pytest.mark.parametrize(
    "path", ["/x", "/x-1", "/-", "/-1", "/-0", "/x-99999999999999999999", "/x-²", "/ver?item=1", "//", "/?"]
)
def test_other_paths_are_no_pages(web: SyntheticWeb, path: str) -> None:
    for host in hosts_of(web)[:20]:
        assert web.pages.find(host, path) is None
        assert get(web, host, path).status == 404


def test_a_path_with_needless_escapes_is_the_same_page(web: SyntheticWeb) -> None:
    """Servers decode before they look up a path; crawlers that do not canonicalise send such requests."""
    for host in hosts_of(web)[:40]:
        if host.size > 1:
            plain = web.pages.entry(host, 1).path
            path = "".join(f"%{ord(sign):02x}" if sign.isalpha() and "%" not in plain else sign for sign in plain)
            assert get(web, host, path).body == get(web, host, plain).body


# Copies.


def copies(web: SyntheticWeb, exact: bool) -> list[tuple[SyntheticHost, int, SyntheticHost, int]]:
    found = ((host, page, web.pages.copy_of(host, page)) for host, page in pages_of(web))
    return [(host, page, copy.host, copy.page) for host, page, copy in found if copy and copy.exact is exact]


def test_exact_copies_are_equal_to_the_byte_within_and_across_hosts(web: SyntheticWeb) -> None:
    found = copies(web, exact=True)
    assert len(found) > 40
    assert any(host is other for host, _, other, _ in found)
    assert any(host is not other for host, _, other, _ in found)
    for host, page, other, original in found:
        assert get(web, host, page).body == get(web, other, original).body
        assert get(web, host, page).url != get(web, other, original).url


def test_near_copies_share_most_of_their_text_and_not_all(web: SyntheticWeb) -> None:
    found = copies(web, exact=False)
    assert len(found) > 40
    for host, page, other, original in found:
        near, source = read_page(get(web, host, page)), read_page(get(web, other, original))
        paragraphs, others = Counter(near.text), Counter(source.text)
        shared = (paragraphs & others).total()
        assert near.title == source.title
        assert shared / paragraphs.total() > 0.5
        assert paragraphs != others


def test_some_near_copies_name_their_original_as_canonical(web: SyntheticWeb) -> None:
    named = [
        read_page(get(web, host, page)).canonical == get(web, other, original).url
        for host, page, other, original in copies(web, exact=False)
    ]
    assert 0.25 < sum(named) / len(named) < 0.75


def test_pages_that_are_no_copies_all_differ(web: SyntheticWeb) -> None:
    bodies = Counter(
        get(web, host, page).body for host, page in pages_of(web) if web.pages.shown(host, page) == (host, page)
    )
    assert max(bodies.values()) == 1


# Seeds and forms of sending.


def test_gzip_comes_only_where_host_and_visitor_both_want_it(web: SyntheticWeb) -> None:
    for host in hosts_of(web)[:40]:
        plain = get(web, host, 0)
        asked = get(web, host, 0, accept_encoding="br, GZIP;q=0.5")
        assert plain.header("content-encoding") is None
        assert asked.header("content-encoding") == ("gzip" if host.gzip else None)
        assert body_of(asked) == plain.body


@pytest.mark.parametrize("wish", ["gzip;q=0", "gzip; q=0.000, br", "identity", "br", "notgzip", ""])
def test_gzip_does_not_come_to_who_does_not_want_it(web: SyntheticWeb, wish: str) -> None:
    host = next(host for host in hosts_of(web) if host.gzip)
    assert get(web, host, 0, accept_encoding=wish).header("content-encoding") is None


def test_a_small_bound_on_what_is_kept_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Webs larger than the caches compute entries again, and must get the same."""
    plan = Plan(hosts=30, pages=600, rng_seed=6)
    roomy = SyntheticWeb(plan)
    expected = {(host.number, page): roomy.renderer.page(host, page, 0) for host, page in pages_of(roomy)}
    for name in ("pages.ENTRIES_MAX", "outlines.BLOCKS_MAX", "renderer.TEMPLATES_MAX", "plan.NEIGHBOURHOODS_MAX"):
        monkeypatch.setattr(f"tarrafa.lab.web.{name}", 5)
    narrow = SyntheticWeb(plan)
    for host, page in reversed(list(pages_of(narrow))):
        assert narrow.renderer.page(host, page, 0) == expected[host.number, page]


@pytest.mark.parametrize("now_ms", [0, 100 * DAY_MS])
def test_links_without_html_are_those_that_a_page_lets_a_crawl_follow(now_ms: int) -> None:
    web = SyntheticWeb(Plan(hosts=30, pages=600, rng_seed=8, faults=frozenset({Fault.DEAD})))
    for host, number in pages_of(web):
        page = get(web, host, number, now_ms)
        links = followed(page) if page.status == 200 else []
        assert set(web.followed_urls(page.url, now_ms)) == set(links)
    assert web.followed_urls(f"{web.hosts.host(0).origin}/robots.txt") == []


def test_a_web_of_one_host_and_one_page_is_a_web() -> None:
    web = SyntheticWeb(Plan(hosts=1, pages=1, faults=frozenset(Fault)))
    page = get(web, web.hosts.host(0), 0)
    assert page.status == 200
    assert read_page(page).links
