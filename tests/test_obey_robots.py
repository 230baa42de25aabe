"""One robots.txt and what it says: to us, to others, about paths, delays, sitemaps and use."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from tarrafa.lab.web import Fault, Plan, SyntheticWeb, parse_faults
from tarrafa.lab.web.robots import OTHER_AGENT
from tarrafa.obey import (
    EVERYTHING_ALLOWED,
    ROBOTS_MAX_BYTES,
    RobotsLine,
    Rules,
    deciding_line,
    preferences,
    product_token,
    read_robots,
)
from tarrafa.obey.robots import CRAWL_DELAY_MAX_SECONDS, SITEMAPS_MAX_COUNT, STARRED_MAX_CHARS, USAGE_MAX_COUNT
from tarrafa.urls import canonical
from webs import get, hosts_of

TOKEN = "tarrafa"


def rules(*lines: str) -> Rules:
    return read_robots("\n".join(lines).encode(), TOKEN)


def everybody(*lines: str) -> Rules:
    return rules("User-agent: *", *lines)


# Groups.


@pytest.mark.parametrize("user_agent", ["Tarrafa/0.1 (+https://a.example)", "TARRAFA", " tarrafa  x", "Tarrafa/"])
def test_product_token_is_the_name_alone(user_agent: str) -> None:
    assert product_token(user_agent) == TOKEN


def test_our_own_group_holds_and_that_for_everybody_does_not() -> None:
    got = rules("User-agent: *", "Disallow: /", "", "User-agent: Tarrafa/9", "Disallow: /x")
    assert (got.allows("/a"), got.allows("/x")) == (True, False)


def test_group_of_a_longer_or_shorter_name_is_not_ours() -> None:
    assert rules("User-agent: tarrafa-news", "Disallow: /", "User-agent: tarr", "Disallow: /").allows("/a")


def test_groups_that_name_us_are_one_group() -> None:
    got = rules(
        "User-agent: tarrafa", "Disallow: /a", "User-agent: x", "Disallow: /", "User-agent: tarrafa", "Allow: /ab"
    )
    assert [got.allows(path) for path in ("/a", "/ab", "/b")] == [False, True, True]


def test_user_agents_in_a_row_share_their_rules() -> None:
    assert not rules("User-agent: x", "", "User-agent: tarrafa", "User-agent: y", "Disallow: /a").allows("/a")


def test_lines_that_are_no_rules_end_no_group() -> None:
    got = rules(
        "User-agent: tarrafa", "Sitemap: http://a.example/s", "Odd: x", "Crawl-delay: 3", "User-agent: x", "Disallow: /"
    )
    assert (got.allows("/a"), got.crawl_delay_seconds) == (False, 3.0)


def test_group_of_ours_without_rules_allows_everything() -> None:
    assert rules("User-agent: *", "Disallow: /", "User-agent: tarrafa", "Disallow:").allows("/a")


def test_rules_before_the_first_user_agent_hold_for_nobody() -> None:
    assert rules("Disallow: /", "User-agent: x", "Disallow: /") == EVERYTHING_ALLOWED


# Lines.


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n\r"])
def test_any_end_of_line_will_do(end: str) -> None:
    assert not read_robots(end.join(("User-agent: *", "Disallow: /a", "x")).encode(), TOKEN).allows("/a")


@pytest.mark.parametrize(
    "line", ["disallow : /a", "Disallow /a", "\t DISALLOW:/a # why", "Dissalow: /a", "Disallow:\t/a\t"]
)
def test_line_is_understood_however_it_is_written(line: str) -> None:
    assert not rules("user agent: *", line).allows("/a")


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_is_no_part_of_the_first_line(coding: str) -> None:
    """Editors of another system write it before everything else."""
    assert not read_robots("User-agent: *\nDisallow: /a\n".encode(coding), TOKEN).allows("/a")


def test_what_stands_beyond_500_kib_is_not_read() -> None:
    """The line in the middle of which the bound falls would shut everything, as far as it goes."""
    lines = b"User-agent: *\nDisallow: /a\nDisallow: /b\n"
    body = b"#" * (ROBOTS_MAX_BYTES - len(lines) + 1) + b"\n" + lines
    got = read_robots(body, TOKEN)
    assert [got.allows(path) for path in ("/a", "/b", "/")] == [False, True, True]


# Paths.


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        (["Disallow: /a", "Allow: /ab"], "/abc", True),
        (["Disallow: /ab", "Allow: /a"], "/abc", False),
        (["Disallow: /a", "Allow: /a"], "/a", True),
        (["Disallow: /"], "/robots.txt", True),
        (["Disallow: /*.gif$"], "/x/y.gif", False),
        (["Disallow: /*.gif$"], "/x/y.gif?z", True),
        (["Disallow: /a$"], "/a", False),
        (["Disallow: /a$"], "/ab", True),
        (["Disallow: *b"], "/ab", False),
        (["Disallow: /a*b*c"], "/a-c-b", True),
        (["Disallow: /a*b*c"], "/a-b-c", False),
        (["Disallow: /ab*ab$"], "/ab", True),
        (["Disallow: /ab*ab$"], "/abab", False),
        (["Disallow: /a***"], "/ab", False),
        (["Disallow: a"], "/a", True),
        (["Disallow: /x?a=*&b"], "/x?a=1&b=2", False),
        (["Disallow: /", "Allow: /f/index.html"], "/f/", True),
        (["Disallow: /", "Allow: /f/index.html"], "/f/g", False),
    ],
)
def test_path(lines: list[str], path: str, expected: bool) -> None:
    assert everybody(*lines).allows(path) is expected


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("/caf%c3%a9", "http://a.example/café"),
        ("/café", "http://a.example/caf%C3%A9/x"),
        ("/%7euser/%61", "http://a.example/~user/a"),
        ("/a%2fb", "http://a.example/a%2Fb"),
        ("/a<b", "http://a.example/a%3Cb"),
        ("/a[b]", "http://a.example/a%5Bb%5D"),
        ("/it's", "http://a.example/it's"),
        ("/?q=it's", "http://a.example/?q=it's"),
        ("/a%2Ab", "http://a.example/a*b"),
        ("/a%24", "http://a.example/a$"),
        ("/a$b", "http://a.example/a%24b"),
        ("/a%zz", "http://a.example/a%zz"),
        ("/a b", "http://a.example/a b"),
    ],
)
def test_spelling_of_pattern_and_url_does_not_matter(pattern: str, url: str) -> None:
    assert not everybody(f"Disallow: {pattern}").allows(canonical(url) or "")


def test_escaped_slash_is_no_slash() -> None:
    assert everybody("Disallow: /a/b").allows("http://a.example/a%2Fb")


def test_bytes_that_are_no_utf_8_match_as_they_came() -> None:
    assert not read_robots(b"User-agent: *\nDisallow: /caf\xe9\n", TOKEN).allows("/caf%E9")


def obviously_matches(pattern: str, path: str) -> bool:
    ends = pattern.endswith("$")
    inner = ".*".join(map(re.escape, (pattern[:-1] if ends else pattern).split("*")))
    return re.match(inner + (r"\Z" if ends else ""), path, re.DOTALL) is not None


PATTERNS = st.lists(st.tuples(st.booleans(), st.from_regex(r"\A/[ab/*]{0,6}\$?\Z")), max_size=6)


@given(PATTERNS, st.from_regex(r"\A/[ab/]{0,8}\Z"))
def test_longest_match_decides_as_in_the_obvious_reading(lines: list[tuple[bool, str]], path: str) -> None:
    got = everybody(*(f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in lines))
    ranks = [(len(pattern), allow) for allow, pattern in lines if obviously_matches(pattern, path)]
    assert got.allows(path) == (max(ranks)[1] if ranks else True)


RULES = st.from_regex(r"\A/[ab/]{0,3}(\*[ab]{1,2})?\$?\Z")
FILES = st.lists(
    st.tuples(
        st.sampled_from(["User-agent: tarrafa", "User-agent: *", "User-agent: other"]),
        st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), RULES).map(": ".join), max_size=5),
    ),
    max_size=4,
)


@given(FILES, st.lists(st.text("ab/", max_size=6), min_size=1, max_size=8))
def test_agrees_with_protego(groups: list[tuple[str, list[str]]], paths: list[str]) -> None:
    """On plain patterns. Implementations differ on a star at the end and on escaped characters."""
    lines = [line for name, rows in groups for line in (name, *rows)]
    got, other = rules(*lines), Protego.parse("\n".join(lines))
    for path in paths:
        url = canonical(f"http://a.example/{path}")
        assert url
        assert got.allows(url) == other.can_fetch(url, TOKEN)


# Delays, sitemaps, use.


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e9", 1.0),
        ("99999999", CRAWL_DELAY_MAX_SECONDS),
        ("-1", None),
        ("x", None),
    ],
)
def test_crawl_delay_is_bounded(text: str, seconds: float | None) -> None:
    assert everybody(f"Crawl-delay: {text}").crawl_delay_seconds == seconds


def test_sitemaps_are_absolute_different_and_bounded_in_number() -> None:
    got = rules(
        "Sitemap: HTTPS://A.example/s", "sitemap: https://a.example/s", "Sitemap: /s", "Sitemap: ftp://a.example/s"
    )
    assert got.sitemaps == ("https://a.example/s",)
    many = rules(*(f"Sitemap: http://a.example/{number}" for number in range(2 * SITEMAPS_MAX_COUNT)))
    assert len(many.sitemaps) == SITEMAPS_MAX_COUNT


def test_usage_lines_hold_where_their_path_is_the_longest() -> None:
    got = everybody(
        "Allow: /",
        "Content-Usage: train-ai=n",
        "Content-Usage: /ok/ train-ai=y",
        "Content-Signal: search=yes, ai-train=no",
    )
    assert got.usage("/a") == ("content-usage: train-ai=n", "content-signal: search=yes, ai-train=no")
    assert preferences(got.usage("/ok/a")) == {"train-ai": True, "search": True, "ai-train": False}


def test_usage_lines_are_bounded_and_those_of_other_groups_ignored() -> None:
    assert len(everybody(*["Content-Usage: train-ai=n"] * 99).usage("/")) == USAGE_MAX_COUNT
    assert rules("User-agent: x", "Content-Usage: train-ai=n").usage("/") == ()


# Hostile files.


@given(st.binary(max_size=300), st.text(max_size=30))
def test_no_bytes_and_no_path_raise(body: bytes, path: str) -> None:
    got = read_robots(b"User-agent: *\nDisallow: " + body, TOKEN)
    assert got.allows("/" + path) in (True, False)
    assert all(line.isprintable() for line in got.usage("/" + path))


def test_beyond_the_bound_of_starred_patterns_more_is_disallowed_and_less_allowed() -> None:
    stars = [f"Disallow: /{number:07}*z" for number in range(STARRED_MAX_CHARS // 10)]
    got = everybody(*stars, "Disallow: /private*z", "Allow: /private/*z")
    assert sum(map(len, got.heads)) + sum(map(len, got.tails)) == STARRED_MAX_CHARS + len("/private")
    assert [got.allows(path) for path in ("/private/a", "/0000000-", "/0000000-z")] == [False, True, False]


def test_memory_of_rules_is_told_about_right() -> None:
    few, many = everybody("Disallow: /a"), everybody(*(f"Disallow: /{number:050}" for number in range(1_000)))
    assert few.size_bytes < 1_000
    assert 100_000 < many.size_bytes < 300_000


# The synthetic web.


@pytest.mark.parametrize("faults", ["plain", "crawl-delay", "robots-broken,robots-huge", "hostile"])
def test_agrees_with_the_judge_of_the_synthetic_web(faults: str) -> None:
    web = SyntheticWeb(Plan(hosts=40, pages=1_500, rng_seed=4, faults=parse_faults(faults)))
    hosts = [host for host in hosts_of(web) if web.robots.readable(host)]
    seen = set()
    for host in hosts:
        body = get(web, host, "/robots.txt").body
        for agent in ("tester", OTHER_AGENT):
            got = read_robots(body, agent)
            paths = [web.pages.entry(host, page).path for page in range(host.size)] + ["/cgi-bin/x", "/x?busca=y", "/"]
            for path in paths:
                url = canonical(host.origin + path) or ""
                assert got.allows(url) == web.robots.allows(host, path, agent), (url, agent)
                seen.add(got.allows(url))
        assert read_robots(body, "tester").crawl_delay_seconds == (host.crawl_delay_seconds or None)
        assert read_robots(body, "tester").sitemaps == ((f"{host.origin}/sitemap.xml",) if host.sitemap else ())
    assert seen == {True, False}
    named = parse_faults(faults) & {Fault.CRAWL_DELAY, Fault.ROBOTS_BROKEN, Fault.ROBOTS_HUGE}
    assert named <= {fault for host in hosts for fault in host.faults}


# The line that decides.


SHORT_PATTERNS = st.from_regex(r"/[ab*]{0,3}\$?", fullmatch=True)
SHORT_LINES = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow", "User-agent"]), SHORT_PATTERNS), max_size=8)


@given(SHORT_LINES, st.from_regex(r"/[abc]{0,4}", fullmatch=True), st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_deciding_line_says_what_the_rules_say(lines: list[tuple[str, str]], path: str, end: str) -> None:
    texts = ["User-agent: *", "Crawl-delay: 1"]
    texts += [f"{kind}: {'other' if kind == 'User-agent' else pattern}" for kind, pattern in lines]
    body = end.join(texts).encode()
    line = deciding_line(body, TOKEN, path)
    rules = read_robots(body, TOKEN)
    assert rules.allows(path) is (line is None or line.text.startswith("Allow"))
    assert line is None or texts[line.number - 1] == line.text


def test_the_deciding_line_is_that_of_our_own_group() -> None:
    body = b"User-agent: *\nDisallow: /a\n\nUser-agent: tarrafa\nAllow: /b\nDissallow: /a # us\n"
    assert deciding_line(body, TOKEN, "/a/page") == RobotsLine(6, "Dissallow: /a")
    assert deciding_line(body, TOKEN, "/c") is None
    assert deciding_line(body, TOKEN, "/robots.txt") is None
