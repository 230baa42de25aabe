"""The order of a crawl, by one contract: which URLs of a host come next, and which hosts."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.configuration import ORDER_NAMES, Configuration
from tarrafa.errors import InputError
from tarrafa.schedule import (
    Backlinks,
    BestHosts,
    FastestHost,
    Fifo,
    HeaviestFirst,
    LargestHost,
    Level,
    Lifo,
    Mix,
    MixSettings,
    Order,
    QueuedHost,
    RandomOrder,
    WeightKind,
    order,
    read_modifiers,
    read_weights,
)
from tarrafa.urls import level
from tarrafa.verify import UrlColumns
from tarrafa.wiring import order as order_of

EVERYTHING = {"level": 1.0, "fifo": 0.5, "backlinks": 2.0, "pagerank": 3.0, "largest-host": 1.0, "fastest-host": 1.0}
POLICIES: dict[str, Callable[[], Order]] = {
    "level": Level,
    "fifo": Fifo,
    "lifo": Lifo,
    "backlinks": Backlinks,
    "pagerank": lambda: HeaviestFirst(WeightKind.RANK),
    "opic": lambda: HeaviestFirst(WeightKind.CASH),
    "largest-host": LargestHost,
    "fastest-host": FastestHost,
    "best-hosts": BestHosts,
    "random": lambda: RandomOrder(7),
    "mix": lambda: Mix(MixSettings(EVERYTHING, {"br": 2.0, "example.com.br": 16.0}, {"pt": 4.0})),
}
policies = pytest.mark.parametrize("name", POLICIES)
NAME = st.sampled_from(["example.org", "www.example.org", "a.b.example.com.br", "127.0.0.1", "[::1]:81", "br."])
PATH = st.text("ab/?=.", max_size=30)
URL = st.builds(
    lambda scheme, user, name, path: f"{scheme}://{user}{name}/{path}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "u:p@"]),
    NAME,
    PATH,
)
U16, U32 = st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1)
ROW = st.tuples(st.integers(1, 2**16 - 1), U32, U16, U16, U32)
TYPES = (np.uint16, np.uint32, np.uint16, np.uint16, np.uint32, np.uint32)
HOST = st.builds(
    QueuedHost, st.sampled_from(["http://a.b", "http://www.example.org"]), U32, U32, st.floats(0, 1e4), st.floats(-9, 9)
)


def columns(*rows: tuple[int, ...]) -> UrlColumns:
    """Return URLs with priority, depth, links, links from outside and weight; numbered in this order."""
    numbered = [(*row, number) for number, row in enumerate(rows)]
    given_columns = zip(*numbered, strict=True) if rows else [()] * 6
    return UrlColumns(*(np.array(each, kind) for each, kind in zip(given_columns, TYPES, strict=True)))


def placed(policy: Order, *rows: tuple[int, ...]) -> list[int]:
    """Return the numbers of the URLs in their order."""
    found: list[int] = np.argsort(policy.url_keys(columns(*rows)), kind="stable").tolist()
    return found


def host(
    name: str = "http://a.example", left: int = 1, pages: int = 0, seconds: float = 0.0, key: float = 0.0
) -> QueuedHost:
    return QueuedHost(name, left, pages, seconds, key)


def test_every_policy_has_a_name_in_the_configuration() -> None:
    assert set(POLICIES) == set(ORDER_NAMES)


# The contract.


@policies
@given(url=URL, language=st.sampled_from(["", "pt", "en"]))
def test_priority_is_a_number_of_16_bits_and_leaves_0_to_sitemaps(name: str, url: str, language: str) -> None:
    policy = POLICIES[name]()
    assert 1 <= policy.priority(url, language) <= order.PRIORITY_MAX == 2**16 - 1
    assert policy.priority(url, language) == policy.priority(url, language)


@policies
@given(rows=st.lists(ROW, max_size=12))
def test_keys_are_numbers_that_can_be_sorted(name: str, rows: list[tuple[int, ...]]) -> None:
    keys = POLICIES[name]().url_keys(columns(*rows))
    assert keys.shape == (len(rows),)
    assert keys.dtype.kind in "iuf"
    assert np.isfinite(keys).all()


@policies
@given(rows=st.lists(ROW, min_size=1, max_size=12), data=st.data())
def test_key_of_a_url_depends_on_its_own_columns_only(
    name: str, rows: list[tuple[int, ...]], data: st.DataObject
) -> None:
    policy, all_columns = POLICIES[name](), columns(*rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    part = UrlColumns(*(column[chosen] for column in all_columns))  # type: ignore[arg-type]
    assert policy.url_keys(part).tolist() == policy.url_keys(all_columns)[chosen].tolist()


@policies
@given(facts=HOST)
def test_key_of_a_host_is_a_number(name: str, facts: QueuedHost) -> None:
    assert np.isfinite(float(POLICIES[name]().host_key(facts)))


@policies
def test_million_urls_are_ordered_in_well_under_a_second(name: str) -> None:
    """By processor time, so that other programs do not count; on a slow and busy machine it is about 0.2."""
    draw = np.random.default_rng(1)
    urls = UrlColumns(*(draw.integers(1, np.iinfo(kind).max, 1_000_000, kind) for kind in TYPES))
    began = time.process_time()
    np.lexsort((POLICIES[name]().url_keys(urls), urls.number))
    assert time.process_time() - began < 5.0


# Each policy.


@given(url=URL)
def test_level_is_the_level_of_the_url(url: str) -> None:
    assert Level().priority(url) == level(url)


def test_level_of_an_endless_path_is_cut() -> None:
    assert Level().priority("http://example.org" + "/" * 7_900) == order.LEVEL_MAX


def test_level_forgets_hosts_when_it_knows_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(url: str) -> int:
        asked.append(url)
        return level(url)

    monkeypatch.setattr(order, "level", noted)
    policy = Level(cache_limit=3)
    for number in (0, 0, 1, 2, 3, 0):
        assert policy.priority(f"http://www.h{number}.org/a") == 11
    assert asked == [f"http://www.h{number}.org/" for number in (0, 1, 2, 3, 0)]


def test_level_takes_urls_by_priority_then_by_depth_and_hosts_by_the_dots_of_their_names() -> None:
    policy = Level()
    assert placed(policy, (20, 0, 0, 0, 0), (10, 9, 0, 0, 0), (10, 3, 0, 0, 0)) == [2, 1, 0]
    names = ["http://a.b.example.com.br", "https://example.com.br:81", "http://www.example.org"]
    assert [policy.host_key(host(name)) for name in names] == [2, 0, 1]


def test_fifo_finds_all_equal() -> None:
    policy = Fifo()
    assert policy.priority("http://example.org/") == policy.priority("http://www.example.org/a/b/c")
    assert policy.host_key(host()) == policy.host_key(host("http://b.a.example", 9, 9, 9.0, 9.0))
    assert placed(policy, (1, 5, 0, 0, 0), (1, 4, 0, 0, 0), (1, 4, 0, 0, 0)) == [1, 2, 0]


def test_lifo_takes_the_last_found_url_and_host_first() -> None:
    policy = Lifo()
    assert placed(policy, (1, 0, 9, 0, 0), (1, 1, 0, 0, 0), (1, 2, 0, 0, 0)) == [2, 1, 0]
    first, second = policy.host_key(host()), policy.host_key(host())
    assert second < first


def test_backlinks_takes_urls_with_most_links_first_and_hosts_by_their_best_url() -> None:
    assert placed(Backlinks(), (1, 0, 3, 0, 0), (1, 5, 70, 0, 0), (1, 4, 70, 0, 0)) == [2, 1, 0]
    assert Backlinks().host_key(host(key=-4.0)) < Backlinks().host_key(host(key=2.0))


@pytest.mark.parametrize("kind", [WeightKind.RANK, WeightKind.CASH])
def test_heaviest_come_first_then_those_with_most_links(kind: WeightKind) -> None:
    policy = HeaviestFirst(kind)
    assert policy.weight is kind
    rows = ((1, 0, 1, 0, 5), (1, 0, 0, 0, 2**32 - 1), (1, 0, 2, 0, 5), (1, 0, 9, 0, 0))
    assert placed(policy, *rows) == [1, 2, 0, 3]


def test_best_hosts_takes_urls_of_one_host_by_level() -> None:
    assert BestHosts().weight is WeightKind.HOST_RANK
    assert placed(BestHosts(), (20, 0, 9, 9, 7), (10, 0, 0, 0, 7), (10, 0, 0, 0, 8)) == [2, 1, 0]


def test_largest_host_counts_pages_that_are_collected_and_those_that_are_left() -> None:
    policy = LargestHost()
    assert policy.host_key(host(left=3, pages=9)) < policy.host_key(host(left=10, pages=1))


def test_fastest_host_takes_hosts_by_their_mean_time_and_unknown_ones_first() -> None:
    keys = [FastestHost().host_key(host(seconds=seconds)) for seconds in (0.0, 0.2, 3.0)]
    assert keys == sorted(keys)


def test_random_order_follows_from_its_seed_and_spreads() -> None:
    rows = [(1, 0, 0, 0, 0)] * 1_000
    first, again, other = (placed(RandomOrder(seed), *rows) for seed in (1, 1, 2))
    assert first == again != other
    assert first != sorted(first)
    names = [f"http://h{number}.example" for number in range(100)]
    by_key = sorted(names, key=lambda name: RandomOrder(1).host_key(host(name)))
    assert by_key not in (names, sorted(names, key=lambda name: RandomOrder(2).host_key(host(name))))


# The mix.


def mix(weights: str, suffixes: str = "none", languages: str = "none") -> Mix:
    return Mix(MixSettings(read_weights(weights), read_modifiers(suffixes), read_modifiers(languages)))


def test_mix_of_one_policy_orders_as_that_policy() -> None:
    rows = ((30, 0, 1, 0, 9), (10, 0, 3, 0, 1), (20, 0, 2, 0, 5))
    for name, alone in (("level", Level()), ("backlinks", Backlinks()), ("opic", HeaviestFirst(WeightKind.CASH))):
        assert placed(mix(f"{name} 1"), *((32 << 10 | row[0], *row[1:]) for row in rows)) == placed(alone, *rows)


def test_weights_decide_between_a_shallow_url_and_one_with_many_links() -> None:
    shallow, linked = (32 << 10 | 10, 0, 0, 0, 0), (32 << 10 | 50, 0, 1_000, 0, 0)
    assert placed(mix("level 1, backlinks 0.1"), shallow, linked) == [0, 1]
    assert placed(mix("level 0.1, backlinks 1"), shallow, linked) == [1, 0]


def test_modifiers_of_the_longest_suffix_and_of_the_language_are_multiplied() -> None:
    policy = mix("level 1", "br 2, gov.br 4", "pt 2, en 0.5")
    keys = {
        (url, language): policy.url_keys(columns((policy.priority(url, language), 0, 0, 0, 0)))[0]
        for url in ("http://a.br/", "http://a.gov.br:81/", "http://a.org/", "http://nobr/")
        for language in ("", "pt", "en")
    }
    assert keys["http://a.br/", ""] == pytest.approx(-2 * 0.5, rel=0.05)
    assert keys["http://a.gov.br:81/", "pt"] == pytest.approx(-8 * 0.5, rel=0.05)
    assert keys["http://a.br/", "en"] == pytest.approx(-0.5, rel=0.05)
    assert keys["http://nobr/", ""] == keys["http://a.org/", ""] == pytest.approx(-0.5, rel=0.05)


def test_mix_adds_what_the_policies_of_hosts_say() -> None:
    policy = mix("level 1, largest-host 1, fastest-host 2")
    assert policy.host_key(host(left=1_000)) < policy.host_key(host(left=1))
    assert policy.host_key(host(seconds=0.1)) < policy.host_key(host(seconds=9.0))


def test_mix_knows_what_its_weights_are() -> None:
    kinds = [mix(text).weight for text in ("level 1", "level 1, opic 1", "pagerank 2", "level 1, pagerank 0")]
    assert kinds == [WeightKind.NONE, WeightKind.CASH, WeightKind.RANK, WeightKind.NONE]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("levle 1", "cannot be mixed; write some of level, fifo"),
        ("level", "is not a name and a number"),
        ("level one", "is not a name and a number"),
        ("level -1", "out of bounds"),
        ("level nan", "out of bounds"),
        ("level 1, level 2", "is given twice"),
        ("pagerank 1, opic 1", "exclude each other"),
        ("level 0", "all weights are 0"),
        ("", "is not a name and a number"),
    ],
)
def test_weights_that_mean_nothing_are_refused(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_weights(text)


@pytest.mark.parametrize("text", ["br", "br 0", "br 17", "br 1e999", "br 2,, gov.br 3"])
def test_modifiers_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_modifiers(text)


def test_modifiers_may_be_written_with_a_dot_or_be_missing() -> None:
    assert read_modifiers(".br 2, GOV.br 3") == {"br": 2.0, "gov.br": 3.0}
    assert read_modifiers("none") == {}


def test_configuration_without_a_word_about_order_gives_the_level_policy() -> None:
    assert type(order_of(Configuration())) is Level
