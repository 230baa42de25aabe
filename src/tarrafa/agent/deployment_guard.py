"""Tells the end of pages from the bad day of a host: a broken deployment answers 404 to everything.

If half of the last refreshes of a host found that a page turned from live to missing, none of its pages is taken for
gone within a day.
"""

from typing import NamedTuple

from tarrafa.histories import DAY_SECONDS
from tarrafa.lru import LruCache

LAST_COUNT = 20  # refreshes of a host that are looked at
_MANY = LAST_COUNT // 2
_HOSTS_LIMIT = 20_000
_MASK = (1 << LAST_COUNT) - 1


class _LastRefreshes(NamedTuple):
    turned: int = 0  # one bit for each of the last refreshes, the newest lowest: the page turned missing
    doubted_until: float = 0.0


_NONE = _LastRefreshes()


class DeploymentGuard:
    def __init__(self, limit: int = _HOSTS_LIMIT) -> None:
        # By host. Filled by note; drops the least recently used.
        self._last: LruCache[str, _LastRefreshes] = LruCache(limit)

    def note(self, host: str, at: float, *, is_turned: bool) -> None:
        """Note a refresh of a page, and whether it was live before and is missing now.

        The doubt lasts a day. It begins anew only if fewer pages turned missing meanwhile, so a host that is gone for
        good is believed on the second day.
        """
        before = self._last.get(host) or _NONE
        turned = (before.turned << 1 | is_turned) & _MASK
        has_begun = before.turned.bit_count() < _MANY <= turned.bit_count()
        self._last.put(host, _LastRefreshes(turned, at + DAY_SECONDS if has_begun else before.doubted_until))

    def doubts(self, host: str, at: float) -> bool:
        """Return True if pages of the host are not taken for gone now."""
        return at < (self._last.get(host) or _NONE).doubted_until
