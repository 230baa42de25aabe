"""Which agent owns a host: a route of its own, or else that of its slot.

Routes are single hosts that a partition gave to another agent than their slot's. They are two sorted columns, so a
million hosts are looked up at once.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.share.slots import SLOT_BITS
from tarrafa.share.table import OwnershipTable

U16 = NDArray[np.uint16]
U64 = NDArray[np.uint64]
_SHIFT = np.uint64(64 - SLOT_BITS)


class HostRoutes(NamedTuple):
    """Hosts by hash, sorted, with the names of their owners."""

    hosts: U64 = np.empty(0, np.uint64)
    owners: U16 = np.empty(0, np.uint16)  # positions in `names`
    names: tuple[str, ...] = ()

    @staticmethod
    def of(owners: Mapping[int, str]) -> "HostRoutes":
        """Return the routes of hosts by hash."""
        names = tuple(sorted(set(owners.values())))
        hosts = np.array(sorted(owners), np.uint64)
        return HostRoutes(hosts, np.array([names.index(owners[int(host)]) for host in hosts], np.uint16), names)


class Router:
    """Looks up owners by one table and the routes. Owners are numbered by their position in `names`."""

    def __init__(self, table: OwnershipTable, routes: HostRoutes | None = None) -> None:
        routes = routes or HostRoutes()
        self.names = table.names
        position = {name: at for at, name in enumerate(self.names)}
        self._by_slot = table.owner_of_slot
        # A route to an agent that has not joined does not hold: its hosts stay with the owner of their slot.
        is_known = np.array([name in position for name in routes.names], np.bool_)[routes.owners]
        self._hosts = routes.hosts[is_known]
        renamed = np.array([position.get(name, 0) for name in routes.names], np.uint16)
        self._owners = renamed[routes.owners[is_known]]

    def owners_of(self, host_hashes: U64) -> U16:
        """Return the position of the owner of each host."""
        owners = self._by_slot[(host_hashes >> _SHIFT).astype(np.int64)]
        if len(self._hosts):
            at = np.minimum(np.searchsorted(self._hosts, host_hashes), len(self._hosts) - 1)
            owners = np.where(self._hosts[at] == host_hashes, self._owners[at], owners)
        return owners

    def owner_of(self, host_hash: int) -> str:
        """Return the name of the owner of one host."""
        found: int = self.owners_of(np.array([host_hash], np.uint64))[0]
        return self.names[found]

    def is_by_route(self, host_hash: int) -> bool:
        """Return True if a host has a route of its own."""
        at = int(np.searchsorted(self._hosts, np.uint64(host_hash)))
        return at < len(self._hosts) and int(self._hosts[at]) == host_hash
