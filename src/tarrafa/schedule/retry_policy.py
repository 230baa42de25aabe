"""What to do with a host that fails: back off, suspend it, give it up.

Consecutive failures are counted per host. One good answer resets the count. A host that returns from a suspension has
one attempt: if that fails too, it is suspended again, for longer. An answer for its robots.txt lets it be tried again,
but only an answer for a page is a reason to forget its suspensions.

While this machine's own network may be down, no host is given up, and no suspension counts.

A URL that failed goes behind the other URLs of its host. If these are answered, the failures are its own, and end it.
If all fail, the host is suspended before any of them has failed too often, and all are tried again when it is back.
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
    HEADER = "header"  # headers are larger than their bound
    ANSWER = "answer"  # answers are not HTTP
    OTHER = "other"
    WALL = "wall"  # a bot wall in front of it sends challenge pages
    BUSY = "busy"  # it answers 429 or 503
    CROWDED = "crowded"  # too many hosts of its address are on the workbench already


# A kind that is not here is about one URL.
HOST_FAILURES: dict[FailureKind, HostFailure] = {
    kind: HostFailure(kind.value) for kind in FailureKind if kind is not FailureKind.URL
}
# These are never about the URL, so they never end it: it is tried again when the host is back.
WHOLE_HOST_FAILURES = frozenset(
    {
        *(HostFailure.NAME, HostFailure.NAME_SERVER, HostFailure.PRIVATE),
        *(HostFailure.REFUSED, HostFailure.UNREACHABLE, HostFailure.TLS),
    }
)
# A host that answered before is suspended so many times as often before it is given up.
_ANSWERED_FACTOR = 10


class RetryStep(Enum):
    WAIT = "wait"
    SUSPEND = "suspend"
    GIVE_UP = "give up"


class RetryPolicy(NamedTuple):
    tries_limit: int = 3  # attempts at one URL before its failure is final
    failures_limit: int = 5  # consecutive failures of a host before it is suspended
    suspensions_limit: int = 3  # consecutive suspensions of a host that never answered before it is given up
    first_seconds: float = 10.0  # initial back-off after a failure; doubles with each consecutive failure
    ceiling_seconds: float = 600.0  # longest back-off; a host that must wait longer is suspended
    first_suspension_seconds: float = 3_600.0  # each consecutive suspension is four times as long

    def back_off_seconds(self, failures: int) -> float:
        return min(self.first_seconds * 2.0 ** min(failures - 1, _EXPONENT_MAX), self.ceiling_seconds)

    def suspension_seconds(self, suspensions: int) -> float:
        """Return the length of the next suspension of a host that was suspended `suspensions` times before."""
        return min(self.first_suspension_seconds * 4.0 ** min(suspensions, _EXPONENT_MAX), WAIT_MAX_SECONDS)

    def step(
        self,
        reason: HostFailure,
        failures: int,
        suspensions: int,
        wait_seconds: float,
        *,
        has_answered: bool = False,
        is_doubtful: bool = False,
    ) -> RetryStep:
        """Choose what to do after the last of `failures` consecutive failures, when the host must wait so long."""
        if reason is HostFailure.PRIVATE:
            return RetryStep.GIVE_UP
        if failures < self.failures_limit and wait_seconds <= self.ceiling_seconds:
            return RetryStep.WAIT
        limit = self.suspensions_limit * (_ANSWERED_FACTOR if has_answered else 1)
        return RetryStep.SUSPEND if suspensions < limit or is_doubtful else RetryStep.GIVE_UP
