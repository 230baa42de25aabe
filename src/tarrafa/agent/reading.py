"""From a page to what is gathered of it: document, links, and the URLs that may be visited."""

import asyncio
from collections.abc import Generator, Sequence
from itertools import repeat
from typing import NamedTuple

from tarrafa.agent.beside import Beside
from tarrafa.agent.gathering import Gathering
from tarrafa.agent.outcomes import outcome_of
from tarrafa.extract import LARGE_BYTES, Extract, ExtractOptions, extract, extract_all, is_expensive
from tarrafa.fetch import decode
from tarrafa.keep import DocumentRow, StoredAt
from tarrafa.obey import NO_DIRECTIVES, Directives, is_nofollow, read_directives
from tarrafa.records import Page
from tarrafa.schedule import DEPTH_MAX, SITEMAP_HINT, Order, Scope, hint_of, nearer
from tarrafa.urls import host_of

_LINK_BYTES = 300  # that one takes in memory, roughly
_ALL = slice(None)
_SLICE = 500  # URLs of a listing that are judged at a time: a millisecond


class Opened(NamedTuple):
    """A page, and its body without content coding."""

    page: Page
    body: bytes  # to be read: empty where the coding is unknown
    size_bytes: int
    truncated: bool

    @property
    def is_large(self) -> bool:
        return is_expensive(self.body)


class Read(NamedTuple):
    """A page, and what it says."""

    page: Page
    extract: Extract
    size_bytes: int  # without content coding
    truncated: bool
    judged: Gathering | None = None  # what became of the URLs that it lists, if there are many


class Reading:
    def __init__(self, scope: Scope, order: Order, options: ExtractOptions, body_limit_bytes: int) -> None:
        self._scope = scope
        self._order = order
        self._options = options
        self._body_limit_bytes = body_limit_bytes
        self._beside = Beside(options)

    async def opened(self, page: Page) -> Opened:
        """At once, or in a thread if it turns out to be large, or damaged."""
        decoded = decode(page, min(LARGE_BYTES, self._body_limit_bytes))
        # Between two codings it may have been larger than in the end.
        if decoded.truncated and (len(decoded.body) >= LARGE_BYTES or not page.truncated):
            decoded = await asyncio.to_thread(decode, page, self._body_limit_bytes)
        body, truncated, is_unknown = decoded
        return Opened(page, b"" if is_unknown else body, len(body), truncated)

    def read(self, opened: Sequence[Opened]) -> list[Read]:
        """Here and now; large ones are not for this."""
        return _reads(opened, extract_all([each[:2] for each in opened], self._options))

    def reading(self, opened: Sequence[Opened]) -> Generator[None, None, list[Read]]:
        """The same in steps, between which others may have their turn."""
        extracts: list[Extract] = []
        for each in opened:
            extracts.append(extract(each.page, each.body, self._options))
            yield
        return _reads(opened, extracts)

    async def read_beside(self, opened: Opened, depth: int) -> Read:
        """A large one, without keeping others waiting."""
        page, body, size_bytes, truncated = opened
        found = await self._beside.extract(page, body)
        judged = await self._judged(found, depth) if len(found.listed) > _SLICE else None
        return Read(page, found, size_bytes, truncated, judged)

    async def _judged(self, found: Extract, depth: int) -> Gathering:
        """What a page lists, some at a time, with a turn for everybody else between; the page is not kept before."""
        judged = Gathering()
        for start in range(0, len(found.listed), _SLICE):
            self._offer_listed(judged, found, depth, slice(start, start + _SLICE))
            await asyncio.sleep(0)
        return judged

    def _offer_listed(self, into: Gathering, found: Extract, depth: int, which: slice) -> None:
        own, urls = f"{host_of(found.url)}/", found.listed.urls[which]
        for url, is_sitemap in zip(urls, found.listed.are_sitemaps[which] or repeat(False), strict=False):
            self.offer(into, url, depth + 1, own, is_sitemap)

    def gather(self, into: Gathering, read: Read, kept: StoredAt, depth: int, usage: tuple[str, ...]) -> None:
        page, found = read.page, read.extract
        directives = read_directives(page.headers, found.robots, self._options.robots_name)
        document = _document(read, kept, directives, usage)
        into.documents.append(document)
        into.links.append((page.url, page.at, found.links))
        into.end(page.url, page.at, page.status, kept.place)
        into.size_bytes += len(document.text) + _LINK_BYTES * (1 + len(found.links) + len(found.listed))
        counts = into.counts
        counts["pages"] += 1
        counts["bytes"] += len(page.body)
        counts["outcome " + document.outcome] += 1
        if directives.nofollow:
            into.counts["refusal nofollow"] += len(found.links)
        else:
            self._follow(into, found, depth + 1, f"{host_of(page.url)}/")
        if read.judged is not None:
            into.take(read.judged)
        elif found.listed:
            self._offer_listed(into, found, depth, _ALL)

    def _follow(self, into: Gathering, found: Extract, depth: int, own: str) -> None:
        """Most links lead to URLs that were found before: those are counted, and not judged again."""
        known, counts = into.found, into.counts
        judge, priority = self._scope.judge, self._order.priority
        for target, rel in zip(found.links.targets, found.links.rels, strict=True):
            if rel and is_nofollow(rel):
                counts["refusal nofollow"] += 1
            elif (entry := known.get(target)) is not None:
                if entry[0] & DEPTH_MAX > depth:
                    entry[0] = nearer(entry[0], depth)
                entry[1] += 1
                if not target.startswith(own):
                    entry[2] += 1
            elif (refusal := judge(target, depth)) is not None:
                counts[f"refusal {refusal}"] += 1
            else:
                known[target] = [hint_of(priority(target), depth), 1, int(not target.startswith(own))]

    def offer(self, into: Gathering, url: str, depth: int, own: str = "", is_sitemap: bool = False) -> None:
        """A URL that no link leads to: a seed, or one that a sitemap lists. `own` begins the URLs of who lists it."""
        refusal = self._scope.judge(url, depth)
        if refusal is not None:
            into.counts[f"refusal {refusal}"] += 1
            return
        hint = SITEMAP_HINT if is_sitemap else hint_of(self._order.priority(url), depth)
        into.offer(url, hint, not url.startswith(own))

    def admits(self, host: str) -> bool:
        """Whether the host is in the scope, which may be another one than when its URLs were found."""
        return self._scope.admits(host)

    def close(self) -> None:
        self._beside.close()


def _reads(opened: Sequence[Opened], extracts: list[Extract]) -> list[Read]:
    return [Read(each.page, found, *each[2:]) for each, found in zip(opened, extracts, strict=True)]


def _document(read: Read, kept: StoredAt, directives: Directives, usage: tuple[str, ...]) -> DocumentRow:
    page, found, document = read.page, read.extract, read.extract.document
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
        directives=_named(directives),
        usage=(*directives.usage, *usage),
        size_bytes=read.size_bytes,
        truncated=read.truncated,
        digest=kept.digest,
        archive_file=kept.place.file,
        archive_offset=kept.place.offset,
    )


def _named(directives: Directives) -> tuple[str, ...]:
    if directives is NO_DIRECTIVES:
        return ()
    names = [name for name in ("noindex", "nofollow", "noarchive") if getattr(directives, name)]
    if directives.unavailable_after is not None:
        names.append(f"unavailable_after={directives.unavailable_after:.0f}")
    return tuple(names)
