"""What goes into the workbench and comes out of it."""

from enum import StrEnum
from typing import NamedTuple

from tarrafa.records import FailureKind
from tarrafa.schedule.patience import Reason


class Visit(NamedTuple):
    """An instruction: fetch this URL now, from this address and no other."""

    host: str
    url: str
    address: str
    tries: int = 0  # that failed before


class Answer(NamedTuple):
    """What a visit came to, as far as the next turns depend on it."""

    status: int = 0  # 0 when there was no answer
    failure: FailureKind | None = None
    download_seconds: float = 0.0
    retry_after_seconds: float = 0.0  # 0 when the host did not ask for it


class Fate(StrEnum):
    """What becomes of the URL of a visit that ended."""

    FINAL = "final"  # the outcome stands
    AGAIN = "again"  # it waits here to be tried again
    RETURNED = "returned"  # it is among the URLs handed back, to be tried another day


class SetAside(NamedTuple):
    """The host is left alone until then; `hungry` names it when its time has come."""

    host: str
    reason: Reason
    until: float


class GivenUp(NamedTuple):
    host: str
    reason: Reason


class Rest(NamedTuple):
    """The host waits longer than its delay: it failed, or asked for it."""

    until: float
    failures: int  # in a row


class Past(NamedTuple):
    """What is remembered of a host that the workbench does not know any more, or not since it began."""

    asides: int = 0  # times in a row that it was set aside
    failures: int = 0  # in a row
    until: float = float("-inf")  # not to be visited before


NO_PAST = Past()


class Ended(NamedTuple):
    """What the caller has to know after an event. `urls` wait here no longer: whoever gave them has them back."""

    fate: Fate = Fate.FINAL
    urls: tuple[str, ...] = ()
    event: SetAside | GivenUp | None = None
    rest: Rest | None = None  # where there is no event; to be remembered in case the process ends before


class Counts(NamedTuple):
    ready: int  # addresses whose time has come, so that they could be visited all at once
    waiting: int  # hosts with URLs whose turn is yet to come, the ready ones included
    in_flight: int
    nameless: int  # hosts without an address yet
    idle: int  # hosts without URLs
    set_aside: int
    left: int  # hosts that are remembered only until their delay has passed
