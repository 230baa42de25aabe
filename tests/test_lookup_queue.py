"""The queue of name lookups: turns by site, bounds, and sites whose name servers are silent."""

from hypothesis import example, given
from hypothesis import strategies as st

from tarrafa.schedule import LookupQueue
from tarrafa.urls import host_name, site

NOW = 100.0


def host(number: int, of_site: str) -> str:
    return f"http://n{number}.{of_site}"


def filled(count: int, *sites: str, limit: int = 200, site_limit: int = 10) -> LookupQueue:
    queue = LookupQueue(limit, site_limit)
    for of_site in sites:
        for number in range(count):
            queue.add(host(number, of_site))
    queue.check()
    return queue


def test_sites_take_turns() -> None:
    queue = filled(100, "a.com", "b.com", limit=6)
    queue.add("http://c.com")
    begun = queue.begin(NOW)
    assert [site(host_name(each)) for each in begun] == ["a.com", "b.com", "c.com", "a.com", "b.com", "a.com"]
    queue.check()


def test_lookups_are_bounded_per_site_and_in_all() -> None:
    assert len(filled(100, "a.com").begin(NOW)) == 10
    many = filled(100, *[f"s{number}.com" for number in range(50)])
    assert len(many.begin(NOW)) == 200
    assert many.begin(NOW) == []


def test_lookups_that_take_longer_than_a_second_hold_back_no_others() -> None:
    """Three thousand sites of one silent name server: without this, each two hundred of them would wait ten seconds."""
    queue = filled(1, *[f"s{number}.com" for number in range(3_000)])
    assert len(queue.begin(NOW)) == 200
    assert queue.wake_at() == NOW + 1
    assert queue.begin(NOW + 0.9) == []
    counts = [len(queue.begin(NOW + second)) for second in range(1, 12)]
    assert counts == [200] * 9 + [0, 0]  # two thousand are open in all
    assert queue.wake_at() is None
    queue.check()


@example(1 + 2**-52)
@given(st.floats(0, 1e6))
def test_more_begin_at_the_moment_that_was_named_however_it_is_rounded(began: float) -> None:
    queue = filled(1, *[f"s{number}.com" for number in range(201)])
    assert len(queue.begin(began)) == 200
    named = queue.wake_at()
    assert named is not None
    assert len(queue.begin(named)) == 1


def test_a_clock_that_stands_still_or_goes_back_lifts_no_bound() -> None:
    queue = filled(1, *[f"s{number}.com" for number in range(500)])
    assert len(queue.begin(NOW)) == 200
    assert queue.begin(NOW) == queue.begin(NOW - 50) == []
    queue.end(host(0, "s0.com"), is_silent=False)
    assert len(queue.begin(NOW - 50)) == 1
    queue.check()


def test_name_of_another_site_does_not_wait_behind_thousands_of_silent_ones() -> None:
    queue = filled(3_000, "silent.com")
    assert len(queue.begin(NOW)) == 10
    queue.add("http://real.com")
    assert queue.begin(NOW) == ["http://real.com"]


def test_lookup_begins_when_an_earlier_one_of_its_site_ends() -> None:
    queue = filled(12, "a.com")
    begun = queue.begin(NOW)
    assert queue.begin(NOW) == []
    assert queue.end(begun[0], is_silent=False) == []
    assert queue.begin(NOW) == [host(10, "a.com")]


def test_waiting_hosts_fail_with_their_site_after_as_many_silent_lookups_as_may_be_open() -> None:
    queue = filled(300, "silent.com", "real.com")
    begun = [each for each in queue.begin(NOW) if each.endswith("silent.com")]
    failed = [queue.end(each, is_silent=True) for each in begun]
    assert failed[:-1] == [[]] * 9
    assert failed[-1] == [host(number, "silent.com") for number in range(10, 300)]
    assert len(queue) == 300  # the other site's
    queue.check()


def test_one_answer_shows_that_a_site_is_not_silent() -> None:
    queue = filled(300, "a.com")
    silent = [True] * 9 + [False] + [True] * 9
    for is_silent in silent:
        queue.begin(NOW)
        first = host(300 - len(queue), "a.com")
        assert queue.end(first, is_silent=is_silent) == []
        queue.check()


def test_thousands_of_names_of_a_silent_site_fail_in_bounded_steps() -> None:
    queue = filled(20_000, "silent.com")
    lookups, failed = 0, 0
    while begun := queue.begin(NOW):
        for each in begun:
            along = queue.end(each, is_silent=True)
            lookups, failed = lookups + 1, failed + len(along)
            assert len(along) <= 1_000
    assert lookups + failed == 20_000
    assert lookups < 50


def test_host_is_queued_once_and_an_end_of_a_stranger_changes_nothing() -> None:
    queue = LookupQueue()
    queue.add("http://a.com")
    queue.add("http://a.com")
    assert queue.begin(NOW) == ["http://a.com"]
    queue.add("http://a.com")
    assert queue.begin(NOW) == []
    assert queue.end("http://b.com", is_silent=True) == []
    assert len(queue) == 1
    queue.end("http://a.com", is_silent=False)
    assert len(queue) == 0
    queue.check()


SITES = ["a.com", "b.com", "c.com.br"]


@given(st.lists(st.one_of(st.integers(0, 40), st.booleans()), max_size=120))
def test_every_host_leaves_once_and_no_bound_is_broken(events: list[int | bool]) -> None:
    """A number adds a host; a boolean ends the oldest open lookup, silent or not."""
    queue, present = LookupQueue(limit=5, site_limit=2), set[str]()
    begun: list[str] = []
    for event in [*events, *[False] * 200]:
        if isinstance(event, bool):
            if begun:
                first = begun.pop(0)
                for each in (first, *queue.end(first, is_silent=event)):
                    present.remove(each)
        else:
            queue.add(host(event, SITES[event % 3]))
            present.add(host(event, SITES[event % 3]))
        begun += queue.begin(NOW)
        queue.check()
        assert len(queue) == len(present)
    assert not present
