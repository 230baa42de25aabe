"""What the synthetic web tells of copies of its pages: which are stale, and since when."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.clock import VirtualClock
from tarrafa.lab.web import Plan, ServingOptions, SyntheticServer, SyntheticWeb, history
from tarrafa.lab.web.copies import COPIES_MAX, COPIES_MAX_BYTES, CopiedUrl, CopyFate, copy_fates
from tarrafa.lab.web.history import DAY_MS, HOUR_MS
from tarrafa.lab.web.web_time import SKIPS_MAX, WebTime
from webs import Wire, body_of, get, hosts_of, pages_of, run_story

PLAN = Plan(hosts=12, pages=300, rng_seed=31)
DAY = 86_400.0
seconds = st.integers(0, 10**6)
skips = st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 10**5)), max_size=6)


# The web's time.


def web_time(speed: float, skipped: list[tuple[int, int]]) -> WebTime:
    time, at = WebTime(speed), 0.0
    for wait, skip in skipped:
        at += wait
        time.skip(at, skip)
    return time


@given(st.sampled_from([0.0, 1.0, 3_600.0]), skips, seconds)
def test_web_time_is_what_has_run_and_what_was_skipped(
    speed: float, skipped: list[tuple[int, int]], moment: int
) -> None:
    at, total = 0.0, 0.0
    for wait, skip in skipped:
        at += wait
        total += skip if at <= moment else 0.0
    assert web_time(speed, skipped).at(moment) == pytest.approx(moment * speed + total)


@given(st.sampled_from([0.0, 1.0, 3_600.0]), skips, seconds, st.floats(0, 1))
def test_moment_when_a_time_was_reached_is_the_first(
    speed: float, skipped: list[tuple[int, int]], moment: int, share: float
) -> None:
    time = web_time(speed, skipped)
    now = time.at(moment)
    assert now is not None
    reached = time.reached(share * now)
    assert reached <= moment * (1 + 1e-9)
    after = time.at(reached + 1e-6)
    assert after is not None
    assert after >= share * now - 1e-6
    before = time.at(reached - 0.01)
    assert before is None or before <= share * now + 1e-6


def test_only_so_many_skips_are_remembered_and_what_is_forgotten_is_not_told() -> None:
    time = web_time(0.0, [(1, 1)] * (SKIPS_MAX + 5))
    assert time.skipped_seconds == SKIPS_MAX + 5
    assert time.at(3.0) is None
    assert time.at(7.0) == 7.0


# Copies.


@given(st.integers(0, 10**6).map(str), st.integers(HOUR_MS, 200 * DAY_MS), st.floats(0, 50), st.floats(0, 50))
def test_first_change_is_the_first_of_all_changes(seed: str, interval: int, one: float, other: float) -> None:
    after, now = sorted(int(each * interval) for each in (one, other))
    later = [moment for moment in history.changes_until(seed, interval, now) if moment > after]
    assert history.first_change(seed, interval, after, now) == (later[0] if later else 0)


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return SyntheticWeb(PLAN)


@pytest.mark.parametrize(("copied_day", "day"), [(0, 0), (0, 1), (3, 4), (10, 40), (100, 400)])
def test_copy_is_fresh_as_long_as_the_same_bytes_are_sent(web: SyntheticWeb, copied_day: int, day: int) -> None:
    copied_ms, now_ms = copied_day * DAY_MS, day * DAY_MS
    stale = 0
    for host, page in pages_of(web):
        if not web.pages.alive(host, page, copied_ms):
            continue
        changed = web.pages.first_change_ms(host, page, copied_ms, now_ms)
        is_other = get(web, host, page, copied_ms).body != get(web, host, page, now_ms).body
        assert (changed > 0) is is_other
        if changed:
            stale += 1
            assert copied_ms < changed <= now_ms
            assert get(web, host, page, changed - 1).body == get(web, host, page, copied_ms).body
    assert (stale > 0) is (day > copied_day)


def fates(web: SyntheticWeb, *copies: tuple[str, float]) -> list[CopyFate]:
    """Of a web that was opened at 1,000, ran for a day, jumped by 30 days and ran for another day."""
    time = WebTime(1.0)
    time.skip(DAY, 30 * DAY)
    return copy_fates(web, time, [CopiedUrl(*each) for each in copies], 1_000.0, 2 * DAY)


def test_copy_became_stale_at_a_moment_of_the_real_time(web: SyntheticWeb) -> None:
    urls = [host.origin + web.pages.entry(host, page).path for host, page in pages_of(web)]
    found = [fate for fate in fates(web, *((url, 1_000.0) for url in urls)) if fate.changed_seconds is not None]
    jumped = [fate for fate in found if fate.changed_seconds == 1_000 + DAY]
    assert len(jumped) > len(found) / 2
    for fate in found:
        assert fate.changed_seconds is not None
        real_seconds = 1_000 + 2 * DAY - fate.changed_seconds
        assert 0 <= real_seconds <= 2 * DAY
        assert real_seconds - 0.01 <= fate.stale_web_seconds <= real_seconds + 30 * DAY


def test_copies_of_what_the_web_cannot_know_are_not_judged(web: SyntheticWeb) -> None:
    front = web.front
    too_early, too_late = (front, 999.0), (front, 1_001.0 + 2 * DAY)
    others = ["http://127.0.0.1:1/", "https://example.org/", "", f"{front}antigo/1", f"{front}no-such-page", "ü"]
    found = fates(web, too_early, too_late, (front, float("nan")), *((url, 1_000.0) for url in others))
    assert not any(fate.is_judged for fate in found)
    sitemap = next(host for host in hosts_of(web) if host.sitemap)
    path = next(iter(web.sitemaps.paths(sitemap, 0)))
    fixed = [f"{front}doc/a.pdf", f"{front}img/a.png"]
    found = fates(web, (sitemap.origin + path, 1_000.0), *((url, 1_000.0) for url in fixed))
    assert found == [CopyFate(False), CopyFate(True), CopyFate(True)]


# Over the wire.


async def told(wire: Wire, body: bytes) -> tuple[int, Any]:
    head = f"POST /__copies HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    wire.send(head + body)
    answer = await wire.answer()
    return answer.status, json.loads(answer.body) if answer.status == 200 else answer.body.decode()


def test_copies_are_judged_in_batches_on_one_connection() -> None:
    clock = VirtualClock(now=500.0)

    async def story(server: SyntheticServer) -> None:
        urls = [f"{host.origin}{server.web.pages.entry(host, page).path}" for host, page in pages_of(server.web)]
        await clock.advance(20 * DAY)
        expected = [
            server.web.pages.first_change_ms(host, page, 0, server.now_ms()) for host, page in pages_of(server.web)
        ]
        async with Wire.open(server) as wire:
            for body in (json.dumps({"copies": [[url, 500.0] for url in urls]}).encode(),) * 2:
                assert len(body) > 16_384
                status, found = await told(wire, body)
                assert status == 200
                changed = [each["changed_seconds"] for each in found["copies"]]
                assert all(each["is_judged"] for each in found["copies"])
                assert changed == [500.0 + ms / 1000 if ms else None for ms in expected]
            wire.ask(server.web.hosts.host(0))
            assert (await wire.answer()).body == body_of(get(server.web, server.web.hosts.host(0), 0, server.now_ms()))
        assert server.journal.report()["requests"] == 1

    run_story(story, PLAN, ServingOptions(speed=1.0), clock)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"[]",
        b'{"copies": 1}',
        b'{"copies": {"a": 1}}',
        b'{"copies": [["http://127.0.0.1/"]]}',
        b'{"copies": [[1, 2]]}',
        b'{"copies": [["http://127.0.0.1/", "soon"]]}',
        json.dumps({"copies": [["http://127.0.0.1/", 1]] * (COPIES_MAX + 1)}).encode(),
        json.dumps({"copies": [["x" * 5_000, 1]]}).encode(),
        b" " * (COPIES_MAX_BYTES + 1),
    ],
    ids=lambda body: f"{len(body)} bytes {body[:12]!r}",
)
def test_wrong_question_is_answered_with_what_to_send(body: bytes) -> None:
    async def story(server: SyntheticServer) -> None:
        async with Wire.open(server) as wire:
            status, text = await told(wire, body)
            assert status == 400
            assert "send at most 1,000 copies" in text
            assert (await told(wire, b'{"copies": []}')) == (200, {"copies": []})

    run_story(story, PLAN)
