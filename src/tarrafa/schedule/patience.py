"""What is done with a host that fails: wait longer each time, set it aside, give it up.

Failures in a row are counted per host; one good answer forgets them all. A host that comes back after having been set
aside has one try: if that fails too, it is set aside again, for longer.
"""

from enum import Enum, StrEnum
from typing import NamedTuple

from tarrafa.records import FailureKind
from tarrafa.schedule.delays import WAIT_MAX_SECONDS

# The host itself says that it has enough; other statuses are about the page.
BUSY_STATUSES = frozenset({429, 503})
_LONGEST_EXPONENT = 30  # keeps the powers small; the ceilings are far below


class Reason(StrEnum):
    """Why a host is set aside or given up."""

    NAME = "name"  # the name has no address
    PRIVATE = "private"  # the name leads into a private network and that is not allowed
    REFUSED = "refused"  # nobody listens there
    UNREACHABLE = "unreachable"  # no way to the address
    TIMEOUT = "timeout"
    RESET = "reset"  # connections break
    TLS = "tls"  # the certificate or the handshake is wrong
    BUSY = "busy"  # it answers 429 or 503
    CROWDED = "crowded"  # too many hosts of its address are on the workbench already


# The other kinds are about one URL: too large a header, an answer that is not HTTP.
HOST_FAILURES = {
    kind: Reason(kind.value)
    for kind in (
        *(FailureKind.NAME, FailureKind.PRIVATE, FailureKind.REFUSED, FailureKind.UNREACHABLE),
        *(FailureKind.TIMEOUT, FailureKind.RESET, FailureKind.TLS),
    )
}


class Step(Enum):
    WAIT = "wait"
    SET_ASIDE = "set aside"
    GIVE_UP = "give up"


class Patience(NamedTuple):
    tries_limit: int = 3  # of one URL, before its failure is final
    failures_limit: int = 5  # of a host in a row, before it is set aside
    asides_limit: int = 3  # times that a host is set aside in a row, before it is given up
    first_seconds: float = 10.0  # after the first failure; twice as long after each other
    ceiling_seconds: float = 600.0  # who must wait longer does so set aside
    aside_seconds: float = 3_600.0  # the first time; four times as long each other time

    def back_off_seconds(self, failures: int) -> float:
        return min(self.first_seconds * 2.0 ** min(failures - 1, _LONGEST_EXPONENT), self.ceiling_seconds)

    def set_aside_seconds(self, asides: int) -> float:
        """For how long, when it was set aside `asides` times before."""
        return min(self.aside_seconds * 4.0 ** min(asides, _LONGEST_EXPONENT), WAIT_MAX_SECONDS)

    def step(self, reason: Reason, failures: int, asides: int, wait_seconds: float) -> Step:
        """After the last of `failures` in a row, of a host that is to wait so long and was set aside `asides` times."""
        if reason is Reason.PRIVATE:
            return Step.GIVE_UP
        if failures < self.failures_limit and wait_seconds <= self.ceiling_seconds:
            return Step.WAIT
        return Step.SET_ASIDE if asides < self.asides_limit else Step.GIVE_UP
