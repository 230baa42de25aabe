"""A bounded queue in which clients take turns. Pure: it holds what waits, and runs nothing.

1. Clients with waiting items take turns; items of one client keep their order.
2. At most `limit` items wait. When there are more, the newest item of the client with most is returned: of the new
   item's client if several have as many.
"""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Filled by put, emptied by take and remove; the client whose turn is next comes first.
        self._waiting: OrderedDict[str, deque[T]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, client: str, item: T) -> T | None:
        """Add an item. Return the item that must be refused to make room, if any: it is not in the queue."""
        self._waiting.setdefault(client, deque()).append(item)
        self._count += 1
        if self._count <= self._limit:
            return None
        crowded = max(self._waiting, key=lambda each: (len(self._waiting[each]), each == client))
        return self._taken(crowded, newest=True)

    def take(self) -> T | None:
        """Remove and return the next item, or None if there is none."""
        if not self._waiting:
            return None
        client = next(iter(self._waiting))
        self._waiting.move_to_end(client)
        return self._taken(client)

    def remove(self, client: str, item: T) -> None:
        """Remove an item, if it still waits."""
        items = self._waiting.get(client)
        if items and item in items:
            items.remove(item)
            self._removed(client)

    def _taken(self, client: str, newest: bool = False) -> T:
        items = self._waiting[client]
        item = items.pop() if newest else items.popleft()
        self._removed(client)
        return item

    def _removed(self, client: str) -> None:
        self._count -= 1
        if not self._waiting[client]:
            del self._waiting[client]
