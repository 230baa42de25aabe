"""Hosts of a plan: sizes, addresses and names, neighbours, faults."""

import ipaddress
import statistics
from collections import Counter

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tarrafa.errors import InputError
from tarrafa.lab.web import PROFILES, Fault, Plan, parse_faults
from tarrafa.lab.web.faults import NOTHING_ALLOWED, SILENT
from tarrafa.lab.web.plan import HOSTS_MAX, PAGES_MAX, SyntheticHost, SyntheticHosts, power_law
from tarrafa.urls import canonical, site

hosts_and_pages = st.integers(1, 400).flatmap(lambda hosts: st.tuples(st.just(hosts), st.integers(hosts, 50 * hosts)))


def hosts_of(hosts: SyntheticHosts) -> list[SyntheticHost]:
    return [hosts.host(number) for number in range(hosts.plan.hosts)]


# Sizes.


@given(hosts_and_pages, st.integers(0, 2**63 - 1))
@example((1, 1), 1)
@example((1, 100), 1)
@example((400, 400), 1)
def test_sizes_sum_exactly_to_the_pages_and_no_host_is_empty(size: tuple[int, int], seed: int) -> None:
    hosts, pages = size
    sizes = SyntheticHosts(Plan(hosts=hosts, pages=pages, rng_seed=seed)).sizes
    assert len(sizes) == hosts
    assert sum(sizes) == pages
    assert min(sizes) >= 1


def test_sizes_follow_a_power_law() -> None:
    sizes = sorted(SyntheticHosts(Plan(hosts=2_000, pages=100_000)).sizes, reverse=True)
    assert sizes[0] > 100 * statistics.median(sizes)
    assert sum(sizes[:200]) > 0.5 * sum(sizes)
    assert 3 < sizes[0] / sizes[4] < 5  # five to the power of 0.875 is 4.1


def test_a_large_web_is_sized_without_being_made() -> None:
    hosts = SyntheticHosts(Plan(hosts=20_000, pages=PAGES_MAX))
    assert sum(hosts.sizes) == PAGES_MAX
    assert hosts.host(19_999).address == "127.0.78.32"


def test_half_of_a_power_laws_draws_fall_into_the_first_eighth() -> None:
    drawn = [power_law(word << 16, 800) for word in range(1 << 16)]
    assert min(drawn) == 0
    assert max(drawn) == 799
    assert 0.49 < sum(place < 100 for place in drawn) / len(drawn) < 0.51


@pytest.mark.parametrize(
    ("hosts", "pages"), [(0, 10), (-1, 10), (HOSTS_MAX + 1, PAGES_MAX), (10, 9), (1, PAGES_MAX + 1)]
)
def test_impossible_sizes_are_refused_with_the_bound(hosts: int, pages: int) -> None:
    with pytest.raises(InputError, match="must be from"):
        Plan(hosts=hosts, pages=pages)


# Addresses and names.


def test_every_host_has_an_address_of_its_own_on_loopback() -> None:
    hosts = hosts_of(SyntheticHosts(Plan(hosts=3_000, pages=3_000)))
    assert len({host.address for host in hosts}) == 3_000
    assert all(ipaddress.ip_address(host.address).is_loopback for host in hosts)
    assert hosts[0].address == "127.0.0.1"
    assert hosts[0].origin == "http://127.0.0.1:8800"


@pytest.mark.parametrize("names", [False, True])
def test_a_host_is_found_by_what_its_links_say(names: bool) -> None:
    hosts = SyntheticHosts(Plan(hosts=700, pages=700, names=names))
    for host in hosts_of(hosts):
        assert hosts.find(host.authority) is host
        assert hosts.find(host.name) is host
        assert hosts.find(host.name.upper()) is host
        assert hosts.resolve(host.name) == host.address
        assert canonical(f"{host.origin}/") == f"{host.origin}/"


@pytest.mark.parametrize(
    "authority",
    [
        "",
        ":",
        ":8800",
        "example.org",
        "example.org:8800",
        "127.0.0.0",
        "127.0.0.11",
        "127.0.0",
        "126.255.255.255",
        "10.0.0.1:8800",
        "999.0.0.1",
        "127.0.0.²",
        "[::1]:8800",
        "tz--nothing3.com",
        "www.tz--a" + "9" * 5_000 + ".com",
    ],
)
def test_nobody_is_found_where_nobody_is(authority: str) -> None:
    hosts = SyntheticHosts(Plan(hosts=10, pages=10))
    assert hosts.find(authority) is None
    assert hosts.resolve(authority) is None


@given(st.text(max_size=40))
def test_any_text_may_be_looked_up(authority: str) -> None:
    hosts = SyntheticHosts(Plan(hosts=3, pages=3))
    found = hosts.find(authority)
    assert found is None or authority.partition(":")[0].lower() in (found.address, found.name)


def test_names_cannot_be_registered_and_are_all_different() -> None:
    hosts = hosts_of(SyntheticHosts(Plan(hosts=2_000, pages=2_000, names=True)))
    assert len({host.name for host in hosts}) == 2_000
    for host in hosts:
        label = site(host.name).partition(".")[0]
        assert label[2:4] == "--"
        assert label.startswith("tz--")


def test_some_hosts_share_a_site_and_with_names_some_share_an_address() -> None:
    hosts = hosts_of(SyntheticHosts(Plan(hosts=1_000, pages=1_000, names=True)))
    sites = Counter(site(host.name) for host in hosts)
    addresses = Counter(host.address for host in hosts)
    assert sum(count > 1 for count in sites.values()) >= 40
    assert sum(count > 1 for count in addresses.values()) >= 40
    assert len(addresses) > 500


# What hosts are like.


def test_habits_of_hosts_have_the_shares_that_the_docs_say() -> None:
    hosts = hosts_of(SyntheticHosts(Plan(hosts=3_000, pages=3_000)))

    def share(is_so: list[bool]) -> float:
        return sum(is_so) / len(hosts)

    assert 0.60 < share([host.language == "pt" for host in hosts]) < 0.75
    assert 0.65 < share([host.charset == "utf-8" for host in hosts]) < 0.75
    assert 0.07 < share([host.charset == "windows-1252" for host in hosts]) < 0.13
    assert 0.65 < share([host.gzip for host in hosts]) < 0.75
    assert 0.15 < share([host.chunked for host in hosts]) < 0.25
    assert 0.55 < share([host.robots for host in hosts]) < 0.65
    assert 0.45 < share([host.sitemap for host in hosts]) < 0.55
    assert 0.15 < share([host.validators == 0 for host in hosts]) < 0.25
    assert {host.path_style for host in hosts} == {0, 1, 2, 3}
    assert len({host.topic for host in hosts}) == 16


def test_neighbours_are_mostly_of_the_community_and_mostly_share_its_language_and_topic() -> None:
    hosts = SyntheticHosts(Plan(hosts=600, pages=6_000))
    near = [(host, other) for host in hosts_of(hosts) for other in hosts.neighbourhood(host)]
    same = [host.number % hosts.communities == other.number % hosts.communities for host, other in near]
    assert 0.6 < sum(same) / len(near) < 0.75
    assert sum(host.language == other.language for host, other in near) / len(near) > 0.65
    assert sum(host.topic == other.topic for host, other in near) / len(near) > 0.4


def test_well_known_hosts_are_neighbours_far_more_often() -> None:
    hosts = SyntheticHosts(Plan(hosts=600, pages=6_000))
    cited = Counter(other.number for host in hosts_of(hosts) for other in hosts.neighbourhood(host))
    well_known = sum(cited[number] for number in hosts.by_popularity[:30])
    forgotten = sum(cited[number] for number in hosts.by_popularity[-30:])
    assert well_known > 3 * forgotten


# Faults.


def test_profiles_and_names_add_up() -> None:
    assert parse_faults("plain") == parse_faults("") == frozenset()
    assert parse_faults("hostile") == frozenset(Fault)
    assert parse_faults(" slow , busy,") == {Fault.SLOW, Fault.BUSY}
    assert parse_faults("traps,gzip-bomb") == PROFILES["traps"] | {Fault.GZIP_BOMB}
    assert PROFILES["traps"] < PROFILES["hostile"]
    assert not PROFILES["usual"] & (SILENT | PROFILES["traps"])


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("slo", 'unknown fault or profile "slo"; did you mean "slow"?'),
        ("traps,gzip-bom", '"gzip-bom"; did you mean "gzip-bomb"'),
        ("xyz", "known are plain, usual, traps, hostile, slow"),
        ("Hostile", '"Hostile"; did you mean "hostile"'),
    ],
)
def test_unknown_fault_is_named_with_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_faults(text)
    assert hint in str(refused.value)


@given(st.integers(1, 300), st.sets(st.sampled_from(list(Fault))), st.integers(0, 99))
@settings(max_examples=50)
def test_every_chosen_fault_is_somewhere_and_the_first_host_has_none(count: int, faults: set[Fault], seed: int) -> None:
    hosts = SyntheticHosts(Plan(hosts=count, pages=count, rng_seed=seed, faults=frozenset(faults)))
    found = [host.faults for host in hosts_of(hosts)]
    assert found[0] == frozenset()
    assume(count > 1)
    assert frozenset().union(*found) == faults


def test_each_fault_is_on_two_of_a_hundred_hosts_and_seldom_with_another() -> None:
    hosts = hosts_of(SyntheticHosts(Plan(hosts=2_000, pages=2_000, faults=PROFILES["hostile"])))
    counts = Counter(fault for host in hosts for fault in host.faults)
    assert set(counts) == set(Fault)
    assert all(30 <= count <= 40 for count in counts.values())
    assert max(len(host.faults) for host in hosts) == 1


def test_hosts_of_the_plain_profile_have_no_faults_and_ask_for_no_delay() -> None:
    hosts = hosts_of(SyntheticHosts(Plan(hosts=500, pages=500)))
    assert not any(host.faults or host.crawl_delay_seconds for host in hosts)


def test_where_robots_txt_cannot_be_had_nothing_is_allowed() -> None:
    assert {Fault.HANG, Fault.RESET, Fault.ROBOTS_ERROR, Fault.ROBOTS_UNREACHABLE} == NOTHING_ALLOWED
