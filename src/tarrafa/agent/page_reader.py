"""From a page as it was received to what it says: undo the content coding, then parse.

Ordinary pages are parsed on the event loop, in micro-batches. Pages that are expensive to parse go to another process.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from tarrafa.agent.extract_pool import ExtractPool
from tarrafa.extract import LARGE_BYTES, Extract, ExtractOptions, extract_all, is_expensive
from tarrafa.fetch import decode
from tarrafa.records import Page


class DecodedPage(NamedTuple):
    """A page, and its body without content coding."""

    page: Page
    body: bytes  # to be parsed: empty if the coding is unknown
    size_bytes: int
    truncated: bool

    @property
    def is_expensive(self) -> bool:
        return is_expensive(self.body)


class ParsedPage(NamedTuple):
    page: Page
    extract: Extract
    size_bytes: int  # without content coding
    truncated: bool


class PageReader:
    def __init__(self, options: ExtractOptions, body_limit_bytes: int) -> None:
        self.options = options
        self._body_limit_bytes = body_limit_bytes
        self._pool = ExtractPool(options)

    async def decode(self, page: Page) -> DecodedPage:
        """Undo the content coding: at once, or in a thread if the body turns out to be large or damaged."""
        decoded = decode(page, min(LARGE_BYTES, self._body_limit_bytes))
        # Between two codings a body may have been larger than in the end.
        if decoded.truncated and (len(decoded.body) >= LARGE_BYTES or not page.truncated):
            decoded = await asyncio.to_thread(decode, page, self._body_limit_bytes)
        body, truncated, is_unknown = decoded
        return DecodedPage(page, b"" if is_unknown else body, len(body), truncated)

    def parse(self, decoded: Sequence[DecodedPage]) -> list[ParsedPage]:
        """Parse ordinary pages, on the calling thread."""
        extracts = extract_all([each[:2] for each in decoded], self.options)
        return [_parsed(each, found) for each, found in zip(decoded, extracts, strict=True)]

    async def parse_apart(self, decoded: DecodedPage) -> ParsedPage:
        """Parse an expensive page in the other process."""
        return _parsed(decoded, await self._pool.extract(decoded.page, decoded.body))

    def close(self) -> None:
        self._pool.close()


def _parsed(decoded: DecodedPage, found: Extract) -> ParsedPage:
    return ParsedPage(decoded.page, found, decoded.size_bytes, decoded.truncated)
