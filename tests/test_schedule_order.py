"""Which URLs of a host come first, by one contract."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule import Fifo, Level, Order, order
from tarrafa.urls import level

ORDERS: list[Order] = [Level(), Fifo()]
NAME = st.sampled_from(["example.org", "www.example.org", "a.b.example.com.br", "127.0.0.1", "[::1]:81", "br."])
PATH = st.text("ab/?=.", max_size=30)
URL = st.builds(
    lambda scheme, user, name, path: f"{scheme}://{user}{name}/{path}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "u:p@"]),
    NAME,
    PATH,
)


@pytest.mark.parametrize("policy", ORDERS)
@given(url=URL)
def test_priority_is_a_number_of_16_bits(policy: Order, url: str) -> None:
    assert 0 <= policy.priority(url) <= 2**16 - 1


@given(url=URL)
def test_level_is_the_level_of_the_url(url: str) -> None:
    assert Level().priority(url) == level(url)


def test_level_of_an_endless_path_is_cut() -> None:
    assert Level().priority("http://example.org" + "/" * 7_900) == order.PRIORITY_MAX


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


def test_fifo_finds_all_equal() -> None:
    assert Fifo().priority("http://example.org/") == Fifo().priority("http://www.example.org/a/b/c")
