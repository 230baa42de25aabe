"""Around every answer: who asks too often waits, and every header that keeps a browser safe is there.

It stands outside of the application, so that answers to errors pass it too.
"""

import logging
import math
from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarrafa.clock import Clock
from tarrafa.serve.rates import Buckets

OWN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_SAFE = (
    (b"content-security-policy", OWN_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"x-dns-prefetch-control", b"off"),
)

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
            given = dict(message["headers"])  # their names are in small letters, by the rules of ASGI
            more = [pair for pair in _SAFE if pair[0] not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent
