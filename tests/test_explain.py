"""What is said of a URL, a host and a crawl: each prepared situation has one explanation, and it names the reason."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crawls import ServedWeb, arguments, documents, run, served
from tarrafa.agent import Ending, HostRecord, Progress, RefreshMode
from tarrafa.explain import (
    FoundOn,
    HoldingHost,
    HostDelay,
    HostEvidence,
    RefreshEvidence,
    RobotsEvidence,
    RunEvidence,
    UrlEvidence,
    Verdict,
    explain_crawl,
    explain_host,
    explain_url,
)
from tarrafa.histories import PageHistory, Phase
from tarrafa.obey import Basis, RobotsLine
from tarrafa.schedule import Refusal
from tarrafa.verify import HostUrls, Known, UrlPlace, UrlState

NOW = 1_700_000_000.0
HOST, URL = "http://a.example", "http://a.example/page"
RUNNING = RunEvidence(is_running=True)
ALLOWED = RobotsEvidence(Basis.FILE, "http-200", NOW - 100, NOW + 1_000, True, None, 0.0)
DISALLOWED = ALLOWED._replace(is_allowed=False, line=RobotsLine(7, "Disallow: /page"))
UNREACHABLE = ALLOWED._replace(basis=Basis.UNREACHABLE, reason="http-503", is_allowed=False)
MET = HostRecord("http://a.example", visits=3, answers=3, pages=2, visited_at=NOW - 2, total_seconds=1.0)
LINK = FoundOn("http://a.example/", "page", NOW - 50, is_nofollow=False)


def place(state: UrlState = UrlState.SCHEDULED, ahead: int = 0, **known: Any) -> UrlPlace:
    is_collected = state is UrlState.COLLECTED
    facts = {"at_seconds": NOW - 60, "file": 0, "offset": 0, **known} if is_collected else known
    return UrlPlace(Known(URL, is_collected, 10, 2, 1, 1, **facts), state, ahead, 5)


def collected(status: int) -> UrlPlace:
    return place(UrlState.COLLECTED, status=status)


def host(**changes: Any) -> HostEvidence:
    usual = HostEvidence(HOST, MET, ALLOWED, HostDelay(5.0, "politeness.delay"), 100, HostUrls(1, 4, 2))
    return replace(usual, **changes)


def record(**changes: Any) -> HostRecord:
    changed = MET.copy()
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed


def url(**changes: Any) -> UrlEvidence:
    usual = UrlEvidence(URL, host(), RUNNING, place=place(), found_on=(LINK,))
    return replace(usual, **changes)


OUTAGE = RunEvidence(is_running=True, outage_seconds=30.0)
STOPPED = RunEvidence(ending=Ending.PAGES)
SUSPENDED = record(status="suspended", reason="timeout", until=NOW + 600, consecutive_failures=5)
GIVEN_UP = record(status="given up", reason="tls", failures=20)
SITE_DONE = record(status="given up", reason="site pages")
ADDRESS_DONE = record(status="given up", reason="address pages")
MIRROR = record(mirror_of="http://b.example")
FOUR = HostDelay(5.0, "politeness.delay", connections=4)
UNKNOWN = {"place": None, "found_on": ()}
NOFOLLOW = {"place": None, "found_on": (LINK._replace(is_nofollow=True),)}

HISTORY = PageHistory(Phase.LIVE, int(NOW) - 7_200, int(NOW) - 90_000, int(NOW) - 3_600, 5, 2, 0, 1.5, 0.5)
FRESH = RefreshEvidence("optimal", HISTORY, 0.25, 0.8, NOW - 3_600, 90 * 86_400.0)
FOREVER = RunEvidence(is_running=True, mode=RefreshMode.FOREVER)
ROUND = RunEvidence(is_running=True, mode=RefreshMode.ROUND, began_at=NOW - 600)


def again(status: int = 200, run: RunEvidence = FOREVER, phase: Phase = Phase.LIVE, **changes: Any) -> UrlEvidence:
    """Return the evidence of a collected URL that may be visited again."""
    facts = {name: changes.pop(name) for name in list(changes) if name in PageHistory._fields}
    refresh = FRESH._replace(history=HISTORY._replace(phase=phase, **facts), **changes)
    return url(place=collected(status), run=run, refresh=refresh)


# The evidence, the verdict, words of the reason, and how long until the earliest visit.
SITUATIONS: dict[str, tuple[UrlEvidence, Verdict, str, float | None]] = {
    "fetched": (url(place=collected(200)), Verdict.FETCHED, "status 200", None),
    "redirects": (url(place=collected(301), location=HOST + "/new"), Verdict.REDIRECTED, "a.example/new", None),
    "gone": (url(place=collected(410)), Verdict.GONE, "410", None),
    "error": (url(place=collected(500)), Verdict.FAILED, "an error (500)", None),
    "failed": (url(place=collected(1_104)), Verdict.FAILED, "timeout", None),
    "ended by robots": (url(place=collected(1_000), host=host(robots=DISALLOWED)), Verdict.DISALLOWED, "line 7", None),
    "disallowed now": (url(host=host(robots=DISALLOWED)), Verdict.DISALLOWED, "Disallow: /page", None),
    "out of scope": (url(refusal=Refusal.OUTSIDE, **UNKNOWN), Verdict.REFUSED, "out of scope", None),
    "too long": (url(refusal=Refusal.LENGTH, **UNKNOWN), Verdict.REFUSED, "crawl.url_chars", None),
    "too deep": (url(refusal=Refusal.DEPTH), Verdict.REFUSED, "crawl.depth", None),
    "repeats": (url(refusal=Refusal.REPETITION, **UNKNOWN), Verdict.REFUSED, "repeated_segments", None),
    "with a password": (url(refusal=Refusal.USERINFO, **UNKNOWN), Verdict.REFUSED, "password", None),
    "unknown": (url(**UNKNOWN), Verdict.UNKNOWN, "no page that is saved links to it", None),
    "nofollow": (url(**NOFOLLOW), Verdict.NOFOLLOW, "nofollow", None),
    "new seed": (url(is_seed=True, **UNKNOWN), Verdict.UNVERIFIED, "seed", None),
    "just found": (url(place=None), Verdict.UNVERIFIED, "has not taken it in yet", None),
    "waits for a cycle": (url(place=None, is_waiting=True), Verdict.UNVERIFIED, "compared with all known", None),
    "page limit": (url(host=host(pages_limit=2)), Verdict.HOST_LIMIT, "limit is 2", None),
    "mirrored": (url(place=collected(1_004)), Verdict.REFUSED, "is a mirror of another", None),
    "wildcard": (url(place=collected(1_005)), Verdict.REFUSED, "names like that of its host", None),
    "mirror": (url(host=host(record=MIRROR)), Verdict.MIRROR, "mirror of http://b.example", None),
    "over budget": (url(place=collected(1_001)), Verdict.OVER_BUDGET, "URLs of its pattern", None),
    "site limit": (url(host=host(record=SITE_DONE)), Verdict.HOST_LIMIT, "hosts of its site together", None),
    "address limit": (url(host=host(record=ADDRESS_DONE)), Verdict.HOST_LIMIT, "hosts of its address", None),
    "given up": (url(host=host(record=GIVEN_UP)), Verdict.GIVEN_UP, "tls", None),
    "suspended": (url(host=host(record=SUSPENDED)), Verdict.SUSPENDED, "timeout", 600),
    "robots unreachable": (
        url(host=host(record=record(status="suspended", until=NOW + 300), robots=UNREACHABLE)),
        *(Verdict.SUSPENDED, "http-503", 300),
    ),
    "not running": (url(run=STOPPED), Verdict.NOT_RUNNING, "page limit", None),
    "killed": (url(run=RunEvidence(ending=Ending.KILLED)), Verdict.NOT_RUNNING, "killed", None),
    "outage": (url(run=OUTAGE), Verdict.OUTAGE, "network", None),
    "no robots yet": (url(host=host(record=None, robots=None)), Verdict.ROBOTS_FIRST, "fetched first", 5),
    "robots expired": (
        url(host=host(robots=ALLOWED._replace(expires_at=NOW - 1))),
        *(Verdict.ROBOTS_FIRST, "has expired", 8),
    ),
    "backs off": (
        url(host=host(record=record(until=NOW + 40, consecutive_failures=2))),
        *(Verdict.BACKING_OFF, "failed 2 times", 40),
    ),
    "asked for time": (url(host=host(record=record(until=NOW + 40))), Verdict.BACKING_OFF, "asked for time", 40),
    "rests": (url(), Verdict.RESTING, "5.0 s (politeness.delay)", 3),
    "crawl-delay": (
        url(host=host(delay=HostDelay(30.0, "Crawl-delay of robots.txt"))),
        *(Verdict.RESTING, "Crawl-delay", 28),
    ),
    "queued": (url(place=place(ahead=4)), Verdict.QUEUED, "4 URLs of its host", 3 + 4 * 6),
    "remaining": (url(place=place(UrlState.REMAINING, ahead=4)), Verdict.QUEUED, "to be scheduled later", 27),
    "ready": (url(host=host(record=record(visited_at=NOW - 60))), Verdict.READY, "may be fetched now", 0),
    "worth a visit": (again(), Verdict.FETCHED, "worth 0.25: more than those of 80%", 0),
    "history": (again(), Verdict.FETCHED, "visited 5 times; 2 visits found a change", 0),
    "never changed": (again(changes=0), Verdict.FETCHED, "no visit after the first found a change; it is believed", 0),
    "visited just now": (again(not_before=NOW + 60), Verdict.FETCHED, "a short time ago", 60),
    "visited just now, stopped": (again(run=STOPPED, not_before=NOW + 60), Verdict.FETCHED, "is not running", None),
    "stopped": (again(run=STOPPED), Verdict.FETCHED, "is not running. By the policy optimal", None),
    "not refreshing": (again(run=RUNNING), Verdict.FETCHED, "This run visits no page again", None),
    "waits long": (again(visited_seconds=int(NOW - 100 * 86_400)), Verdict.FETCHED, "refresh.longest", 0),
    "policy never": (again(policy="never"), Verdict.FETCHED, 'refresh.policy is "never"', None),
    "visited in this round": (again(run=ROUND, visited_seconds=int(NOW) - 60), Verdict.FETCHED, "in this round", None),
    "to be visited in this round": (again(run=ROUND), Verdict.FETCHED, "worth 0.25", 0),
    "again": (again(run=ROUND._replace(mode=RefreshMode.AGAIN)), Verdict.FETCHED, "every page once more", 0),
    "missing": (again(404, phase=Phase.MISSING, not_before=NOW + 9), Verdict.GONE, "second look a day later", 9),
    "gone for good": (again(410, phase=Phase.GONE, not_before=NOW + 9), Verdict.GONE, "more and more rarely", 9),
    "fails again": (again(500, phase=Phase.FAILING, not_before=NOW + 9), Verdict.FAILED, "each wait is longer", 9),
    "moved": (again(301, phase=Phase.MOVED), Verdict.REDIRECTED, "worth 0.25", 0),
    "disallowed since": (again(1_000, phase=Phase.REFUSED, not_before=NOW + 9), Verdict.DISALLOWED, "again in time", 9),
    "dropped": (again(1_099, phase=Phase.DROPPED), Verdict.REFUSED, "more important pages", None),
    "host given up meanwhile": (
        replace(again(), host=host(record=GIVEN_UP)),
        *(Verdict.FETCHED, "The host was given up (tls)", None),
    ),
}


def test_a_page_that_is_not_visited_again_names_the_commands_that_do() -> None:
    for evidence in (again(run=STOPPED), again(run=RUNNING)):
        found = explain_url(evidence, NOW)
        assert all(command in found.remedy for command in ("tarrafa refresh", "tarrafa crawl --forever"))
    facts = explain_url(again(), NOW).facts
    assert (facts["phase"], facts["history_visits"], facts["changes_per_day"]) == ("live", 5, 0.5)
    assert (facts["refresh_value"], facts["importance"], facts["refresh_not_before_at"]) == (0.25, 1.5, NOW - 3_600)


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_of_a_url_is_explained(name: str) -> None:
    evidence, verdict, words, seconds = SITUATIONS[name]
    found = explain_url(evidence, NOW)
    assert (found.verdict, found.subject) == (verdict, URL)
    assert words in found.why
    assert found.may_fetch_at == (None if seconds is None else NOW + seconds)
    json.dumps(found.told())


HOST_SITUATIONS: dict[str, tuple[HostEvidence, RunEvidence, Verdict, str, float | None]] = {
    "out of scope": (host(refusal=Refusal.OUTSIDE), RUNNING, Verdict.REFUSED, "crawl.scope", None),
    "unknown": (host(record=None, urls=HostUrls()), RUNNING, Verdict.UNKNOWN, "knows no URL", None),
    "complete": (host(urls=HostUrls(collected=7)), RUNNING, Verdict.FETCHED, "All 7", None),
    "page limit": (host(pages_limit=2), RUNNING, Verdict.HOST_LIMIT, "5 of its 7", None),
    "site limit": (host(record=SITE_DONE), RUNNING, Verdict.HOST_LIMIT, "5 of its 7", None),
    "given up": (host(record=GIVEN_UP), RUNNING, Verdict.GIVEN_UP, "tls", None),
    "suspended": (host(record=SUSPENDED), RUNNING, Verdict.SUSPENDED, "timeout", 600),
    "not running": (host(), STOPPED, Verdict.NOT_RUNNING, "page limit", None),
    "outage": (host(), OUTAGE, Verdict.OUTAGE, "network", None),
    "backs off": (host(record=record(until=NOW + 9)), RUNNING, Verdict.BACKING_OFF, "left alone", 9),
    "mirror": (host(record=MIRROR), RUNNING, Verdict.MIRROR, "mirror of http://b.example", None),
    "rests": (host(), RUNNING, Verdict.RESTING, "at least 30.0 s", 3),
    "connections": (host(delay=FOUR), RUNNING, Verdict.RESTING, "starts of two visits, of which 4 may", 3),
    "connections need less": (host(delay=FOUR), RUNNING, Verdict.RESTING, "at least 25.0 s", 3),
    "ready": (host(record=record(visited_at=NOW - 60)), RUNNING, Verdict.READY, "5 of its 7", 0),
}


@pytest.mark.parametrize("name", HOST_SITUATIONS)
def test_each_situation_of_a_host_is_explained(name: str) -> None:
    evidence, state, verdict, words, seconds = HOST_SITUATIONS[name]
    found = explain_host(evidence, state, NOW)
    assert (found.verdict, found.subject) == (verdict, HOST)
    assert words in found.why
    assert found.may_fetch_at == (None if seconds is None else NOW + seconds)


SLOW, QUICK = HoldingHost("http://slow", 900, 5.0, 9_000.0, ""), HoldingHost("http://quick", 10, 1.0, 20.0, "")


def test_a_host_that_alone_decides_how_long_a_crawl_takes_is_named() -> None:
    found = explain_crawl(Progress(in_flight_limit=300, waiting=5, next_seconds=3.0), True, [QUICK, SLOW])
    assert found.limit.startswith("Politeness")
    assert [each.name for each in found.hosts] == ["http://slow", "http://quick"]
    assert found.seconds_left == 9_000
    assert "http://slow alone needs 2 h 30 min" in found.remedy


def test_hosts_that_need_about_the_same_are_not_to_blame() -> None:
    assert "alone" not in explain_crawl(Progress(in_flight_limit=300, waiting=5), True, [SLOW, SLOW]).remedy


def test_a_host_that_was_given_up_does_not_hold_a_crawl_back() -> None:
    lost = HoldingHost("http://lost", 9, 5.0, 0.0, "given up (name)")
    assert explain_crawl(Progress(in_flight_limit=300, waiting=5), True, [lost]).seconds_left == 0


def test_a_crawl_that_ended_says_how_to_go_on() -> None:
    assert "Nothing is left" in explain_crawl(Progress(ending=Ending.DONE), False, []).limit
    stopped = explain_crawl(Progress(ending=Ending.STOPPED), False, [QUICK])
    assert ("stopped" in stopped.limit, "tarrafa crawl" in stopped.remedy) == (True, True)
    assert "killed" in explain_crawl(Progress(ending=Ending.RUNNING), False, [QUICK]).limit


# The command, on real crawls.


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "12", "--pages", "300") as found:
        yield found


@pytest.fixture(scope="module")
def stopped(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that reached its limit of pages, so that some URLs of most hosts are left."""
    folder = tmp_path_factory.mktemp("explain") / "crawl"
    assert run(*arguments(web, folder, "--pages", "60")).returncode == 0
    return folder


@pytest.fixture(scope="module")
def complete(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain") / "crawl"
    assert run(*arguments(web, folder)).returncode in (0, 3)  # a host may be suspended
    return folder


def explained(folder: Path, *words: str) -> Any:
    done = run("explain", *words, "--dir", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_url_of_the_truth_is_explained_by_what_became_of_it(web: ServedWeb, complete: Path) -> None:
    assert explained(complete, next(iter(web.collectable())))["verdict"] == Verdict.FETCHED
    visited = {row["outcome"]: row["url"] for row in documents(complete)}
    moved = explained(complete, visited["redirected"])
    assert (moved["verdict"], web.rows()[visited["redirected"]]["url"]) == (Verdict.REDIRECTED, moved["subject"])
    assert moved["facts"]["location"] in moved["why"]
    assert explained(complete, visited["gone"])["verdict"] == Verdict.GONE


def test_a_url_that_robots_txt_disallows_names_the_line(web: ServedWeb, complete: Path) -> None:
    with_reason = [explained(complete, address) for address in disallowed(web)[:3]]
    assert {each["verdict"] for each in with_reason} == {Verdict.DISALLOWED}
    assert all(each["facts"]["robots_line"]["text"].startswith("Disallow: /") for each in with_reason)


def disallowed(web: ServedWeb) -> list[str]:
    rows = web.rows()
    lost = {row["host"] for row in rows.values() if row["status"] is None or row["status"] >= 500}
    return [url for url, row in rows.items() if not row["allowed"] and row["reachable"] and row["host"] not in lost]


def test_what_is_left_of_a_stopped_crawl_waits_for_it_to_run(stopped: Path) -> None:
    found = explained(stopped, "--crawl")
    assert (found["is_running"], "page limit" in found["limit"]) == (False, True)
    first = found["hosts"][0]
    host_of_it = explained(stopped, first["name"].partition("://")[2])
    assert host_of_it["verdict"] == Verdict.NOT_RUNNING
    urls = host_of_it["facts"]["urls"]
    assert urls["scheduled"] + urls["remaining"] == first["urls_left"] > 0
    waiting = [explained(stopped, each) for each in host_of_it["facts"]["next_urls"]]
    assert {each["facts"]["state"] for each in waiting} == {"scheduled"}
    verdicts = {each["verdict"] for each in waiting}
    assert Verdict.NOT_RUNNING in verdicts <= {Verdict.NOT_RUNNING, Verdict.DISALLOWED}
    # A sitemap stands in robots.txt, so no page links to it.
    assert any(each["facts"].get("found_on") for each in waiting)


def test_unknown_and_refused_urls_are_told_apart(web: ServedWeb, stopped: Path) -> None:
    assert explained(stopped, f"{web.url}never-linked")["verdict"] == Verdict.UNKNOWN
    assert explained(stopped, f"{web.url}a/a/a/a/a/a")["verdict"] == Verdict.REFUSED


def test_a_running_crawl_is_explained_without_disturbing_it(web: ServedWeb, tmp_path: Path) -> None:
    """With a long delay, nearly every host rests."""
    folder = tmp_path / "crawl"
    words = arguments(web, folder, "--delay", "600s", "--time", "120s")
    with subprocess.Popen([sys.executable, "-m", "tarrafa", *words], stdout=subprocess.PIPE, text=True) as crawl:
        try:
            found = _once_resting(folder)
        finally:
            crawl.terminate()
            told = json.loads(crawl.communicate(timeout=60)[0].splitlines()[-1])
    assert found["may_fetch_at"] > time.time() - 60
    assert told["ending"] == "stopped"


def _once_resting(folder: Path) -> Any:
    """Return the explanation of the first URL that waits for a resting host."""
    for _ in range(400):
        time.sleep(0.1)
        if not (folder / "agents" / "00" / "hosts" / "hosts.sqlite").exists():
            continue
        done = run("explain", "--crawl", "--dir", str(folder), "--json")
        hosts = json.loads(done.stdout)["hosts"] if done.returncode == 0 else []
        for each in hosts[:1]:
            found = explained(folder, each["name"].partition("://")[2])
            if found["verdict"] in (Verdict.RESTING, Verdict.READY):
                return found
    raise AssertionError("no host rested")


@pytest.mark.parametrize("words", [(), ("--crawl", "a.example"), ("no url",)])
def test_bad_input_is_a_clear_error(stopped: Path, words: tuple[str, ...]) -> None:
    done = run("explain", *words, "--dir", str(stopped))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_text_for_people_begins_with_the_reason(web: ServedWeb, complete: Path) -> None:
    done = run("explain", web.url, "--dir", str(complete))
    assert done.stdout.splitlines()[0] == web.url
    assert done.stdout.splitlines()[1].startswith("Fetched: It was fetched at ")
    crawl = run("explain", "--crawl", "--dir", str(complete)).stdout
    assert "last run" in crawl
