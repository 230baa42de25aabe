"""A cache drops what was unused for longest, and never grows beyond its limit."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.lru import LruCache


def test_entry_unused_for_longest_is_dropped() -> None:
    cache: LruCache[str, int] = LruCache(2)
    assert (cache.put("a", 1), cache.put("b", 2)) == (0, 0)
    assert cache.get("a") == 1
    assert cache.put("c", 3) == 1
    assert list(cache) == ["a", "c"]
    assert cache.get("b") is None
    assert "b" not in cache


def test_replacing_an_entry_counts_as_use_and_drops_none() -> None:
    cache: LruCache[str, int] = LruCache(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        assert cache.put(key, value) == 0
    assert cache.put("c", 4) == 1
    assert (cache.get("a"), cache.get("b")) == (3, None)


def test_entry_that_is_popped_makes_room() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert (cache.pop("a"), cache.pop("a")) == (1, None)
    assert cache.put("c", 3) == 0
    assert len(cache) == 2


def test_values_that_are_false_are_values() -> None:
    cache: LruCache[str, tuple[str, ...]] = LruCache(2)
    cache.put("a", ())
    assert cache.get("a") == ()
    assert "a" in cache


def test_sizes_add_up_to_the_limit_but_the_last_entry_always_stays() -> None:
    cache: LruCache[str, str] = LruCache(10, size_of=len)
    cache.put("a", "1234")
    cache.put("b", "1234")
    assert cache.put("c", "12") == 0
    assert cache.put("d", "12345678901") == 3
    assert list(cache) == ["d"]
    assert cache.put("e", "1") == 1
    assert list(cache) == ["e"]


@pytest.mark.parametrize("limit", [1, 3, 8])
@given(keys=st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60))
def test_cache_is_the_last_keys_that_were_used(limit: int, keys: list[tuple[bool, int]]) -> None:
    cache: LruCache[int, str] = LruCache(limit)
    used: list[int] = []
    for is_put, key in keys:
        if is_put:
            cache.put(key, str(key))
        elif cache.get(key) is None:
            continue
        used = [*(other for other in used if other != key), key][-limit:]
    assert list(cache) == used
    assert all(cache.get(key) == str(key) for key in used)


def test_threads_share_a_cache() -> None:
    cache: LruCache[int, int] = LruCache(50)

    def use(start: int) -> None:
        for number in range(start, start + 2_000):
            cache.put(number % 90, number % 90)
            assert cache.get(number % 70) in (number % 70, None)

    threads = [threading.Thread(target=use, args=(7 * each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 50
    assert all(cache.get(key) == key for key in list(cache))
