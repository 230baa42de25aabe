"""What a visit says of a page: outcome, change, and what is known of its content from now on.

A first visit says little more than its status. A refresh is compared with what was stored:

| answer                                     | outcome      | change         | content                     |
|--------------------------------------------|--------------|----------------|-----------------------------|
| 304                                        | unchanged    | none           | where it was                |
| 2xx, the same bytes                        | unchanged    | none           | where it was, the head new  |
| 2xx, the same signature                    | unchanged    | none           | new                         |
| 2xx, another signature                     | fetched      | slight or full | new                         |
| 3xx                                        | redirected   | by Location    | new                         |
| 404 the first time, any other error        | failed       | none           | where it was                |
| 404 a day later, 410, failing for a month  | gone         | none           | where it was                |

A page that left the index is `fetched` when it is back, changed or not. So is one whose description, canonical URL or
directives have changed.
"""

import math
from typing import NamedTuple

import xxhash

from tarrafa.agent.outcomes import DOUBTED, NO_FILE, Outcome, outcome_of
from tarrafa.agent.validators import cache_seconds, content_seconds
from tarrafa.extract import Extract
from tarrafa.histories import DAY_SECONDS, Change, Phase, phase_after
from tarrafa.keep import Place, StoredHead, digest_of
from tarrafa.obey import Directives
from tarrafa.records import Headers, Page, header
from tarrafa.urls import fingerprint
from tarrafa.verify import KnownPage

SLIGHT_BITS = 2  # of the similarity: at most so many differ after a slight change
NOT_MODIFIED = 304
# Phases in which the index has the page as it was stored.
_INDEXED = frozenset({Phase.LIVE, Phase.MISSING, Phase.FAILING})
# Names of the fields in the archive.
FACTS = "facts-digest"
_OUTCOME, _STATUS, _CHANGE = "refresh-outcome", "refresh-status", "refresh-change"
_SIGNATURE, _SIMILARITY, _CONTENT_SECONDS = "content-signature", "content-similarity", "content-seconds"
_FILE, _OFFSET, _IS_NEW = "content-file", "content-offset", "new-page"


class PageRefresh(NamedTuple):
    """A page that is asked for again."""

    known: KnownPage
    head: StoredHead | None = None  # of its last content; None if there is none, or it cannot be read
    conditions: Headers = ()  # sent with the request

    @property
    def is_indexed(self) -> bool:
        return self.known.phase in _INDEXED

    @property
    def had_content(self) -> bool:
        """True if the page was counted as one before."""
        return self.known.file != NO_FILE if self.head is None else 200 <= self.head.status < 300


class Landing(NamedTuple):
    """What a visit says of a page."""

    outcome: Outcome
    status: int  # for the repository
    change: Change = Change.NONE
    signature: int = 0  # of the content, also if this visit brought none; 0 for none
    similarity: int = 0
    content_seconds: float = math.nan  # since the content changed, as the host says
    cache_seconds: float = 0.0
    place: Place | None = None  # of the content; None for the record of this visit
    is_refresh: bool = False
    is_new_page: bool = False  # it counts as one more page of the crawl
    is_end: bool = False  # the page leaves the index, without an answer

    def fields(self) -> Headers:
        """Return what cannot be found again from the archive after a kill; nothing for a first visit."""
        if not self.is_refresh:
            return ()
        fields = [
            (_OUTCOME, str(self.outcome)),
            (_STATUS, str(self.status)),
            (_CHANGE, self.change.name.lower()),
            (_SIGNATURE, f"{self.signature:016x}"),
            (_SIMILARITY, f"{self.similarity:016x}"),
        ]
        if not math.isnan(self.content_seconds):
            fields.append((_CONTENT_SECONDS, f"{self.content_seconds:.0f}"))
        if self.place is not None:
            fields += [(_FILE, str(self.place.file)), (_OFFSET, str(self.place.offset))]
        if self.is_new_page:
            fields.append((_IS_NEW, "yes"))
        return tuple(fields)


def landing_of(fields: Headers, page: Page) -> Landing | None:
    """Return the landing of a refresh that the archive has; None for a first visit."""
    outcome = header(fields, _OUTCOME)
    if outcome is None:
        return None
    file, offset = header(fields, _FILE), header(fields, _OFFSET)
    return Landing(
        outcome=Outcome(outcome),
        status=int(header(fields, _STATUS) or page.status),
        change=Change[(header(fields, _CHANGE) or "none").upper()],
        signature=int(header(fields, _SIGNATURE) or "0", 16),
        similarity=int(header(fields, _SIMILARITY) or "0", 16),
        content_seconds=float(header(fields, _CONTENT_SECONDS) or "nan"),
        cache_seconds=cache_seconds(page.headers),
        place=Place(int(file), int(offset)) if file and offset else None,
        is_refresh=True,
        is_new_page=header(fields, _IS_NEW) is not None,
    )


def first_landing(page: Page, found: Extract, body: bytes) -> Landing:
    """Return the landing of a first visit. `body` is that of the page without content coding."""
    return Landing(
        outcome_of(page.status),
        page.status,
        signature=signature_of(page, found, body),
        similarity=found.document.similarity if page.is_success else 0,
        content_seconds=content_seconds(page.headers, page.at),
        cache_seconds=cache_seconds(page.headers),
        is_new_page=page.is_success,
    )


def is_stored(page: Page, refresh: PageRefresh) -> bool:
    """Return True if the answer to a refresh is what the archive has, so that it need not be parsed.

    Headers with directives may have changed alone.
    """
    head = refresh.head
    if head is None or not refresh.is_indexed:
        return False
    if page.status == NOT_MODIFIED:
        return True
    is_whole = head.is_whole and not (page.truncated or page.unread)
    is_same_head = all(_values(page.headers, name) == _values(head.headers, name) for name in _READ_HEADERS)
    is_candidate = page.status == head.status == 200 and is_whole and is_same_head
    return is_candidate and digest_of(page.body) == head.content.digest


# Headers that change what a page with the same bytes says.
_READ_HEADERS = ("content-type", "content-encoding", "x-robots-tag", "link")


def _values(headers: Headers, name: str) -> list[str]:
    return [value for key, value in headers if key.lower() == name]


def stored_landing(page: Page, refresh: PageRefresh) -> Landing:
    """Return the landing of an answer that is what the archive has."""
    known = refresh.known
    return Landing(
        Outcome.UNCHANGED,
        page.status,
        signature=known.signature,
        similarity=known.similarity,
        cache_seconds=cache_seconds(page.headers),
        # The record of a visit with the same bytes has the validators of today, and says where the content is.
        place=Place(known.file, known.offset) if page.status == NOT_MODIFIED else None,
        is_refresh=True,
    )


def read_landing(
    page: Page, found: Extract, body: bytes, facts: str, refresh: PageRefresh, is_trusted: bool
) -> Landing:
    """Return the landing of a refresh that brought a page or a redirect. `facts` is the digest of `facts_digest`."""
    known, first = refresh.known, first_landing(page, found, body)
    change = change_between((known.signature, known.similarity), (first.signature, first.similarity))
    is_same = page.is_success and change is Change.NONE and _has_facts(refresh, facts)
    if not (known.signature or refresh.had_content):
        change = Change.NONE  # this is the first content
    return first._replace(
        outcome=Outcome.UNCHANGED if is_same else first.outcome,
        change=change,
        content_seconds=first.content_seconds if is_trusted else math.nan,
        is_refresh=True,
        is_new_page=page.is_success and not refresh.had_content,
    )


def _has_facts(refresh: PageRefresh, facts: str) -> bool:
    """Return True if the index has the page with these facts."""
    head = refresh.head
    return refresh.is_indexed and refresh.had_content and head is not None and header(head.fields or (), FACTS) == facts


def lost_landing(known: KnownPage, status: int, at: float, is_doubted: bool) -> Landing:
    """Return the landing of a refresh that brought neither page nor redirect: an error, no answer, or a refusal.

    If it is doubted that pages of the host are gone, the page only fails.
    """
    phase = phase_after(known.phase, known.failures, known.visited_seconds, at, status)
    if is_doubted and phase is Phase.GONE and known.phase is not Phase.GONE and status in (404, 410):
        status = DOUBTED
        phase = phase_after(known.phase, known.failures, known.visited_seconds, at, status)
    outcome = outcome_of(status)
    if phase is Phase.GONE:
        outcome = Outcome.GONE
    elif outcome is Outcome.GONE:
        outcome = Outcome.FAILED
    is_refused_again = known.phase is phase is Phase.REFUSED and at - known.visited_seconds >= DAY_SECONDS
    is_end = phase is Phase.GONE or outcome is Outcome.DROPPED or is_refused_again
    return Landing(
        outcome,
        status,
        Change.NONE,
        known.signature,
        known.similarity,
        place=Place(known.file, known.offset),
        is_refresh=True,
        is_end=is_end and known.file != NO_FILE,  # without an answer it was never indexed
    )


def change_between(old: tuple[int, int], new: tuple[int, int]) -> Change:
    """Return how one content differs from another; each is a signature and a similarity."""
    if old[0] == new[0]:
        return Change.NONE
    is_near = bool(old[1] and new[1]) and (old[1] ^ new[1]).bit_count() <= SLIGHT_BITS
    return Change.SLIGHT if is_near else Change.FULL


def signature_of(page: Page, found: Extract, body: bytes) -> int:
    """Return the signature of a text; without text, of the bytes; of a redirect, of its Location; 0 for an error."""
    if page.is_success:
        return found.document.signature or (xxhash.xxh3_64_intdigest(body) if body else 0)
    if 300 <= page.status < 400 and page.status != NOT_MODIFIED:
        return fingerprint(page.header("location") or "")
    return 0


def facts_digest(found: Extract, directives: Directives) -> str:
    """Return 64 bits of what the index takes from a page beside its text."""
    document = found.document
    facts = (document.description, document.canonical_url or "", *map(str, directives))
    return f"{xxhash.xxh3_64_intdigest(chr(0).join(facts).encode('utf-8', 'replace')):016x}"
