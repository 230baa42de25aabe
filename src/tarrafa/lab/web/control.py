"""What a web tells about itself on every host: /__truth, /__log, /__clock and /__hosts."""

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tarrafa.lab.web.answers import Answer
from tarrafa.lab.web.truth import Truth

if TYPE_CHECKING:
    from tarrafa.lab.web.server import Server

JSON = "application/json"
SKIP_MAX_SECONDS = 100 * 366 * 86_400.0
# What each takes after the question mark.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "/__truth": ("summary", "kind", "host"),
    "/__log": ("entries",),
    "/__clock": ("advance_seconds",),
    "/__hosts": (),
}


class Control:
    def __init__(self, server: "Server") -> None:
        self._server = server
        # The last truth that was worked out, and for which moment of the web.
        self._known: tuple[int, Truth] | None = None
        self._working = asyncio.Lock()

    async def answer(self, method: str, target: str) -> Answer:
        path, _, query = target.partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        try:
            return await self._told(method, path, options)
        except ValueError as error:
            return Answer(400, f"{error}\n".encode(), "text/plain")

    async def _told(self, method: str, path: str, options: dict[str, str]) -> Answer:
        if path not in _OPTIONS:
            return Answer(404, f"try {', '.join(_OPTIONS)}\n".encode(), "text/plain")
        unknown = options.keys() - _OPTIONS[path]
        if unknown:
            raise ValueError(f"{path} does not know {min(unknown)}; it knows {', '.join(_OPTIONS[path]) or 'nothing'}")
        if path == "/__truth":
            return await self._truth(options)
        return {"/__log": self._log, "/__clock": self._clock, "/__hosts": self._hosts}[path](method, options)

    async def truth(self) -> Truth:
        """Worked out beside the serving, once for each moment of the web."""
        async with self._working:
            now_ms = self._server.now_ms()
            if self._known is None or self._known[0] != now_ms:
                self._known = (now_ms, await asyncio.to_thread(Truth, self._server.web, now_ms))
            return self._known[1]

    async def _truth(self, options: dict[str, str]) -> Answer:
        truth = await self.truth()
        if "summary" in options:
            return _json(await asyncio.to_thread(truth.summary))
        return Answer(200, await asyncio.to_thread(truth.document, options.get("kind"), options.get("host")), JSON)

    def _log(self, method: str, options: dict[str, str]) -> Answer:
        if method == "DELETE":
            self._server.journal.clear()
            return Answer(204, type="")
        entries = options.get("entries")
        if entries is not None and not entries.isdecimal():
            raise ValueError("say GET /__log?entries=100")
        return _json(self._server.journal.report(None if entries is None else int(entries)))

    def _clock(self, method: str, options: dict[str, str]) -> Answer:
        if method == "POST":
            seconds = _seconds(options.get("advance_seconds", ""))
            if not 0 <= seconds <= SKIP_MAX_SECONDS - self._server.skipped_seconds:
                raise ValueError("say POST /__clock?advance_seconds=86400; it goes on for a century")
            self._server.skipped_seconds += seconds
        return _json({"web_seconds": self._server.now_ms() / 1000, "open_seconds": self._server.seconds()})

    def _hosts(self, _method: str, _options: dict[str, str]) -> Answer:
        """The resolver's map, as /etc/hosts writes it."""
        geography = self._server.web.geography
        hosts = (geography.host(number) for number in range(geography.plan.hosts))
        return Answer(200, "".join(f"{host.address} {host.name}\n" for host in hosts).encode(), "text/plain")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _json(value: Any) -> Answer:
    return Answer(200, json.dumps(value, ensure_ascii=False).encode() + b"\n", JSON)
