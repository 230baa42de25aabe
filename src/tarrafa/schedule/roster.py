"""Which hosts and addresses are in memory, and which of them want something.

A host is at work, or it rests: set aside, or left and remembered only until its delay has passed, so that a host that
comes back early is known. An address is in memory while a host has it. That suffices: whoever visited it last is
remembered for at least as long as the address must be left alone.
"""

from collections import OrderedDict
from collections.abc import Callable
from itertools import count

from tarrafa.schedule.delays import Delays
from tarrafa.schedule.hosts import NEVER, Address, Host, State
from tarrafa.schedule.turns import Calendar
from tarrafa.schedule.visits import NO_PAST, Past


class Roster:
    def __init__(
        self, delays: Delays, hosts_limit: int, address_hosts_limit: int, restarted_at: float | None = None
    ) -> None:
        self._delays = delays
        self.hosts_limit = hosts_limit
        self._address_hosts_limit = address_hosts_limit
        self._restarted_at = NEVER if restarted_at is None else restarted_at
        self._addresses: dict[str, Address] = {}
        self.hosts: dict[str, Host] = {}
        self.counts = [0] * len(State)  # hosts in each state; those in flight count as waiting
        # Both filled as hosts run low or lose their address, emptied by the caller who asks for them.
        self.hungry: OrderedDict[Host, None] = OrderedDict()
        self.nameless: OrderedDict[Host, None] = OrderedDict()
        # Hosts to look at when their delay has passed, each at most once. Filled by note, emptied by look.
        self.noted: Calendar[Host] = Calendar()
        self._order = count()

    def welcome(self, name: str, now: float, past: Past = NO_PAST) -> Host | None:
        """The host, at work from now on if it was not; None if there is no room, or it is set aside still."""
        host = self.hosts.get(name)
        if host is None:
            return self._new(name, past) if self.has_room(now) else None
        if host.state < State.ASIDE:
            host.is_leaving = False
        elif (host.state is State.ASIDE and host.ready_at > now) or not self._has_room():
            return None
        elif host.address is None:
            self.ask_name(host)
        else:
            self.move(host, State.IDLE)
        return host

    def has_room(self, now: float) -> bool:
        """For a host that is not known here."""
        self.look(now)
        return self._has_room() and self._resting_count() < self.hosts_limit

    def is_resting_full(self, now: float) -> bool:
        """Whether a host that is not known here could come if fewer rested."""
        self.look(now)
        return self._has_room() and self._resting_count() >= self.hosts_limit

    def _new(self, name: str, past: Past) -> Host:
        host = self.hosts[name] = Host(name)
        host.asides, host.failures = past.asides, past.failures
        host.visited_at = self._restarted_at
        host.ready_at = max(host.visited_at + self._delays.host_seconds(host.traits, None), past.until)
        self.counts[State.NAMELESS] += 1
        self.nameless[host] = None
        return host

    def _resting_count(self) -> int:
        return self.counts[State.ASIDE] + self.counts[State.LEFT]

    def _has_room(self) -> bool:
        return len(self.hosts) - self._resting_count() < self.hosts_limit

    def move(self, host: Host, state: State) -> None:
        self.counts[host.state] -= 1
        self.counts[state] += 1
        host.state = state

    def ask_name(self, host: Host) -> None:
        self.move(host, State.NAMELESS)
        self.nameless[host] = None

    def bind(self, host: Host, name: str) -> bool:
        """Whether the host has this address now: not if too many others have it."""
        if host.address is not None and host.address.name == name:
            return True
        address = self._addresses.get(name)
        if address is None:
            ready_at = self._restarted_at + self._delays.address_seconds
            address = self._addresses[name] = Address(name, ready_at)
        elif address.hosts_count >= self._address_hosts_limit:
            return False
        self._release(host)
        address.hosts_count += 1
        host.address = address
        return True

    def _release(self, host: Host) -> None:
        if host.address is not None:
            host.address.hosts_count -= 1
            if not host.address.hosts_count:
                del self._addresses[host.address.name]
            host.address = None

    def rest(self, host: Host, state: State, now: float) -> None:
        """The host has no URLs any more and is remembered until its delay has passed, or until it is welcome again."""
        self.move(host, state)
        host.is_leaving, host.turn_at = False, None
        self.hungry.pop(host, None)
        self.nameless.pop(host, None)
        if state is State.LEFT and host.ready_at <= now:
            self._forget(host)
        else:
            self.note(host)

    def note(self, host: Host) -> None:
        if not host.is_noted:
            host.is_noted = True
            self.noted.push((host.ready_at, next(self._order), host))

    def look(self, now: float) -> None:
        """See to the hosts whose delay has passed: forget, ask for the name again, or let them be fed again."""
        while (entry := self.noted.pop(now)) is not None:
            host = entry[2]
            host.is_noted = False
            if self.hosts.get(host.name) is not host:
                continue
            if host.state in (State.NAME_LATER, State.ASIDE, State.LEFT):
                self._see_to(host, now)

    def _see_to(self, host: Host, now: float) -> None:
        if host.ready_at > now:
            self.note(host)
        elif host.state is State.NAME_LATER:
            self.ask_name(host)
        elif host.state is State.ASIDE:
            self.hungry[host] = None
        else:
            self._forget(host)

    def hand_over(self, now: float, may_go: Callable[[str], bool]) -> tuple[str, ...]:
        """Forget up to half of the hosts that are set aside, but nobody by whom an address is known to be visited."""
        aside = [host for host in self.hosts.values() if host.state is State.ASIDE and host.ready_at > now]
        free = [host for host in aside if host.address is None or host.address.ready_at <= now]
        free.sort(key=lambda host: host.ready_at)
        gone = [host for host in free[len(free) // 2 :] if may_go(host.name)]
        for host in gone:
            self._forget(host)
        self.noted.keep(lambda entry: self.hosts.get(entry[2].name) is entry[2])
        return tuple(host.name for host in gone)

    def _forget(self, host: Host) -> None:
        self.counts[host.state] -= 1
        self._release(host)
        del self.hosts[host.name]

    def check(self) -> None:
        """What always holds, for tests."""
        states = [State.WAITING if host.visit else host.state for host in self.hosts.values()]
        assert self.counts == [states.count(state) for state in State]
        assert len(self.hosts) - self._resting_count() <= self.hosts_limit
        assert len(self.hosts) < 2 * self.hosts_limit
        held = [host.address for host in self.hosts.values() if host.address]
        assert {address.name: address.hosts_count for address in held} == {
            name: held.count(address) for name, address in self._addresses.items()
        }
        assert max(map(held.count, held), default=0) <= self._address_hosts_limit
        assert {*self.hungry, *self.nameless} <= {*self.hosts.values()}
