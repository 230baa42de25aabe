"""How a page is asked for again, and what the answer says of it: the parts that decide."""

import math
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.agent import Outcome
from tarrafa.agent.deployment_guard import LAST_COUNT, DeploymentGuard
from tarrafa.agent.landings import Landing, PageRefresh, change_between, is_stored, landing_of, lost_landing
from tarrafa.agent.outcomes import DOUBTED, NO_FILE
from tarrafa.agent.validators import (
    CACHE_MAX_SECONDS,
    ValidatorTrust,
    cache_seconds,
    conditions_of,
    content_seconds,
    hides_change,
    is_plain_turn,
)
from tarrafa.histories import DAY_SECONDS, Change, Phase, VisitNews, fold, new_histories, phase_after
from tarrafa.keep import Original, Place, StoredHead, digest_of
from tarrafa.records import Headers, Page
from tarrafa.verify import KnownPage

A = "http://a.example"
AT = 1_763_251_200.0  # Sun, 16 Nov 2025 00:00:00 GMT
DATE = ("Date", "Sun, 16 Nov 2025 00:00:00 GMT")
MODIFIED = ("Last-Modified", "Sat, 15 Nov 2025 23:00:00 GMT")
DIGEST = digest_of(b"body")
HASHES = st.integers(0, 2**64 - 1)


# Validators.


@pytest.mark.parametrize(
    ("headers", "conditions"),
    [
        ((("ETag", '"x"'), MODIFIED, DATE), (("If-None-Match", '"x"'),)),
        ((("etag", 'W/"x"'),), (("If-None-Match", 'W/"x"'),)),
        ((("ETag", '"1-gzip"'),), (("If-None-Match", '"1-gzip", "1"'),)),
        ((MODIFIED, DATE), (("If-Modified-Since", MODIFIED[1]),)),
        ((MODIFIED,), (("If-Modified-Since", MODIFIED[1]),)),
        ((("ETag", ""), MODIFIED, DATE), (("If-Modified-Since", MODIFIED[1]),)),
        ((("ETag", "x" * 5_000),), ()),
        ((("Last-Modified", DATE[1]), DATE), ()),
        ((("Last-Modified", "Sat, 15 Nov 2025 23:59:56 GMT"), DATE), ()),
        ((("Last-Modified", "Mon, 17 Nov 2025 00:00:00 GMT"), DATE), ()),
        ((("Last-Modified", "yesterday"), DATE), ()),
        ((), ()),
    ],
)
def test_tag_is_sent_back_or_else_a_date_before_the_answer(headers: Headers, conditions: Headers) -> None:
    assert conditions_of(headers, AT) == conditions


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((MODIFIED, DATE), 3_600),
        ((MODIFIED,), 3_600),
        ((("Last-Modified", "Sat, 15 Nov 2025 23:59:55 GMT"), DATE), 5),
        ((("Last-Modified", "Sat, 15 Nov 2025 23:59:56 GMT"), DATE), math.nan),
        ((DATE,), math.nan),
    ],
)
def test_content_is_as_old_as_its_host_says_by_its_own_clock(headers: Headers, seconds: float) -> None:
    assert content_seconds(headers, AT) == pytest.approx(seconds, nan_ok=True)
    slow = tuple((name, value.replace("2025", "2024")) for name, value in headers)
    if DATE in headers:
        assert content_seconds(slow, AT) == pytest.approx(seconds, nan_ok=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((("Cache-Control", "public, max-age=600"),), 600),
        ((("Cache-Control", 'max-age="600"'), ("Age", "100")), 500),
        ((("Cache-Control", "max-age=600"), ("Age", "900")), 0),
        ((("Cache-Control", "max-age=600"), ("Expires", "Mon, 17 Nov 2025 00:00:00 GMT"), DATE), 600),
        ((("Cache-Control", "max-age=99999999999"),), CACHE_MAX_SECONDS),
        ((("Cache-Control", "max-age=600"), ("Cache-Control", "no-cache")), 0),
        ((("Cache-Control", "no-store, max-age=600"),), 0),
        ((("Cache-Control", "max-age=soon"),), 0),
        ((("Expires", "Sun, 16 Nov 2025 00:10:00 GMT"), DATE), 600),
        ((("Expires", "Sun, 16 Nov 2025 00:10:00 GMT"),), 0),
        ((("Expires", "0"), DATE), 0),
        ((), 0),
    ],
)
def test_page_is_valid_as_long_as_its_host_says_and_a_day_at_most(headers: Headers, seconds: float) -> None:
    assert cache_seconds(headers) == seconds


@given(
    st.lists(
        st.tuples(st.sampled_from(["Cache-Control", "Age", "Expires", "Date", "ETag", "Last-Modified"]), st.text())
    )
)
def test_whatever_a_host_sends_the_times_are_within_their_bounds(headers: list[tuple[str, str]]) -> None:
    sent = tuple(headers)
    assert 0 <= cache_seconds(sent) <= CACHE_MAX_SECONDS
    assert math.isnan(content_seconds(sent, AT)) or content_seconds(sent, AT) >= 5
    assert len(conditions_of(sent, AT)) <= 1


def test_one_refresh_in_twenty_goes_without_conditions() -> None:
    plain = [is_plain_turn(f"{A}/{number}", AT) for number in range(20_000)]
    assert 900 < sum(plain) < 1_100
    assert plain == [is_plain_turn(f"{A}/{number}", AT) for number in range(20_000)]
    assert plain != [is_plain_turn(f"{A}/{number}", AT + 5_000) for number in range(20_000)]


@pytest.mark.parametrize(
    ("old", "new", "is_hidden"),
    [
        ((("ETag", "1"),), (("ETag", "1"),), True),
        ((("ETag", "1"),), (("ETag", "2"), MODIFIED, DATE), False),
        ((("ETag", "1"),), (MODIFIED, DATE), True),
        ((MODIFIED, DATE), (MODIFIED, DATE), True),
        ((), (("Last-Modified", "Sat, 15 Nov 2025 23:30:00 GMT"), DATE), False),
        ((("ETag", "1"),), (), None),
        ((), (("ETag", "1"),), None),
    ],
)
def test_validators_hide_a_change_if_they_say_that_it_was_before_the_last_visit(
    old: Headers, new: Headers, is_hidden: bool | None
) -> None:
    assert hides_change(old, new, AT, AT - 2_400) is is_hidden


@given(st.lists(st.booleans(), max_size=90))
def test_host_is_not_believed_if_it_hides_one_change_in_ten_and_three_at_least(hidden: list[bool]) -> None:
    trust = ValidatorTrust()
    for each in hidden:
        trust.note(A, is_hidden=each)
    assert trust.is_trusted(A) is not (sum(hidden) >= 3 and 10 * sum(hidden) >= len(hidden))
    assert trust.is_trusted("http://b.example")


def test_host_that_has_learnt_to_tell_the_truth_is_believed_again_and_few_hosts_are_remembered() -> None:
    trust = ValidatorTrust(limit=2)
    for _ in range(1_000):
        trust.note(A, is_hidden=True)
    assert not trust.is_trusted(A)
    for _ in range(400):
        trust.note(A, is_hidden=False)
    assert trust.is_trusted(A)
    for name in "bcd":
        for _ in range(5):
            trust.note(name, is_hidden=True)
    assert [trust.is_trusted(name) for name in "bcd"] == [True, False, False]


# The guard against broken deployments.


@given(st.lists(st.booleans(), max_size=200))
def test_pages_are_doubted_for_a_day_from_when_half_of_the_last_refreshes_turned(turns: list[bool]) -> None:
    guard, last, until, was_many = DeploymentGuard(), deque[bool](maxlen=LAST_COUNT), -math.inf, False
    for number, is_turned in enumerate(turns):
        at = AT + number * 3_600
        guard.note(A, at, is_turned=is_turned)
        last.append(is_turned)
        is_many = sum(last) >= LAST_COUNT // 2
        until = at + DAY_SECONDS if is_many and not was_many else until
        was_many = is_many
        assert guard.doubts(A, at) is (at < until)
        assert not guard.doubts("http://b.example", at)


def test_host_that_is_gone_for_good_is_believed_on_the_second_day() -> None:
    guard = DeploymentGuard()
    for number in range(100):
        guard.note(A, AT + number, is_turned=True)
    assert guard.doubts(A, AT + 100)
    for number in range(100):
        guard.note(A, AT + DAY_SECONDS + 10 + number, is_turned=True)
        assert not guard.doubts(A, AT + DAY_SECONDS + 10 + number)


# What an answer says.


def known_page(phase: Phase = Phase.LIVE, status: int = 200, failures: int = 0, visited: float = AT) -> KnownPage:
    return KnownPage(f"{A}/", 2, visited, status, phase, 3, 14, 0xABC, 0xF0, failures=failures)


def head_of(headers: Headers = (), status: int = 200, is_whole: bool = True, digest: str = DIGEST) -> StoredHead:
    return StoredHead(status, headers, AT, is_whole, (), Original(Place(1, 2), f"{A}/", AT, digest))


def page_of(status: int = 200, *headers: tuple[str, str], truncated: bool = False) -> Page:
    return Page(f"{A}/", status, headers, b"body", AT + 5 * DAY_SECONDS, truncated=truncated)


@given(HASHES, HASHES, HASHES, st.lists(st.integers(0, 63), max_size=4))
def test_change_is_slight_if_the_texts_are_nearly_the_same(one: int, other: int, near: int, bits: list[int]) -> None:
    close = near
    for bit in bits:
        close ^= 1 << bit
    expected = Change.SLIGHT if near and close and (near ^ close).bit_count() <= 2 else Change.FULL
    assert change_between((one, near), (other, close)) is (Change.NONE if one == other else expected)


@given(
    st.sampled_from([phase for phase in Phase if phase is not Phase.DROPPED]),
    st.integers(0, 10),
    st.floats(0, 100 * DAY_SECONDS),
    st.sampled_from([200, 204, 301, 304, 403, 404, 410, 500, 1_000, 1_104, DOUBTED]),
)
def test_phase_of_one_visit_is_that_of_the_repository(phase: Phase, failures: int, later: float, status: int) -> None:
    visited = round(AT)
    histories = new_histories(np.zeros(1, np.uint32))
    histories.phase[0], histories.failures[0], histories.visited[0], histories.visits[0] = phase, failures, visited, 3
    nothing = np.zeros(1)
    news = VisitNews(
        np.array([visited + later]), np.array([status], np.uint16), np.zeros(1, np.uint8), nothing, nothing
    )
    fold(histories, np.zeros(1, np.int64), news, np.ones(1))
    assert phase_after(phase, failures, visited, visited + later, status) is Phase(histories.phase[0])


@pytest.mark.parametrize(
    ("known", "status", "days", "doubted", "outcome", "told", "is_end"),
    [
        (known_page(), 404, 5, False, Outcome.FAILED, 404, False),
        (known_page(Phase.MISSING, 404, 1), 404, 0.5, False, Outcome.FAILED, 404, False),
        (known_page(Phase.MISSING, 404, 1), 404, 1, False, Outcome.GONE, 404, True),
        (known_page(Phase.MISSING, 404, 1), 404, 1, True, Outcome.FAILED, DOUBTED, False),
        (known_page(), 410, 5, False, Outcome.GONE, 410, True),
        (known_page(), 410, 5, True, Outcome.FAILED, DOUBTED, False),
        (known_page(Phase.GONE, 410, 1), 404, 5, True, Outcome.GONE, 404, True),
        (known_page(), 500, 5, False, Outcome.FAILED, 500, False),
        (known_page(Phase.FAILING, 1_104, 4), 1_104, 30, False, Outcome.GONE, 1_104, True),
        (known_page(), 1_000, 5, False, Outcome.REFUSED, 1_000, False),
        (known_page(Phase.REFUSED, 1_000, 1), 1_000, 0.5, False, Outcome.REFUSED, 1_000, False),
        (known_page(Phase.REFUSED, 1_000, 1), 1_000, 1, False, Outcome.REFUSED, 1_000, True),
    ],
)
def test_page_without_an_answer_is_lost_by_and_by_and_its_content_stays_known(
    known: KnownPage, status: int, days: float, doubted: bool, outcome: Outcome, told: int, is_end: bool
) -> None:
    found = lost_landing(known, status, AT + days * DAY_SECONDS, doubted)
    assert (found.outcome, found.status, found.is_end, found.change) == (outcome, told, is_end, Change.NONE)
    assert (found.place, found.signature, found.similarity) == (Place(3, 14), 0xABC, 0xF0)
    assert not found.is_new_page
    assert not lost_landing(known._replace(file=NO_FILE), status, AT + days * DAY_SECONDS, doubted).is_end


@pytest.mark.parametrize(
    ("page", "head", "phase", "expected"),
    [
        (page_of(304), head_of(), Phase.LIVE, True),
        (page_of(200), head_of(), Phase.LIVE, True),
        (page_of(200), head_of(), Phase.MISSING, True),
        (page_of(200), head_of(), Phase.GONE, False),
        (page_of(200), head_of(), Phase.MOVED, False),
        (page_of(200), head_of(digest="sha1:Y"), Phase.LIVE, False),
        (page_of(200), head_of(is_whole=False), Phase.LIVE, False),
        (page_of(200, truncated=True), head_of(), Phase.LIVE, False),
        (page_of(200), head_of(status=404), Phase.LIVE, False),
        (page_of(404), head_of(), Phase.LIVE, False),
        (page_of(200, ("X-Robots-Tag", "noindex")), head_of(), Phase.LIVE, False),
        (page_of(200, ("Content-Encoding", "gzip")), head_of(), Phase.LIVE, False),
        (page_of(200, ("ETag", "2")), head_of((("ETag", "1"),)), Phase.LIVE, True),
        (page_of(200), None, Phase.LIVE, False),
    ],
)
def test_answer_is_not_parsed_if_the_archive_has_it(
    page: Page, head: StoredHead | None, phase: Phase, expected: bool
) -> None:
    assert is_stored(page, PageRefresh(known_page(phase), head)) is expected


@given(
    st.builds(
        Landing,
        st.sampled_from(Outcome),
        st.integers(200, 2_000),
        st.sampled_from(Change),
        HASHES,
        HASHES,
        st.one_of(st.just(math.nan), st.integers(0, 10**9).map(float)),
        st.just(0.0),
        place=st.one_of(st.none(), st.builds(Place, st.integers(0, 2**32 - 1), st.integers(0, 2**40))),
        is_refresh=st.just(True),
        is_new_page=st.booleans(),
        is_end=st.just(False),
    )
)
def test_landing_of_a_refresh_comes_back_from_the_archive(landing: Landing) -> None:
    assert str(landing_of((("depth", "3"), *landing.fields()), page_of())) == str(landing)


def test_first_visit_adds_nothing_to_the_archive() -> None:
    assert Landing(Outcome.FETCHED, 200).fields() == ()
    assert landing_of((("depth", "3"),), page_of()) is None
