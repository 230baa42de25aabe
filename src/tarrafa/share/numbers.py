"""Exactly once, end to end: numbers of messages per receiver, kept at both ends inside checkpoints.

A sender keeps a message until the receiver's checkpoint has it. The receiver takes in each number once, and in order:
lower ones are dropped, higher ones are left alone. A sender that sees no progress publishes again, from the first
message that was not seen. So the stream between them may lose, repeat or delay whatever it likes.

Numbers are counted for each *life* of a sender: that of its folder. They go on after a restart, and begin anew with a
new disk. The floor of a message is the lowest number that its sender still keeps: what is below will never come.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

WINDOW_COUNT = 64  # messages published and not seen, for each receiver
RETRY_SECONDS = 30.0  # without progress, until messages are published again; doubles up to the maximum
RETRY_MAX_SECONDS = 240.0
LIVES_MAX = 65_536
FAULTS_MAX = 3  # times that a damaged message is asked for again


class SendKey(NamedTuple):
    """A message in the outbox."""

    receiver: str
    number: int


class Dispatch(NamedTuple):
    """A message to be published now."""

    key: SendKey
    attempt: int
    floor: int


@dataclass
class Sequence:
    """What is on its way to one receiver: the numbers from `floor` up to `next`, without `next`."""

    floor: int = 1
    next: int = 1
    durable: int = 1  # the first number that no checkpoint of our own has yet
    published: int = 1  # the first number that was not published in this attempt
    attempt: int = 0
    retry_at: float = float("inf")
    retry_seconds: float = RETRY_SECONDS
    is_pending: bool = False  # the fate of a publication is not known yet


class Outbox:
    """Decides what is published when. Used by the event loop; the messages themselves are files of the agent."""

    def __init__(self, saved: Mapping[str, tuple[int, int]]) -> None:
        """Begin with the floor and the next number of each receiver, as of the last checkpoint."""
        self._sequences = {name: Sequence(floor, next_, next_, floor) for name, (floor, next_) in saved.items()}

    def add(self, receiver: str) -> int:
        """Return the number of a new message. It is published after the checkpoint that has it."""
        sequence = self._sequences.setdefault(receiver, Sequence())
        sequence.next += 1
        return sequence.next - 1

    def saved(self) -> dict[str, tuple[int, int]]:
        """Return what the checkpoint that is beginning stores."""
        return {name: (each.floor, each.next) for name, each in self._sequences.items()}

    def committed(self, saved: Mapping[str, tuple[int, int]]) -> None:
        """Note that a checkpoint is durable, with what `saved` returned at its beginning."""
        for name, (_, next_) in saved.items():
            self._sequences[name].durable = max(self._sequences[name].durable, next_)

    def is_empty(self) -> bool:
        return all(each.floor == each.next for each in self._sequences.values())

    def receivers(self) -> list[str]:
        """Return the agents that have not seen everything."""
        return sorted(name for name, each in self._sequences.items() if each.floor < each.next)

    def due(self, now: float) -> list[Dispatch]:
        """Return the next message of each receiver that may be published; each is then awaited."""
        found = []
        for name, each in self._sequences.items():
            if now >= each.retry_at and not each.is_pending:
                each.published, each.attempt = each.floor, each.attempt + 1
                each.retry_at = float("inf")
            if each.is_pending or each.published >= min(each.durable, each.floor + WINDOW_COUNT):
                continue
            each.is_pending = True
            found.append(Dispatch(SendKey(name, each.published), each.attempt, each.floor))
        return found

    def next_at(self) -> float:
        """Return when a message is published again."""
        return min((each.retry_at for each in self._sequences.values()), default=float("inf"))

    def published(self, key: SendKey, now: float, *, is_done: bool) -> None:
        """Note what became of a publication: the stream has it, or has refused it, or nothing is known."""
        sequence = self._sequences[key.receiver]
        sequence.is_pending = False
        if is_done and key.number == sequence.published:
            sequence.published += 1
        if sequence.floor < sequence.next:
            self._retry_later(sequence, now)
        if not is_done:
            sequence.published = max(sequence.durable, sequence.floor)  # nothing more until it is tried again

    def seen(self, receiver: str, last: int, now: float) -> list[SendKey]:
        """Note the last number that the receiver's checkpoint has; return the messages that are not needed any more."""
        sequence = self._sequences.get(receiver)
        if sequence is None or last < sequence.floor:
            return []
        done = range(sequence.floor, min(last + 1, sequence.durable))
        sequence.floor = max(sequence.floor, done.stop)
        sequence.published = max(sequence.published, sequence.floor)
        sequence.retry_seconds, sequence.retry_at = RETRY_SECONDS, float("inf")
        if sequence.floor < sequence.published:
            sequence.retry_at = now + sequence.retry_seconds
        return [SendKey(receiver, number) for number in done]

    def resend(self, now: float) -> None:
        """Publish again what was not seen, because the streams may be lost."""
        for each in self._sequences.values():
            if each.floor < each.next:
                each.retry_at = now

    def withdrawn(self, receiver: str) -> list[SendKey]:
        """Give up sending to an agent that is lost; return the messages, whose rows go to others."""
        sequence = self._sequences.get(receiver, Sequence())
        numbers = range(sequence.floor, sequence.durable)
        sequence.floor = sequence.published = max(sequence.floor, sequence.durable)
        sequence.retry_at = float("inf")
        return [SendKey(receiver, number) for number in numbers]

    def _retry_later(self, sequence: Sequence, now: float) -> None:
        if sequence.retry_at == float("inf"):
            sequence.retry_at = now + sequence.retry_seconds
            sequence.retry_seconds = min(2 * sequence.retry_seconds, RETRY_MAX_SECONDS)


class Receipt(Enum):
    """What is done with a message, by its number."""

    TAKE = "take"
    OLD = "old"  # it was taken in before
    GAP = "gap"  # one before it is missing; the sender will go back


class Inbox:
    """Decides which messages are taken in. Its numbers are stored by the checkpoint that has their rows."""

    def __init__(self, saved: Mapping[str, int]) -> None:
        self._last = dict(saved)
        # Damaged messages, by life and number. Filled by damaged, emptied when the number is taken.
        self._faults: dict[tuple[str, int], int] = {}

    def take(self, life: str, number: int, floor: int) -> Receipt:
        last = self._last.get(life, 0)
        if number <= last:
            return Receipt.OLD
        if number != max(last + 1, floor) or (life not in self._last and len(self._last) >= LIVES_MAX):
            return Receipt.GAP
        self._last[life] = number
        self._faults.pop((life, number), None)
        return Receipt.TAKE

    def damaged(self, life: str, number: int, floor: int) -> bool:
        """Note a damaged message; return True if it is given up, because it comes damaged again and again."""
        if number != max(self._last.get(life, 0) + 1, floor):
            return False
        self._faults[life, number] = self._faults.get((life, number), 0) + 1
        return self._faults[life, number] >= FAULTS_MAX and self.take(life, number, floor) is Receipt.TAKE

    def saved(self) -> dict[str, int]:
        """Return what the checkpoint that is beginning stores, and what is told to the senders when it is durable."""
        return dict(self._last)
