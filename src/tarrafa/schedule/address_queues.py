"""Which host is next: hosts queue at their address, addresses stand in a calendar queue.

An address is due when it and the first host of its queue are both ready. While as many visits are in flight to an
address as that host may have, it is not in the calendar at all. No host overtakes the first one because it may have
more visits in flight.

If sites rest too, a host whose turn comes while its site rests is parked with its site, and returns to its place in
the queue of its address when the site is open. Each visit to a site lets all of its parked hosts return, so that the
oldest of those that can be visited goes first: a visit costs O(hosts of its site that are ready) then.
"""

from heapq import heappop, heappush
from itertools import count

from tarrafa.schedule.calendar_queue import CalendarQueue, Entry
from tarrafa.schedule.hosts import CALL_HOSTS_COUNT, WorkbenchAddress, WorkbenchHost, WorkbenchSite


class AddressQueues:
    def __init__(self, hosts_limit: int) -> None:
        self._hosts_limit = hosts_limit
        self._order = count()
        self._stale_count = 0  # calendar entries that may have become stale since these were dropped
        # Addresses by when they may be visited. Filled by call, emptied by pop. If an address has several entries, the
        # one that the address refers to counts.
        self.calendar: CalendarQueue[WorkbenchAddress] = CalendarQueue()
        # Sites with parked hosts by when they are open, each at most once. Filled by call_site, emptied by _unpark.
        self.sites: CalendarQueue[WorkbenchSite] = CalendarQueue()
        self._has_parked = False  # a host was ever parked, so that without sites there is nothing to look for

    def push(self, host: WorkbenchHost, address: WorkbenchAddress, now: float) -> None:
        """Queue a host at its address. A host that only had to resolve its name keeps its old place."""
        turn_at = host.turn_at
        if turn_at is None or turn_at < host.ready_at:
            turn_at = max(host.ready_at, now)
            host.turn_at, host.turn_order = turn_at, next(self._order)
        heappush(address.waiting, (turn_at, host.turn_order, host))
        host.is_queued = True
        self.call(address)

    def call(self, address: WorkbenchAddress) -> None:
        """Enter an address into the calendar, unless it stands there as early already or has no room for a visit."""
        if not address.has_room():
            return
        when, order, _ = address.waiting[0]
        when = max(when, address.ready_at)
        entry = address.entry
        if entry is None or when < entry[0]:
            address.entry = (when, order, address)
            self.calendar.push(address.entry)
            if entry is not None:
                self._note_stale()

    def pop(self, now: float) -> WorkbenchHost | None:
        """Remove and return the next host. Its address returns to the calendar only by `call`."""
        if self._has_parked:
            self._unpark(now)
        parked_count = 0
        while (entry := self.calendar.pop(now)) is not None:
            address = entry[2]
            if address.entry is entry:
                address.entry = None
                waiting = address.waiting
                # A visit may have ended since the address was entered, after which it rests.
                if waiting and max(waiting[0][0], address.ready_at) <= now and address.has_room():
                    turn = heappop(waiting)
                    site = turn[2].site
                    if site is None or site.is_open(now):
                        turn[2].is_queued = False
                        return turn[2]
                    self._park(site, turn)
                    parked_count += 1
                if waiting:  # the host that made the address due has left, or was parked
                    self.call(address)
                if parked_count == CALL_HOSTS_COUNT:
                    return None
        return None

    def _park(self, site: WorkbenchSite, turn: Entry[WorkbenchHost]) -> None:
        self._has_parked = True
        site.parked[turn[2]] = turn
        self.call_site(site)

    def call_site(self, site: WorkbenchSite) -> None:
        """Enter a site with parked hosts into the calendar, unless it stands there already or is in flight."""
        if site.parked and not site.is_timed and not site.is_in_flight:
            site.is_timed = True
            self.sites.push((site.ready_at, next(self._order), site))

    def _unpark(self, now: float) -> None:
        """Let parked hosts of open sites return to the queues of their addresses."""
        for _ in range(CALL_HOSTS_COUNT):
            entry = self.sites.pop(now)
            if entry is None:
                return
            site = entry[2]
            site.is_timed = False
            if site.parked and site.is_open(now):
                host, turn = site.parked.popitem(last=False)
                address = host.address
                assert address is not None
                heappush(address.waiting, turn)
                self.call(address)
            self.call_site(site)

    def take_early(self, host: WorkbenchHost, address: WorkbenchAddress) -> bool:
        """Remove a host that must wait longer than its place in the queue says; return True if it must."""
        is_early = host.turn_at is not None and host.turn_at < host.ready_at
        if is_early:
            self.remove(host, address)
        return is_early

    def remove(self, host: WorkbenchHost, address: WorkbenchAddress) -> None:
        """Remove a host out of turn."""
        host.is_queued = False
        if host.site is not None and host.site.parked.pop(host, None) is not None:
            return
        address.remove(host)
        if address.waiting:
            self.call(address)  # it may have kept out a host that may have more visits in flight
        else:
            address.entry = None
        self._note_stale()

    def _note_stale(self) -> None:
        """Count a calendar entry that may have become stale, and drop all of these before they are too many."""
        self._stale_count += 1
        if self._stale_count > self._hosts_limit:
            self._stale_count = 0
            self.calendar.keep(lambda entry: entry[2].entry is entry)
