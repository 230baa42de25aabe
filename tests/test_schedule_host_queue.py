"""The queue of hosts that wait to enter the workbench, against a list that is searched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule import HostQueue

NEVER = 1e-9  # a share so small that no turn falls to the host that has waited longest
KEYS = st.sampled_from([0.0, 1.0, 2.0, float("-inf")])
PRIORITIES = st.sampled_from([0, 0, -5, 7])
STEPS = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 9).map(str), KEYS, PRIORITIES)), max_size=60)


@pytest.mark.parametrize("share", [NEVER, 0.1, 0.25, 1.0])
@given(steps=STEPS)
def test_1_2_and_3_hosts_come_by_key_and_at_intervals_the_one_that_has_waited_longest(
    share: float, steps: list[tuple[str, float, int] | None]
) -> None:
    queue, waiting, pops = HostQueue(share), dict[str, tuple[int, float]](), 0
    for step in steps:
        if step is not None:
            queue.push(*step)
            waiting[step[0]] = (-step[2], step[1])  # a key that changes keeps its place in a dictionary
        elif waiting:
            pops += 1
            is_longest = round(pops * share, 6) // 1 > round((pops - 1) * share, 6) // 1
            name = next(iter(waiting)) if is_longest else min(waiting, key=lambda each: waiting[each])
            assert queue.pop() == name
            del waiting[name]
        assert len(queue) == len(waiting)
        assert all(name in queue for name in waiting)


def test_host_of_the_highest_key_does_not_starve_while_better_ones_keep_coming() -> None:
    queue = HostQueue(0.1)
    queue.push("last", 9.0)
    for number in range(10):
        queue.push(f"{number}", 0.0)
        if queue.pop() == "last":
            return
    raise AssertionError("the host starves")


def test_queue_stays_small_when_a_host_gets_another_key_again_and_again() -> None:
    """Each key leaves an entry in the heap; hosts that are never taken must not fill the memory."""
    queue = HostQueue(NEVER)
    for number in range(19_999):
        queue.push("a", float(number % 7))
    queue.push("b", 0.5)
    assert [queue.pop(), queue.pop()] == ["b", "a"]
    assert len(queue) == 0
