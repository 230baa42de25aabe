"""Scope rules: which URLs they let in, what is left open, and which rules are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.configuration import ScopeRule
from tarrafa.errors import ConfigurationError
from tarrafa.schedule import (
    FROM_OUTSIDE,
    CompiledRule,
    Refusal,
    Scope,
    ScopeRules,
    ScopeVerdict,
    UrlBounds,
    compile_rules,
    depth_of,
    distance_of,
    hops_of,
    one_link_further,
    rule_of,
)
from tarrafa.schedule.distance import DEPTH_LIMIT, HOPS_MAX
from tarrafa.schedule.scope_conditions import (
    CountryCondition,
    GlobCondition,
    HostCondition,
    JudgedUrl,
    PrefixCondition,
    read_condition,
)
from tarrafa.schedule.scope_rules import decide, rules_of_host

SEEDS = ("http://www.seed.org/",)


def rules(*texts: str) -> list[ScopeRule]:
    """Read rules such as `+site:a.org` and `-any`."""
    return [ScopeRule(text[0] == "+", text[1:], f"file own.toml:{number}") for number, text in enumerate(texts, 1)]


def scope(*texts: str, otherwise: str = "seeds", hops_outside: int = 0) -> Scope:
    own = ScopeRules(compile_rules(rules(*texts), SEEDS), hops_outside)
    return Scope(rule_of(otherwise, SEEDS), UrlBounds(), own=own)


@pytest.mark.parametrize(
    ("condition", "inside", "outside"),
    [
        ("seeds", ["https://x.seed.org:81/"], ["http://a.org/"]),
        ("suffix:gov.br", ["http://a.gov.br/", "http://gov.br/"], ["http://agov.br/", "http://a.com.br/"]),
        ("site:a.org", ["http://a.org/", "http://x.y.a.org/"], ["http://ba.org/"]),
        ("host:A.org", ["http://a.org/", "https://a.org:81/x"], ["http://www.a.org/"]),
        ("host:a.org:81", ["http://a.org:81/"], ["http://a.org/"]),
        ("prefix:http://a.org/docs/", ["http://a.org/docs/x"], ["http://a.org/docs", "https://a.org/docs/x"]),
        ("prefix:http://a.org", ["http://a.org/"], ["http://a.org.br/"]),
        ("glob:*/print/*", ["http://a.org/x/print/7"], ["http://a.org/print"]),
        ("regex:[?&]month=\\d+$", ["http://a.org/?a=1&month=7"], ["http://a.org/?month=7&a=1"]),
        ("depth:3", [], []),
    ],
)
def test_condition_holds_for_some_urls_and_not_for_others(
    condition: str, inside: list[str], outside: list[str]
) -> None:
    judged = scope(f"+{condition}", "-any")
    assert [judged.judge(url, 0) for url in inside] == [None] * len(inside)
    assert [judged.judge(url, 0) for url in outside] == ["exclude any"] * len(outside)


def test_first_rule_that_matches_decides_and_the_short_form_where_none_does() -> None:
    judged = scope("+prefix:http://a.org/good/", "-site:a.org", "+host:b.org", "-regex:private")
    verdicts = {
        "http://a.org/good/private": None,
        "http://a.org/bad": "exclude site:a.org",
        "http://b.org/private": None,
        "http://www.seed.org/": None,
        "http://www.seed.org/private": "exclude regex:private",
        "http://c.org/": Refusal.OUTSIDE,
        "http://c.org/private": "exclude regex:private",
    }
    assert {url: judged.judge(url, 0) for url in verdicts} == verdicts


def test_all_conditions_of_a_rule_must_hold() -> None:
    judged = scope("-site:seed.org regex:/print/ depth:2+")
    url = "http://www.seed.org/print/"
    label = "exclude site:seed.org regex:/print/ depth:2+"
    label = "exclude site:seed.org regex:/print/ depth:2+"
    assert [judged.judge(url, distance_of(depth)) for depth in (1, 2, 3)] == [None, label, label]


def test_hosts_that_no_rule_may_let_in_are_not_admitted() -> None:
    judged = scope("+prefix:http://a.org/x/", "-host:www.seed.org")
    assert [judged.admits(f"http://{name}") for name in ("a.org", "b.org", "www.seed.org", "seed.org")] == [
        *(True, False, False, True)
    ]


def test_bounds_hold_whatever_the_rules_say() -> None:
    judged = scope("+any")
    assert judged.judge("http://user@a.org/", 0) is Refusal.USERINFO
    assert judged.judge(f"http://a.org/{'a' * 2_000}", 0) is Refusal.LENGTH
    assert judged.judge("http://a.org/x/x/x/x/x", 0) is Refusal.REPETITION


# What is known later: address, media type, language.


def test_network_is_judged_when_the_address_is_known() -> None:
    judged = scope("-net:192.0.2.0/24", "-net:2001:db8::/32")
    url = "http://www.seed.org/"
    assert judged.judge(url, 0) is None
    addresses = ("192.0.2.7", "2001:db8::1", "198.51.100.1", "www.seed.org")
    assert [judged.judge_visit(url, 0, address) for address in addresses] == [
        *("exclude net:192.0.2.0/24", "exclude net:2001:db8::/32", None, None)
    ]


def test_network_may_let_in_what_is_outside() -> None:
    judged = scope("+net:192.0.2.0/24")
    assert judged.judge("http://a.org/", 0) is None
    assert judged.judge_visit("http://a.org/", 0, "192.0.2.7") is None
    assert judged.judge_visit("http://a.org/", 0, "198.51.100.1") is Refusal.OUTSIDE


def test_country_of_the_address_decides() -> None:
    countries = {"192.0.2.1": "BR", "192.0.2.2": None}
    compiled = CompiledRule(ScopeRule(True, "country:br"), (CountryCondition("br", countries.get),), "x")
    judged = Scope(lambda _: False, UrlBounds(), own=ScopeRules((compiled,)))
    assert judged.judge("http://a.org/", 0) is None
    assert judged.judge_visit("http://a.org/", 0, "192.0.2.1") is None
    assert judged.judge_visit("http://a.org/", 0, "192.0.2.2") is Refusal.OUTSIDE


def test_country_is_the_one_to_which_the_address_was_assigned() -> None:
    pytest.importorskip("iptocc")
    judged = scope("-country:BR")
    addresses = ("200.160.2.3", "198.41.0.4", "127.0.0.1", "www.seed.org")  # registro.br, and a root server
    refusals = [judged.judge_visit("http://www.seed.org/", 0, address) for address in addresses]
    assert refusals == ["exclude country:BR", None, None, None]


def test_page_is_judged_by_type_and_language() -> None:
    judged = scope("-type:image/*", "+lang:pt", "-lang:en")
    page = ("http://www.seed.org/", 0, "192.0.2.1")
    assert judged.judge(page[0], 0) is None
    assert judged.judge_page(*page, "image/png", None) == "exclude type:image/*"
    assert [judged.judge_page(*page, "text/html", language) for language in ("pt", "en", "", None)] == [
        *(None, "exclude lang:en", None, None)
    ]


def test_page_in_an_unknown_language_is_left_out_if_only_one_language_is_let_in() -> None:
    judged = scope("+lang:pt", "-any")
    page = ("http://www.seed.org/", 0, "192.0.2.1", "text/html")
    assert judged.judge(page[0], 0) is None
    assert [judged.judge_page(*page, language) for language in ("pt", "", None)] == [None, "exclude any", None]


# Hops outside.


def test_links_lead_outside_as_many_hops_as_are_allowed() -> None:
    judged = scope("-host:bad.org", hops_outside=2)
    inside, outside = "http://www.seed.org/", "http://a.org/"
    from_seed, from_outside, from_far = (one_link_further(distance_of(3, hops)) for hops in (0, 1, 2))
    assert [judged.judge(outside, each) for each in (from_seed, from_outside, from_far)] == [None, None, "outside"]
    assert judged.judge(inside, from_far) is None
    assert judged.judge("http://bad.org/", from_seed) == "exclude host:bad.org"
    assert [hops_of(judged.place(outside, each)) for each in (from_seed, from_outside)] == [1, 2]
    placed = judged.place(inside, from_far)
    assert (hops_of(placed), depth_of(placed)) == (0, 4)


def test_seeds_and_named_sitemaps_are_no_hops() -> None:
    judged = scope(hops_outside=2)
    assert judged.judge("http://a.org/sitemap.xml", FROM_OUTSIDE) is Refusal.OUTSIDE
    assert judged.judge("http://www.seed.org/sitemap.xml", FROM_OUTSIDE) is None


def test_url_of_a_known_distance_is_judged_by_its_own_hops() -> None:
    judged = scope(hops_outside=2)
    distances = [distance_of(3, hops) for hops in (0, 1, 2, 3)]
    refusals = [judged.judge_known("http://a.org/", each) for each in distances]
    assert refusals == [Refusal.OUTSIDE, None, None, Refusal.OUTSIDE]
    assert judged.judge_known("http://www.seed.org/", distances[0]) is None


def test_visit_outside_needs_the_hops_that_brought_it() -> None:
    distances = [distance_of(3, hops) for hops in (0, 1, 2, 3)]
    judged = scope(hops_outside=2)
    refusals = [judged.judge_visit("http://a.org/", each, "192.0.2.1") for each in distances]
    assert refusals == [Refusal.OUTSIDE, None, None, Refusal.OUTSIDE]


@given(st.integers(0, DEPTH_LIMIT), st.integers(0, HOPS_MAX))
def test_distance_holds_depth_and_hops(depth: int, hops: int) -> None:
    distance = distance_of(depth, hops)
    assert (depth_of(distance), hops_of(distance)) == (depth, hops)
    assert distance < 1 << 32
    further = one_link_further(distance)
    assert (depth_of(further), hops_of(further)) == (min(depth + 1, DEPTH_LIMIT), hops)


# Rules that are refused.


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["+site:a.org", "-tld:br"], 'own.toml:2: [[scope]] exclude: "tld:br" is not a condition; write one of any,'),
        (["+regex:(a"], "own.toml:1: [[scope]] include: "),
        (["+regex:(a)\\1"], "RE2 has no backreferences"),
        (["+regex:(?=a)"], "no lookaround"),
        (["+regex:a{5000}"], "repeats a part more than 100 times"),
        (["+suffix:seedz"], '"seedz" is neither a public suffix, such as br, nor a domain'),
        (["+site:"], "has no value after the colon"),
        (["+site:x.a.org"], 'its site is "a.org"'),
        (["+host:a/b"], "is not the name of a host"),
        (["+prefix:a.org/docs"], "is not the beginning of a URL"),
        (["+net:10.0.0.1/8"], "is not a network"),
        (["+country:brazil"], "is not a country"),
        (["+lang:portuguese"], "is not a language"),
        (["+type:pdf"], "is not a media type"),
        (["+depth:-1"], "is not a depth"),
        (["+ "], "the rule has no condition"),
    ],
)
def test_rule_that_cannot_be_read_is_refused_with_its_place(texts: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        compile_rules(rules(*texts), SEEDS)
    assert message in str(caught.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        compile_rules([*rules("+x:y", "-depth:x"), ScopeRule(False, "z:", "flag --exclude")], SEEDS)
    assert [line.split(": ")[0] for line in str(caught.value).split("\n")] == ["own.toml:1", "own.toml:2", "--exclude"]


def test_more_rules_than_the_limit_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="more than 1,000 rules"):
        compile_rules(rules(*[f"+depth:{number}" for number in range(1_001)]), SEEDS)


SHADOWED = [
    ("any", "depth:3"),
    ("suffix:br", "suffix:gov.br"),
    ("suffix:br", "site:a.com.br"),
    ("suffix:br", "host:a.br:81"),
    ("suffix:br", "prefix:http://a.br/x"),
    ("site:a.org", "host:x.a.org"),
    ("site:a.org", "prefix:https://x.a.org/docs/"),
    ("site:a.org", "site:a.org regex:x"),
    ("host:a.org", "host:a.org:81"),
    ("seeds", "host:www.seed.org"),
    ("prefix:http://a.org/", "prefix:http://a.org/docs/"),
    ("prefix:http://a.org/", "glob:http://a.org/*.html"),
    ("glob:*.html", "glob:*/x/*.html"),
    ("glob:http://a.org/*", "prefix:http://a.org/docs/"),
    ("regex:x", "regex:x"),
    ("net:10.0.0.0/8", "net:10.1.0.0/16"),
    ("depth:5", "depth:3"),
    ("depth:5+", "depth:7+"),
    ("type:image/*", "type:image/png"),
    ("lang:pt", "lang:pt depth:3"),
]


@pytest.mark.parametrize(("earlier", "later"), SHADOWED)
def test_rule_that_an_earlier_one_shadows_is_refused(earlier: str, later: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        compile_rules(rules(f"+{earlier}", f"-{later}"), SEEDS)
    place, reason = "own.toml:2: [[scope]] exclude", f'"{earlier}" (own.toml:1) matches the same URLs before it'
    assert str(caught.value).startswith(f'{place}: "{later}" never decides, because {reason}')


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        *[(later, earlier) for earlier, later in SHADOWED if earlier != later],
        ("site:a.org", "suffix:a.org"),
        ("site:a.org depth:3", "site:a.org"),
        ("host:a.org:81", "host:a.org:82"),
        ("net:10.0.0.0/8", "net:2001:db8::/32"),
        ("depth:5", "depth:5+"),
        ("glob:*a", "prefix:http://a.org/a"),
    ],
)
def test_rule_that_may_decide_is_not_refused(earlier: str, later: str) -> None:
    assert len(compile_rules(rules(f"+{earlier}", f"-{later}"), SEEDS)) == 2


WORDS = st.sampled_from(
    [
        *("any", "seeds", "suffix:org", "site:a.org", "host:a.org", "host:x.a.org", "host:a.org:81", "regex:/a"),
        *("prefix:http://a.org/", "prefix:http://a.org/a/", "glob:*/a/*", "glob:http://a.org/*", "glob:*a*"),
        *("depth:1", "depth:2", "depth:2+", "net:10.0.0.0/8", "net:10.1.0.0/16", "type:text/*", "type:text/html"),
        *("lang:pt", "lang:en"),
    ]
)
HOSTS = ("a.org", "x.a.org", "a.org:81", "www.seed.org", "b.br")
FACTS = st.builds(
    JudgedUrl,
    st.sampled_from([f"http://{name}/{path}" for name in HOSTS for path in ("", "a/", "a/b", "c/a/")]),
    st.none() | st.integers(0, 3),
    st.none() | st.sampled_from(["10.1.2.3", "10.2.2.3", "192.0.2.1", ""]),
    st.none() | st.sampled_from(["text/html", "text/plain", "image/png"]),
    st.none() | st.sampled_from(["pt", "en", ""]),
)
COMPILED = st.lists(
    st.builds(
        lambda words, is_included: CompiledRule(
            ScopeRule(is_included, " ".join(words)), tuple(read_condition(word, SEEDS) for word in words)
        ),
        st.lists(WORDS, min_size=1, max_size=3),
        st.booleans(),
    ),
    max_size=5,
)


@given(COMPILED, FACTS)
def test_rules_of_the_host_decide_as_all_rules_do(compiled: list[CompiledRule], facts: JudgedUrl) -> None:
    host = facts.url[: facts.url.index("/", 8)]
    for otherwise in (False, True):
        whole = decide(compiled, facts, otherwise=otherwise)
        assert texts_of(decide(rules_of_host(compiled, host), facts, otherwise=otherwise)) == texts_of(whole)


def texts_of(verdict: ScopeVerdict) -> tuple[bool, str | None, list[str]]:
    rule = verdict.rule
    return verdict.is_in, rule.rule.text if rule else None, [each.rule.text for each in verdict.open_rules]


@given(COMPILED, FACTS, FACTS)
def test_what_is_refused_before_all_is_known_is_refused_after(
    compiled: list[CompiledRule], facts: JudgedUrl, more: JudgedUrl
) -> None:
    """A URL that is refused is lost, so it must not be one that a later answer lets in."""
    pairs = zip(facts, more, strict=True)
    whole = JudgedUrl._make(later if before is None else before for before, later in pairs)
    for otherwise in (False, True):
        if not decide(compiled, facts, otherwise=otherwise).is_in:
            assert not decide(compiled, whole, otherwise=otherwise).is_in


@given(st.tuples(WORDS, WORDS), FACTS)
def test_condition_that_covers_another_holds_wherever_that_does(words: tuple[str, str], facts: JudgedUrl) -> None:
    one, other = (read_condition(word, SEEDS) for word in words)
    if one.covers(other) and other.of(facts) is True:
        assert one.of(facts) is True


def test_conditions_are_read_into_their_plain_spelling() -> None:
    words = ["host:A.ORG", "prefix:HTTP://a.org:80/x/../y", "suffix:.br", "glob:*.pdf", "country:BR", "type:Text/*"]
    texts = [read_condition(word, SEEDS).text for word in words if not word.startswith("country")]
    assert texts == ["host:a.org", "prefix:http://a.org/y", "suffix:br", "glob:*.pdf", "type:text/*"]
    kinds = [type(read_condition(word, SEEDS)) for word in words[:4]]
    assert kinds == [HostCondition, PrefixCondition, HostCondition, GlobCondition]
