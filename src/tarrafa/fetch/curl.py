"""Pages over libcurl, hundreds at once."""

import logging
from functools import lru_cache
from pathlib import Path

import pycurl

from tarrafa.addresses import parse_address
from tarrafa.clock import Clock, SystemClock
from tarrafa.configuration import CrawlSection, FetchSection
from tarrafa.fetch.certificates import system_certificates
from tarrafa.fetch.handle import Handle, make_settings
from tarrafa.fetch.kept import Kept
from tarrafa.fetch.multi import Multi
from tarrafa.fetch.names import NameCache
from tarrafa.fetch.outcome import Visit, is_unreached, read
from tarrafa.fetch.proxy import parse_proxy
from tarrafa.fetch.resolve import ADDRESS_LIMIT, Resolver, SystemResolver, public_only
from tarrafa.logs import event
from tarrafa.records import Failure, FailureKind, Headers, Page, Request
from tarrafa.texts import cut, printable
from tarrafa.urls import canonical, host_name

log = logging.getLogger(__name__)

_FREE_HANDLE_LIMIT = 2_000
_HTTP = ("http://", "https://")


class CurlTransport:
    """Any number of fetches at a time, all on one event loop. After `close` it may be used again, on any loop."""

    def __init__(
        self,
        fetch: FetchSection,
        crawl: CrawlSection,
        resolver: Resolver | None = None,
        clock: Clock | None = None,
        certificates: Path | None = None,
    ) -> None:
        self._fetch = fetch
        self._allow_private = crawl.allow_private
        self._clock = clock or SystemClock()
        self._proxy = parse_proxy(fetch.proxy)
        self._settings = make_settings(fetch, crawl, self._proxy, certificates or system_certificates())
        name_seconds = min(fetch.timeout_seconds, fetch.connect_timeout_seconds)
        self._names = NameCache(resolver or SystemResolver(), self._clock, name_seconds)
        self._multi: Multi | None = None  # made by the first fetch, on its loop
        self._kept = Kept()
        self._free: list[Handle] = []  # filled when a fetch ends, emptied when one begins

    @property
    def request_headers(self) -> Headers:
        """Return the headers that every request carries."""
        return self._settings.headers()

    async def fetch(self, request: Request) -> Page | Failure:
        outcome = await self._outcome(request)
        _tell(outcome)
        return outcome

    async def resolve(self, name: str) -> tuple[str, ...] | Failure:
        """Where a fetch of this name would connect to, the best first. Empty with a proxy: only that one knows.

        The failure has the name where others have the URL.
        """
        literal = _literal(name)
        if self._proxy and not literal:
            return ()
        found = (literal,) if literal else await self._names.addresses(name)
        judged = self._judged(name, found)
        return () if self._proxy and not isinstance(judged, Failure) else judged

    def close(self) -> None:
        """Fetches under way end as failures; every connection is closed."""
        if self._multi is not None:
            self._multi.close()
            self._multi = None
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
        addresses = await self._addresses(name, request.address)
        if isinstance(addresses, Failure):
            return addresses._replace(url=request.url)
        name_seconds = self._clock.monotonic() - began
        handle = self._free.pop() if self._free else Handle(self._settings, self._kept)
        try:
            handle.prepare(request)
            visits = [Visit(request.url, address, at, name_seconds) for address in addresses or ("",)]
            return await self._try_each(handle, name, visits, began + self._fetch.timeout_seconds)
        finally:
            self._release(handle)

    async def _addresses(self, name: str, chosen: str) -> tuple[str, ...] | Failure:
        """Where we may connect to; decided here, once, so that nothing can change it before the connection."""
        if not chosen or self._proxy:
            return await self.resolve(name)
        literal = _literal(chosen)
        return self._judged(name, (literal,) if literal else ())

    def _judged(self, name: str, found: tuple[str, ...] | None) -> tuple[str, ...] | Failure:
        if found is None:
            return Failure(name, FailureKind.TIMEOUT, f"no answer in time for the address of {name}")
        if not found:
            return Failure(name, FailureKind.NAME, f"{name} has no address")
        allowed = found if self._allow_private else public_only(found)
        if not allowed:
            return Failure(name, FailureKind.PRIVATE, f"{found[0]} is not a public address")
        return allowed[:ADDRESS_LIMIT]

    async def _try_each(self, handle: Handle, name: str, visits: list[Visit], until: float) -> Page | Failure:
        """Another address only where there was no connection: the host has noticed nothing."""
        multi = self._running()
        for visit in visits:
            done, code, message = await self._visit(multi, handle, visit, until)
            if not is_unreached(handle, code):
                self._names.worked(name, visit.address)
                break
            self._names.failed(name, visit.address)
        return read(done, handle, code, message)

    async def _visit(self, multi: Multi, handle: Handle, visit: Visit, until: float) -> tuple[Visit, int, str]:
        """Certificates are checked first also where broken ones are accepted: only so is it known what is wrong."""
        code, message = await self._perform(multi, handle, visit.address, until)
        if code == pycurl.E_PEER_FAILED_VERIFICATION and self._fetch.insecure:
            visit = visit._replace(tls=printable(cut(message, 300)))
            code, message = await self._perform(multi, handle, visit.address, until, is_checking=False)
        return visit, code, message

    async def _perform(
        self, multi: Multi, handle: Handle, address: str, until: float, is_checking: bool = True
    ) -> tuple[int, str]:
        """On a connection that was used before, or anew where the host has closed it meanwhile."""
        for is_fresh in (False, True):
            handle.aim(address, until - self._clock.monotonic(), is_checking, is_fresh)
            ending = await multi.perform(handle)
            if not handle.is_late:
                break
        return ending

    def _running(self) -> Multi:
        if self._multi is None:
            self._multi = Multi(self._fetch.idle_connections, self._fetch.first_byte_timeout_seconds)
        return self._multi

    def _release(self, handle: Handle) -> None:
        if self._multi is not None and len(self._free) < _FREE_HANDLE_LIMIT:
            handle.answer.begin(any_type=False)  # a handle that waits must not hold a body
            self._free.append(handle)
        else:
            handle.close()


@lru_cache(maxsize=1 << 14)
def _literal(name: str) -> str:
    """The address that a name is, if it is one."""
    address = parse_address(name)
    return str(address) if address else ""


def _tell(outcome: Page | Failure) -> None:
    if isinstance(outcome, Page):
        size = len(outcome.body)
        event(log, "page fetched", logging.DEBUG, url=outcome.url, status=outcome.status, body_bytes=size)
    else:
        event(log, "fetch failed", logging.DEBUG, url=outcome.url, kind=outcome.kind, detail=outcome.detail)
