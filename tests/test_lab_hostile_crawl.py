"""The hostile profile of the synthetic web, crawled to its end on virtual time."""

import pytest

from tarrafa.lab.hostile_crawl import HostileFigures, crawl_hostile, figures_of
from tarrafa.lab.web import Plan, SyntheticWeb, parse_faults
from tarrafa.schedule import Level

HOSTILE = parse_faults("hostile")


@pytest.mark.parametrize("seed", [1, 3])
def test_few_visits_are_spent_in_traps_and_all_real_pages_are_found(seed: int) -> None:
    figures = crawl_hostile(SyntheticWeb(Plan(hosts=60, pages=1_500, rng_seed=seed, faults=HOSTILE)), Level())
    assert figures.real_pages > 1_000
    assert 0.0 < figures.trap_share <= 0.05
    assert figures.found_share >= 0.99


def test_hosts_with_other_names_lose_no_page_and_few_visits() -> None:
    web = SyntheticWeb(Plan(hosts=60, pages=3_000, rng_seed=2, names=True, faults=HOSTILE))
    figures = crawl_hostile(web, Level())
    assert figures.real_pages > 2_000
    assert 0.0 < figures.trap_share <= 0.05
    assert figures.found_share == 1.0


def test_answer_from_another_name_of_a_host_counts_as_one_of_a_trap() -> None:
    web = SyntheticWeb(Plan(hosts=60, pages=1_500, names=True, faults=HOSTILE))
    mirror = next(host for host in map(web.hosts.host, range(60)) if "mirror" in host.faults)
    figures = figures_of(web, [f"{mirror.origin}/", f"http://espelho.{mirror.authority}/"])
    assert (figures.answers, figures.trapped, figures.found) == (2, 1, 1)


def test_first_answer_for_a_page_is_no_trap_whatever_its_session() -> None:
    web = SyntheticWeb(Plan(hosts=60, pages=1_500, faults=HOSTILE))
    numbers = range(60)
    shop = next(web.hosts.host(n) for n in numbers if "session" in web.hosts.host(n).faults)
    sessions = [f"{shop.origin}/?sid={number:08x}" for number in range(3)]
    figures = figures_of(web, [*sessions, f"{web.front}missing"])
    assert figures[:2] == (4, 2)
    assert figures.found == 1
    assert HostileFigures(0, 0, 0, 0).trap_share == 0.0
