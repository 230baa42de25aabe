"""ASGI middleware around every response: security headers, a log of failed requests, and a rate limit per client.

The rate limit is a token bucket for each client address, with time passed in:

1. In any span of time a client is allowed at most `burst + seconds * per_second` tokens, as long as its bucket is
   remembered.
2. At most `clients_limit` buckets are kept; the client that was silent longest is forgotten and starts with a full one.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarrafa.clock import Clock
from tarrafa.lru import LruCache
from tarrafa.serve.params import RefusedError

_SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-dns-prefetch-control": "off",
}
_NETWORK_BITS = 64  # of an IPv6 address; one household has a whole network of this size

_log = logging.getLogger(__name__)


class SecurityHeaders:
    """Add security headers to every response that does not set its own. Outermost, so that error pages have them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_secured)


class ErrorLog:
    """Log what Starlette raises again after it has sent the error page, so that the connection stays open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:
            if scope["type"] != "http":
                raise
            _log.exception("request failed", extra={"fields": {"path": scope["path"]}})


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Tokens for each client; a page of results costs one. `per_second` 0 turns the limit off."""

    per_second: float = 20.0
    burst: float = 120.0
    clients_limit: int = 10_000


class _Bucket(NamedTuple):
    tokens: float
    at: float


class TokenBuckets:
    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._buckets: LruCache[str, _Bucket] = LruCache(limit.clients_limit)  # filled by wait_seconds

    def wait_seconds(self, address: str, cost: float, now: float) -> float:
        """Return 0 and take the tokens if the client may go on; otherwise return how long it has to wait."""
        limit = self._limit
        if limit.per_second <= 0 or cost <= 0:
            return 0.0
        key = client_key(address)
        cost = min(cost, limit.burst)
        tokens, at = self._buckets.get(key) or _Bucket(limit.burst, now)
        tokens = min(limit.burst, tokens + max(0.0, now - at) * limit.per_second)
        is_allowed = tokens >= cost
        self._buckets.put(key, _Bucket(tokens - cost if is_allowed else tokens, now))
        return 0.0 if is_allowed else (cost - tokens) / limit.per_second

    def __len__(self) -> int:
        return len(self._buckets)


def client_key(address: str) -> str:
    """Return the key of a client's bucket: its IPv4 address, or the network of its IPv6 address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{int(parsed) >> (128 - _NETWORK_BITS):x}/{_NETWORK_BITS}"


class RateLimiter:
    """Refuse requests of clients that have used up their tokens. Inside Starlette's exception handlers."""

    def __init__(self, app: ASGIApp, limit: RateLimit, clock: Clock, cost: Callable[[str], float]) -> None:
        self._app = app
        self._buckets = TokenBuckets(limit)
        self._clock = clock
        self._cost = cost

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = scope["client"][0] if scope.get("client") else ""
        wait_seconds = self._buckets.wait_seconds(address, self._cost(scope["path"]), self._clock.monotonic())
        if wait_seconds > 0:
            refused = RefusedError("error_429_text", HTTPStatus.TOO_MANY_REQUESTS, seconds=math.ceil(wait_seconds))
            refused.headers = {"retry-after": str(math.ceil(wait_seconds))}
            raise refused
        await self._app(scope, receive, send)
