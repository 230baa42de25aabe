"""What hosts allow by their robots.txt: parsed rules in memory, over the answers in the host table."""

from tarrafa.agent.host_table import HostTable
from tarrafa.lru import LruCache
from tarrafa.obey import Permission, RobotsAnswer, permission_of

ROBOTS_MEMORY_BYTES = 64 * 1024 * 1024
# What a permission takes beside its rules: itself, the host's name, the dictionary entry.
_ENTRY_BYTES = 400


class RobotsCache:
    def __init__(self, hosts: HostTable, token: str, memory_bytes: int = ROBOTS_MEMORY_BYTES) -> None:
        self._hosts = hosts
        self.token = token  # our product token
        # Filled by put and _load; drops the permissions that were not used for longest.
        self._permissions: LruCache[str, Permission] = LruCache(memory_bytes, _size_bytes)

    def permission(self, host: str, wall: float) -> Permission | None:
        """Return what a host allows; None if its robots.txt must be fetched first."""
        permission = self._load(host)
        return None if permission is None or permission.is_due(wall) else permission

    def usage(self, host: str, url: str) -> tuple[str, ...]:
        """Return what the host's robots.txt says about the use of a page."""
        permission = self._load(host)
        return () if permission is None else permission.rules.usage(url)

    def reason(self, host: str) -> str:
        """Return why a host allows nothing."""
        answer = self._hosts.robots_answer(host)
        return f"robots.txt {answer.reason}" if answer else ""

    def put(self, answer: RobotsAnswer) -> Permission:
        permission = permission_of(answer, self.token)
        self._permissions.put(answer.host, permission)
        self._hosts.put_robots(answer, permission.rules.crawl_delay_seconds or 0.0)
        return permission

    def _load(self, host: str) -> Permission | None:
        """Return the last permission, also if it has expired; None if robots.txt was never fetched."""
        permission = self._permissions.get(host)
        if permission is None:
            answer = self._hosts.robots_answer(host)
            if answer is None:
                return None
            permission = permission_of(answer, self.token)
            self._permissions.put(host, permission)
        return permission


def _size_bytes(permission: Permission) -> int:
    return _ENTRY_BYTES + permission.rules.size_bytes
