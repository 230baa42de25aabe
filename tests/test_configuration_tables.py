"""The arrays of tables: [[scope]] and [[host]]."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.configuration import HOST_KEYS, HostSettings, HostTables, ScopeRule, UrlBudget, host_pattern, load, to_toml
from tarrafa.configuration.host_patterns import matches_glob
from tarrafa.configuration.sections import REFRESH_POLICIES
from tarrafa.errors import ConfigurationError, InputError
from tarrafa.refresh import POLICIES, Optimal
from tarrafa.wiring import refresh_intervals, refresh_policy

BOTH = """
[crawl]
scope = "br"

[[scope]]
exclude = "regex:/print/"

[[scope]]
# A comment.
include = 'site:example.org depth:5'

[[host]]
match = "host:intranet.example"
address = "10.0.0.7"
delay = "500ms"
headers = { "X-Team" = "crawl \\"1\\"" }
basic_login = "me:se\\\\cret"

[[host]]
match = "suffix:example"
pages = 10
insecure = true
delay = "9s"

[[budget]]
match = "example.org/*?sort="
pages = 20

[[budget]]
match = "https://example.org/calendar/"
pages = 0
"""


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    path = Path("own.toml")
    path.write_text(text)
    return path


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(write(text))
    return str(caught.value).split("\n")


def test_rules_and_tables_are_read_in_order_with_their_lines() -> None:
    found = load(write(BOTH))
    assert found.scope_rules == (ScopeRule(False, "regex:/print/"), ScopeRule(True, "site:example.org depth:5"))
    assert [rule.origin for rule in found.scope_rules] == ["file own.toml:6", "file own.toml:10"]
    assert found.budgets == (UrlBudget("example.org/*?sort=", 20), UrlBudget("https://example.org/calendar/", 0))
    assert found.budgets[0].origin == "file own.toml:26"
    first, second = found.hosts
    assert first.origins["delay"] == "file own.toml:15"
    assert second == HostSettings("suffix:example", delay_seconds=9.0, pages=10, insecure=True)
    assert first.headers == (("X-Team", 'crawl "1"'),)
    assert first.basic_login == "me:se\\cret"


def test_tables_are_written_and_read_back() -> None:
    found = load(write(BOTH))
    again = load(write(to_toml(found)))
    assert again == found
    assert again.hosts == found.hosts
    assert to_toml(again) == to_toml(found)


def test_secrets_are_left_out_on_request() -> None:
    text = to_toml(load(write(BOTH)), has_secrets=False)
    assert "cret" not in text
    assert "X-Team" not in text
    assert "# basic_login is set, and not shown" in text
    assert load(write(text)).hosts[0].address == "10.0.0.7"


def test_rules_of_flags_come_first_and_are_not_repeated_from_the_file() -> None:
    """The same command continues a crawl, whose file has the rule already."""
    flags = [ScopeRule(True, "site:example.org depth:5", "flag --include"), ScopeRule(False, "host:a.org", "flag")]
    found = load(write(BOTH), rules=flags)
    assert found.scope_rules == (*flags, ScopeRule(False, "regex:/print/"))
    assert found.scope_rules[0].origin == "flag --include"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            '[[scope]]\ninclude = "any"\n[[scope]]\n\nexlude = "x"',
            5,
            '[[scope]] unknown key "exlude"; known keys: include',
        ),
        ('[[scope]]\ninclude = "a"\n[[scope]]\n', 3, "[[scope]] needs either include or exclude"),
        ('[[budget]]\nmatch = "a.org/"', 1, "[[budget]] needs match and pages"),
        ('[[budget]]\nmatch = "a.org/"\npages = -1', 3, "[[budget]] pages: -1"),
        ('[[budget]]\nmatch = "a.org/"\npage = 1', 3, '[[budget]] unknown key "page"; known keys: match, pages'),
        ("budget = 3", 1, '"budget" must be tables; write [[budget]]'),
        ("[[scope]]\ninclude = 3", 2, "[[scope]] include: 3 is not a text"),
        ('[scope]\ninclude = "any"', 1, '"scope" must be tables; write [[scope]]'),
        ('host = "a"', 1, '"host" must be tables; write [[host]]'),
        ('[[host]]\ndelay = "1s"', 1, "[[host]] has no match"),
        ('[[host]]\nmatch = "host:a.org"', 2, '[[host]] sets nothing for "host:a.org"'),
        ('[[host]]\nmatch = "a.org"\npages = 1', 2, '[[host]] match: "a.org" is not a pattern of hosts'),
        ('[[host]]\nmatch = "host:a/b"\npages = 1', 2, '[[host]] match: "a/b" is not the name of a host'),
        ('[[host]]\nmatch = "site:a.b.org"\npages = 1', 2, '"a.b.org" is not a site; its site is "b.org"'),
        ('[[host]]\nmatch = "host:a.org"\ndelais = "1s"', 3, '[[host]] unknown key "delais"; did you mean "delay"?'),
        ('[[host]]\nmatch = "host:a.org"\ndelay = 5', 3, "[[host]] delay: 5 has no unit"),
        ('[[host]]\nmatch = "host:a.org"\naddress = "a"', 3, '[[host]] address: "a" is not an address'),
        ('[[host]]\nmatch = "host:a.org"\nheaders = {Cookie = "a"}', 3, '"Cookie" cannot be set here; use cookies'),
        ('[[host]]\nmatch = "host:a.org"\nheaders = {"a b" = "a"}', 3, '"a b" is not the name of a header'),
        (
            '[[host]]\nmatch = "site:a.org"\ncookies = "a=b"',
            3,
            '[[host]] cookies: "site:a.org" may match several hosts',
        ),
        (
            '[[host]]\nmatch = "host:a.org"\ncookies = "secret"',
            3,
            "[[host]] cookies: the value is not a list of cookies",
        ),
        ('[[host]]\nmatch = "host:a.org"\nbasic_login = "secret"', 3, "[[host]] basic_login: the value is not a login"),
    ],
)
def test_problem_is_told_with_its_line(text: str, line: int, message: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"own.toml:{line}: ")
    assert message in problem
    assert "secret" not in problem


def test_problems_of_sections_and_tables_are_told_together() -> None:
    found = problems('[[scope]]\nx = 1\n[web]\nhosts = 0\n[[host]]\nmatch = "host:a.org"\n')
    assert [problem.split(":")[1] for problem in found] == ["2", "4", "6"]


def test_first_table_that_sets_a_key_decides_it() -> None:
    tables = HostTables(load(write(BOTH)).hosts)
    found = tables.of("http://intranet.example:8080")
    assert (found.delay_seconds, found.pages, found.insecure, found.address) == (0.5, 10, True, "10.0.0.7")
    assert found.origins["pages"] == "file own.toml:21"
    other = tables.of("https://b.example")
    assert (other.delay_seconds, other.basic_login) == (9.0, None)
    assert all(tables.of("https://example.org").value(key) is None for key in HOST_KEYS.values() if key.name != "match")


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("host:example.org", "https://example.org", True),
        ("host:example.org", "http://example.org:81", True),
        ("host:example.org", "http://www.example.org", False),
        ("host:Example.ORG:81", "http://example.org:81", True),
        ("host:example.org:443", "https://example.org", True),
        ("host:example.org:443", "http://example.org", False),
        ("host:[::1]", "http://[::1]:8080", True),
        ("site:example.org", "http://a.b.example.org", True),
        ("site:example.org", "http://badexample.org", False),
        ("suffix:br", "http://a.com.br", True),
        ("suffix:.br", "http://br", True),
        ("suffix:br", "http://abr", False),
        ("glob:w*.example.*", "http://www.example.org", True),
        ("glob:w*.example.*", "http://example.org", False),
    ],
)
def test_pattern_of_hosts(pattern: str, host: str, expected: bool) -> None:
    assert host_pattern(pattern)(host) is expected


def test_unknown_word_of_a_pattern_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="host:, site:, suffix:, glob:"):
        host_pattern("domain:example.org")


def plain_glob(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(plain_glob(pattern[1:], text[start:]) for start in range(len(text) + 1))
    return text[:1] == pattern[0] and plain_glob(pattern[1:], text[1:])


@given(st.text("ab*", max_size=8), st.text("ab", max_size=10))
def test_glob_matches_as_its_plain_twin(pattern: str, text: str) -> None:
    assert matches_glob(pattern, text) == plain_glob(pattern, text)


def test_interval_of_a_host_is_laid_over_the_general_one() -> None:
    configuration = load(write('[[host]]\nmatch = "suffix:br"\nrefresh_shortest = "10m"\n'))
    intervals = refresh_intervals(configuration)
    assert (intervals.shortest_seconds, intervals.longest_seconds) == (3_600.0, 90 * 86_400.0)
    table = intervals.tables.of("http://www.example.br")
    assert (table.refresh_shortest_seconds, table.refresh_longest_seconds) == (600.0, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[refresh]\nshortest = "2d"\nlongest = "1d"\n',
            '[refresh] longest = "1d" is shorter than shortest = "2d"; make it longer',
        ),
        (
            '[[host]]\nmatch = "suffix:br"\nrefresh_longest = "5m"\n',
            'own.toml:3: [[host]] refresh_longest = "5m" is shorter than refresh_shortest = "1h"; make it longer',
        ),
        (
            '[[host]]\nmatch = "suffix:br"\nrefresh_shortest = "91d"\n',
            'own.toml:3: [[host]] refresh_longest = "90d" is shorter than refresh_shortest = "91d"; make it longer',
        ),
    ],
)
def test_longest_interval_below_the_shortest_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        refresh_intervals(load(write(text)))


def test_policy_of_refresh_takes_the_tolerance() -> None:
    assert refresh_policy(load(write('[refresh]\ntolerance = "12h"\n'))) == Optimal(0.5)


def test_policies_of_refresh_are_those_of_the_room() -> None:
    assert list(REFRESH_POLICIES) == list(POLICIES)


@pytest.mark.parametrize("name", REFRESH_POLICIES)
def test_every_policy_of_refresh_can_be_chosen(name: str) -> None:
    assert type(refresh_policy(load(write(f'[refresh]\npolicy = "{name}"\n')))) is type(POLICIES[name])
