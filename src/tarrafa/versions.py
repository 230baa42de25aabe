"""Which of the visits of a URL says what the page is now?

Each visit that is stored is a row of documents with an outcome. Among the rows of one URL, in the order of writing,

1. a row is a *version* if it is `fetched`: it has content that the visits before it did not have;
2. a row *ends* the page if it is gone, redirected, refused or dropped: there is no page from then on;
3. a row is a *mere visit* if it is unchanged, failed or walled: the row before it still holds.

The *current row* is the last one that is not a mere visit; the last one of all if a URL has only mere visits. A page
that is fetched after it ended begins a new version.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

VERSION = "fetched"
UNCHANGED = "unchanged"
MERE_VISITS = (UNCHANGED, "failed", "walled")

Mask = NDArray[np.bool_]


def is_mere_visit(outcome: str) -> bool:
    """Return True if a row with this outcome leaves the row before it as it was."""
    return outcome in MERE_VISITS


def is_ending(outcome: str) -> bool:
    """Return True if a row with this outcome ends the page."""
    return outcome != VERSION and outcome not in MERE_VISITS


def are_mere_visits(outcomes: Any) -> Mask:
    """Return the same for a column of outcomes."""
    return _is_in(outcomes, MERE_VISITS)


def are_versions(outcomes: Any) -> Mask:
    """Return True for the rows of a column of outcomes that have content of their own."""
    return _is_in(outcomes, (VERSION,))


def _is_in(outcomes: Any, wanted: tuple[str, ...]) -> Mask:
    found: Mask = pc.is_in(outcomes, pa.array(wanted)).to_numpy(zero_copy_only=False)
    return found
