"""What hosts allow, and the asking for it, which goes through the workbench like every visit."""

import asyncio
from typing import NamedTuple

from tarrafa.fetch import decode
from tarrafa.obey import (
    LONG_BYTES,
    ROBOTS_MAX_BYTES,
    Permission,
    RobotsRequest,
    RobotsStore,
    settle,
)
from tarrafa.records import Failure, FailureKind, Page


class Settled(NamedTuple):
    host: str
    permission: Permission


class Robots:
    def __init__(self, store: RobotsStore) -> None:
        self._store = store
        # Each robots.txt that is asked for, by its URL, and for which hosts: many may lead to the same one. Filled by
        # ask, emptied by answered and drop.
        self._asked: dict[str, list[RobotsRequest]] = {}

    def permission(self, host: str, now: float) -> Permission | None:
        """None if it must be asked for first."""
        permission = self._store.permission(host)
        return None if permission is None or permission.is_due(now) else permission

    def usage(self, host: str, url: str) -> tuple[str, ...]:
        permission = self._store.permission(host)
        return () if permission is None else permission.rules.usage(url)

    def reason(self, host: str) -> str:
        """Why nothing is allowed."""
        answer = self._store.answer(host)
        return f"robots.txt {answer.reason}" if answer else ""

    def ask(self, request: RobotsRequest) -> None:
        """Its URL stands on the workbench, or will in a moment."""
        self._asked.setdefault(request.url, []).append(request)

    def is_asked(self, url: str) -> bool:
        return url in self._asked

    def drop(self, url: str) -> list[RobotsRequest]:
        """It will not be visited; who asked for it."""
        return self._asked.pop(url, [])

    async def opened(self, got: Page | Failure) -> Page | Failure:
        """Without content coding. A long one is read in a thread, while others have their turns."""
        if isinstance(got, Failure):
            return got
        page = _decoded(got)
        if len(page.body) >= LONG_BYTES and 200 <= page.status < 300:
            await asyncio.to_thread(self._store.read_ahead, page)
        return page

    def answered(self, url: str, got: Page | Failure, now: float) -> list[Settled | RobotsRequest]:
        """For each that asked: what its host allows now, or what is to be asked next. `got` was opened."""
        return [self._settled(asked, got, now) for asked in self.drop(url)]

    def _settled(self, asked: RobotsRequest, got: Page | Failure, now: float) -> Settled | RobotsRequest:
        follows = settle(asked, got, now, self._store.answer(asked.host))
        return follows if isinstance(follows, RobotsRequest) else Settled(asked.host, self._store.put(follows))

    def unreached(self, asked: RobotsRequest, now: float) -> Settled:
        """A redirect led to a host that cannot be visited."""
        settled = self._settled(asked, Failure(asked.url, FailureKind.UNREACHABLE, "not to be visited"), now)
        assert isinstance(settled, Settled)
        return settled

    def save(self) -> None:
        self._store.save()

    def close(self) -> None:
        self._store.close()


def _decoded(page: Page) -> Page:
    decoded = decode(page, ROBOTS_MAX_BYTES + 1)
    return page._replace(body=decoded.body, truncated=decoded.truncated)
