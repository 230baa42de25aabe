"""What became of a robots.txt, and what follows: RFC 9309, sections 2.3 and 2.4, on a clock that we hold."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.lab.web import Fault, Plan, SyntheticWeb, parse_faults
from tarrafa.lab.web.faults import NOTHING_ALLOWED
from tarrafa.lab.web.memory_transport import MemoryTransport
from tarrafa.obey import (
    ROBOTS_MAX_BYTES,
    Basis,
    Permission,
    RobotsAnswer,
    RobotsRefusal,
    RobotsRequest,
    first_request,
    permission_of,
    settle,
)
from tarrafa.obey.permission import (
    DAY_SECONDS,
    GIVEN_UP_SECONDS,
    HOPS_MAX_COUNT,
    HOUR_SECONDS,
    RETRY_MAX_SECONDS,
    RETRY_MIN_SECONDS,
)
from tarrafa.records import Failure, FailureKind, Headers, Page, Request
from webs import InstantClock, hosts_of

HOST = "http://a.example"
NOW = 1_000_000.0
CLOSED = b"User-agent: *\nDisallow: /closed\n"
DOWN = Failure(f"{HOST}/robots.txt", FailureKind.TIMEOUT, "")


def page(status: int, body: bytes = b"", headers: Headers = (), truncated: bool = False) -> Page:
    return Page(f"{HOST}/robots.txt", status, headers, body, at=0.0, truncated=truncated)


def settled(got: Page | Failure, now: float = NOW, before: RobotsAnswer | None = None) -> RobotsAnswer:
    answer = settle(first_request(HOST), got, now, before)
    assert isinstance(answer, RobotsAnswer)
    return answer


def allowed(answer: RobotsAnswer, path: str = "/open") -> Permission:
    permission = permission_of(answer, "tarrafa")
    assert permission.refusal(HOST + path) is None
    return permission


FILE = settled(page(200, CLOSED))


def test_robots_txt_is_asked_for_at_the_root_of_the_host() -> None:
    assert first_request("https://a.example:8443") == RobotsRequest(
        "https://a.example:8443", "https://a.example:8443/robots.txt"
    )


def test_file_holds_for_a_day_and_its_refusals_have_a_reason() -> None:
    permission = allowed(FILE)
    assert permission.refusal(f"{HOST}/closed/x") is RobotsRefusal.DISALLOWED
    assert not permission.is_due(NOW + DAY_SECONDS - 1)
    assert permission.is_due(NOW + DAY_SECONDS)


def test_file_that_came_in_the_future_is_due() -> None:
    """The clock was wrong then, and a day from then may be a year from now."""
    permission = allowed(FILE)
    assert not permission.is_due(NOW - 1)
    assert permission.is_due(NOW - DAY_SECONDS)


def test_every_reason_of_a_refusal_is_explained() -> None:
    text = (Path(__file__).parents[1] / "docs" / "concepts" / "robots.md").read_text()
    assert [refusal for refusal in RobotsRefusal if f"\n| `{refusal}` |" not in text] == []


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("max-age=7200", 7200),
        ('public, Max-Age="7200"', 7200),
        ("max-age=0", HOUR_SECONDS),
        ("no-cache", DAY_SECONDS),
        ("max-age=31536000", DAY_SECONDS),
        ("max-age=x", DAY_SECONDS),
    ],
)
def test_shorter_time_that_is_announced_is_respected_but_for_less_than_an_hour(value: str, seconds: float) -> None:
    assert settled(page(200, b"", (("Cache-Control", value),))).expires_at == NOW + seconds


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 300, 304])
def test_missing_file_allows_everything(status: int) -> None:
    answer = settled(page(status, b"User-agent: *\nDisallow: /"), before=FILE)
    assert (answer.basis, answer.reason, answer.body) == (Basis.MISSING, f"http-{status}", None)
    allowed(answer, "/closed")


@pytest.mark.parametrize("got", [page(500), page(503), page(599), page(429), page(999), page(0), DOWN])
def test_nothing_is_allowed_where_the_file_cannot_be_had(got: Page | Failure) -> None:
    answer = settled(got)
    assert permission_of(answer, "tarrafa").refusal(f"{HOST}/open") is RobotsRefusal.ROBOTS_UNREACHABLE
    assert answer.expires_at == NOW + RETRY_MIN_SECONDS


def test_old_file_holds_on_while_a_newer_one_cannot_be_had() -> None:
    answer = settled(DOWN, NOW + DAY_SECONDS, FILE)
    assert (answer.basis, answer.reason, answer.failing_since) == (Basis.FILE, "timeout", NOW + DAY_SECONDS)
    assert allowed(answer).refusal(f"{HOST}/closed") is RobotsRefusal.DISALLOWED
    later = settled(DOWN, answer.expires_at, answer)
    assert allowed(later).refusal(f"{HOST}/closed") is RobotsRefusal.DISALLOWED


def tried_until(now: float, answer: RobotsAnswer) -> list[RobotsAnswer]:
    answers = [answer]
    while answers[-1].expires_at < now:
        answers.append(settled(DOWN, answers[-1].expires_at, answers[-1]))
    return answers


def test_intervals_between_tries_double_up_to_a_bound() -> None:
    answers = tried_until(NOW + 3 * DAY_SECONDS, settled(DOWN))
    waits = [answer.expires_at - answer.fetched_at for answer in answers]
    assert waits[:5] == [RETRY_MIN_SECONDS * times for times in (1, 1, 2, 4, 8)]
    assert max(waits) == waits[-1] == RETRY_MAX_SECONDS


def test_after_thirty_days_of_trying_everything_is_allowed() -> None:
    answers = tried_until(NOW + GIVEN_UP_SECONDS + DAY_SECONDS, settled(DOWN))
    for answer in answers:
        is_given_up = answer.fetched_at - NOW >= GIVEN_UP_SECONDS
        assert answer.basis is (Basis.MISSING if is_given_up else Basis.UNREACHABLE)
    allowed(answers[-1])


def test_after_thirty_days_of_trying_an_old_file_still_holds() -> None:
    answer = tried_until(NOW + GIVEN_UP_SECONDS + DAY_SECONDS, settled(DOWN, before=FILE))[-1]
    assert allowed(answer).refusal(f"{HOST}/closed") is RobotsRefusal.DISALLOWED


def test_two_failures_with_a_month_of_silence_between_them_are_no_month_of_failures() -> None:
    answer = settled(DOWN, NOW + 2 * GIVEN_UP_SECONDS, settled(DOWN))
    assert (answer.basis, answer.failing_since) == (Basis.UNREACHABLE, NOW + 2 * GIVEN_UP_SECONDS)


def test_success_ends_a_row_of_failures() -> None:
    assert settled(page(200, CLOSED), NOW + 300, settled(DOWN)).failing_since is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7200", 7200),
        ("1", RETRY_MIN_SECONDS),
        ("99999999999999", DAY_SECONDS),
        ("Mon, 12 Jan 1970 15:46:40 GMT", 7200),
        ("soon", RETRY_MIN_SECONDS),
        ("٣", RETRY_MIN_SECONDS),
    ],
)
def test_retry_after_can_only_make_us_wait_longer(value: str, seconds: float) -> None:
    assert settled(page(503, b"", (("Retry-After", value),))).expires_at == NOW + seconds


def test_file_that_broke_off_is_as_if_it_could_not_be_had() -> None:
    answer = settled(page(200, b"User-agent: *\nDisal", truncated=True))
    assert (answer.basis, answer.reason) == (Basis.UNREACHABLE, "truncated")


def test_file_that_was_cut_at_its_bound_holds_up_to_its_last_whole_line() -> None:
    body = CLOSED + b"Allow: /" * ROBOTS_MAX_BYTES
    answer = settled(page(200, body[:ROBOTS_MAX_BYTES], truncated=True))
    assert (answer.basis, answer.body) == (Basis.FILE, CLOSED)


# Redirects.


def moved(location: str, url: str = f"{HOST}/robots.txt") -> Page:
    return page(301, headers=(("Location", location),))._replace(url=url)


def test_redirect_is_followed_to_another_host_and_its_rules_are_for_the_first() -> None:
    request = settle(first_request(HOST), moved("https://b.example/r"), NOW)
    assert request == RobotsRequest(HOST, "https://b.example/r", 1)
    answer = settle(request, page(200, CLOSED)._replace(url=request.url), NOW)
    assert isinstance(answer, RobotsAnswer)
    assert (answer.host, answer.basis) == (HOST, Basis.FILE)


def test_five_redirects_are_followed_and_a_sixth_means_there_is_no_file() -> None:
    request: RobotsRequest | RobotsAnswer = first_request(HOST)
    for number in range(HOPS_MAX_COUNT):
        assert isinstance(request, RobotsRequest)
        request = settle(request, moved(f"/{number}", request.url), NOW)
    assert request == RobotsRequest(HOST, f"{HOST}/4", 5)
    answer = settle(request, moved("/5", request.url), NOW)
    assert isinstance(answer, RobotsAnswer)
    assert (answer.basis, answer.reason) == (Basis.MISSING, "redirects")


@pytest.mark.parametrize("location", ["mailto:x", "http://", "", "/robots.txt"])
def test_redirect_to_nowhere_means_there_is_no_file(location: str) -> None:
    assert settled(moved(location)).reason == "redirect-nowhere"


@given(
    st.integers(0, 999),
    st.dictionaries(st.sampled_from(["Location", "Retry-After", "Cache-Control"]), st.text(max_size=40)),
    st.binary(max_size=80),
    st.none() | st.just(FILE),
)
def test_whatever_comes_is_settled_within_its_bounds(
    status: int, headers: dict[str, str], body: bytes, before: RobotsAnswer | None
) -> None:
    got = settle(first_request(HOST), page(status, body, tuple(headers.items())), NOW, before)
    if isinstance(got, RobotsRequest):
        assert got.hops_count == 1
    else:
        assert RETRY_MIN_SECONDS <= got.expires_at - NOW <= DAY_SECONDS


# The synthetic web.


async def visited(web: SyntheticWeb, host: str) -> RobotsAnswer:
    transport = MemoryTransport(web, InstantClock())
    step: RobotsRequest | RobotsAnswer = first_request(host)
    while isinstance(step, RobotsRequest):
        step = settle(step, await transport.fetch(Request(step.url)), NOW)
    return step


def test_every_host_of_a_faulty_web_is_judged_as_the_web_itself_does() -> None:
    web = SyntheticWeb(Plan(hosts=40, pages=800, rng_seed=3, faults=parse_faults("usual,hang,reset")))
    seen = set()
    for host in hosts_of(web):
        if Fault.FLAKY in host.faults or Fault.BUSY in host.faults:
            continue  # the answer depends on the try
        permission = permission_of(asyncio.run(visited(web, host.origin)), "tester")
        seen.add(permission.basis)
        assert (permission.basis is Basis.UNREACHABLE) == bool(host.faults & NOTHING_ALLOWED)
        for path in ("/", "/cgi-bin/x", "/x?busca=y"):
            assert (permission.refusal(host.origin + path) is None) == web.robots.allows(host, path, "tester")
    assert seen == set(Basis)
