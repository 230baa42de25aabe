"""Which host is next: hosts queue at their address, addresses stand in a calendar queue.

An address is due when it and the first host of its queue are both ready. While a visit is in flight to an address, it
is not in the calendar at all.
"""

from heapq import heappop, heappush
from itertools import count

from tarrafa.schedule.calendar_queue import CalendarQueue
from tarrafa.schedule.hosts import WorkbenchAddress, WorkbenchHost


class AddressQueues:
    def __init__(self, hosts_limit: int) -> None:
        self._hosts_limit = hosts_limit
        self._order = count()
        self._removed_count = 0  # hosts removed out of turn, each of which may have left a stale calendar entry
        # Addresses by when they may be visited. Filled by call, emptied by pop. If an address has several entries, the
        # one that the address refers to counts.
        self.calendar: CalendarQueue[WorkbenchAddress] = CalendarQueue()

    def push(self, host: WorkbenchHost, address: WorkbenchAddress, now: float) -> None:
        """Queue a host at its address. A host that only had to resolve its name keeps its old place."""
        turn_at = host.turn_at
        if turn_at is None or turn_at < host.ready_at:
            turn_at = max(host.ready_at, now)
            host.turn_at, host.turn_order = turn_at, next(self._order)
        heappush(address.waiting, (turn_at, host.turn_order, host))
        if not address.is_in_flight:
            self.call(address)

    def call(self, address: WorkbenchAddress) -> None:
        """Enter an address into the calendar, unless it stands there as early already."""
        when, order, _ = address.waiting[0]
        when = max(when, address.ready_at)
        if address.entry is None or when < address.entry[0]:
            address.entry = (when, order, address)
            self.calendar.push(address.entry)

    def pop(self, now: float) -> WorkbenchHost | None:
        """Remove and return the next host. Its address returns to the calendar only by `call`."""
        while (entry := self.calendar.pop(now)) is not None:
            address = entry[2]
            if address.entry is entry:
                address.entry = None
                waiting = address.waiting
                if waiting and waiting[0][0] <= now:
                    return heappop(waiting)[2]
                if waiting:  # the host that made the address due has left
                    self.call(address)
        return None

    def remove(self, host: WorkbenchHost, address: WorkbenchAddress) -> None:
        """Remove a host out of turn."""
        address.remove(host)
        if not address.waiting:
            address.entry = None
        self._removed_count += 1
        if self._removed_count > self._hosts_limit:
            self._removed_count = 0
            self.calendar.keep(lambda entry: entry[2].entry is entry)
