"""Leases without common clocks, and without a time to live in the store.

An agent owns its slots until a while after it *sent* the last renewal that succeeded, by its own clock. An observer may
fence it when it has seen no new revision of its record for that long and a margin, by the observer's clock. It saw the
revision after that was sent, so the lease has ended before. Only the rates of the clocks must agree.
"""

from typing import NamedTuple


class LeaseTimes(NamedTuple):
    """Seconds."""

    lease: float = 10.0
    beat: float = 2.0  # between renewals
    hang_up: float = 3.0  # before the end of a lease that could not be renewed, visits are ended
    margin: float = 1.0  # that an observer waits longer

    @property
    def fence_after(self) -> float:
        """For so long no new revision must have been seen."""
        return self.lease + self.margin


class Lease:
    """An agent's own lease. At most one renewal is on its way."""

    def __init__(self, times: LeaseTimes) -> None:
        self._times = times
        self.revision: int | None = None  # of the agent's own record, as far as it knows; None before it exists
        self.ends_at = float("-inf")
        self._sent_at: float | None = None  # of the renewal on its way
        self._next_at = float("-inf")

    @property
    def is_pending(self) -> bool:
        return self._sent_at is not None

    def is_due(self, now: float) -> bool:
        return not self.is_pending and now >= self._next_at

    def is_safe(self, now: float) -> bool:
        """Return True if visits may begin: the lease does not end soon."""
        return now < self.ends_at - self._times.hang_up

    def sent(self, now: float) -> None:
        """Note that a renewal is being sent."""
        self._sent_at = now
        self._next_at = now + self._times.beat

    def renewed(self, revision: int) -> None:
        """Note that the renewal on its way has succeeded."""
        assert self._sent_at is not None
        self.revision = revision
        self.ends_at = max(self.ends_at, self._sent_at + self._times.lease)
        self._sent_at = None

    def failed(self) -> None:
        """Note that the renewal on its way was refused, or that its fate is not known."""
        self._sent_at = None

    def adopt(self, revision: int) -> None:
        """Note the revision under which the store has this agent's own last record. The lease is not longer for it."""
        self.revision = revision
        self._next_at = float("-inf")

    def end(self) -> None:
        """Give up the lease: a new turn begins."""
        self.revision, self._sent_at = None, None
        self.ends_at = self._next_at = float("-inf")

    def next_at(self) -> float:
        """Return when something is due next."""
        waits = [self.ends_at - self._times.hang_up] if self.ends_at > float("-inf") else []
        return min([*waits, *([] if self.is_pending else [self._next_at])], default=float("inf"))


class RecordSight(NamedTuple):
    revision: int  # 0 if there was no record
    first_at: float


class LeaseWatch:
    """What an observer has seen of the records of others, by its own clock."""

    def __init__(self, times: LeaseTimes) -> None:
        self._times = times
        # By name. Filled by see, emptied by forget.
        self._sights: dict[str, RecordSight] = {}

    def see(self, name: str, revision: int, now: float) -> None:
        """Note a revision of an agent's record."""
        known = self._sights.get(name)
        if known is None or known.revision != revision:
            self._sights[name] = RecordSight(revision, now)

    def may_fence(self, name: str, now: float) -> bool:
        """Return True if the lease of an agent has ended, if it has not renewed it since the last look."""
        known = self._sights.get(name)
        return known is not None and now - known.first_at >= self._times.fence_after

    def forget(self, name: str) -> None:
        self._sights.pop(name, None)
