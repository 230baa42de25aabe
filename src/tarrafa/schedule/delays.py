"""How long does a host rest between two visits?

A policy says what we would wait; `Delays` joins it with what the host asks for and with the least that a stranger is
owed. The delay is the largest of the three and counts from the end of an answer.
"""

import math
from typing import NamedTuple, Protocol

# Nobody is made to wait longer, whatever a host asks for: a page a day is the slowest that a crawl goes.
WAIT_MAX_SECONDS = 86_400.0
# Less is for those only who are one's own, or private where private ones are allowed.
STRANGER_MIN_SECONDS = 1.0


class Traits(NamedTuple):
    """What is known of a host that its delay depends on."""

    pages_count: int = 0  # that were fetched from it
    crawl_delay_seconds: float = 0.0  # from its robots.txt
    is_own: bool = False  # listed as one's own, or private where private ones are allowed


class DelayPolicy(Protocol):
    def seconds(self, download_seconds: float | None, pages_count: int) -> float:
        """The delay after a download that took so long; None when that is not known: then the longest it could be."""
        ...


class ConstantDelay(NamedTuple):
    delay_seconds: float = 5.0

    def seconds(self, download_seconds: float | None, pages_count: int) -> float:  # noqa: ARG002 - the contract's
        return self.delay_seconds


class TenTimesDelay(NamedTuple):
    """Ten times the last download: a host that is slow because it is busy is left alone for longer."""

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

    def host_seconds(self, traits: Traits, download_seconds: float | None) -> float:
        delay = self.policy.seconds(download_seconds, traits.pages_count)
        if delay < STRANGER_MIN_SECONDS and not traits.is_own:
            delay = STRANGER_MIN_SECONDS
        if traits.crawl_delay_seconds > delay:
            delay = traits.crawl_delay_seconds
        if delay > WAIT_MAX_SECONDS:
            return WAIT_MAX_SECONDS
        return delay


def bounded_wait_seconds(asked_seconds: float) -> float:
    """What a host asks for, such as Retry-After, within reason; nonsense is no wait."""
    return min(max(0.0, asked_seconds), WAIT_MAX_SECONDS)
