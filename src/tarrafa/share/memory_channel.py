"""The channel in memory, for tests, simulations, and the agents of one process."""

import asyncio
import contextlib
from collections.abc import Mapping

from tarrafa.share.channel import Answerer, InboxExtent, InboxMessage, Listener, PublishRefusal, StoredValue


class _Inbox:
    def __init__(self, bound_bytes: int) -> None:
        self.bound_bytes = bound_bytes
        self.last = 0
        # By sequence. Filled by publish, emptied by purge.
        self.messages: dict[int, InboxMessage] = {}
        self.sequences: dict[str, int] = {}  # by unique id

    @property
    def size_bytes(self) -> int:
        return sum(len(each.body) for each in self.messages.values())


class MemoryStore:
    """What several channels share, as a server would hold it. `lose` is a disk that breaks."""

    def __init__(self) -> None:
        self.revision = 0
        self.values: dict[str, StoredValue] = {}
        self.inboxes: dict[str, _Inbox] = {}
        self.listeners: dict[str, Listener] = {}
        self.answerers: dict[tuple[str, str], Answerer] = {}

    def lose(self) -> None:
        """Forget all values and messages."""
        self.revision = 0
        self.values.clear()
        self.inboxes.clear()

    def write(self, key: str, value: bytes) -> int:
        self.revision += 1
        self.values[key] = StoredValue(value, self.revision)
        return self.revision


class MemoryChannel:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def read(self, key: str) -> StoredValue | None:
        return self._store.values.get(key)

    async def create(self, key: str, value: bytes) -> int | None:
        return None if key in self._store.values else self._store.write(key, value)

    async def replace(self, key: str, value: bytes, revision: int) -> int | None:
        known = self._store.values.get(key)
        return self._store.write(key, value) if known is not None and known.revision == revision else None

    async def put(self, key: str, value: bytes) -> int:
        return self._store.write(key, value)

    async def open_inbox(self, name: str, bound_bytes: int) -> None:
        self._store.inboxes.setdefault(name, _Inbox(bound_bytes))

    async def publish(
        self, inbox: str, headers: Mapping[str, str], body: bytes, unique_id: str
    ) -> int | PublishRefusal:
        found = self._store.inboxes.get(inbox)
        if found is None:
            return PublishRefusal.MISSING
        if unique_id in found.sequences:
            return found.sequences[unique_id]
        if found.size_bytes + len(body) > found.bound_bytes:
            return PublishRefusal.FULL
        found.last += 1
        found.messages[found.last] = InboxMessage(found.last, dict(headers), body)
        found.sequences[unique_id] = found.last
        return found.last

    async def next(self, inbox: str, sequence: int) -> InboxMessage | None:
        found = self._store.inboxes.get(inbox)
        if found is None:
            return None
        return next((each for at, each in found.messages.items() if at >= sequence), None)

    async def extent(self, inbox: str) -> InboxExtent | None:
        found = self._store.inboxes.get(inbox)
        return None if found is None else InboxExtent(min(found.messages, default=found.last + 1), found.last)

    async def purge(self, inbox: str, before: int) -> None:
        found = self._store.inboxes.get(inbox)
        for sequence in [at for at in (found.messages if found else ()) if at < before]:
            assert found is not None
            del found.messages[sequence]

    async def nudge(self, name: str) -> None:
        listener = self._store.listeners.get(name)
        if listener is not None:
            listener()

    async def listen(self, name: str, listener: Listener) -> None:
        self._store.listeners[name] = listener

    async def answer(self, subject: str, name: str, answerer: Answerer) -> None:
        self._store.answerers[subject, name] = answerer

    async def ask(self, subject: str, names: list[str], body: bytes, deadline_seconds: float) -> dict[str, bytes]:
        found: dict[str, bytes] = {}

        async def ask_one(name: str) -> None:
            answerer = self._store.answerers.get((subject, name))
            if answerer is not None:
                found[name] = await answerer(body)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_seconds), asyncio.TaskGroup() as tasks:
                for name in names:
                    tasks.create_task(ask_one(name))
        return dict(found)

    async def close(self) -> None:
        """Nothing is held."""
