"""Ingest pages: decode, parse, end the visit, append to the archive, and collect documents, links and URLs.

Pages that arrive together are ingested in micro-batches. An expensive page is parsed in another process first. The
visit ends in the same step in which the page is stored, so page counts are current before the host's next visit.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple, Protocol

from tarrafa.agent import events
from tarrafa.agent.discovery import Discovery
from tarrafa.agent.hooks import CrawlHooks, HookedPage
from tarrafa.agent.microbatch import MicroBatch
from tarrafa.agent.outcomes import outcome_of
from tarrafa.agent.page_reader import DecodedPage, PageReader, ParsedPage
from tarrafa.agent.step_times import CrawlStep, StepTimes
from tarrafa.agent.unsaved import Unsaved
from tarrafa.agent.visits import Visits
from tarrafa.clock import Clock, instant_of
from tarrafa.errors import WorkError
from tarrafa.extract import LARGE_BYTES
from tarrafa.keep import Archive, DocumentRow, PackedPage, StoredAt
from tarrafa.obey import NO_DIRECTIVES, Directives, read_directives, wall_of
from tarrafa.records import Headers, Page, header
from tarrafa.schedule import BUSY_STATUSES, Visit, depth_of, distance_of, hops_of, one_link_further

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
        hooks: CrawlHooks | None = None,
    ) -> None:
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

    async def add(self, visit: Visit, page: Page, annotations: Annotations) -> None:
        """Return when the page is stored, or will be fetched again; its visit has ended then."""
        if self._hooks is not None:
            await self._hooks.caught_up()
        arrival = Arrival(visit, annotations, await self._reader.decode(page))
        self._owner.steps.add(CrawlStep.DECODE, arrival.decoded.seconds)
        wall = wall_of(page, arrival.decoded.body)
        if wall is not None:
            events.challenge_met(page.url, wall)
            self._visits.page_walled(visit, page, wall, instant_of(self._clock))
            return
        if len(page.body) >= LARGE_BYTES and page.status not in BUSY_STATUSES:
            fields = annotations.fields()
            began = perf_counter()
            packed = await asyncio.to_thread(self._archive.pack, page, self._request_headers, fields)
            self._owner.steps.add(CrawlStep.ARCHIVE, perf_counter() - began)
            arrival = arrival._replace(packed=packed)
        if arrival.decoded.is_expensive:
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
        parsed = iter(self._reader.parse([each.decoded for each in final if each.parsed is None]))
        extracted = perf_counter()
        unsaved = self._owner.unsaved
        check_whole(unsaved)
        unsaved.is_torn = True
        stored = [self._append(each) for each in final]
        archived = perf_counter()
        for each, place in zip(final, stored, strict=True):
            its_parsed = each.parsed or next(parsed)
            self._collect(each.decoded, its_parsed, place, each.annotations, each.listed)
            self._visits.page_kept(each.decoded.page, its_parsed.extract.document.signature)
        unsaved.is_torn = False
        steps = self._owner.steps
        steps.add(CrawlStep.EXTRACT, extracted - began)
        steps.add(CrawlStep.ARCHIVE, archived - extracted)
        steps.add(CrawlStep.DISCOVER, perf_counter() - archived)

    def _append(self, arrival: Arrival) -> StoredAt:
        fields = arrival.annotations.fields()
        return self._archive.append(arrival.decoded.page, self._request_headers, fields, packed=arrival.packed)

    async def recover(self, page: Page, stored: StoredAt, fields: Headers) -> None:
        """Collect a page again that is in the archive, after the last checkpoint."""
        if self._hooks is not None:
            await self._hooks.caught_up()
        annotations = annotations_of(fields)
        decoded = await self._reader.decode(page)
        if decoded.is_expensive:
            parsed = await self._reader.parse_apart(decoded)
        else:
            (parsed,) = self._reader.parse([decoded])
        listed = await self._discovery.judge_listed(parsed.extract, one_link_further(annotations.distance))
        self._collect(decoded, parsed, stored, annotations, listed)
        self._visits.page_recovered(page, parsed.extract.document.signature)

    def _collect(
        self,
        decoded: DecodedPage,
        parsed: ParsedPage,
        stored: StoredAt,
        annotations: Annotations,
        listed: Unsaved | None,
    ) -> None:
        hooked, unsaved = HookedPage(parsed), self._owner.unsaved
        if self._hooks is not None:
            if parsed.page.is_success:
                hooked = self._hooks.change(decoded, parsed, depth_of(annotations.distance))
            unsaved.counts.update(self._hooks.take_counts())
        if hooked.parsed.cuts:
            events.page_cut(parsed.page.url, hooked.parsed.cuts)
        is_wanted = collect(unsaved, hooked, stored, annotations, self._discovery, self._reader.options.robots_name)
        self._visits.page_read(parsed.page, parsed.extract)
        if not is_wanted:
            return
        if listed is not None:
            unsaved.merge_listed(listed)
        elif parsed.extract.listed:
            self._discovery.follow_listed(unsaved, parsed.extract, one_link_further(annotations.distance))

    def close(self) -> None:
        self._reader.close()


def check_whole(unsaved: Unsaved) -> None:
    """Refuse to store or save anything after a page was stored and only a part of it was collected."""
    if unsaved.is_torn:
        raise WorkError("a page could not be collected, so nothing is saved; the archive has it for the next start")


def collect(
    into: Unsaved,
    hooked: HookedPage,
    stored: StoredAt,
    annotations: Annotations,
    discovery: Discovery,
    robots_name: str,
) -> bool:
    """Add a stored page to what the next checkpoint saves; return False if the scope does not want it.

    That is its document, its links and its outcome; only the last if it is not wanted.
    """
    parsed = hooked.parsed
    page, found = parsed.page, parsed.extract
    directives = read_directives(page.headers, found.robots, robots_name)
    refusal = discovery.refusal_of_page(page, found, annotations.distance)
    if refusal is not None or hooked.is_dropped:
        into.counts[f"refusal {refusal or 'dropped'}"] += 1
    else:
        _add_document(into, hooked, stored, directives, annotations.usage)
    into.end(page.url, page.at, page.status, stored.place)
    into.counts["bytes"] += len(page.body)
    into.counts["outcome " + outcome_of(page.status)] += 1
    if directives.nofollow:
        into.counts["refusal nofollow"] += len(found.links)
    elif refusal is None:
        discovery.follow_links(into, found, one_link_further(annotations.distance), annotations.cash)
    return refusal is None


def _add_document(
    into: Unsaved, hooked: HookedPage, stored: StoredAt, directives: Directives, usage: tuple[str, ...]
) -> None:
    page, found, cuts = hooked.parsed.page, hooked.parsed.extract, hooked.parsed.cuts
    document = _document(hooked, stored, directives, usage)
    into.documents.append(document)
    into.links.append((page.url, page.at, found.links))
    into.size_bytes += len(document.text) + _LINK_BYTES * (1 + len(found.links) + len(found.listed))
    if hooked.fields:
        into.size_bytes += sum(len(value) for value in hooked.fields.values() if isinstance(value, str | tuple))
    into.counts["pages"] += page.is_success
    if cuts and page.is_success:
        into.counts["pages cut"] += 1
        into.counts.update(f"cut {part}" for part in cuts)


def _document(hooked: HookedPage, stored: StoredAt, directives: Directives, usage: tuple[str, ...]) -> DocumentRow:
    parsed = hooked.parsed
    page, found, document = parsed.page, parsed.extract, parsed.extract.document
    return DocumentRow(
        url=page.url,
        fetched_at=page.at,
        outcome=outcome_of(page.status),
        status=page.status,
        media_type=page.media_type[:100],
        encoding=found.encoding,
        language=document.language,
        title=document.title,
        description=document.description,
        headings=document.headings,
        text=document.text,
        canonical=document.canonical_url or "",
        published_at=document.published_seconds,
        modified_at=document.modified_seconds,
        signature=document.signature,
        similarity=document.similarity,
        directives=_names(directives),
        usage=(*directives.usage, *usage),
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
