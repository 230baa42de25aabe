"""Which of the URLs that pages name are offered to the repository, with what priority, distance and kind.

The distance of a page is its depth and its hops outside the scope, in one number; `one_link_further` is that of what
it links to.
"""

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import repeat
from typing import Protocol

from tarrafa.agent.hooks import CrawlHooks
from tarrafa.agent.referrers import Referrers
from tarrafa.agent.unsaved import DEPTH, LINKS, OUTSIDE, Unsaved
from tarrafa.extract import Extract, LinkKind, PageFormat
from tarrafa.obey import is_nofollow
from tarrafa.records import Page
from tarrafa.schedule import FROM_OUTSIDE, SITEMAP_PRIORITY, Order, Scope, UrlKind, WeightKind, hops_of
from tarrafa.urls import host_of

_ALL = slice(None)
SLICE_URLS = 500  # URLs of a long sitemap that are judged in one turn of the event loop
SEED_CASH = 1 << 20
_HOOK = "hook"  # the refusal of a URL by a hook
_NOT_FOLLOWED = "refusal follow"  # the count of URLs that are left by `Follow`

# Takes a URL and its distance; returns why it is not visited, or None.
UrlJudge = Callable[[str, int], str | None]


class LinkWatch(Protocol):
    """Knows URLs that bring nothing new."""

    def refusal_of_link(self, url: str) -> str | None:
        """Return why a URL that was found is not to be visited; None if it may be."""
        ...


class Follow(StrEnum):
    """Which of the URLs that answers name are followed. Redirects always are."""

    ALL = "all"
    SITEMAPS = "sitemaps"  # only what sitemaps and feeds list
    NOTHING = "nothing"


class Discovery:
    def __init__(
        self,
        scope: Scope,
        order: Order,
        hooks: CrawlHooks | None = None,
        watches: Sequence[LinkWatch] = (),
        referrers: Referrers | None = None,  # None if budgets do not depend on links
        follow: Follow = Follow.ALL,
    ) -> None:
        self._scope = scope
        self._referrers = referrers
        self._judge_seed: UrlJudge = scope.judge if hooks is None else _with_hooks(scope.judge, hooks)
        self._judge = self._judge_seed
        for watch in watches:
            self._judge = _with_watch(self._judge, watch)
        self._order = order
        self._has_cash = order.weight is WeightKind.CASH
        self._follow = follow

    def offer_seed(self, into: Unsaved, url: str, *, is_new: bool = True) -> bool:
        """Offer a seed; return False if it is refused. One that is not new gets no cash, so nothing changes for it."""
        refusal = self._judge_seed(url, FROM_OUTSIDE)
        if refusal is not None:
            into.counts[f"refusal {refusal}"] += 1
            return False
        into.found.setdefault(url, [self._order.priority(url), 0, 0, 0, UrlKind.PAGE])
        if self._has_cash and is_new:
            into.weights.setdefault(url, SEED_CASH)
        return True

    def offer(
        self, into: Unsaved, url: str, distance: int, own: str = "", is_sitemap: bool = False, language: str = ""
    ) -> None:
        """Offer a URL that a sitemap lists, or that is one, or a link. `own` is the prefix of its page."""
        refusal = (self._judge_seed if is_sitemap else self._judge)(url, distance)
        if refusal is not None:
            into.counts[f"refusal {refusal}"] += 1
            return
        if self._is_placed(distance):
            distance = self._scope.place(url, distance)
        is_outside = not url.startswith(own)
        if is_sitemap:
            into.offer(url, SITEMAP_PRIORITY, distance, UrlKind.SITEMAP, is_outside)
        else:
            into.offer(url, self._order.priority(url, language), distance, UrlKind.PAGE, is_outside)

    def _is_placed(self, distance: int) -> bool:
        """Return True if each URL has a distance of its own, because links may lead outside the scope."""
        return self._scope.reaches_outside or hops_of(distance) > 0

    def offer_sitemaps(self, into: Unsaved, host: str, urls: Sequence[str]) -> None:
        """Offer the sitemaps that a host's robots.txt names, if they are within the scope."""
        if self._follow is Follow.NOTHING:
            into.counts[_NOT_FOLLOWED] += len(urls)
            return
        for url in urls:
            self.offer(into, url, FROM_OUTSIDE, f"{host}/", is_sitemap=True)

    def refusal_of_page(self, page: Page, found: Extract, distance: int) -> str | None:
        """Return why the scope does not want a page, by its media type and language; None for any other answer."""
        if not self._scope.judges_pages or not page.is_success or found.format in (PageFormat.SITEMAP, PageFormat.FEED):
            return None
        language = found.document.language if found.format in (PageFormat.HTML, PageFormat.TEXT) else None
        return self._scope.judge_page(page.url, distance, page.address, page.media_type, language)

    def follow_links(self, into: Unsaved, found: Extract, distance: int, cash: int = 0) -> None:
        """Offer the links of a page. A URL found before is counted, and not judged again.

        `cash` is what the page passes on to them, in equal parts.
        """
        self._note_referrer(found)
        if self._follow is not Follow.ALL or self._is_placed(distance):
            self._offer_links(into, found, distance)
        else:
            self._offer_all(into, found, distance)
        if self._has_cash:
            _pass_on(cash, found.links.targets, into)

    def _offer_all(self, into: Unsaved, found: Extract, distance: int) -> None:
        known, counts, own = into.found, into.counts, f"{host_of(found.url)}/"
        judge, priority, language = self._judge, self._order.priority, found.document.language
        for target, rel in zip(found.links.targets, found.links.rels, strict=True):
            if rel and is_nofollow(rel):
                counts["refusal nofollow"] += 1
            elif (entry := known.get(target)) is not None:
                if entry[DEPTH] > distance:
                    entry[DEPTH] = distance
                entry[LINKS] += 1
                if not target.startswith(own):
                    entry[OUTSIDE] += 1
            elif (refusal := judge(target, distance)) is not None:
                counts[f"refusal {refusal}"] += 1
            else:
                outside = int(not target.startswith(own))
                known[target] = [priority(target, language), 1, outside, distance, UrlKind.PAGE]

    def _note_referrer(self, found: Extract) -> None:
        if self._referrers is not None:
            self._referrers.note(found.url, _followed(found))

    def _offer_links(self, into: Unsaved, found: Extract, distance: int) -> None:
        """Offer the links of a page one by one, if only some are followed, or each may have a distance of its own."""
        own = f"{host_of(found.url)}/"
        for link in found.links:
            if is_nofollow(link.rel):
                into.counts["refusal nofollow"] += 1
            elif self._follow is Follow.ALL or link.kind is LinkKind.REDIRECT:
                self.offer(into, link.target, distance, own, language=found.document.language)
            else:
                into.counts[_NOT_FOLLOWED] += 1

    def follow_listed(self, into: Unsaved, found: Extract, distance: int, which: slice = _ALL) -> None:
        """Offer the URLs that a sitemap or feed lists."""
        own, urls = f"{host_of(found.url)}/", found.listed.urls[which]
        if self._follow is Follow.NOTHING:
            into.counts[_NOT_FOLLOWED] += len(urls)
            return
        for url, is_sitemap in zip(urls, found.listed.are_sitemaps[which] or repeat(False), strict=False):
            self.offer(into, url, distance, own, is_sitemap)

    async def judge_listed(self, found: Extract, distance: int) -> Unsaved | None:
        """Judge a long list in slices, so that other callbacks get their turn; None if the list is short."""
        if len(found.listed) <= SLICE_URLS:
            return None
        judged = Unsaved()
        for start in range(0, len(found.listed), SLICE_URLS):
            self.follow_listed(judged, found, distance, slice(start, start + SLICE_URLS))
            await asyncio.sleep(0)
        return judged


def _pass_on(cash: int, targets: Sequence[str], into: Unsaved) -> None:
    """Add to the weight of each URL that was offered its part of the cash, at least 1."""
    part = max(1, cash // max(1, len(targets)))
    for target in targets:
        if target in into.found:
            into.weights[target] = into.weights.get(target, 0) + part


def _followed(found: Extract) -> list[str]:
    links = found.links
    return [target for target, rel in zip(links.targets, links.rels, strict=True) if not (rel and is_nofollow(rel))]


def _with_hooks(judge: UrlJudge, hooks: CrawlHooks) -> UrlJudge:
    """Return a judge that asks the hooks about each URL that the scope admits."""

    def judge_both(url: str, distance: int) -> str | None:
        refusal = judge(url, distance)
        return refusal if refusal is not None or hooks.admits(url) else _HOOK

    return judge_both


def _with_watch(judge: UrlJudge, watch: LinkWatch) -> UrlJudge:
    """Return a judge that asks a watch about each URL that is admitted otherwise."""
    in_trap = watch.refusal_of_link

    def judge_both(url: str, depth: int) -> str | None:
        return judge(url, depth) or in_trap(url)

    return judge_both
