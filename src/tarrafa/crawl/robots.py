"""What hosts allow, and the asking for it, which goes through the workbench like every visit."""

from dataclasses import replace
from typing import NamedTuple

from tarrafa.fetch import decode
from tarrafa.obey import (
    ROBOTS_MAX_BYTES,
    Permission,
    RobotsRequest,
    RobotsStore,
    first_request,
    settle,
)
from tarrafa.records import Failure, FailureKind, Page


class Settled(NamedTuple):
    host: str
    permission: Permission


class Robots:
    def __init__(self, store: RobotsStore) -> None:
        self._store = store
        # Each robots.txt that is asked for, by its URL. Filled by ask, emptied by answered and forget.
        self._asked: dict[str, RobotsRequest] = {}

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

    def ask(self, host: str) -> RobotsRequest:
        return self.follow(first_request(host))

    def follow(self, request: RobotsRequest) -> RobotsRequest:
        self._asked[request.url] = request
        return request

    def is_asked(self, url: str) -> bool:
        return url in self._asked

    def forget(self, url: str) -> None:
        """It waits for its visit no more; who needs it asks again."""
        self._asked.pop(url, None)

    def answered(self, url: str, got: Page | Failure, now: float) -> Settled | RobotsRequest:
        """What the host allows now, or what is to be asked next."""
        asked = self._asked.pop(url)
        if isinstance(got, Page):
            got = _decoded(got)
        follows = settle(asked, got, now, self._store.answer(asked.host))
        if isinstance(follows, RobotsRequest):
            return follows
        return Settled(asked.host, self._store.put(follows))

    def unreached(self, request: RobotsRequest, now: float) -> Settled:
        """A redirect led to a host that cannot be visited."""
        self._asked[request.url] = request
        settled = self.answered(request.url, Failure(request.url, FailureKind.UNREACHABLE, "not to be visited"), now)
        assert isinstance(settled, Settled)
        return settled

    def close(self) -> None:
        self._store.close()


def _decoded(page: Page) -> Page:
    decoded = decode(page, ROBOTS_MAX_BYTES + 1)
    return replace(page, body=decoded.body, truncated=decoded.truncated)
