"""Who is next: hosts in the queue of their address, addresses in the calendar of turns.

An address is called at the moment when it and the first host of its queue are both ready. While a visit is in flight to
it, it is not called at all.
"""

from heapq import heappop, heappush
from itertools import count

from tarrafa.schedule.hosts import Address, Host
from tarrafa.schedule.turns import Calendar


class Queues:
    def __init__(self, hosts_limit: int) -> None:
        self._hosts_limit = hosts_limit
        self._order = count()
        self._gone_count = 0  # hosts that went out of turn, each of which may have left an entry that counts no more
        # Addresses by when they may be visited. Filled by call, emptied by pop. Of several entries of one address the
        # one that it remembers counts.
        self.turns: Calendar[Address] = Calendar()

    def stand(self, host: Host, address: Address, now: float) -> None:
        """Into the queue of its address. Who was asked for its name at its turn has its old place again."""
        turn_at = host.turn_at
        if turn_at is None or turn_at < host.ready_at:
            turn_at = host.ready_at
            if turn_at < now:
                turn_at = now
            host.turn_at = turn_at
        heappush(address.waiting, (turn_at, next(self._order), host))
        if not address.is_in_flight:
            self.call(address)

    def call(self, address: Address) -> None:
        """Note when the address may be visited, unless it is called as early already."""
        when, order, _ = address.waiting[0]
        if when < address.ready_at:
            when = address.ready_at
        if address.entry is None or when < address.entry[0]:
            address.entry = (when, order, address)
            self.turns.push(address.entry)

    def pop(self, now: float) -> Host | None:
        """The host whose turn it is. Its address is called again only when somebody does so."""
        while (entry := self.turns.pop(now)) is not None:
            address = entry[2]
            if address.entry is entry:
                address.entry = None
                waiting = address.waiting
                if waiting and waiting[0][0] <= now:
                    return heappop(waiting)[2]
                if waiting:  # the one for whom it was called has gone
                    self.call(address)
        return None

    def remove(self, host: Host, address: Address) -> None:
        """Out of the queue, out of turn."""
        address.remove(host)
        if not address.waiting:
            address.entry = None
        self._gone_count += 1
        if self._gone_count > self._hosts_limit:
            self._gone_count = 0
            self.turns.keep(lambda entry: entry[2].entry is entry)
