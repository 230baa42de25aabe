"""The contents that an archive has kept lately: which body is there already, and where.

It is for saving room, so it may forget: what is not remembered is kept in full once more. It begins empty with each
start, and has a bound; what was met least lately goes first.

Two bodies of one SHA-1 can be made on purpose. Whoever does that has one of his own two pages kept for the other.
"""

from collections import OrderedDict

from tarrafa.keep.places import Place
from tarrafa.keep.warc import NOT_MODIFIED, Original
from tarrafa.records import Page

# Contents: 10 MB, if their URLs have 70 characters; 49 MB, if all have 2,000.
CONTENTS_LIMIT = 20_000
# The records of a page take 1.6 kB without its body. A smaller body adds a few hundred bytes when it is compressed, and
# for these nobody should have to look at two places.
LEAST_BYTES = 1_000


class Contents:
    def __init__(self, limit: int = CONTENTS_LIMIT) -> None:
        self._limit = limit
        # By digest, those that were met last at the end. Filled by add, emptied by add when there are too many.
        self._originals: OrderedDict[str, Original] = OrderedDict()

    def find(self, page: Page, digest: str) -> Original | None:
        """Where the same body was kept in full."""
        original = self._originals.get(digest)
        if original is None or not _is_whole(page):
            return None
        self._originals.move_to_end(digest)
        return original

    def add(self, page: Page, digest: str, place: Place) -> None:
        """A page that was kept in full."""
        if len(page.body) < LEAST_BYTES or not _is_whole(page):
            return
        self._originals[digest] = Original(place, page.url, page.at, digest)
        if len(self._originals) > self._limit:
            self._originals.popitem(last=False)


def _is_whole(page: Page) -> bool:
    """A body that was cut stands for none but itself; the answer 304 has the body of another."""
    return not (page.truncated or page.unread or page.status == NOT_MODIFIED)
