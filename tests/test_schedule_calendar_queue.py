"""The calendar gives what one plain heap gives."""

from heapq import heappop, heappush

from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule.calendar_queue import SLOT_SECONDS, CalendarQueue

# Near one another, so that slots are shared and a time may fall on the edge of one.
TIME = st.one_of(st.floats(-1.0, 1.0), st.integers(-200, 200).map(lambda n: n * SLOT_SECONDS / 2), st.just(1e6))


@given(st.lists(st.one_of(st.tuples(st.just("push"), TIME), st.tuples(st.just("pop"), TIME))))
def test_calendar_is_a_heap(steps: list[tuple[str, float]]) -> None:
    calendar: CalendarQueue[str] = CalendarQueue()
    heap: list[tuple[float, int, str]] = []
    for order, (step, when) in enumerate(steps):
        if step == "push":
            calendar.push((when, order, "x"))
            heappush(heap, (when, order, "x"))
        else:
            assert calendar.pop(when) == (heappop(heap) if heap and heap[0][0] <= when else None)
        due = sum(entry[0] <= when for entry in heap)
        near = sum(entry[0] <= when + SLOT_SECONDS for entry in heap)
        assert due <= calendar.due_count(when) <= near
        assert len(calendar) == len(heap)
        earliest = calendar.earliest()
        assert (earliest is None) == (not heap)
        assert earliest is None or heap[0][0] - SLOT_SECONDS <= earliest <= heap[0][0]


@given(st.lists(st.tuples(TIME, st.booleans())), TIME)
def test_what_is_not_wanted_is_dropped_and_the_rest_keeps_its_order(
    pushed: list[tuple[float, bool]], now: float
) -> None:
    calendar: CalendarQueue[bool] = CalendarQueue()
    held = []
    for order, (when, is_wanted) in enumerate(pushed):
        calendar.push((when, order, is_wanted))
        held.append((when, order, is_wanted))
        if order == len(pushed) // 2 and (popped := calendar.pop(now)):  # so that a slot is open
            held.remove(popped)
    calendar.keep(lambda entry: entry[2])
    assert [calendar.pop(1e9) for _ in range(len(calendar))] == sorted(entry for entry in held if entry[2])
