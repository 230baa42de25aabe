"""Hosts and addresses as the workbench holds them in memory."""

from enum import IntEnum
from heapq import heapify

from tarrafa.schedule.delays import Traits
from tarrafa.schedule.turns import Entry
from tarrafa.schedule.visits import Visit

WAITING_URLS_LIMIT = 10  # of one host, besides the one whose turn it is
LOW_URLS_COUNT = 3  # with so few left a host is hungry
NEVER = float("-inf")
_NO_TRAITS = Traits()


class State(IntEnum):
    """Where a host is. From `ASIDE` on it rests: it has no URLs and is only remembered."""

    NAMELESS = 0  # its addresses are to be asked for, or are being asked for
    NAME_LATER = 1  # it had no address, and is asked for again when its delay has passed
    IDLE = 2  # has no URLs
    WAITING = 3  # stands in the queue of its address
    IN_FLIGHT = 4
    ASIDE = 5
    LEFT = 6


class Host:
    __slots__ = (
        *("address", "asides", "download_seconds", "expires_at", "failures", "has_news", "is_leaving"),
        *("is_noted", "name", "ready_at", "state", "traits", "tries", "turn_at", "urls", "visit", "visited_at"),
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = State.NAMELESS
        self.traits = _NO_TRAITS
        # Filled by add, by add_first and by a visit that is tried again; emptied by next, leave and being set aside.
        self.urls: list[str] = []
        self.tries: dict[str, int] = {}  # that failed, of those URLs that wait to be tried again
        self.address: Address | None = None
        self.expires_at = NEVER  # what is known of the address
        self.has_news = False  # the address was asked for since the last visit: it counts for one turn, however old
        self.visited_at = NEVER  # end of the last answer
        self.download_seconds: float | None = None  # of the last answer
        self.ready_at = NEVER  # when every delay of the host has passed
        self.turn_at: float | None = None  # since when it could be visited, kept until it is
        self.failures = 0  # in a row
        self.asides = 0  # in a row
        self.visit: Visit | None = None  # the one in flight
        self.is_noted = False  # stands in the calendar of hosts that are to be looked at later
        self.is_leaving = False  # as soon as what is in flight has landed

    def room_count(self) -> int:
        """How many URLs may still be added."""
        return WAITING_URLS_LIMIT - len(self.urls) - (self.visit is not None)

    def empty(self) -> tuple[str, ...]:
        urls = tuple(self.urls)
        self.urls.clear()
        self.tries.clear()
        return urls

    def put_back(self, url: str, tries: int) -> None:
        self.urls.insert(0, url)
        if tries:
            self.tries[url] = tries


class Address:
    __slots__ = ("entry", "hosts_count", "is_in_flight", "name", "ready_at", "waiting")

    def __init__(self, name: str, ready_at: float) -> None:
        self.name = name
        self.ready_at = ready_at
        self.is_in_flight = False
        self.hosts_count = 0  # that have this address, the resting ones included
        # A heap of the hosts that wait, by since when. Filled when a host has URLs, emptied by next and leave.
        self.waiting: list[Entry[Host]] = []
        self.entry: Entry[Address] | None = None  # the one in the calendar that counts

    def remove(self, host: Host) -> None:
        """Out of turn; rare, so that it may look at every host of the address."""
        self.waiting = [entry for entry in self.waiting if entry[2] is not host]
        heapify(self.waiting)
