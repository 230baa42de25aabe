"""How often may one client ask? A bucket of tokens for each address, filled by time. Pure: time is passed in.

1. A client is answered at most `burst + seconds * per_second` tokens' worth in any stretch of that many seconds, as
   long as the table remembers it.
2. The table never holds more than `clients_limit` clients; who was silent longest is forgotten, and begins anew.
"""

from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

_NETWORK_BITS = 64  # of IPv6 that one household has to itself


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens; a page of results costs one. With `per_second` 0 nobody is limited."""

    per_second: float = 20.0
    burst: float = 120.0
    clients_limit: int = 10_000


USUAL_RATE = Rate()


class _Bucket(NamedTuple):
    tokens: float
    at: float


class Buckets:
    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        # Filled by wait_seconds, emptied there too; who asked last stands last.
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_seconds(self, address: str, cost: float, now: float) -> float:
        """0 if the client may ask now, which is then counted; otherwise how long it has to wait."""
        rate = self._rate
        if rate.per_second <= 0 or cost <= 0:
            return 0.0
        key = client_key(address)
        tokens, at = self._buckets.pop(key, _Bucket(rate.burst, now))
        tokens = min(rate.burst, tokens + max(0.0, now - at) * rate.per_second)
        is_allowed = tokens >= min(cost, rate.burst)
        self._buckets[key] = _Bucket(tokens - min(cost, rate.burst) if is_allowed else tokens, now)
        if len(self._buckets) > rate.clients_limit:
            self._buckets.popitem(last=False)
        return 0.0 if is_allowed else (min(cost, rate.burst) - tokens) / rate.per_second

    def __len__(self) -> int:
        return len(self._buckets)


def client_key(address: str) -> str:
    """An IPv6 client has a whole network of addresses, so the network counts."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{int(parsed) >> (128 - _NETWORK_BITS):x}/{_NETWORK_BITS}"
