"""Pages that have come: the host may rest, and the page is read, kept and gathered.

Pages of one moment are taken in together. A large one is read beside the visits first, and comes alone.
"""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from tarrafa.agent.feeding import Feeding
from tarrafa.agent.hosts import Standing
from tarrafa.agent.parts import Parts
from tarrafa.agent.reading import Opened, Read
from tarrafa.agent.together import Together
from tarrafa.extract import LARGE_BYTES
from tarrafa.keep import PackedPage, StoredAt
from tarrafa.obey import retry_after_seconds
from tarrafa.records import Failure, Headers, Page, header
from tarrafa.schedule import BUSY_STATUSES, Answer, Fate, Visit
from tarrafa.urls import host_of

# What is noted with each page in the archive.
_DEPTH, _USAGE = "depth", "robots-usage"
# So many pages are taken in together, and about so much of them.
_TOGETHER_COUNT, _TOGETHER_BYTES = 64, 1_200_000
# As many of them are kept in one step as take some milliseconds, in microseconds: for a page, for each of its links
# and of the URLs that it lists, for some of its bytes.
_STEP_COST, _PAGE_COST, _LINK_COST, _BYTES_OF_COST = 5_000, 60, 1, 200


class Noted(NamedTuple):
    """What cannot be told from the page itself, and is kept with it."""

    depth: int  # links from a seed
    usage: tuple[str, ...] = ()  # what the host's robots.txt says about its use

    def fields(self) -> Headers:
        depth = (_DEPTH, str(self.depth))
        return (depth, *[(_USAGE, line) for line in self.usage]) if self.usage else (depth,)


class Landed(NamedTuple):
    """A page that has come."""

    visit: Visit
    noted: Noted
    opened: Opened
    read: Read | None = None  # if it was read already
    packed: PackedPage | None = None  # if it was packed already

    @property
    def cost(self) -> int:
        """Of keeping it."""
        found = self.read.extract if self.read is not None else None
        links_count = 0 if found is None else len(found.links) + len(found.listed)
        return _PAGE_COST + _LINK_COST * links_count + len(self.opened.page.body) // _BYTES_OF_COST


def noted_of(fields: Headers) -> Noted:
    usage = tuple(value for name, value in fields if name == _USAGE)
    return Noted(int(header(fields, _DEPTH) or 0), usage)


class Landing:
    def __init__(self, parts: Parts, feeding: Feeding) -> None:
        self._parts = parts
        self._feeding = feeding
        self._together: Together[Landed] = Together(self._take_in, parts.clock, _TOGETHER_COUNT, _TOGETHER_BYTES)

    async def land(self, visit: Visit, page: Page, depth: int) -> None:
        """Until the page is kept, or is to be tried again, and its host may be visited again."""
        opened = await self._parts.reading.opened(page)
        landed = Landed(visit, self._noted(visit, depth), opened)
        if page.status in BUSY_STATUSES and not opened.is_large:
            self._end([landed])
            return
        if len(page.body) >= LARGE_BYTES:
            landed = landed._replace(packed=await self._packed(landed))
        if opened.is_large:
            self._end([landed._replace(read=await self._parts.reading.read_beside(opened, depth))])
        else:
            await self._together.add(landed, len(opened.body))

    def _noted(self, visit: Visit, depth: int) -> Noted:
        return Noted(depth, self._parts.robots.usage(visit.host, visit.url))

    async def _packed(self, landed: Landed) -> PackedPage:
        """In a thread, for it takes long and holds nobody else up there."""
        archive, page, asked = self._parts.archive, landed.opened.page, self._parts.web.request_headers
        return await asyncio.to_thread(archive.pack, page, asked, landed.noted.fields())

    def _take_in(self, landed: list[Landed]) -> Iterator[None]:
        """All are read, and then kept, some at a time."""
        reads = yield from self._parts.reading.reading([each.opened for each in landed])
        whole = [each._replace(read=read) for each, read in zip(landed, reads, strict=True)]
        for some in portions(whole):
            self._end(some)
            yield

    def _end(self, landed: list[Landed]) -> None:
        """Nobody else's turn comes meanwhile, so what a host has of pages is counted before its next visit."""
        now, bench = self._parts.clock.monotonic(), self._parts.bench
        ended = [bench.ended(each.visit, now, self.answer(each.opened.page)) for each in landed]
        self._keep([each for each, end in zip(landed, ended, strict=True) if end.fate is Fate.FINAL])
        for each, end in zip(landed, ended, strict=True):
            self._feeding.after(each.visit.host, end, now)

    def answer(self, got: Page | Failure) -> Answer:
        if isinstance(got, Failure):
            return Answer(0, got.kind)
        retry_after = retry_after_seconds(got, self._parts.clock.now())
        return Answer(got.status, None, got.timings.total_seconds, retry_after)

    def note_connection(self, name: str, got: Page | Failure) -> None:
        """Most hosts are connected to for their robots.txt, and the connection serves the pages after it."""
        host = self._parts.memory.find(name)
        if host is not None and isinstance(got, Page) and got.timings.connect_seconds:
            host.connect_seconds = got.timings.connect_seconds
            self._feeding.note(host)

    def _keep(self, landed: list[Landed]) -> None:
        """Into the archive and the gathering at once: between the two nothing is saved."""
        archive, asked, rounds = self._parts.archive, self._parts.web.request_headers, self._parts.rounds
        # Those that could have been tried again are read only now.
        unread = iter(self._parts.reading.read([each.opened for each in landed if each.read is None]))
        rounds.check_whole()
        rounds.is_torn = True
        kept = [archive.append(each.opened.page, asked, each.noted.fields(), packed=each.packed) for each in landed]
        for each, place in zip(landed, kept, strict=True):
            self._gather(each.read or next(unread), place, each.noted)
        rounds.is_torn = False

    async def regain(self, page: Page, kept: StoredAt, fields: Headers) -> None:
        """A page that is in the archive, and of which nothing else was saved; with what was noted beside it."""
        reading = self._parts.reading
        opened = await reading.opened(page)
        noted = noted_of(fields)
        read = await reading.read_beside(opened, noted.depth) if opened.is_large else reading.read([opened])[0]
        self._gather(read, kept, noted)

    def _gather(self, read: Read, kept: StoredAt, noted: Noted) -> None:
        page, gathering = read.page, self._parts.rounds.gathering
        self._parts.reading.gather(gathering, read, kept, noted.depth, noted.usage)
        host, times = self._feeding.meet(host_of(page.url)), page.timings
        host.pages += 1
        host.bytes += len(page.body)
        host.visited_at = page.at
        host.name_seconds, host.first_byte_seconds = times.name_seconds, times.first_byte_seconds
        host.connect_seconds = times.connect_seconds or host.connect_seconds
        host.total_seconds = times.total_seconds
        host.failing = 0
        if host.standing == Standing.ASIDE:
            host.standing, host.reason, host.asides = Standing.WELCOME, "", 0
        self._feeding.note(host)


def portions(landed: list[Landed]) -> Iterator[list[Landed]]:
    """As many at a time as take some milliseconds to keep, and one at least."""
    portion: list[Landed] = []
    cost = 0
    for each in landed:
        portion.append(each)
        cost += each.cost
        if cost >= _STEP_COST:
            yield portion
            portion, cost = [], 0
    if portion:
        yield portion
