"""Records that go into the workbench and come out of it."""

from enum import StrEnum
from typing import NamedTuple

from tarrafa.records import FailureKind
from tarrafa.schedule.retry_policy import HostFailure


class Visit(NamedTuple):
    """An instruction: fetch this URL now, from this address and no other."""

    host: str
    url: str
    address: str
    tries: int = 0  # failed attempts so far


class VisitResult(NamedTuple):
    """How a visit ended, as far as scheduling depends on it."""

    status: int = 0  # 0 if there was no answer
    failure: FailureKind | None = None
    download_seconds: float = 0.0
    retry_after_seconds: float = 0.0  # 0 without a Retry-After header
    is_unreached: bool = False  # there was no connection
    is_doubtful: bool = False  # the network of this machine may have failed, not the host


class Fate(StrEnum):
    """What happens to the URL of a visit that ended."""

    FINAL = "final"  # the outcome stands
    AGAIN = "again"  # the workbench will retry it
    RETURNED = "returned"  # handed back among the returned URLs, to be tried another day


class HostSuspended(NamedTuple):
    """The host must not be visited before `until`; `needs_urls` names it when that time has come."""

    host: str
    reason: HostFailure
    until: float
    is_counted: bool = True  # among those after which a host is given up


class HostGivenUp(NamedTuple):
    host: str
    reason: HostFailure


class BackOff(NamedTuple):
    """The host waits longer than its delay, because it failed or sent Retry-After."""

    until: float
    failures: int  # consecutive


class HostHistory(NamedTuple):
    """What the caller remembers of a host that is not on the workbench."""

    suspensions: int = 0  # consecutive
    failures: int = 0  # consecutive
    until: float = float("-inf")  # not to be visited before
    download_seconds: float | None = None  # of its last answer; None if it was never visited, or that is unknown


NO_HISTORY = HostHistory()


class FollowUp(NamedTuple):
    """What the caller must do after an event. `urls` have left the workbench and belong to the caller again."""

    fate: Fate = Fate.FINAL
    urls: tuple[str, ...] = ()
    event: HostSuspended | HostGivenUp | None = None
    back_off: BackOff | None = None  # only without an event; the caller stores it for the next start


class WorkbenchCounts(NamedTuple):
    ready: int  # addresses that could be visited now, all at once
    waiting: int  # hosts with URLs that are not in flight, the ready ones included
    in_flight: int
    unresolved: int  # hosts without an address yet
    idle: int  # hosts without URLs
    suspended: int
    left: int  # hosts remembered only until their delay has passed
