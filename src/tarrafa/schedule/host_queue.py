"""Hosts that wait to enter the workbench: a priority queue in which no host starves.

1. The host of the highest priority comes first; of equal priorities, the one of the lowest key; of equal keys, the one
   that has waited longest.
2. At fixed intervals the host that has waited longest comes instead: a tenth of the hosts, or the share given.
3. A host is queued once. Queued again, it keeps its place among those that wait longest, and has the new
   key and priority.

Adding and taking a host cost O(log n).
"""

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

LONGEST_SHARE = 0.1
_STALE_MIN = 1_000


class _Waiting(NamedTuple):
    priority: int  # negated, so that lower numbers come first
    key: float
    turn: int


class HostQueue:
    def __init__(self, longest_share: float = LONGEST_SHARE) -> None:
        self._longest_share = longest_share
        self._owed = 0.0  # turns of hosts that have waited longest; one is due at 1
        # Filled by push, emptied by pop. In the order in which the hosts came.
        self._hosts: OrderedDict[str, _Waiting] = OrderedDict()
        # The name follows the rest; an entry is stale if the host has left or has another key.
        self._heap: list[tuple[int, float, int, str]] = []
        self._turns = count()

    def push(self, name: str, key: float, priority: int = 0) -> None:
        waiting = self._hosts.get(name)
        if waiting is not None and waiting[:2] == (-priority, key):
            return
        waiting = _Waiting(-priority, key, next(self._turns) if waiting is None else waiting.turn)
        self._hosts[name] = waiting
        heappush(self._heap, (*waiting, name))
        if len(self._heap) > 2 * len(self._hosts) + _STALE_MIN:
            self._heap = [(*each, name) for name, each in self._hosts.items()]
            heapify(self._heap)

    def pop(self) -> str:
        """Take the next host. There is one."""
        self._owed += self._longest_share
        if self._owed >= 1.0 - 1e-9:
            self._owed -= 1.0
            return self._hosts.popitem(last=False)[0]
        while True:
            *waiting, name = heappop(self._heap)
            if self._hosts.get(name) == tuple(waiting):
                del self._hosts[name]
                return name

    def __contains__(self, name: str) -> bool:
        return name in self._hosts

    def __len__(self) -> int:
        return len(self._hosts)
