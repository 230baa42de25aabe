"""Pages that have come: the host may rest, and the page is read, kept and gathered.

Pages of one moment are taken in together. A large one is read beside the visits first, and comes alone.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tarrafa.crawl.feeding import Feeding
from tarrafa.crawl.hosts import Standing
from tarrafa.crawl.parts import Parts
from tarrafa.crawl.reading import Opened, Read
from tarrafa.crawl.together import Together
from tarrafa.keep import Kept
from tarrafa.obey import retry_after_seconds
from tarrafa.records import Failure, Headers, Page, header
from tarrafa.schedule import BUSY_STATUSES, Answer, Fate, Visit
from tarrafa.urls import host_of

# What is noted with each page in the archive.
_DEPTH, _USAGE = "depth", "robots-usage"
# So many pages are taken in together, and about so much of them; it is done in steps of some milliseconds.
_TOGETHER_COUNT, _TOGETHER_BYTES = 64, 1_200_000
_KEPT_COUNT = 32
_FEW_COUNT, _FEW_BYTES = 10, 200_000


class Landed(NamedTuple):
    """A page that has come."""

    visit: Visit
    depth: int
    opened: Opened
    read: Read | None = None  # if it was read already


class Noted(NamedTuple):
    """What cannot be told from the page itself, and is kept with it."""

    depth: int  # links from a seed
    usage: tuple[str, ...] = ()  # what the host's robots.txt says about its use

    def fields(self) -> Headers:
        depth = (_DEPTH, str(self.depth))
        return (depth, *[(_USAGE, line) for line in self.usage]) if self.usage else (depth,)


def noted_of(fields: Headers) -> Noted:
    usage = tuple(value for name, value in fields if name == _USAGE)
    return Noted(int(header(fields, _DEPTH) or 0), usage)


class Landing:
    def __init__(self, parts: Parts, feeding: Feeding) -> None:
        self._parts = parts
        self._feeding = feeding
        self._together: Together[Landed] = Together(self._take_in, _TOGETHER_COUNT, _TOGETHER_BYTES)

    async def land(self, visit: Visit, page: Page, depth: int) -> None:
        """Until the page is kept, or is to be tried again, and its host may be visited again."""
        reading = self._parts.reading
        opened = reading.opened(page)
        if opened.is_large:
            self._end([Landed(visit, depth, opened, await reading.read_beside(opened, depth))])
        elif page.status in BUSY_STATUSES:
            self._end([Landed(visit, depth, opened)])
        else:
            await self._together.add(Landed(visit, depth, opened), len(opened.body))

    def _take_in(self, landed: list[Landed]) -> Iterator[None]:
        """Few at once; of many all are read, in steps of some milliseconds, and then kept, some at a time."""
        if len(landed) <= _FEW_COUNT and sum(len(each.opened.body) for each in landed) <= _FEW_BYTES:
            self._end(landed)
            return
        reads = yield from self._parts.reading.reading([each.opened for each in landed])
        whole = [each._replace(read=read) for each, read in zip(landed, reads, strict=True)]
        for start in range(0, len(whole), _KEPT_COUNT):
            self._end(whole[start : start + _KEPT_COUNT])
            yield

    def _end(self, landed: list[Landed]) -> None:
        """Nobody else's turn comes meanwhile, so what a host has of pages is counted before its next visit."""
        now, bench = self._parts.clock.monotonic(), self._parts.bench
        ended = [bench.ended(each.visit, now, self.answer(each.opened.page)) for each in landed]
        final = [each for each, end in zip(landed, ended, strict=True) if end.fate is Fate.FINAL]
        # What is to be tried again is not read before that is known.
        reads = iter(self._parts.reading.read([each.opened for each in final if each.read is None]))
        self._keep([(each.read or next(reads), self._noted(each)) for each in final])
        for each, end in zip(landed, ended, strict=True):
            self._feeding.after(each.visit.host, end, now)

    def _noted(self, landed: Landed) -> Noted:
        return Noted(landed.depth, self._parts.robots.usage(landed.visit.host, landed.visit.url))

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

    def _keep(self, pages: list[tuple[Read, Noted]]) -> None:
        """Into the archive and the gathering at once: between the two nothing is saved."""
        archive, asked, rounds = self._parts.archive, self._parts.web.asked, self._parts.rounds
        rounds.check_whole()
        rounds.is_torn = True
        kept = [archive.append(read.page, asked, noted.fields()) for read, noted in pages]
        for (read, noted), place in zip(pages, kept, strict=True):
            self._gather(read, place, noted)
        rounds.is_torn = False

    async def regain(self, page: Page, kept: Kept, fields: Headers) -> None:
        """A page that is in the archive, and of which nothing else was saved; with what was noted beside it."""
        reading = self._parts.reading
        opened = reading.opened(page)
        noted = noted_of(fields)
        read = await reading.read_beside(opened, noted.depth) if opened.is_large else reading.read([opened])[0]
        self._gather(read, kept, noted)

    def _gather(self, read: Read, kept: Kept, noted: Noted) -> None:
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
