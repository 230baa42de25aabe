"""The URLs of a site, as a crawl finds them: what sitemaps list first, then the links of pages.

It runs as the hooks of a crawl, which keeps all of its politeness.
"""

from collections.abc import Callable, Mapping

from tarrafa.agent import DecodedPage, HookedPage, ParsedPage
from tarrafa.schedule import FROM_OUTSIDE, Scope


class UrlLister:
    """Passes on each URL within the scope once, up to a limit; then it calls `full`."""

    def __init__(self, scope: Scope, limit: int, found: Callable[[str], None], full: Callable[[], None]) -> None:
        self._scope = scope
        self._limit = limit
        self._found = found
        self._full = full
        self._known: set[str] = set()  # at most `limit`
        self._sitemaps: set[str] = set()  # at most as many as pages are fetched times a sitemap index

    @property
    def is_full(self) -> bool:
        return len(self._known) >= self._limit

    def admits(self, url: str) -> bool:  # noqa: ARG002 - the contract's
        return not self.is_full

    def change(self, decoded: DecodedPage, parsed: ParsedPage, depth: int) -> HookedPage:  # noqa: ARG002
        """Pass on what an answer names. The page is not kept."""
        extract = parsed.extract
        if not extract.listed and parsed.page.url not in self._sitemaps:
            self._pass_on(parsed.page.url)
        for each in extract.listed:
            if each.is_sitemap:
                self._sitemaps.add(each.url)
            else:
                self._pass_on(each.url)
        for target in extract.links.targets:
            self._pass_on(target)
        return HookedPage(parsed)

    def _pass_on(self, url: str) -> None:
        if url in self._known or self.is_full or self._scope.judge(url, FROM_OUTSIDE) is not None:
            return
        self._known.add(url)
        self._found(url)
        if self.is_full:
            self._full()

    def take_counts(self) -> Mapping[str, int]:
        return {}

    async def caught_up(self) -> None:
        """Do nothing: URLs are passed on at once."""
