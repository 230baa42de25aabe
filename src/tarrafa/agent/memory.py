"""The hosts that were met lately, in memory; all of them are in the book."""

from collections.abc import Container

from tarrafa.agent.hosts import Host, HostBook

HOSTS_LIMIT = 200_000


class HostMemory:
    def __init__(self, book: HostBook, met_count: int, limit: int = HOSTS_LIMIT) -> None:
        self._book = book
        self._limit = limit
        # Filled by find and meet; emptied from its beginning by trim.
        self._hosts: dict[str, Host] = {}
        # Hosts of which nothing is in the book. Filled by find, emptied by meet, and by trim when they are too many.
        self._strangers: set[str] = set()
        self.met_count = met_count
        # While nobody has ever been forgotten, the book knows nobody besides.
        self._is_complete = met_count == 0

    def find(self, name: str) -> Host | None:
        """None for a host that was never met."""
        host = self._hosts.get(name)
        if host is None and name not in self._strangers:
            host = None if self._is_complete else self._book.host(name)
            if host is None:
                self._strangers.add(name)
            else:
                self._hosts[name] = host
        return host

    def meet(self, name: str) -> tuple[Host, bool]:
        """The host, and whether this is the first time."""
        host = self.find(name)
        if host is not None:
            return host, False
        self.met_count += 1
        self._strangers.remove(name)
        host = self._hosts[name] = Host(name)
        return host, True

    def trim(self, unsaved: Container[str]) -> None:
        """Forget those that came first and are in the book as they are."""
        if len(self._strangers) > self._limit:
            self._strangers.clear()
        excess = len(self._hosts) - self._limit
        if excess > 0:
            self._is_complete = False
            for name in [name for name in self._hosts if name not in unsaved][:excess]:
                del self._hosts[name]

    def close(self) -> None:
        self._book.close()
