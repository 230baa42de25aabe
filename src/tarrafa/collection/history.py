"""The history of one URL: its visits, which of them found other content, and which are versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tarrafa.keep import Place
from tarrafa.keep.catalogue import VisitRow
from tarrafa.versions import UNCHANGED, VERSION, is_mere_visit


@dataclass(frozen=True, slots=True)
class PastVisit:
    """`is_changed` compares the content with that of the previous visit; None if there is nothing to compare with."""

    at: float  # seconds since the Unix epoch
    outcome: str
    status: int
    size_bytes: int
    signature: int  # of the content; 0 for none
    place: Place | None  # in the archive
    has_content: bool
    is_changed: bool | None
    is_current: bool  # True for the visit that says what the page is now

    @property
    def fetched_at(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    @property
    def is_version(self) -> bool:
        return self.outcome == VERSION

    @property
    def has_copy(self) -> bool:
        """Return True if it is a version whose stored copy can be read."""
        return self.is_version and self.place is not None


def history_of(rows: Sequence[VisitRow]) -> list[PastVisit]:
    """Return the visits of a URL, newest first; `rows` are its newest ones, oldest first."""
    visits: list[PastVisit] = []
    before = 0
    current = next((row for row in reversed(rows) if not is_mere_visit(row.outcome)), None)
    for row in rows:
        is_same = row.outcome == UNCHANGED
        # The text of an error page is not that of the page.
        own = row.signature if row.outcome == VERSION else 0
        is_other = own != before if own and before else None
        visits.append(
            PastVisit(
                at=row.fetched_at,
                outcome=row.outcome,
                status=row.status,
                size_bytes=row.size_bytes,
                signature=row.signature,
                place=_place_of(row),
                has_content=bool(own) or is_same,
                is_changed=False if is_same else is_other,
                is_current=row is current,
            )
        )
        before = own or before
    return visits[::-1]


def _place_of(row: VisitRow) -> Place | None:
    if row.archive_file is None or row.archive_offset is None:
        return None
    return Place(row.archive_file, row.archive_offset)
