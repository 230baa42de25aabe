"""Hooks: functions of a user that see each page and each found URL of a crawl, and may change what becomes of it.

They run on the event loop, after a page was extracted and before its document and links are collected. Pages that are
read back from the archive after a kill take the same way. A crawl without hooks has no such object.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from tarrafa.agent.page_reader import DecodedPage, ParsedPage
from tarrafa.keep import FieldValue

_NO_FIELDS: Mapping[str, FieldValue] = MappingProxyType({})


class HookedPage(NamedTuple):
    """A page as the hooks left it."""

    parsed: ParsedPage
    fields: Mapping[str, FieldValue] = _NO_FIELDS
    is_dropped: bool = False  # it gets no document, and does not count as a page


class CrawlHooks(Protocol):
    """What a crawl asks of hooks. An error of a hook is counted here; it is raised only if the user wants that."""

    def admits(self, url: str) -> bool:
        """Return False if the URL is not to be visited."""
        ...

    def change(self, decoded: DecodedPage, parsed: ParsedPage, depth: int) -> HookedPage:
        """Return what the hooks make of a page."""
        ...

    def take_counts(self) -> Mapping[str, int]:
        """Return what was counted since the last call, for the totals of the crawl."""
        ...

    async def caught_up(self) -> None:
        """Return when one more page may be stored: a consumer of pages may be slower than the crawl.

        The visit of the page goes on until then, so visits begin no faster than pages are consumed.
        """
        ...
