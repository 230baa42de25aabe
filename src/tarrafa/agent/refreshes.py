"""Pages that are asked for again: reads what is stored of them, adds conditions to the request, judges the answer."""

import asyncio

from tarrafa.agent import events
from tarrafa.agent.deployment_guard import DeploymentGuard
from tarrafa.agent.landings import (
    Landing,
    PageRefresh,
    first_landing,
    lost_landing,
    read_landing,
    stored_landing,
)
from tarrafa.agent.outcomes import NO_FILE
from tarrafa.agent.validators import ValidatorTrust, conditions_of, hides_change, is_plain_turn
from tarrafa.configuration import HostTables
from tarrafa.errors import DamagedError
from tarrafa.extract import Extract, ListedUrls
from tarrafa.histories import Change, Phase
from tarrafa.keep import HeadReader, Place, StoredHead
from tarrafa.records import Page, is_conditional
from tarrafa.refresh import RefreshHints
from tarrafa.urls import host_of
from tarrafa.verify import KnownPage

_MISSING = (404, 410)


class Refreshes:
    """What is learned of hosts is in memory only: after a start it is learned again."""

    def __init__(self, reader: HeadReader, tables: HostTables, hints: RefreshHints | None = None) -> None:
        self._reader = reader
        self._tables = tables
        # Filled by note_listed, emptied as the pages are visited.
        self.hints = RefreshHints() if hints is None else hints
        self.trust = ValidatorTrust()
        self._guard = DeploymentGuard()

    async def begin(self, known: KnownPage) -> PageRefresh:
        """Return what is known of a page that is about to be asked for, with the conditions to send."""
        refresh = PageRefresh(known)
        if known.file == NO_FILE:
            return refresh
        beginning = self._reader.read_beginning(Place(known.file, known.offset))
        if beginning is not None:
            asked = self.conditioned(refresh._replace(head=beginning))
            if asked.conditions:
                return asked
        return self.conditioned(refresh._replace(head=await self._read_whole(known)))

    async def completed(self, refresh: PageRefresh) -> PageRefresh:
        """Return a refresh with all that is stored of its page, with which an answer other than 304 is compared."""
        if refresh.head is None or refresh.head.fields is not None:
            return refresh
        return refresh._replace(head=await self._read_whole(refresh.known))

    async def _read_whole(self, known: KnownPage) -> StoredHead | None:
        head = self._reader.read_cached(Place(known.file, known.offset))
        return head or await asyncio.to_thread(self._read, known)

    def _read(self, known: KnownPage) -> StoredHead | None:
        try:
            return self._reader.read(Place(known.file, known.offset))
        except DamagedError as error:
            events.stored_page_unreadable(known.url, str(error))
            return None

    def conditioned(self, refresh: PageRefresh) -> PageRefresh:
        """Add conditions, if what is stored can stand for the answer and the host is believed."""
        head, known = refresh.head, refresh.known
        if head is None or head.status != 200 or not head.is_whole or not refresh.is_indexed:
            return refresh
        host = host_of(known.url)
        # A user may have set such headers for the host.
        is_taken = is_conditional(self._tables.of(host).headers or ())
        if is_taken or is_plain_turn(known.url, known.visited_seconds) or not self.trust.is_trusted(host):
            return refresh
        return refresh._replace(conditions=conditions_of(head.headers, head.at))

    def land(self, refresh: PageRefresh | None, page: Page, found: Extract, body: bytes, facts: str) -> Landing:
        """Return what an answer says that was parsed, and learn from it about its host. It is called once for each."""
        if refresh is None:
            self.hints.settle(host_of(page.url), page.url, None, is_right=None)
            return first_landing(page, found, body)
        if not (page.is_success or 300 <= page.status < 400):
            return self.lose(refresh.known, page.status, page.at)
        host = host_of(page.url)
        landing = read_landing(page, found, body, facts, refresh, self.trust.is_trusted(host))
        self._note(refresh, page, landing.change)
        self._settle(refresh.known, is_right=landing.change is not Change.NONE)
        self._guard.note(host, page.at, is_turned=False)
        return landing

    def land_stored(self, refresh: PageRefresh, page: Page) -> Landing:
        """Return what an answer says that is what the archive has. It is called once for each."""
        self._settle(refresh.known, is_right=False)
        self._guard.note(host_of(page.url), page.at, is_turned=False)
        return stored_landing(page, refresh)

    def lose(self, known: KnownPage, status: int, at: float) -> Landing:
        """Return what a refresh says that brought no page: an error, no answer, or a refusal."""
        host = host_of(known.url)
        self._settle(known, is_right=None)
        self._guard.note(host, at, is_turned=status in _MISSING and known.phase is Phase.LIVE)
        return lost_landing(known, status, at, self._guard.doubts(host, at))

    def note_listed(self, page: Page, listed: ListedUrls, read_before: float | None) -> None:
        """Take the dates of a sitemap or feed as hints. `read_before` is when it was read the last time."""
        host, entries = host_of(page.url), zip(listed.urls, listed.modified_seconds, strict=False)
        dropped = self.hints.note(host, entries, read_before, page.at)
        if dropped:
            events.hints_dropped(host, dropped)

    def _settle(self, known: KnownPage, *, is_right: bool | None) -> None:
        self.hints.settle(host_of(known.url), known.url, known.visited_seconds, is_right=is_right)

    def _note(self, refresh: PageRefresh, page: Page, change: Change) -> None:
        if refresh.head is None or refresh.conditions or change is Change.NONE or not page.is_success:
            return
        visited = refresh.known.visited_seconds
        is_hidden = hides_change(refresh.head.headers, page.headers, page.at, visited)
        if is_hidden is not None:
            self.trust.note(host_of(page.url), is_hidden=is_hidden)
