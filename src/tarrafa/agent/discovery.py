"""Which of the URLs that pages name are offered to the repository, with what priority, depth and kind."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import repeat

from tarrafa.agent.hooks import CrawlHooks
from tarrafa.agent.referrers import Referrers
from tarrafa.agent.trap_watch import TrapWatch
from tarrafa.agent.unsaved import DEPTH, LINKS, OUTSIDE, Unsaved
from tarrafa.extract import Extract
from tarrafa.obey import is_nofollow
from tarrafa.schedule import SITEMAP_PRIORITY, Order, Scope, UrlKind, WeightKind
from tarrafa.urls import host_of

_ALL = slice(None)
SLICE_URLS = 500  # URLs of a long sitemap that are judged in one turn of the event loop
SEED_CASH = 1 << 20
_HOOK = "hook"  # the refusal of a URL by a hook

# Takes a URL and its depth; returns why it is not visited, or None.
UrlJudge = Callable[[str, int], str | None]


class Discovery:
    def __init__(
        self,
        scope: Scope,
        order: Order,
        hooks: CrawlHooks | None = None,
        watch: TrapWatch | None = None,
        referrers: Referrers | None = None,  # None if budgets do not depend on links
    ) -> None:
        self._referrers = referrers
        self._judge_seed: UrlJudge = scope.judge if hooks is None else _with_hooks(scope.judge, hooks)
        self._judge = self._judge_seed if watch is None else _with_watch(self._judge_seed, watch)
        self._order = order
        self._has_cash = order.weight is WeightKind.CASH

    def offer_seed(self, into: Unsaved, url: str) -> bool:
        """Offer a seed; return False if it is refused. No page links to it, so offering it again changes nothing."""
        refusal = self._judge_seed(url, 0)
        if refusal is not None:
            into.counts[f"refusal {refusal}"] += 1
            return False
        into.found.setdefault(url, [self._order.priority(url), 0, 0, 0, UrlKind.PAGE])
        if self._has_cash:
            into.weights.setdefault(url, SEED_CASH)
        return True

    def offer(self, into: Unsaved, url: str, depth: int, own: str = "", is_sitemap: bool = False) -> None:
        """Offer a URL that a sitemap lists, or that is one. `own` is the prefix of the lister."""
        refusal = (self._judge_seed if is_sitemap else self._judge)(url, depth)
        if refusal is not None:
            into.counts[f"refusal {refusal}"] += 1
            return
        is_outside = not url.startswith(own)
        if is_sitemap:
            into.offer(url, SITEMAP_PRIORITY, depth, UrlKind.SITEMAP, is_outside)
        else:
            into.offer(url, self._order.priority(url), depth, UrlKind.PAGE, is_outside)

    def follow_links(self, into: Unsaved, found: Extract, depth: int, cash: int = 0) -> None:
        """Offer the links of a page. A URL found before is counted, and not judged again.

        `cash` is what the page passes on to them, in equal parts.
        """
        self._note_referrer(found)
        known, counts, own = into.found, into.counts, f"{host_of(found.url)}/"
        judge, priority, language = self._judge, self._order.priority, found.document.language
        for target, rel in zip(found.links.targets, found.links.rels, strict=True):
            if rel and is_nofollow(rel):
                counts["refusal nofollow"] += 1
            elif (entry := known.get(target)) is not None:
                if entry[DEPTH] > depth:
                    entry[DEPTH] = depth
                entry[LINKS] += 1
                if not target.startswith(own):
                    entry[OUTSIDE] += 1
            elif (refusal := judge(target, depth)) is not None:
                counts[f"refusal {refusal}"] += 1
            else:
                outside = int(not target.startswith(own))
                known[target] = [priority(target, language), 1, outside, depth, UrlKind.PAGE]
        if self._has_cash:
            _pass_on(cash, found.links.targets, into)

    def _note_referrer(self, found: Extract) -> None:
        if self._referrers is not None:
            self._referrers.note(found.url, _followed(found))

    def follow_listed(self, into: Unsaved, found: Extract, depth: int, which: slice = _ALL) -> None:
        """Offer the URLs that a sitemap or feed lists."""
        own, urls = f"{host_of(found.url)}/", found.listed.urls[which]
        for url, is_sitemap in zip(urls, found.listed.are_sitemaps[which] or repeat(False), strict=False):
            self.offer(into, url, depth, own, is_sitemap)

    async def judge_listed(self, found: Extract, depth: int) -> Unsaved | None:
        """Judge a long list in slices, so that other callbacks get their turn; None if the list is short."""
        if len(found.listed) <= SLICE_URLS:
            return None
        judged = Unsaved()
        for start in range(0, len(found.listed), SLICE_URLS):
            self.follow_listed(judged, found, depth, slice(start, start + SLICE_URLS))
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

    def judge_both(url: str, depth: int) -> str | None:
        refusal = judge(url, depth)
        return refusal if refusal is not None or hooks.admits(url) else _HOOK

    return judge_both


def _with_watch(judge: UrlJudge, watch: TrapWatch) -> UrlJudge:
    """Return a judge that asks about traps each URL that is admitted otherwise."""
    in_trap = watch.refusal_of_link

    def judge_both(url: str, depth: int) -> str | None:
        return judge(url, depth) or in_trap(url)

    return judge_both
