"""The `Transport` over sockets: pages by libcurl, hundreds at once."""

import logging
from functools import lru_cache
from pathlib import Path

import pycurl

from tarrafa.addresses import parse_address
from tarrafa.clock import Clock, SystemClock
from tarrafa.configuration import CrawlSection, FetchSection, HostTables, is_public_name
from tarrafa.fetch.credentials import with_settings
from tarrafa.fetch.handle import CurlHandle, IdleSockets, make_settings, parse_proxy, system_certificates
from tarrafa.fetch.names import NameCache, public_only
from tarrafa.fetch.outcome import Attempt, is_unreached, make_outcome, without_false_304
from tarrafa.fetch.resolvers import ADDRESS_LIMIT, CaresResolver, NameAnswer, Resolver, parse_name_servers
from tarrafa.fetch.transfers import TransferEnd, Transfers
from tarrafa.logs import event
from tarrafa.records import Failure, FailureKind, Headers, Page, Request
from tarrafa.texts import cut, printable
from tarrafa.urls import canonical, host_name, host_of

log = logging.getLogger(__name__)

_FREE_HANDLE_LIMIT = 2_000
_HTTP = ("http://", "https://")


_NO_TABLES = HostTables()


class CurlTransport:
    """Runs any number of fetches at once on one event loop. After `close` it can be used again, on any loop."""

    def __init__(
        self,
        fetch: FetchSection,
        crawl: CrawlSection,
        resolver: Resolver | None = None,
        clock: Clock | None = None,
        certificates: Path | None = None,
        tables: HostTables = _NO_TABLES,
    ) -> None:
        self._tables = tables
        self._fetch = fetch
        self._allow_private = crawl.allow_private
        self._clock = clock or SystemClock()
        self._proxy = parse_proxy(fetch.proxy)
        self._settings = make_settings(fetch, crawl, self._proxy, certificates or system_certificates())
        name_seconds = min(fetch.timeout_seconds, fetch.connect_timeout_seconds)
        asked = resolver or CaresResolver(parse_name_servers(fetch.name_servers), name_seconds)
        self._names = NameCache(asked, self._clock, name_seconds)
        self._transfers: Transfers | None = None  # made by the first fetch, on its loop
        self._idle = IdleSockets()
        self._free: list[CurlHandle] = []  # filled when a fetch ends, emptied when one begins

    @property
    def request_headers(self) -> Headers:
        """Return the headers that every request carries."""
        return self._settings.headers()

    async def fetch(self, request: Request) -> Page | Failure:
        outcome = await self._outcome(request)
        _log_outcome(outcome)
        return outcome

    async def resolve(self, name: str) -> tuple[str, ...] | Failure:
        """Return the addresses that a fetch of this name may connect to, the best first; none with a proxy."""
        literal = _literal(name)
        if self._proxy and not literal:
            return () if self._allow_private or not _is_local_name(name) else _local_name(name)
        answer = NameAnswer((literal,)) if literal else await self._names.look_up(name)
        allowed = self._allowed(name, answer)
        return () if self._proxy and not isinstance(allowed, Failure) else allowed

    def is_known(self, name: str) -> bool:
        """Return True if `resolve` would answer at once, without asking a name server."""
        return bool(self._proxy or _literal(name)) or self._names.is_known(name)

    def close(self) -> None:
        """End running fetches as failures, and close every connection."""
        if self._transfers is not None:
            self._transfers.close()
            self._transfers = None
        for handle in self._free:
            handle.close()
        self._free.clear()
        self._names.close()

    async def _outcome(self, request: Request) -> Page | Failure:
        url = canonical(request.url)
        if url is None or not url.startswith(_HTTP):
            return Failure(request.url, FailureKind.URL, "is not a canonical http or https URL")
        at, began = self._clock.now(), self._clock.monotonic()
        name = host_name(url)
        settings = self._tables.of(host_of(url))
        addresses = (settings.address,) if settings.address else await self._addresses(name, request.address)
        if isinstance(addresses, Failure):
            return addresses._replace(url=request.url)
        name_seconds = self._clock.monotonic() - began
        handle = self._free.pop() if self._free else CurlHandle(self._settings, self._idle)
        try:
            sent = with_settings(request, settings, addresses, self._settings.user_agent)
            handle.prepare(sent)
            handle.accepts_broken = self._fetch.insecure if settings.insecure is None else settings.insecure
            attempts = [Attempt(request.url, address, at, name_seconds) for address in addresses or ("",)]
            got = await self._try_each(handle, name, attempts, began + self._fetch.timeout_seconds)
            return without_false_304(got, sent.headers)
        finally:
            self._release(handle)

    async def _addresses(self, name: str, chosen: str) -> tuple[str, ...] | Failure:
        """Return the addresses to connect to. They are checked here once, and nothing can change them after."""
        if not chosen or self._proxy:
            return await self.resolve(name)
        literal = _literal(chosen)
        return self._allowed(name, NameAnswer((literal,) if literal else ()))

    def _allowed(self, name: str, answer: NameAnswer) -> tuple[str, ...] | Failure:
        found = answer.addresses
        if found is None:
            return Failure(name, FailureKind.NAME_SERVER, f"no name server could resolve {name}: {answer.detail}")
        if not found:
            return Failure(name, FailureKind.NAME, f"{name} has no address")
        allowed = found if self._allow_private else public_only(found)
        if not allowed:
            return Failure(name, FailureKind.PRIVATE, f"{found[0]} is not a public address")
        return allowed[:ADDRESS_LIMIT]

    async def _try_each(self, handle: CurlHandle, name: str, attempts: list[Attempt], until: float) -> Page | Failure:
        """Try the next address only if there was no connection, so that the host has noticed nothing."""
        transfers = self._running_transfers()
        for attempt in attempts:
            done, code, message = await self._try(transfers, handle, attempt, until)
            if not is_unreached(handle, code):
                self._names.worked(name, attempt.address)
                break
            self._names.failed(name, attempt.address)
        return make_outcome(done, handle, code, message)

    async def _try(
        self, transfers: Transfers, handle: CurlHandle, attempt: Attempt, until: float
    ) -> tuple[Attempt, int, str]:
        """Check certificates first even if broken ones are accepted: only so is it known what is wrong with them."""
        code, message = await self._perform(transfers, handle, attempt.address, until)
        if code == pycurl.E_PEER_FAILED_VERIFICATION and handle.accepts_broken:
            attempt = attempt._replace(tls=printable(cut(message, 300)))
            code, message = await self._perform(transfers, handle, attempt.address, until, is_checking=False)
        return attempt, code, message

    async def _perform(
        self, transfers: Transfers, handle: CurlHandle, address: str, until: float, is_checking: bool = True
    ) -> TransferEnd:
        """Reuse a connection, or open a new one if the host has closed that."""
        for is_fresh in (False, True):
            handle.connect_to(address, until - self._clock.monotonic(), is_checking=is_checking, is_fresh=is_fresh)
            end = await transfers.perform(handle)
            if not handle.is_late:
                break
        return end

    def _running_transfers(self) -> Transfers:
        if self._transfers is None:
            self._transfers = Transfers(self._fetch.idle_connections, self._fetch.first_byte_timeout_seconds)
        return self._transfers

    def _release(self, handle: CurlHandle) -> None:
        if self._transfers is not None and len(self._free) < _FREE_HANDLE_LIMIT:
            handle.response.reset(any_type=False)  # an unused handle must not hold a body
            self._free.append(handle)
        else:
            handle.close()


@lru_cache(maxsize=1 << 14)
def _literal(name: str) -> str:
    """Return the address if the name is one; empty if not."""
    address = parse_address(name)
    return str(address) if address else ""


def _is_local_name(name: str) -> bool:
    """Return True for names of the own machine or network. A proxy would complete a name of a single label."""
    return not is_public_name(name) or "." not in name.strip(".")


def _local_name(name: str) -> Failure:
    return Failure(name, FailureKind.PRIVATE, f"{name} is the name of a private host")


def _log_outcome(outcome: Page | Failure) -> None:
    if isinstance(outcome, Page):
        size = len(outcome.body)
        event(log, "page fetched", logging.DEBUG, url=outcome.url, status=outcome.status, body_bytes=size)
    else:
        event(log, "fetch failed", logging.DEBUG, url=outcome.url, kind=outcome.kind, detail=outcome.detail)
