"""What agents need of each other: a store with compare-and-set, inboxes that are read by sequence, and questions.

1. A revision is given once: `replace` with the revision that was read succeeds for one caller at most.
2. An inbox gives the messages that it took in the order of their sequences, each until it is purged.
3. A message whose unique id the inbox took lately is not taken again.
4. A full or missing inbox refuses, as a value; it drops nothing that it took.
5. What cannot be known, because the server did not answer in time, raises `ChannelDownError`: it may have been done.
6. Nothing waits longer than the bound of the channel.

The store may be lost at any time, together with the inboxes. Whatever must not be lost is kept by the agents.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias

from tarrafa.errors import WorkError


class ChannelDownError(WorkError):
    """The server did not answer. What was asked for may have been done or not."""


class StoredValue(NamedTuple):
    """The value of a key."""

    value: bytes
    revision: int


class PublishRefusal(Enum):
    """Why an inbox did not take a message."""

    FULL = "full"
    MISSING = "missing"


class InboxMessage(NamedTuple):
    sequence: int
    headers: dict[str, str]
    body: bytes


class InboxExtent(NamedTuple):
    """The sequences of the first and last message of an inbox; `first` is `last + 1` when it is empty."""

    first: int
    last: int


Answerer: TypeAlias = Callable[[bytes], Awaitable[bytes]]
Listener: TypeAlias = Callable[[], None]


class Channel(Protocol):
    async def read(self, key: str) -> StoredValue | None: ...

    async def create(self, key: str, value: bytes) -> int | None:
        """Store a value; return its revision, or None if the key exists."""
        ...

    async def replace(self, key: str, value: bytes, revision: int) -> int | None:
        """Store a value; return its revision, or None if the key has not this revision."""
        ...

    async def put(self, key: str, value: bytes) -> int:
        """Store the value of a key that only this agent writes; return its revision."""
        ...

    async def open_inbox(self, name: str, bound_bytes: int) -> None:
        """Make an inbox unless it exists."""
        ...

    async def publish(
        self, inbox: str, headers: Mapping[str, str], body: bytes, unique_id: str
    ) -> int | PublishRefusal:
        """Append a message; return its sequence, or that of the message with this unique id that is there already."""
        ...

    async def next(self, inbox: str, sequence: int) -> InboxMessage | None:
        """Return the first message whose sequence is at least this one, or None if there is none or no such inbox."""
        ...

    async def extent(self, inbox: str) -> InboxExtent | None:
        """Return which sequences an inbox holds, or None if there is no such inbox."""
        ...

    async def purge(self, inbox: str, before: int) -> None:
        """Remove the messages below a sequence."""
        ...

    async def nudge(self, name: str) -> None:
        """Wake an agent that listens. A nudge may be lost."""
        ...

    async def listen(self, name: str, listener: Listener) -> None:
        """Call a function at each nudge of this agent."""
        ...

    async def answer(self, subject: str, name: str, answerer: Answerer) -> None:
        """Answer questions about a subject, under the name of this agent."""
        ...

    async def ask(self, subject: str, names: list[str], body: bytes, deadline_seconds: float) -> dict[str, bytes]:
        """Ask agents a question; return the answers that came in time, by name."""
        ...

    async def close(self) -> None: ...
