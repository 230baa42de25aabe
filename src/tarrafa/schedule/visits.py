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


class Ended(NamedTuple):
    """What the caller has to know after an event. `urls` wait here no longer: whoever gave them has them back."""

    fate: Fate = Fate.FINAL
    urls: tuple[str, ...] = ()
    event: SetAside | GivenUp | None = None


class Counts(NamedTuple):
    ready: int  # addresses whose time has come, so that they could be visited all at once
    waiting: int  # hosts with URLs whose turn is yet to come, the ready ones included
    in_flight: int
    nameless: int  # hosts without an address yet
    idle: int  # hosts without URLs
    set_aside: int
    left: int  # hosts that are remembered only until their delay has passed
