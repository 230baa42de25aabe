"""Ingest pages: decode, parse, end the visit, append to the archive, and collect documents, links and URLs.

Pages that arrive together are ingested in micro-batches. An expensive page is parsed in another process first. The
visit ends in the same step in which the page is stored, so page counts are current before the host's next visit.

A page that is asked for again is compared with what was stored of it: see `landings`. If it is the same, it is not
parsed, and a record without a body refers to the content.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple, Protocol

from tarrafa.agent import events
from tarrafa.agent.discovery import Discovery
from tarrafa.agent.hooks import CrawlHooks, HookedPage
from tarrafa.agent.landings import (
    FACTS,
    NOT_MODIFIED,
    Landing,
    PageRefresh,
    facts_digest,
    first_landing,
    is_stored,
    landing_of,
)
from tarrafa.agent.microbatch import MicroBatch
from tarrafa.agent.outcomes import NO_FILE, Outcome
from tarrafa.agent.page_reader import DecodedPage, PageReader, ParsedPage
from tarrafa.agent.refreshes import Refreshes
from tarrafa.agent.step_times import CrawlStep, StepTimes
from tarrafa.agent.unsaved import CHANGED, REFRESHES, CollectedVisit, Unsaved
from tarrafa.agent.visits import Visits
from tarrafa.clock import Clock, instant_of
from tarrafa.errors import WorkError
from tarrafa.extract import LARGE_BYTES, Extract, PageFormat
from tarrafa.keep import Archive, DocumentRow, PackedPage, Place, StoredAt
from tarrafa.obey import NO_DIRECTIVES, Directives, read_directives, wall_of
from tarrafa.records import Headers, Page, header
from tarrafa.schedule import BUSY_STATUSES, Visit, depth_of, distance_of, hops_of, one_link_further

NO_PLACE = Place(NO_FILE, 0)
# Names of the annotations in the archive.
_DEPTH, _HOPS, _USAGE, _CASH = "depth", "hops-outside", "robots-usage", "cash"
# The limits of a micro-batch. Smaller ones cost more CPU: each turn of the event loop then does less.
_BATCH_COUNT, _BATCH_BYTES = 24, 480_000
_LINK_BYTES = 300  # estimated memory for one link


class Annotations(NamedTuple):
    """Facts about a page that cannot be read from it, stored with it in the archive."""

    distance: int  # from the seeds: depth, and hops outside the scope
    usage: tuple[str, ...] = ()  # what the host's robots.txt says about its use
    cash: int = 0  # what it passes on to the URLs that it links to

    def fields(self) -> Headers:
        hops = hops_of(self.distance)
        fields = [(_DEPTH, str(depth_of(self.distance))), *([(_HOPS, str(hops))] if hops else [])]
        cash = ((_CASH, str(self.cash)),) if self.cash else ()
        return (*fields, *[(_USAGE, line) for line in self.usage], *cash)


def annotations_of(fields: Headers) -> Annotations:
    usage = tuple(value for name, value in fields if name == _USAGE)
    depth, hops, cash = (int(header(fields, name) or 0) for name in (_DEPTH, _HOPS, _CASH))
    return Annotations(distance_of(depth, hops), usage, cash)


class Arrival(NamedTuple):
    """A page that arrived, on its way into the archive."""

    visit: Visit
    annotations: Annotations
    decoded: DecodedPage
    parsed: ParsedPage | None = None  # if it was parsed already
    listed: Unsaved | None = None  # the URLs of a long sitemap, judged already
    packed: PackedPage | None = None  # if it was compressed for the archive already
    refresh: PageRefresh | None = None  # of a page that was collected before
    is_stored: bool = False  # it is what the archive has


class StoredVisit(NamedTuple):
    """A visit whose answer is in the archive."""

    stored: StoredAt
    annotations: Annotations
    landing: Landing
    before_seconds: float | None = None  # when the visit before was, if it is known


class UnsavedOwner(Protocol):
    """Holds what was found since the last checkpoint, which each checkpoint replaces, and the time that it took."""

    @property
    def unsaved(self) -> Unsaved: ...

    @property
    def steps(self) -> StepTimes: ...


class Ingest:
    def __init__(
        self,
        archive: Archive,
        request_headers: Headers,
        reader: PageReader,
        discovery: Discovery,
        visits: Visits,
        owner: UnsavedOwner,
        clock: Clock,
        refreshes: Refreshes,
        hooks: CrawlHooks | None = None,
    ) -> None:
        self.refreshes = refreshes
        self._archive = archive
        self._request_headers = request_headers
        self._reader = reader
        self._discovery = discovery
        self._visits = visits
        self._owner = owner
        self._clock = clock
        self._hooks = hooks
        self.apart_count = 0  # pages that are, or are to be, parsed in the other process
        self._batch: MicroBatch[Arrival] = MicroBatch(self._finish, _BATCH_COUNT, _BATCH_BYTES)

    async def add(self, visit: Visit, page: Page, annotations: Annotations, refresh: PageRefresh | None = None) -> None:
        """Return when the page is stored, or will be fetched again; its visit has ended then."""
        if self._hooks is not None:
            await self._hooks.caught_up()
        arrival = Arrival(visit, annotations, await self._reader.decode(page), refresh=refresh)
        self._owner.steps.add(CrawlStep.DECODE, arrival.decoded.seconds)
        wall = wall_of(page, arrival.decoded.body)
        if wall is not None:
            events.challenge_met(page.url, wall)
            self._visits.page_walled(visit, page, wall, instant_of(self._clock))
            return
        if refresh is not None and page.status != NOT_MODIFIED:
            refresh = await self.refreshes.completed(refresh)
            arrival = arrival._replace(refresh=refresh)
        if refresh is not None and is_stored(page, refresh):
            arrival = arrival._replace(is_stored=True)
        elif refresh is None and len(page.body) >= LARGE_BYTES and page.status not in BUSY_STATUSES:
            fields = annotations.fields()
            began = perf_counter()
            packed = await asyncio.to_thread(self._archive.pack, page, self._request_headers, fields)
            self._owner.steps.add(CrawlStep.ARCHIVE, perf_counter() - began)
            arrival = arrival._replace(packed=packed)
        if arrival.decoded.is_expensive and not arrival.is_stored:
            self._finish([await self._parsed_apart(arrival)])
        else:
            await self._batch.add(arrival, len(arrival.decoded.body))

    async def _parsed_apart(self, arrival: Arrival) -> Arrival:
        self.apart_count += 1
        try:
            parsed = await self._reader.parse_apart(arrival.decoded)
        finally:
            self.apart_count -= 1
        self._owner.steps.add(CrawlStep.EXTRACT, parsed.apart_seconds)
        listed = await self._discovery.judge_listed(parsed.extract, one_link_further(arrival.annotations.distance))
        return arrival._replace(parsed=parsed, listed=listed)

    def _finish(self, arrivals: Sequence[Arrival]) -> None:
        """End the visits and store the pages that will not be fetched again. Runs without yielding."""
        at = instant_of(self._clock)
        final = [each for each in arrivals if self._visits.page_fetched(each.visit, each.decoded.page, at)]
        began = perf_counter()
        parsed = self._parsed(final)
        extracted = perf_counter()
        unsaved = self._owner.unsaved
        check_whole(unsaved)
        unsaved.is_torn = True
        stored = [self._append(each, its_parsed) for each, its_parsed in zip(final, parsed, strict=True)]
        archived = perf_counter()
        for each, its_parsed, visit in zip(final, parsed, stored, strict=True):
            self._collect(each.decoded, its_parsed, visit, each.listed)
            self._count(its_parsed, visit.landing, self._visits.page_kept)
        unsaved.is_torn = False
        steps = self._owner.steps
        steps.add(CrawlStep.EXTRACT, extracted - began)
        steps.add(CrawlStep.ARCHIVE, archived - extracted)
        steps.add(CrawlStep.DISCOVER, perf_counter() - archived)

    def _parsed(self, arrivals: Sequence[Arrival]) -> list[ParsedPage]:
        """Return all pages parsed, except for those that the archive has: these are empty."""
        parsed = iter(self._reader.parse([each.decoded for each in arrivals if not (each.parsed or each.is_stored)]))
        return [each.parsed or (_unread(each.decoded) if each.is_stored else next(parsed)) for each in arrivals]

    def _append(self, arrival: Arrival, parsed: ParsedPage) -> StoredVisit:
        """Judge an answer, and append it to the archive with what follows from that."""
        page, refresh, fields = arrival.decoded.page, arrival.refresh, arrival.annotations.fields()
        original = None
        if refresh is not None and refresh.head is not None and arrival.is_stored:
            landing, original = self.refreshes.land_stored(refresh, page), refresh.head.content
            facts = header(refresh.head.fields or (), FACTS) or ""
        else:
            facts = self._facts(parsed)
            landing = self.refreshes.land(refresh, page, parsed.extract, arrival.decoded.body, facts)
        fields = (*fields, *([(FACTS, facts)] if facts else []), *landing.fields())
        asked = self._request_headers if refresh is None else (*self._request_headers, *refresh.conditions)
        stored = self._archive.append(page, asked, fields, original, arrival.packed)
        before = None if refresh is None else refresh.known.visited_seconds
        return StoredVisit(stored, arrival.annotations, landing, before)

    def _facts(self, parsed: ParsedPage) -> str:
        page, found = parsed.page, parsed.extract
        if not page.is_success:
            return ""
        return facts_digest(found, read_directives(page.headers, found.robots, self._reader.options.robots_name))

    async def recover(self, page: Page, stored: StoredAt, fields: Headers, *, is_reference: bool = False) -> None:
        """Collect a page again that is in the archive, after the last checkpoint.

        `is_reference` tells that its record refers to content that was stored before.
        """
        if self._hooks is not None:
            await self._hooks.caught_up()
        annotations, landing = annotations_of(fields), landing_of(fields, page)
        decoded = await self._reader.decode(page)
        if landing is not None and is_reference:
            parsed = _unread(decoded)
        elif decoded.is_expensive:
            parsed = await self._reader.parse_apart(decoded)
        else:
            (parsed,) = self._reader.parse([decoded])
        listed = await self._discovery.judge_listed(parsed.extract, one_link_further(annotations.distance))
        landing = landing or first_landing(page, parsed.extract, decoded.body)
        self._collect(decoded, parsed, StoredVisit(stored, annotations, landing), listed)
        self._count(parsed, landing, self._visits.page_recovered)

    def _collect(self, decoded: DecodedPage, parsed: ParsedPage, visit: StoredVisit, listed: Unsaved | None) -> None:
        hooked, unsaved, landing = HookedPage(parsed), self._owner.unsaved, visit.landing
        distance = visit.annotations.distance
        if self._hooks is not None:
            if parsed.page.is_success and landing.outcome is not Outcome.UNCHANGED:
                hooked = self._hooks.change(decoded, parsed, depth_of(distance))
            unsaved.counts.update(self._hooks.take_counts())
        if hooked.parsed.cuts:
            events.page_cut(parsed.page.url, hooked.parsed.cuts)
        offered = Unsaved() if landing.is_refresh else unsaved
        is_wanted = collect(unsaved, offered, hooked, visit, self._discovery, self._reader.options.robots_name)
        if is_wanted and listed is not None:
            offered.merge_listed(listed)
        elif is_wanted and parsed.extract.listed:
            self._discovery.follow_listed(offered, parsed.extract, one_link_further(distance))
        if is_wanted and parsed.extract.listed.modified_seconds:
            self.refreshes.note_listed(parsed.page, parsed.extract.listed, visit.before_seconds)
        if landing.is_refresh:
            unsaved.merge_again(offered)
        else:
            # A page that is read again brings little that is new, which says nothing about the pattern of its URL.
            self._visits.page_read(parsed.page, parsed.extract)

    def _count(self, parsed: ParsedPage, landing: Landing, count: Callable[..., None]) -> None:
        signature = parsed.extract.document.signature
        count(parsed.page, signature, is_refresh=landing.is_refresh, is_new_page=landing.is_new_page)

    def close(self) -> None:
        self._reader.close()


def check_whole(unsaved: Unsaved) -> None:
    """Refuse to store or save anything after a page was stored and only a part of it was collected."""
    if unsaved.is_torn:
        raise WorkError("a page could not be collected, so nothing is saved; the archive has it for the next start")


def collect(
    into: Unsaved,
    offered: Unsaved,
    hooked: HookedPage,
    visit: StoredVisit,
    discovery: Discovery,
    robots_name: str,
) -> bool:
    """Add a stored page to what the next checkpoint saves; return False if the scope does not want it.

    That is its document, its links and its outcome; only the last if it is not wanted. The URLs that it names are added
    to `offered`.
    """
    parsed, landing, distance = hooked.parsed, visit.landing, visit.annotations.distance
    page, found = parsed.page, parsed.extract
    directives = read_directives(page.headers, found.robots, robots_name)
    is_unread = landing.outcome is Outcome.UNCHANGED and found.format is PageFormat.OTHER
    refusal = None if is_unread else discovery.refusal_of_page(page, found, distance)
    if refusal is not None or hooked.is_dropped:
        into.counts[f"refusal {refusal or 'dropped'}"] += 1
        if landing.is_refresh:
            # What was stored of the page before is not wanted any more either.
            outcome = Outcome.REFUSED if refusal is not None else Outcome.DROPPED
            into.documents.append(DocumentRow(page.url, page.at, outcome, page.status))
    else:
        _add_document(into, hooked, visit, directives)
    end_visit(into, page.url, page.at, landing, visit.stored.place)
    into.counts["bytes"] += 0 if is_unread and landing.is_refresh else len(page.body)
    if directives.nofollow:
        into.counts["refusal nofollow"] += len(found.links)
    elif refusal is None:
        discovery.follow_links(offered, found, one_link_further(distance), visit.annotations.cash)
    return refusal is None


def end_visit(into: Unsaved, url: str, at: float, landing: Landing, place: Place) -> None:
    """Note the outcome of a visit, whose record is at a place of the archive."""
    file, offset = landing.place or place
    of_content = (int(landing.change), landing.signature, landing.similarity)
    times = (landing.content_seconds, landing.cache_seconds)
    into.ended.append(CollectedVisit(url, at, landing.status, file, offset, *of_content, *times))
    if not landing.is_refresh:
        into.counts[f"outcome {landing.outcome}"] += 1
        return
    into.counts[REFRESHES] += landing.outcome is not Outcome.DROPPED
    into.counts[f"refresh {landing.outcome}"] += 1
    if landing.change:
        into.counts[CHANGED] += 1


def end_lost(into: Unsaved, url: str, at: float, landing: Landing) -> None:
    """Note the outcome of a refresh that brought no answer. A page that ends by that gets a row of documents."""
    end_visit(into, url, at, landing, NO_PLACE)
    if landing.is_end:
        into.documents.append(DocumentRow(url, at, landing.outcome, landing.status))


def _add_document(into: Unsaved, hooked: HookedPage, visit: StoredVisit, directives: Directives) -> None:
    page, found, cuts = hooked.parsed.page, hooked.parsed.extract, hooked.parsed.cuts
    document = _document(hooked, visit, directives)
    into.documents.append(document)
    if visit.landing.outcome is not Outcome.UNCHANGED:
        into.links.append((page.url, page.at, found.links))
    into.size_bytes += len(document.text) + _LINK_BYTES * (1 + len(found.links) + len(found.listed))
    if hooked.fields:
        into.size_bytes += sum(len(value) for value in hooked.fields.values() if isinstance(value, str | tuple))
    into.counts["pages"] += visit.landing.is_new_page
    if cuts and visit.landing.is_new_page:
        into.counts["pages cut"] += 1
        into.counts.update(f"cut {part}" for part in cuts)


def _unread(decoded: DecodedPage) -> ParsedPage:
    """Return a page that is not parsed, because the archive has it."""
    page = decoded.page
    return ParsedPage(page, Extract(page.url, PageFormat.OTHER, base_url=page.url), decoded.size_bytes)


def _document(hooked: HookedPage, visit: StoredVisit, directives: Directives) -> DocumentRow:
    """Return the row of a page. That of an unchanged one has no text: it says that the last one holds still."""
    parsed, landing, stored = hooked.parsed, visit.landing, visit.stored
    page, found, document = parsed.page, parsed.extract, parsed.extract.document
    return DocumentRow(
        url=page.url,
        fetched_at=page.at,
        outcome=landing.outcome,
        status=page.status,
        media_type=page.media_type[:100],
        encoding=found.encoding,
        language=document.language,
        title=document.title,
        description=document.description,
        headings=document.headings,
        text="" if landing.outcome is Outcome.UNCHANGED else document.text,
        canonical=document.canonical_url or "",
        published_at=document.published_seconds,
        modified_at=document.modified_seconds,
        signature=document.signature,
        similarity=document.similarity,
        directives=_names(directives),
        usage=(*directives.usage, *visit.annotations.usage),
        size_bytes=parsed.size_bytes,
        cuts=parsed.cuts,
        digest=stored.digest,
        archive_file=stored.place.file,
        archive_offset=stored.place.offset,
        fields=hooked.fields,
    )


def _names(directives: Directives) -> tuple[str, ...]:
    if directives is NO_DIRECTIVES:
        return ()
    names = [name for name in ("noindex", "nofollow", "noarchive") if getattr(directives, name)]
    if directives.unavailable_after is not None:
        names.append(f"unavailable_after={directives.unavailable_after:.0f}")
    return tuple(names)
