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


class HostTraits(NamedTuple):
    """The facts about a host that its delay depends on."""

    pages_count: int = 0  # fetched from it
    crawl_delay_seconds: float = 0.0  # from its robots.txt
    is_own: bool = False  # listed as the user's own, or private where private hosts are allowed


class DelayPolicy(Protocol):
    def seconds(self, download_seconds: float | None, pages_count: int) -> float:
        """Return the delay after a download of this duration. If the duration is None (unknown), return the longest."""
        ...


class ConstantDelay(NamedTuple):
    delay_seconds: float = 5.0

    def seconds(self, download_seconds: float | None, pages_count: int) -> float:  # noqa: ARG002 - the contract's
        return self.delay_seconds


class TenTimesDelay(NamedTuple):
    """Ten times the last download, so that a host that is slow because it is busy gets more time."""

    floor_seconds: float = 1.0
    ceiling_seconds: float = 60.0

    def seconds(self, download_seconds: float | None, pages_count: int) -> float:  # noqa: ARG002 - the contract's
        if download_seconds is None:
            return self.ceiling_seconds
        return min(max(self.floor_seconds, 10.0 * download_seconds), self.ceiling_seconds)


class DensityDelay(NamedTuple):
    """From `longest_seconds` for a host of one page down to a second for one of `pages_max`, by the logarithm."""

    longest_seconds: float = 15.0
    pages_max: int = 100_000

    def seconds(self, download_seconds: float | None, pages_count: int) -> float:  # noqa: ARG002 - the contract's
        if pages_count <= 1 or self.pages_max <= 1:
            return self.longest_seconds
        share = math.log(min(pages_count, self.pages_max)) / math.log(self.pages_max)
        return self.longest_seconds - share * (self.longest_seconds - 1.0)


class Delays(NamedTuple):
    """The policy, joined with what no policy may undercut."""

    policy: DelayPolicy = ConstantDelay()
    # Between visits to one address by different hosts. Shared hosters hold thousands of hosts, so it is short.
    address_seconds: float = 1.0

    def host_seconds(self, traits: HostTraits, download_seconds: float | None) -> float:
        delay = self.policy.seconds(download_seconds, traits.pages_count)
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
