"""What to do with a host that fails: back off, suspend it, give it up.

Consecutive failures are counted per host. One good answer resets the count. A host that returns from a suspension has
one attempt: if that fails too, it is suspended again, for longer.
"""

from enum import Enum, StrEnum
from typing import NamedTuple

from tarrafa.records import FailureKind
from tarrafa.schedule.delays import WAIT_MAX_SECONDS

# The host itself is overloaded; other statuses are about the page.
BUSY_STATUSES = frozenset({429, 503})
_EXPONENT_MAX = 30  # avoids overflow; the ceilings apply far below


class HostFailure(StrEnum):
    """Why a host is suspended or given up."""

    NAME = "name"  # the name has no address
    NAME_SERVER = "name server"  # no name server answers for the name
    PRIVATE = "private"  # the name resolves to a private address, which is not allowed
    REFUSED = "refused"  # connection refused
    UNREACHABLE = "unreachable"  # no route to the address
    TIMEOUT = "timeout"
    RESET = "reset"  # connections break
    TLS = "tls"  # bad certificate or failed handshake
    BUSY = "busy"  # it answers 429 or 503
    CROWDED = "crowded"  # too many hosts of its address are on the workbench already


# The other kinds are about one URL: too large a header, an answer that is not HTTP.
HOST_FAILURES = {
    kind: HostFailure(kind.value)
    for kind in (
        *(FailureKind.NAME, FailureKind.NAME_SERVER, FailureKind.PRIVATE),
        *(FailureKind.REFUSED, FailureKind.UNREACHABLE),
        *(FailureKind.TIMEOUT, FailureKind.RESET, FailureKind.TLS),
    )
}


class RetryStep(Enum):
    WAIT = "wait"
    SUSPEND = "suspend"
    GIVE_UP = "give up"


class RetryPolicy(NamedTuple):
    tries_limit: int = 3  # attempts at one URL before its failure is final
    failures_limit: int = 5  # consecutive failures of a host before it is suspended
    suspensions_limit: int = 3  # consecutive suspensions of a host before it is given up
    first_seconds: float = 10.0  # initial back-off after a failure; doubles with each consecutive failure
    ceiling_seconds: float = 600.0  # longest back-off; a host that must wait longer is suspended
    first_suspension_seconds: float = 3_600.0  # each consecutive suspension is four times as long

    def back_off_seconds(self, failures: int) -> float:
        return min(self.first_seconds * 2.0 ** min(failures - 1, _EXPONENT_MAX), self.ceiling_seconds)

    def suspension_seconds(self, suspensions: int) -> float:
        """Return the length of the next suspension of a host that was suspended `suspensions` times before."""
        return min(self.first_suspension_seconds * 4.0 ** min(suspensions, _EXPONENT_MAX), WAIT_MAX_SECONDS)

    def step(self, reason: HostFailure, failures: int, suspensions: int, wait_seconds: float) -> RetryStep:
        """Choose what to do after the last of `failures` consecutive failures, when the host must wait so long."""
        if reason is HostFailure.PRIVATE:
            return RetryStep.GIVE_UP
        if failures < self.failures_limit and wait_seconds <= self.ceiling_seconds:
            return RetryStep.WAIT
        return RetryStep.SUSPEND if suspensions < self.suspensions_limit else RetryStep.GIVE_UP
