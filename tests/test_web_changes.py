"""When pages change, appear and disappear, and what a client is told about it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarrafa.lab.web import Plan, SyntheticWeb, history
from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.history import CLASSES, DAY_MS, EPOCH_SECONDS, GROWTH_MS, HOUR_MS, http_date
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.records import Page
from webs import body_of, get, hosts_of, pages_of, read_page

YEAR_MS = 365 * DAY_MS
seeds = st.integers(0, 10**6).map(str)
intervals = st.integers(HOUR_MS, 200 * DAY_MS)
moments = st.integers(0, 3 * YEAR_MS)


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return SyntheticWeb(Plan(hosts=40, pages=1_500, rng_seed=4))


# The process itself.


@given(seeds, intervals, moments)
def test_last_change_is_the_last_of_all_changes(seed: str, interval: int, now_ms: int) -> None:
    now_ms = min(now_ms, 400 * interval)
    found = history.changes_until(seed, interval, now_ms)
    assert found == sorted(found)
    assert history.last_change(seed, interval, now_ms) == (found[-1] if found else 0)


@given(seeds, intervals, moments, moments)
def test_the_past_does_not_change(seed: str, interval: int, one_ms: int, other_ms: int) -> None:
    early, late = sorted(min(moment, 300 * interval) for moment in (one_ms, other_ms))
    before = history.changes_until(seed, interval, early)
    assert history.changes_until(seed, interval, late)[: len(before)] == before
    assert all(moment <= early for moment in before)


@pytest.mark.parametrize("interval", [4 * HOUR_MS, 14 * DAY_MS])
def test_changes_come_once_in_an_interval_on_average_and_vary_as_chance_does(interval: int) -> None:
    counts = [len(history.changes_until(f"page {n}", interval, 20 * interval)) for n in range(500)]
    mean = sum(counts) / len(counts)
    variance = sum((count - mean) ** 2 for count in counts) / len(counts)
    assert 19.4 < mean < 20.6
    assert 17 < variance < 23


@given(st.integers(0, 2**32 - 1))
def test_interval_is_never_or_half_to_twice_the_mean_of_its_class(word: int) -> None:
    interval = history.interval_ms(word)
    means = [mean for _, mean in CLASSES if mean]
    assert interval is None or any(mean // 2 <= interval <= 2 * mean for mean in means)


def test_pages_that_never_change_do_not(web: SyntheticWeb) -> None:
    never = [(host, page) for host, page in pages_of(web) if web.pages.interval_ms(host, page) is None]
    assert 0.35 < len(never) / web.plan.pages < 0.45
    assert not history.changes_until("x", None, 10 * YEAR_MS)
    assert history.last_change("x", None, 10 * YEAR_MS) == 0


@given(st.integers(1, 5_000), st.integers(0, 5_000), st.integers(-1, 2))
def test_a_page_is_born_when_its_host_has_grown_so_far(size: int, after: int, offset: int) -> None:
    page = size + after % size
    born = history.born_ms(size, page)
    assert (history.size_at(size, born + offset) > page) == (offset >= 0)


@given(st.integers(1, 10**6), st.integers(-10, 3 * GROWTH_MS))
def test_hosts_grow_until_they_have_doubled(size: int, now_ms: int) -> None:
    grown = history.size_at(size, now_ms)
    assert size <= grown <= 2 * size
    assert (grown == 2 * size) == (now_ms >= GROWTH_MS)


# Pages in time.


def test_pages_are_born_and_die_and_the_dead_were_alive(web: SyntheticWeb) -> None:
    born = died = 0
    for host in hosts_of(web):
        for page in range(2 * host.size):
            begin, end = history.born_ms(host.size, page), web.pages.dies_ms(host, page)
            assert web.pages.alive(host, page, begin)
            assert begin == 0 or not web.pages.alive(host, page, begin - 1)
            born += begin > 0
            if end is not None:
                died += 1
                assert end > begin
                assert web.pages.alive(host, page, end - 1)
                assert not web.pages.alive(host, page, end)
                assert get(web, host, page, end).status in (404, 410)
    assert born == web.plan.pages
    assert 0.1 < died / (2 * web.plan.pages) < 0.16


def test_a_page_that_is_not_yet_born_is_missing(web: SyntheticWeb) -> None:
    host = next(host for host in hosts_of(web) if host.size > 10)
    assert get(web, host, host.size + 3, 0).status in (404, 410)


@given(st.data(), moments)
@settings(max_examples=200)
def test_what_changed_last_is_the_last_of_all_changes_or_the_birth(
    web: SyntheticWeb, data: st.DataObject, now_ms: int
) -> None:
    host = web.hosts.host(data.draw(st.integers(0, web.plan.hosts - 1)))
    page = data.draw(st.integers(0, 2 * host.size - 1))
    if web.pages.alive(host, page, now_ms):
        found = web.pages.all_changes(host, page, now_ms)
        assert found == sorted(set(found))
        assert web.pages.changed_ms(host, page, now_ms) == max([history.born_ms(host.size, page), *found])


def test_a_page_stays_the_same_to_the_byte_from_one_change_to_the_next(web: SyntheticWeb) -> None:
    """The body changes when the truth says so, and at no other time."""
    checked = 0
    for host, page in list(pages_of(web))[::10]:
        found = [
            moment for moment in web.pages.all_changes(host, page, 60 * DAY_MS) if web.pages.alive(host, page, moment)
        ]
        for before, after in zip([0, *found[:6]], found[:7], strict=False):
            old, still, new = (get(web, host, page, moment) for moment in (before, after - 1, after))
            assert old.body == still.body
            assert old.headers == still.headers
            assert new.body != still.body
            assert new.header("etag") is None or new.header("etag") != still.header("etag")
            checked += 1
    assert checked > 100


def test_birth_of_a_child_changes_the_parent_and_adds_a_link(web: SyntheticWeb) -> None:
    host = max(hosts_of(web), key=lambda host: host.size)
    child = next(
        page
        for page in range(host.size, 2 * host.size)
        if web.pages.copy_of(host, (page - 1) // host.branching) is None
    )
    parent, born = (child - 1) // host.branching, history.born_ms(host.size, child)
    url = web.pages.entry(host, child).path
    before, after = get(web, host, parent, born - 1), get(web, host, parent, born)
    assert url not in {href for href, _ in read_page(before).links}
    assert url in {href for href, _ in read_page(after).links}
    assert web.pages.changed_ms(host, parent, born) == born


def test_a_change_rewrites_text_and_keeps_the_title(web: SyntheticWeb) -> None:
    for host, page in list(pages_of(web))[::50]:
        changed = web.pages.text_changed_ms(host, page, 30 * DAY_MS)
        if changed and web.pages.alive(host, page, changed):
            first, now = read_page(get(web, host, page, 0)), read_page(get(web, host, page, changed))
            assert now.title == first.title
            assert now.text != first.text


def test_copies_change_with_their_originals(web: SyntheticWeb) -> None:
    copies = [(host, page) for host, page in pages_of(web) if web.pages.shown(host, page) != (host, page)]
    assert copies
    for host, page in copies:
        for now_ms in (DAY_MS, 9 * DAY_MS, 50 * DAY_MS):
            if web.pages.alive(host, page, now_ms):
                source, original = web.pages.shown(host, page)
                assert get(web, host, page, now_ms).body == get(web, source, original, now_ms).body


def test_later_pages_are_not_older_than_themselves(web: SyntheticWeb) -> None:
    """A page that appeared in March was not last modified in the years before the web began."""
    now_ms = 200 * DAY_MS
    for host in hosts_of(web):
        for page in range(host.size, history.size_at(host.size, now_ms)):
            if web.pages.alive(host, page, now_ms):
                assert web.pages.changed_ms(host, page, now_ms) >= history.born_ms(host.size, page) > 0


# What a client is told.


def by_validators(web: SyntheticWeb, kind: int) -> SyntheticHost:
    return next(host for host in hosts_of(web) if host.validators == kind and host.size > 20)


def changing(web: SyntheticWeb, host: SyntheticHost) -> tuple[int, int]:
    """Return a page of the host and a moment at which it changes."""
    for page in range(host.size):
        found = web.pages.all_changes(host, page, 30 * DAY_MS)
        if found and found[0] > 2_000 and web.pages.dies_ms(host, page) is None:
            return page, found[0]
    raise AssertionError("no page changes")


def conditional(web: SyntheticWeb, host: SyntheticHost, page: int, now_ms: int, known: Page) -> Page:
    asked = {"if_none_match": known.header("etag"), "if_modified_since": known.header("last-modified")}
    return get(web, host, page, now_ms, **{name: value for name, value in asked.items() if value})


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_unchanged_page_is_304_without_body_and_changed_page_comes_again(web: SyntheticWeb, kind: int) -> None:
    host = by_validators(web, kind)
    page, moment = changing(web, host)
    first = get(web, host, page, 0)
    still = conditional(web, host, page, moment - 1, first)
    assert (still.status, still.body) == (304, b"")
    assert still.header("etag") == first.header("etag")
    changed = conditional(web, host, page, moment, first)
    assert changed.status == 200
    assert changed.body != first.body
    assert conditional(web, host, page, moment, changed).status == 304


def test_false_validators_answer_304_for_a_page_that_has_changed() -> None:
    web = SyntheticWeb(Plan(hosts=40, pages=1_500, rng_seed=8, faults=frozenset({Fault.FALSE_VALIDATORS})))
    hosts = [host for host in hosts_of(web) if host.faults and host.validators and host.size > 20]
    for host in hosts:
        page, moment = changing(web, host)
        first = get(web, host, page, 0)
        assert conditional(web, host, page, moment, first).status == 304
        changed = get(web, host, page, moment)
        assert changed.body != first.body
        assert changed.header("etag") == first.header("etag")
    assert hosts


def test_hosts_without_validators_never_say_304(web: SyntheticWeb) -> None:
    host = by_validators(web, 0)
    first = get(web, host, 0)
    assert first.header("etag") is first.header("last-modified") is None
    assert get(web, host, 0, if_none_match="*").status == 200
    assert get(web, host, 0, if_none_match='"x"', if_modified_since=http_date(EPOCH_SECONDS)).status == 200


def test_tag_may_stand_in_a_list_be_weak_or_be_any(web: SyntheticWeb) -> None:
    host = by_validators(web, 1)
    tag = get(web, host, 0).header("etag")
    for given_tags in (tag, f"W/{tag}", f'"other", {tag}', f'"other",W/{tag} , "x"', "*"):
        assert get(web, host, 0, if_none_match=str(given_tags)).status == 304, given_tags
    for given_tags in ('"other"', '"a", "b"', "", "W/", f"x{tag}"):
        assert get(web, host, 0, if_none_match=given_tags).status == 200, given_tags


def test_tag_decides_over_the_date(web: SyntheticWeb) -> None:
    host = by_validators(web, 3)
    modified = get(web, host, 0).header("last-modified")
    assert modified
    assert get(web, host, 0, if_none_match='"other"', if_modified_since=modified).status == 200


def test_date_may_be_later_and_is_ignored_when_it_is_none(web: SyntheticWeb) -> None:
    host = by_validators(web, 2)
    modified = get(web, host, 0).header("last-modified")
    assert modified
    assert get(web, host, 0, if_modified_since=modified).status == 304
    assert get(web, host, 0, if_modified_since=http_date(EPOCH_SECONDS)).status == 304
    for date in ("Thu, 01 Jan 1970 00:00:00 GMT", "yesterday", "", "0", "Xxx, 99 Foo 9999 99:99:99 GMT"):
        assert get(web, host, 0, if_modified_since=date).status == 200, date


def test_last_modified_and_the_sitemap_name_the_same_day(web: SyntheticWeb) -> None:
    now_ms = 30 * DAY_MS
    host = next(host for host in hosts_of(web) if host.sitemap and host.validators == 3 and 20 < host.size < 200)
    text = get(web, host, "/sitemap.xml", now_ms).body.decode()
    for page in range(host.size):
        if web.pages.alive(host, page, now_ms):
            seconds = EPOCH_SECONDS + web.pages.changed_ms(host, page, now_ms) // 1_000
            path = web.pages.entry(host, page).path.replace("&", "&amp;")
            lastmod = text.partition(f"{host.origin}{path}</loc><lastmod>")[2][:10]
            header = get(web, host, page, now_ms).header("last-modified") or ""
            assert lastmod.endswith(header[5:7])
            assert web.pages.changed_ms(host, page, now_ms) == 0 or header == http_date(seconds)


def test_gzip_and_conditions_go_together(web: SyntheticWeb) -> None:
    host = next(host for host in hosts_of(web) if host.gzip and host.validators & 1)
    packed = get(web, host, 0, accept_encoding="gzip")
    assert packed.header("vary") == "Accept-Encoding"
    assert body_of(packed) == get(web, host, 0).body
    again = get(web, host, 0, accept_encoding="gzip", if_none_match=packed.header("etag") or "")
    assert (again.status, again.body, again.header("content-encoding")) == (304, b"", None)
