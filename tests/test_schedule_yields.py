"""Patterns of URLs by what they bring: which are visited less, and which are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule import Fruit, HostYields
from tarrafa.schedule.kind_trials import NEW_PER_TRIAL, TRIALS
from tarrafa.schedule.pattern_yield import CREDIT, FRUITLESS_MAX, STEPS
from tarrafa.schedule.yields import CREDIT_MAX, PATTERNS_LIMIT

HOST = "http://a.example"
BARREN = (Fruit.COPY, Fruit.ERROR, Fruit.TYPE, Fruit.REDIRECT, Fruit.NOINDEX)


def visit(yields: HostYields, urls: list[str], fruit: Fruit) -> int:
    """Visit those of the URLs that may be visited; return how many these are."""
    count = 0
    for url in urls:
        if yields.refusal(url) is None:
            yields.note(url, fruit)
            count += 1
    return count


def months(count: int, start: int = 0) -> list[str]:
    return [f"{HOST}/calendar/{1900 + number // 12}/{number % 12 + 1}" for number in range(start, start + count)]


def test_pattern_that_brings_new_content_is_never_slowed() -> None:
    """A large archive, such as /2019/05/12/title."""
    yields = HostYields()
    assert visit(yields, months(3_000), Fruit.NEW) == 3_000
    assert not yields.is_suspicious
    assert yields.dump() == ""


def test_every_fifth_visit_that_brings_new_content_is_enough() -> None:
    yields = HostYields()
    for number, url in enumerate(months(2_000)):
        assert yields.refusal(url) is None
        yields.note(url, Fruit.COPY if number % 5 else Fruit.NEW)


def test_barren_pattern_is_slowed_and_then_refused() -> None:
    yields = HostYields()
    assert visit(yields, months(CREDIT), Fruit.COPY) == CREDIT
    later = months(10_000, start=1_200)
    assert visit(yields, later, Fruit.COPY) <= FRUITLESS_MAX - CREDIT
    assert {yields.refusal(url) for url in later} == {"copies"}
    assert all(each.is_refused for each in yields.slowed() if each.pattern == "/calendar/#/#")


def test_share_of_visits_falls_by_half_at_each_step() -> None:
    yields, urls, shares = HostYields(), months(12_000, start=12), []
    for url in months(FRUITLESS_MAX):
        yields.note(url, Fruit.COPY)
        shares.append(sum(yields.refusal(each) is None for each in urls) / len(urls))
    assert shares[: CREDIT - 1] == [1.0] * (CREDIT - 1)
    steps = sorted(set(shares), reverse=True)
    assert len(steps) == STEPS + 2
    assert all(abs(share - 0.5**step) < 0.02 for step, share in enumerate(steps[:-1]))
    assert steps[-1] == 0.0


def test_new_content_takes_steps_back() -> None:
    yields, url = HostYields(), months(1)[0]
    for _ in range(CREDIT + 1):
        yields.note(url, Fruit.COPY)
    assert yields.is_suspicious
    yields.note(url, Fruit.NEW)
    assert not yields.is_suspicious
    assert all(yields.refusal(each) is None for each in months(100))


def test_pattern_that_was_good_and_ends_is_slowed() -> None:
    """A calendar with events in its first years."""
    yields = HostYields()
    visit(yields, months(60), Fruit.NEW)
    assert visit(yields, months(5_000, start=60), Fruit.COPY) <= CREDIT_MAX.fine + 3 * STEPS


def test_barren_pattern_does_not_harm_others_of_its_host() -> None:
    yields = HostYields()
    pages = [f"{HOST}/wiki/page-{'abcdefghij'[number % 10]}{number}" for number in range(1_000)]
    visit(yields, pages, Fruit.NEW)
    visit(yields, [f"{url}?action=edit" for url in pages], Fruit.COPY)
    assert all(yields.refusal(f"{url}x?action=edit") for url in pages)
    assert all(yields.refusal(f"{url}x") is None for url in pages)
    assert yields.refusal(f"{HOST}/") is None


def test_host_that_makes_up_patterns_is_judged_by_what_they_share() -> None:
    """Combinations of tags as a path: no two have one pattern."""
    words = ["red", "blue", "green", "small", "large", "cheap"]
    yields = HostYields()
    urls = [f"{HOST}/tag/{a}/{b}/{c}" for a in words for b in words for c in words]
    assert visit(yields, urls, Fruit.COPY) <= FRUITLESS_MAX + TRIALS
    assert yields.refusal(f"{HOST}/about") is None


def test_barren_end_of_a_large_site_does_not_end_the_site() -> None:
    """As in the documentation of SQLite: hundreds of links to pages that are missing, in one folder of many."""
    yields = HostYields()
    visit(yields, [f"{HOST}/doc/{'abcdefghij'[n % 10] * (n // 10 + 1)}.html" for n in range(200)], Fruit.NEW)
    visit(yields, [f"{HOST}/doc/matrix/{'abcdefghij'[n % 10] * (n // 10 + 1)}.html" for n in range(300)], Fruit.ERROR)
    assert yields.refusal(f"{HOST}/doc/matrix/z.html") == "errors"
    assert yields.refusal(f"{HOST}/doc/other/") is None
    assert yields.refusal(f"{HOST}/doc/z.html") is None


def test_type_that_is_not_wanted_is_a_reason_too() -> None:
    yields = HostYields()
    urls = [f"{HOST}/snapshot/{number:08x}b.tar.gz" for number in range(200)]
    assert visit(yields, urls, Fruit.TYPE) <= FRUITLESS_MAX
    assert yields.refusal(urls[-1]) == "type"


def test_news_tell_when_a_pattern_is_slowed_and_when_it_is_refused() -> None:
    yields, news = HostYields(), []
    for url in months(FRUITLESS_MAX + 20):
        news += [each for each in yields.note(url, Fruit.COPY) if each.pattern == "/calendar/#/#"]
    assert [(each.visits, each.is_refused) for each in news] == [(CREDIT, False), (FRUITLESS_MAX, True)]


def test_damaged_dump_is_forgotten() -> None:
    for text in ("{", "[]", '{"patterns": [[1]], "wild": []}', '{"patterns": []}'):
        assert not HostYields.load(text).is_suspicious


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(Fruit)), max_size=150))
def test_slowed_patterns_survive_dump_and_load(visits: list[tuple[int, Fruit]]) -> None:
    yields = HostYields()
    for number, fruit in visits:
        yields.note(f"{HOST}/page/{number}", fruit)
    loaded = HostYields.load(yields.dump())
    assert loaded.slowed() == yields.slowed()
    assert loaded.is_suspicious == yields.is_suspicious == bool(yields.slowed())
    if yields.is_suspicious and not any(fruit is Fruit.NEW for _, fruit in visits):
        assert [loaded.refusal(url) for url in months(50)] == [yields.refusal(url) for url in months(50)]


def test_identifier_of_digits_is_still_one_after_dump_and_load() -> None:
    yields = HostYields()
    visit(yields, [f"{HOST}/page{number}?sid={number:07x}a" for number in range(60)], Fruit.COPY)
    with_digits = f"{HOST}/page?sid=12345678"
    assert HostYields.load(yields.dump()).refusal(with_digits) == yields.refusal(with_digits) == "copies"


@given(st.lists(st.tuples(st.text("ab0/?&=", max_size=12), st.sampled_from(Fruit)), max_size=300))
def test_any_visits_keep_the_bounds_and_give_the_same_decisions_again(visits: list[tuple[str, Fruit]]) -> None:
    first, second = HostYields(), HostYields()
    for tail, fruit in visits:
        url = f"{HOST}/{tail}"
        assert first.refusal(url) == second.refusal(url)
        assert first.note(url, fruit) == second.note(url, fruit)
        assert first.is_suspicious >= bool(first.slowed())
    assert len(first.slowed()) <= PATTERNS_LIMIT


def test_neutral_visits_change_nothing() -> None:
    yields = HostYields()
    for url in months(200):
        assert yields.note(url, Fruit.NEUTRAL) == []
    assert not yields.is_suspicious
    assert FRUITLESS_MAX == CREDIT + 2 * STEPS


SEGMENTS = st.sampled_from(["loja", "doc", "7", "12", "a9", "x.html", "page-3", "", "9f8e7d6c5b4a"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).map(lambda parts: f"{HOST}/{'/'.join(parts)}")
QUERIES = st.sampled_from(["", "", "?a=1", "?a=2&b=x", "?sid=9f8e7d6c5b4a"])
URLS = st.builds("{}{}".format, PATHS, QUERIES)


@given(st.lists(st.tuples(URLS, st.sampled_from([*BARREN, Fruit.NEW]), st.integers(1, 20)), max_size=40), URLS)
def test_the_quick_refusal_is_that_of_all_patterns(visits: list[tuple[str, Fruit, int]], other: str) -> None:
    yields = HostYields()
    for url, fruit, times in visits:
        for _ in range(times):
            yields.note(url, fruit)
        assert yields.refusal(other) == yields.refusal_by_patterns(other)
    for url, _, _ in visits:
        assert yields.refusal(url) == yields.refusal_by_patterns(url)
    loaded = HostYields.load(yields.dump())
    assert loaded.refusal(other) == loaded.refusal_by_patterns(other)


def forms(count: int) -> list[str]:
    return [
        f"{HOST}/w?title=Page-{'abcdefghij'[n % 10]}{n}&action={'edit' if n % 2 else 'history'}" for n in range(count)
    ]


def lists(count: int) -> list[str]:
    """Further pages of a category: parameters that no other URL has."""
    return [f"{HOST}/w?title=Category&from=Story-{'abcdefghij'[n % 10] * (n // 10 + 1)}" for n in range(count)]


def test_new_kind_of_url_is_tried_although_all_others_with_a_query_are_refused() -> None:
    """As in MediaWiki: all URLs with parameters are forms and histories, but those of long categories."""
    yields = HostYields()
    visit(yields, forms(200), Fruit.NOINDEX)
    assert all(yields.refusal(url) == "noindex" for url in forms(40))
    assert visit(yields, lists(120), Fruit.NEW) == 120
    assert visit(yields, forms(400), Fruit.NOINDEX) <= 2 * FRUITLESS_MAX


def test_new_kind_of_copies_is_tried_a_few_times() -> None:
    """The first categories of a wiki may list pages that are known from elsewhere."""
    yields = HostYields()
    visit(yields, forms(200), Fruit.NOINDEX)
    assert visit(yields, lists(120), Fruit.COPY) == CREDIT


@pytest.mark.parametrize("fruit", [Fruit.ERROR, Fruit.TYPE, Fruit.REDIRECT, Fruit.NOINDEX])
def test_new_kind_that_brings_no_page_has_one_trial(fruit: Fruit) -> None:
    yields = HostYields()
    visit(yields, forms(200), Fruit.NOINDEX)
    assert visit(yields, lists(120), fruit) == 1


def test_host_that_makes_up_kinds_has_few_trials() -> None:
    yields = HostYields()
    visit(yields, forms(200), Fruit.NOINDEX)
    words = [a + b for a in "abcdefgh" for b in "abcdefgh"]
    assert visit(yields, [f"{HOST}/w?{word}=1" for word in words], Fruit.COPY) == TRIALS
    assert visit(HostYields.load(yields.dump()), [f"{HOST}/w?x{word}=1" for word in words], Fruit.COPY) == 0


def test_host_that_brings_more_has_more_trials() -> None:
    yields = HostYields()
    visit(yields, [f"{HOST}/{'abcdefghij'[n % 10]}/{n}" for n in range(10 * NEW_PER_TRIAL)], Fruit.NEW)
    visit(yields, forms(200), Fruit.NOINDEX)
    words = [a + b for a in "abcdefgh" for b in "abcdefgh"]
    assert visit(yields, [f"{HOST}/w?{word}=1" for word in words], Fruit.COPY) == TRIALS + 10


def test_page_is_visited_once_whatever_the_session() -> None:
    """Each page of a shop has links with identifiers of their own; the pages are only found by such links."""
    yields, visits = HostYields(), 0
    names = [f"page-{'abcdefghij'[n % 10] * (n // 10 + 1)}" for n in range(100)]
    seen: set[str] = set()
    for number in range(2_000):
        name = names[number * 7 % (1 + number // 10) % 100]
        url = f"{HOST}/{name}?sid={number * 99:07x}a"
        if yields.refusal(url) is None:
            yields.note(url, Fruit.COPY if name in seen else Fruit.NEW)
            seen.add(name)
            visits += 1
    assert len(seen) == 100
    assert visits <= 100 + 8


def test_identifiers_that_lead_to_other_pages_are_no_sessions() -> None:
    """The hash of a commit: a file mostly changes with it, and sometimes does not."""
    yields = HostYields()
    urls = [f"{HOST}/git?file=a&commit={number * 99:07x}a" for number in range(300)]
    for number, url in enumerate(urls):
        assert yields.refusal(url) is None
        yields.note(url, Fruit.NEW if number % 4 else Fruit.COPY)


def test_orders_of_lists_end_although_some_brought_new_content() -> None:
    """Folders of names without a pattern, each with a list in eight orders; the first of some were new."""
    yields, orders = HostYields(), [f"?C={column};O={order}" for column in "NMSD" for order in "AD"]
    folders = [f"{HOST}/{'abcdefghij'[n % 10] * (n // 10 + 1)}/{'klmnop'[n % 6]}/" for n in range(60)]
    visits = 0
    for number, folder in enumerate(folders):
        yields.note(folder, Fruit.NEW)
        for place, order in enumerate(orders):
            if yields.refusal(folder + order) is None:
                visits += 1
                yields.note(folder + order, Fruit.NEW if place < 2 and number < 20 else Fruit.COPY)
    assert visits < 60 * len(orders) // 2
