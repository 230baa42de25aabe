"""robots.txt of every kind, and the web's own judgement of requests."""

import pytest
from protego import Protego

from tarrafa.lab.web import Fault, Plan, SyntheticWeb, WebRequest, parse_faults
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.robots import HUGE_BYTES, RobotsRule, allowed_by
from tarrafa.lab.web.synthetic_web import SendMode
from tarrafa.records import Failure, FailureKind, Page
from webs import ROBOTS_MAX_BYTES, Rules, get, hosts_of

ROBOTS_FAULTS = parse_faults("usual,hang,reset")


@pytest.fixture(scope="module")
def plain() -> SyntheticWeb:
    return SyntheticWeb(Plan(hosts=200, pages=3_000, rng_seed=2))


@pytest.fixture(scope="module")
def faulty() -> SyntheticWeb:
    """Most hosts have one robots fault or another."""
    return SyntheticWeb(Plan(hosts=13, pages=400, rng_seed=2, faults=ROBOTS_FAULTS))


def robots_of(web: SyntheticWeb, host: SyntheticHost) -> Page | Failure:
    answer = web.answer(WebRequest(host, "/robots.txt"))
    url = f"{host.origin}/robots.txt"
    if answer.send_mode in (SendMode.RESET, SendMode.HANG) and Fault.FLAKY not in host.faults:
        return Failure(url, FailureKind.RESET, "")
    return get(web, host, "/robots.txt")


def paths_of(web: SyntheticWeb, host: SyntheticHost) -> list[str]:
    others = [
        "/ir/p1",
        "/sitemap.xml",
        "/img/3.png",
        "/cgi-bin/x",
        "/cgi-bin",
        "/x?busca=y",
        "/a?b=1&busca=2",
        "/nunca/x",
    ]
    return others + [web.pages.entry(host, page).path for page in range(2 * host.size)]


def assert_judges_agree(web: SyntheticWeb, host: SyntheticHost) -> None:
    rules = Rules(robots_of(web, host))
    for path in paths_of(web, host):
        for agent in ("tester", "BadBot/1.0 (+https://bad.example)", "badbot"):
            judged = web.robots.allows(host, path, agent)
            assert rules.allow(host.origin + path, agent.partition("/")[0]) == judged, (host.origin, path, agent)


def test_judge_agrees_with_protego_about_every_page_of_plain_hosts(plain: SyntheticWeb) -> None:
    for host in hosts_of(plain):
        assert_judges_agree(plain, host)


def test_judge_agrees_with_protego_about_hosts_with_faults(faulty: SyntheticWeb) -> None:
    seen = {fault for host in hosts_of(faulty) for fault in host.faults}
    assert seen == ROBOTS_FAULTS
    for host in hosts_of(faulty):
        assert_judges_agree(faulty, host)


def test_rules_close_some_pages_open_a_part_of_them_and_leave_most_alone(plain: SyntheticWeb) -> None:
    closed = opened = count = 0
    for host in hosts_of(plain):
        allow = [rule for rule in plain.robots.rules(host) if str(rule).startswith("Allow")]
        for page in range(host.size):
            path = plain.pages.entry(host, page).path
            count += 1
            closed += not plain.robots.allows(host, path)
            opened += any(rule.matches(path) for rule in allow)
    assert 0.02 < closed / count < 0.2
    assert opened > 20


def test_hosts_have_robots_txt_with_rules_with_a_sitemap_alone_or_not_at_all(plain: SyntheticWeb) -> None:
    by_status = {get(plain, host, "/robots.txt").status for host in hosts_of(plain)}
    assert by_status == {200, 404}
    for host in hosts_of(plain):
        text = get(plain, host, "/robots.txt").body.decode()
        assert ("Sitemap: " in text) == host.sitemap
        assert ("Disallow: /cgi-bin/" in text) == host.robots


def test_a_file_without_rules_shuts_out_nobody_but_badbot(plain: SyntheticWeb) -> None:
    """Two User-agent lines without a rule between them are one group: then badbot's rule would hold for all."""
    host = next(host for host in hosts_of(plain) if host.sitemap and not host.robots)
    rules = Protego.parse(get(plain, host, "/robots.txt").body.decode())
    assert rules.can_fetch(f"{host.origin}/", "tester")
    assert not rules.can_fetch(f"{host.origin}/", "badbot")


def test_where_there_is_no_robots_txt_all_is_open_even_to_badbot(plain: SyntheticWeb) -> None:
    host = next(host for host in hosts_of(plain) if not host.robots_file)
    assert plain.robots.allows(host, "/cgi-bin/x", "badbot")


def with_fault(web: SyntheticWeb, fault: Fault) -> SyntheticHost:
    return next(host for host in hosts_of(web) if fault in host.faults)


def test_forbidden_robots_txt_allows_everything() -> None:
    web = SyntheticWeb(Plan(hosts=2, pages=100, faults=frozenset({Fault.ROBOTS_FORBIDDEN})))
    host = with_fault(web, Fault.ROBOTS_FORBIDDEN)
    assert get(web, host, "/robots.txt").status == 403
    assert all(web.robots.allows(host, path, "badbot") for path in paths_of(web, host))


@pytest.mark.parametrize("fault", [Fault.ROBOTS_ERROR, Fault.ROBOTS_UNREACHABLE, Fault.HANG, Fault.RESET])
def test_robots_txt_that_cannot_be_had_allows_nothing_but_itself(fault: Fault) -> None:
    web = SyntheticWeb(Plan(hosts=2, pages=100, faults=frozenset({fault})))
    host = with_fault(web, fault)
    assert not any(web.robots.allows(host, path) for path in paths_of(web, host))
    assert web.robots.allows(host, "/robots.txt")
    assert web.robots.allows(host, "/__truth")


def test_robots_error_is_500_and_unreachable_is_a_reset() -> None:
    for fault in (Fault.ROBOTS_ERROR, Fault.ROBOTS_UNREACHABLE):
        web = SyntheticWeb(Plan(hosts=2, pages=100, faults=frozenset({fault})))
        answer = web.answer(WebRequest(with_fault(web, fault), "/robots.txt"))
        front = web.answer(WebRequest(with_fault(web, fault), "/"))
        assert (answer.status, answer.send_mode) == (
            (500, SendMode.PLAIN) if fault is Fault.ROBOTS_ERROR else (0, SendMode.RESET)
        )
        assert (front.status, front.send_mode) == (200, SendMode.PLAIN)


def test_huge_robots_txt_says_all_that_counts_in_its_first_500_kilobytes() -> None:
    web = SyntheticWeb(Plan(hosts=2, pages=100, faults=frozenset({Fault.ROBOTS_HUGE})))
    host = with_fault(web, Fault.ROBOTS_HUGE)
    body = get(web, host, "/robots.txt").body
    assert len(body) > HUGE_BYTES
    whole, cut = (Protego.parse(text.decode()) for text in (body, body[:ROBOTS_MAX_BYTES]))
    assert list(whole.sitemaps) == list(cut.sitemaps)
    for page in range(host.size):
        url = host.origin + web.pages.entry(host, page).path
        assert (
            whole.can_fetch(url, "tester")
            == cut.can_fetch(url, "tester")
            == web.robots.allows(host, url[len(host.origin) :])
        )


def test_broken_robots_txt_is_broken_and_still_says_its_rules() -> None:
    web = SyntheticWeb(Plan(hosts=2, pages=100, faults=frozenset({Fault.ROBOTS_BROKEN})))
    host = with_fault(web, Fault.ROBOTS_BROKEN)
    body = get(web, host, "/robots.txt").body
    assert body.startswith(b"\xef\xbb\xbf")
    assert b"\n" not in body
    assert b"\x00\xff\xfe" in body
    closed = [page for page in range(host.size) if not web.robots.allows(host, web.pages.entry(host, page).path)]
    assert 0 < len(closed) < host.size
    assert_judges_agree(web, host)


def test_crawl_delay_is_said_and_meant() -> None:
    web = SyntheticWeb(Plan(hosts=2, pages=100, faults=frozenset({Fault.CRAWL_DELAY})))
    host = with_fault(web, Fault.CRAWL_DELAY)
    rules = Protego.parse(get(web, host, "/robots.txt").body.decode())
    assert rules.crawl_delay("tester") == host.crawl_delay_seconds
    assert host.crawl_delay_seconds in (1, 2, 3)


def test_judge_does_not_care_how_a_letter_is_written(plain: SyntheticWeb) -> None:
    """A request for /%63gi-bin/ is a request for /cgi-bin/."""
    host = next(host for host in hosts_of(plain) if host.robots)
    assert not plain.robots.allows(host, "/%63gi-bin/x")
    assert not plain.robots.allows(host, "/cgi%2Dbin/x")
    assert plain.robots.allows(host, "/cgi%2Fbin/x")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/a", True),
        ("/a/b", False),
        ("/a/b/c/d", True),
        ("/a/b/c", True),
        ("/x.gif", False),
        ("/x.gif?y", True),
        ("/y/x.gif", False),
        ("/tie", True),
        ("/q?sid=1", False),
        ("/q%3Fsid", True),
    ],
)
def test_longest_rule_wins_and_allow_wins_a_tie(path: str, allowed: bool) -> None:
    lines = [(False, "/a/b"), (True, "/a/b/c"), (False, "/*.gif$"), (False, "/tie"), (True, "/tie"), (False, "/*?sid=")]
    rules = tuple(RobotsRule(allow, pattern) for allow, pattern in lines)
    text = "User-agent: *\n" + "\n".join(map(str, rules))
    assert allowed_by(rules, path) is allowed
    assert Protego.parse(text).can_fetch(f"http://h{path}", "tester") is allowed
