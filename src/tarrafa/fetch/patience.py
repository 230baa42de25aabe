"""How long we wait for the first byte of each answer."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Patience(Generic[T]):
    """One timer for many: all wait equally long, so they stand in the order in which they run out.

    `is_answered` tells of whom the first byte has come; `give_up` is called for those of whom it has not.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        is_answered: Callable[[T], bool],
        give_up: Callable[[T], None],
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._is_answered = is_answered
        self._give_up = give_up
        # Filled by `watch`, emptied by `forget` and by the timer; the one that runs out first stands first.
        self._until: dict[T, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, one: T) -> None:
        self._until[one] = self._loop.time() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look)

    def forget(self, one: T) -> None:
        self._until.pop(one, None)

    def close(self) -> None:
        self._until.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        now, self._timer = self._loop.time(), None
        while self._until:
            one, until = next(iter(self._until.items()))
            is_answered = self._is_answered(one)
            if until > now and not is_answered:
                self._timer = self._loop.call_later(until - now, self._look)
                return
            del self._until[one]
            if not is_answered:
                self._give_up(one)
