"""Around every answer: who asks too often waits, and every header that keeps a browser safe is there.

It stands outside of the application, so that answers to errors pass it too.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarrafa.clock import Clock
from tarrafa.serve.rates import Buckets

OWN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_SAFE: Mapping[str, str] = {
    "content-security-policy": OWN_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-dns-prefetch-control": "off",
}

_log = logging.getLogger(__name__)

# Answers a request that comes too early; it is given how long to wait, in whole seconds.
Late = Callable[[Scope, int], Response]
Cost = Callable[[str], float]


class Guard:
    def __init__(self, application: ASGIApp, buckets: Buckets, clock: Clock, cost: Cost, late: Late) -> None:
        self._application = application
        self._buckets = buckets
        self._clock = clock
        self._cost = cost
        self._late = late

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        wait_seconds = self._buckets.wait_seconds(address, self._cost(scope["path"]), self._clock.monotonic())
        answer: ASGIApp = self._application
        if wait_seconds > 0:
            answer = self._late(scope, math.ceil(wait_seconds))
        try:
            await answer(scope, receive, _safely(send))
        except Exception:  # noqa: BLE001 - whatever it is, the server goes on
            # The reader has been answered by then; the operator learns what it was, and the connection stays open.
            _log.exception("a request failed", extra={"fields": {"path": scope["path"]}})


def _safely(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in _SAFE.items() if name.encode() not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent
