"""Exactly once over a pipe that loses, repeats and delays; grants; the end of a crawl; the filter of sent URLs."""

import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarrafa.share.agent_record import AgentRecord, MemberState, parse_record
from tarrafa.share.documents import Malformed
from tarrafa.share.grants import GrantUse, encoded_grants, granted_more, limit_of, parse_grants
from tarrafa.share.numbers import FAULTS_MAX, RETRY_SECONDS, WINDOW_COUNT, Dispatch, Inbox, Outbox, Receipt, SendKey
from tarrafa.share.sent_filter import FoundRows, SentFilter
from tarrafa.share.slots import SlotSet
from tarrafa.share.table import OwnershipTable, Registered, SlotPhase, Tenure
from tarrafa.share.termination import Termination


def sent_box(count: int) -> Outbox:
    box = Outbox({})
    for _ in range(count):
        box.add("01")
    box.committed(box.saved())
    return box


def publish_all(box: Outbox, now: float) -> list[Dispatch]:
    found = []
    while due := box.due(now):
        for each in due:
            found.append(each)
            box.published(each.key, now, is_done=True)
    return found


# The outbox.


def test_message_is_published_only_after_the_checkpoint_that_has_it() -> None:
    box = Outbox({})
    assert box.add("01") == 1
    saved = box.saved()
    assert box.add("01") == 2
    assert box.due(0.0) == []
    box.committed(saved)
    assert publish_all(box, 0.0) == [Dispatch(SendKey("01", 1), 0, 1)]


def test_window_bounds_what_is_published_and_not_seen() -> None:
    box = sent_box(WINDOW_COUNT + 9)
    assert len(publish_all(box, 0.0)) == WINDOW_COUNT
    assert box.seen("01", 5, 1.0) == [SendKey("01", number) for number in range(1, 6)]
    assert [each.key.number for each in publish_all(box, 1.0)] == [WINDOW_COUNT + at for at in range(1, 6)]


def test_sender_without_progress_goes_back_to_the_first_not_seen_with_a_new_attempt() -> None:
    box = sent_box(3)
    publish_all(box, 0.0)
    box.seen("01", 1, 1.0)
    assert publish_all(box, RETRY_SECONDS) == []
    assert publish_all(box, 1.0 + RETRY_SECONDS) == [Dispatch(SendKey("01", number), 1, 2) for number in (2, 3)]


def test_refused_publication_is_tried_again_later_and_nothing_before_it() -> None:
    """The inbox of the receiver is full."""
    box = sent_box(2)
    (first,) = box.due(0.0)
    box.published(first.key, 0.0, is_done=False)
    assert box.due(1.0) == []
    assert box.next_at() == RETRY_SECONDS
    assert [each.key.number for each in publish_all(box, RETRY_SECONDS)] == [1, 2]


def test_messages_for_a_lost_agent_are_withdrawn_and_its_numbers_not_used_again() -> None:
    box = sent_box(2)
    assert box.withdrawn("01") == [SendKey("01", 1), SendKey("01", 2)]
    assert box.is_empty()
    assert box.add("01") == 3
    assert Outbox(box.saved()).receivers() == ["01"]


def test_resend_publishes_all_that_was_not_seen() -> None:
    box = sent_box(2)
    publish_all(box, 0.0)
    box.resend(1.0)
    assert [each.attempt for each in publish_all(box, 1.0)] == [1, 1]


# The inbox.


def test_lower_numbers_are_dropped_and_higher_ones_left_alone() -> None:
    box = Inbox({"a": 4})
    assert box.take("a", 4, 1) is Receipt.OLD
    assert box.take("a", 6, 1) is Receipt.GAP
    assert box.take("a", 5, 1) is Receipt.TAKE
    assert box.take("a", 5, 1) is Receipt.OLD
    assert box.saved() == {"a": 5}


def test_receiver_begins_where_the_sender_still_has_messages() -> None:
    """Messages below were withdrawn while the receiver was thought to be lost."""
    box = Inbox({"a": 4})
    assert box.take("a", 8, 7) is Receipt.GAP
    assert box.take("a", 7, 7) is Receipt.TAKE
    assert box.take("b", 3, 3) is Receipt.TAKE


def test_message_that_is_damaged_again_and_again_is_given_up() -> None:
    box = Inbox({})
    assert [box.damaged("a", 1, 1) for _ in range(FAULTS_MAX)] == [False, False, True]
    assert not box.damaged("a", 7, 1)
    assert box.take("a", 2, 1) is Receipt.TAKE


class BadPipe:
    """A sender, a receiver, and a pipe that loses, repeats and reorders. Both ends fall back to their checkpoints."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.now, self.made = rng, 0.0, 0
        self.outbox, self.inbox = Outbox({}), Inbox({})
        self.saved_outbox, self.saved_inbox = self.outbox.saved(), self.inbox.saved()
        self.pipe = list[Dispatch]()
        self.taken, self.durable_taken = list[int](), list[int]()

    def make(self) -> None:
        self.made += 1
        assert self.outbox.add("01") == self.made

    def save_sender(self) -> None:
        self.saved_outbox = self.outbox.saved()
        self.outbox.committed(self.saved_outbox)

    def publish(self) -> None:
        for each in self.outbox.due(self.now):
            is_done = self.rng.random() < 0.8
            if is_done or self.rng.random() < 0.5:
                self.pipe.append(each)
            self.outbox.published(each.key, self.now, is_done=is_done)

    def receive(self) -> None:
        if self.pipe:
            each = self.pipe.pop(self.rng.randrange(len(self.pipe)) if self.rng.random() < 0.3 else 0)
            if self.inbox.take("a", each.key.number, each.floor) is Receipt.TAKE:
                self.taken.append(each.key.number)

    def save_receiver(self) -> None:
        self.saved_inbox, self.durable_taken = self.inbox.saved(), list(self.taken)

    def tell(self) -> None:
        self.outbox.seen("01", self.saved_inbox.get("a", 0), self.now)

    def lose_all(self) -> None:
        self.pipe.clear()

    def repeat(self) -> None:
        self.pipe += [self.rng.choice(self.pipe)] if self.pipe else []

    def crash_receiver(self) -> None:
        self.inbox, self.taken = Inbox(self.saved_inbox), list(self.durable_taken)

    def crash_sender(self) -> None:
        """Fall back: what the last checkpoint had not is found again, under numbers that were not published."""
        self.outbox, self.made = Outbox(self.saved_outbox), self.saved_outbox.get("01", (1, 1))[1] - 1

    def step(self, events: Sequence[Callable[[], None]]) -> None:
        self.now += self.rng.choice([0.0, 0.1, RETRY_SECONDS / 4])
        self.rng.choice(events)()
        assert self.taken == list(range(1, len(self.taken) + 1))


@given(st.integers(0, 2**32))
def test_every_number_is_taken_once_and_in_order_over_a_bad_pipe(seed: int) -> None:
    web = BadPipe(random.Random(seed))
    good = [web.save_sender, web.publish, web.receive, web.save_receiver, web.tell]
    bad = [web.make, web.make, web.lose_all, web.repeat, web.crash_receiver, web.crash_sender]
    for _ in range(300):
        web.step([*good, *bad])
    for _ in range(4_000):
        if web.outbox.is_empty():
            break
        web.step(good)
    assert web.durable_taken == list(range(1, web.made + 1))


# Grants.


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 300))
def test_grants_never_sum_above_the_limit_and_all_of_it_is_used(seed: int, limit: int) -> None:
    rng = random.Random(seed)
    names = ["00", "01", "02"]
    pages, returned, grants = Counter[str](), Counter[str](), dict[str, int]()
    for _ in range(3_000):
        name = rng.choice(names[: rng.randrange(1, 4)])
        spare = limit_of(grants.get(name, 0), returned[name]) - pages[name]
        if rng.random() < 0.1:
            returned[name] += spare
        elif spare:
            pages[name] += 1
        elif (
            more := granted_more(limit, grants, {each: GrantUse(pages[each], returned[each]) for each in names})
        ) is not None:
            grants = more
        assert sum(pages.values()) <= limit
        assert sum(grants.values()) - sum(returned.values()) <= limit
    assert sum(pages.values()) == limit


def test_grants_are_read_as_written_and_wrong_ones_are_malformed() -> None:
    assert parse_grants(encoded_grants({"00": 7})) == {"00": 7}
    assert isinstance(parse_grants(b'{"grants":{"00":-1}}'), Malformed)
    assert isinstance(parse_grants(b'{"grants":{"../x":1}}'), Malformed)


# Records and the end.

TABLE = OwnershipTable.founded("00", "a").with_agent("01", Registered("b"))


def records(beat: int, *, idle: bool = True, work: int = 3) -> dict[str, AgentRecord]:
    first = AgentRecord("00", "a", "t0", beat, MemberState.ACTIVE, is_idle=True, work=1)
    second = AgentRecord("01", "b", "t1", beat, MemberState.ACTIVE, is_idle=idle, work=work)
    return {"00": first, "01": second}


def test_record_is_read_as_it_was_written() -> None:
    record = AgentRecord("00", "a", "t", 7, MemberState.PAUSED, "m", 2.5, True, 4, 5, 6, 7, (9, "ab"))
    assert parse_record(record.encoded) == record
    assert isinstance(parse_record(record.encoded.replace(b"paused", b"asleep")), Malformed)
    assert isinstance(parse_record(b"{}"), Malformed)


def test_crawl_is_done_when_all_are_idle_in_two_looks_with_the_same_work() -> None:
    end = Termination()
    assert not end.is_done(TABLE, records(1))
    assert not end.is_done(TABLE, records(1))  # the same beats prove nothing
    assert end.is_done(TABLE, records(2))


@pytest.mark.parametrize("second", [records(2, work=4), records(2, idle=False), {"00": records(2)["00"]}])
def test_crawl_is_not_done_while_one_agent_works_or_is_missing(second: dict[str, AgentRecord]) -> None:
    end = Termination()
    assert not end.is_done(TABLE, records(1))
    assert not end.is_done(TABLE, second)
    assert not end.is_done(TABLE, records(3))


def test_crawl_is_not_done_while_slots_move() -> None:
    end = Termination()
    table = TABLE.changed(SlotSet.of([5]), lambda _: Tenure("00", SlotPhase.MOVING, "01"))
    assert [end.is_done(table, records(beat)) for beat in range(4)] == [False] * 4


def test_agent_that_left_is_not_asked() -> None:
    end = Termination()
    gone = records(1)["01"]._replace(state=MemberState.GONE)
    assert [end.is_done(TABLE, {**records(beat), "01": gone}) for beat in (1, 2)] == [False, True]


# The filter.


def found(fingerprints: list[int], links: int = 1, priority: int = 5, depth: int = 2, weight: int = 0) -> FoundRows:
    count = len(fingerprints)
    return FoundRows(
        np.array(fingerprints, np.uint64),
        np.full(count, priority, np.uint16),
        np.full(count, depth, np.uint32),
        np.full(count, links, np.uint16),
        np.full(count, links, np.uint16),
        np.full(count, weight, np.uint32),
    )


def test_url_is_sent_once_and_again_when_its_links_have_doubled() -> None:
    box = SentFilter(64)
    sent = [box.pick(found([7])).links.tolist() for _ in range(16)]
    assert [links for links in sent if links] == [[1], [1], [2], [4], [8]]


def test_better_priority_depth_or_weight_is_sent_at_once() -> None:
    box = SentFilter(64)
    box.pick(found([7], links=9))
    assert len(box.pick(found([7])).rows) == 0
    for better in (found([7], priority=4), found([7], depth=1), found([7], weight=1)):
        assert box.pick(better).rows.tolist() == [0]
    assert len(box.pick(found([7], priority=4, depth=1)).rows) == 0


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 12), unique=True, max_size=20), max_size=20))
def test_no_url_is_held_back_that_was_not_sent_and_links_are_never_invented(batches: list[list[int]]) -> None:
    box, offered, sent = SentFilter(8), Counter[int](), Counter[int]()
    for batch in batches:
        picked = box.pick(found(batch))
        offered.update(batch)
        for row, links in zip(picked.rows, picked.links, strict=True):
            sent[batch[int(row)]] += int(links)
        assert all(0 < sent[url] <= offered[url] for url in batch)


def test_forgotten_filter_sends_again() -> None:
    box = SentFilter(64)
    box.pick(found([7], links=9))
    box.forget()
    assert box.pick(found([7])).links.tolist() == [1]
