"""How long a host waits between two visits.

A policy proposes a delay. `Delays` combines it with what the host asks for and with the minimum for hosts that are not
the user's own. The delay is the largest of the three and counts from the end of an answer.
"""

import math
from typing import NamedTuple, Protocol

# The longest delay, whatever a host asks for: one page a day is the slowest rate of a crawl.
WAIT_MAX_SECONDS = 86_400.0
# The shortest delay, except for the user's own hosts, and private ones where these are allowed.
DELAY_MIN_SECONDS = 1.0
# The shortest delay that a policy gives to the largest host.
_LARGEST_SECONDS = 1.0
# A download whose duration was not noted: the host was visited before a restart, and its record was not saved.
_UNKNOWN_DOWNLOAD_SECONDS = 6.0


class HostTraits(NamedTuple):
    """The facts about a host that its delay depends on."""

    pages_count: int = 0  # available at it: kept, or known and not visited, as far as its budget goes
    crawl_delay_seconds: float = 0.0  # from its robots.txt
    is_own: bool = False  # listed as the user's own, or private where private hosts are allowed
    largest_count: int = 0  # pages available at the largest host known so far
    has_answered: bool = False  # a page of it was kept; no delay depends on that, but how long its failures are borne
    delay_seconds: float | None = None  # set for this host, in place of the policy
    connections: int = 1  # visits that may be in flight to it at once; always the same for a host


class DelayPolicy(Protocol):
    def seconds(self, download_seconds: float | None, traits: HostTraits) -> float:
        """Return the delay after a download of this duration; None if the duration is unknown."""
        ...


class ConstantDelay(NamedTuple):
    delay_seconds: float = 5.0

    def seconds(self, download_seconds: float | None, traits: HostTraits) -> float:  # noqa: ARG002 - the contract's
        return self.delay_seconds


class TenTimesDelay(NamedTuple):
    """Ten times the last download, so that a host that is slow because it is busy gets more time."""

    floor_seconds: float | None = None
    ceiling_seconds: float | None = None

    def seconds(self, download_seconds: float | None, traits: HostTraits) -> float:  # noqa: ARG002 - the contract's
        floor, ceiling = self.floor_seconds or 0.0, self.ceiling_seconds
        if download_seconds is None:
            return max(floor, 10.0 * _UNKNOWN_DOWNLOAD_SECONDS) if ceiling is None else ceiling
        delay = max(floor, 10.0 * download_seconds)
        return delay if ceiling is None else min(delay, ceiling)


class DensityDelay(NamedTuple):
    """From `longest_seconds` for a host of one page down to a second for the largest host, by the logarithm.

    The size of the largest host is `pages_max`, or if that is None what the crawl knows so far.
    """

    longest_seconds: float = 15.0
    pages_max: int | None = None

    def seconds(self, download_seconds: float | None, traits: HostTraits) -> float:  # noqa: ARG002 - the contract's
        largest = self.pages_max or max(traits.largest_count, traits.pages_count)
        if traits.pages_count <= 1 or largest <= 1:
            return self.longest_seconds
        share = math.log(min(traits.pages_count, largest)) / math.log(largest)
        return self.longest_seconds - share * (self.longest_seconds - _LARGEST_SECONDS)


class DeadlineDelay(NamedTuple):
    """As slow as the host can be visited and still be done in time: the time divided by its pages.

    The time is `deadline_seconds`, or if that is None what the largest host known so far needs at a page a second.
    """

    longest_seconds: float = 15.0
    deadline_seconds: float | None = None

    def seconds(self, download_seconds: float | None, traits: HostTraits) -> float:  # noqa: ARG002 - the contract's
        pages = max(1, traits.pages_count)
        time_seconds = self.deadline_seconds or max(traits.largest_count, pages) * _LARGEST_SECONDS
        if pages == 1:
            return self.longest_seconds
        return min(max(_LARGEST_SECONDS, time_seconds / pages), self.longest_seconds)


class Delays(NamedTuple):
    """The policy, joined with what no policy may undercut."""

    policy: DelayPolicy = ConstantDelay()
    # Between visits to one address by different hosts. Shared hosters hold thousands of hosts, so it is short.
    address_seconds: float = 1.0

    def host_seconds(self, traits: HostTraits, download_seconds: float | None) -> float:
        delay = traits.delay_seconds
        if delay is None:
            delay = self.policy.seconds(download_seconds, traits)
        if delay < DELAY_MIN_SECONDS and not traits.is_own:
            delay = DELAY_MIN_SECONDS
        if traits.crawl_delay_seconds > delay:
            delay = traits.crawl_delay_seconds
        if delay > WAIT_MAX_SECONDS:
            return WAIT_MAX_SECONDS
        return delay


def bounded_wait_seconds(asked_seconds: float) -> float:
    """Return the wait that a host asks for, such as by Retry-After, within bounds."""
    return min(max(0.0, asked_seconds), WAIT_MAX_SECONDS)
