"""Which found URLs need not be sent, because their owner has them: a filter of bounded size, by fingerprint.

Pages repeat the links of their templates. A URL that was sent is sent again only when it is worth it: when its priority
or depth has become better, when it carries weight, or when the links to it that were held back are as many as all that
were sent. So the owner knows the number of links to within a factor of two, for the logarithm of as many messages.

The filter forgets the oldest of two URLs that share a place. A URL that was forgotten is sent once more; no URL is ever
held back that was not sent. It lives in memory: what was not stored by a checkpoint is lost together with the filter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]
I64 = NDArray[np.int64]
_FULL = np.iinfo(np.uint16).max
_SENT = np.dtype(
    [
        ("fingerprint", np.uint64),
        ("links", np.uint32),  # sent
        ("held", np.uint32),  # links that were not sent yet
        ("held_outside", np.uint32),
        ("priority", np.uint16),
        ("depth", np.uint16),
    ]
)


class FoundRows(NamedTuple):
    """Found URLs that belong to others: one entry for each URL."""

    fingerprints: U64
    priority: U16
    depth: U32
    links: U16
    outside: U16
    weight: U32


class SendRows(NamedTuple):
    """Which rows are sent, and their links: those of the row and those that were held back."""

    rows: I64
    links: U16
    outside: U16


class SentFilter:
    """Used by one thread. A place takes 24 bytes."""

    def __init__(self, places_count: int = 1 << 20) -> None:
        self._places = np.zeros(places_count, _SENT)

    def pick(self, found: FoundRows) -> SendRows:
        """Return the rows to send, and note that they are sent."""
        at = (found.fingerprints % np.uint64(len(self._places))).astype(np.int64)
        links, outside = found.links.astype(np.uint32), found.outside.astype(np.uint32)
        is_known = self._places["fingerprint"][at] == found.fingerprints
        is_sent = ~is_known
        known = np.flatnonzero(is_known)
        if len(known):
            is_sent[known] = self._judge(at[known], known, found, links, outside)
        sent = np.flatnonzero(is_sent)
        self._note(at, np.flatnonzero(~is_known), found, links)
        return SendRows(sent, *(np.minimum(each[sent], _FULL).astype(np.uint16) for each in (links, outside)))

    def forget(self) -> None:
        """Forget everything, because an owner was lost."""
        self._places[:] = 0

    def _judge(self, at: I64, known: I64, found: FoundRows, links: U32, outside: U32) -> NDArray[np.bool_]:
        """Hold back known URLs or return True for them; `links` and `outside` then get what was held back."""
        np.add.at(self._places["held"], at, links[known])
        np.add.at(self._places["held_outside"], at, outside[known])
        places = self._places[at]
        depth = np.minimum(found.depth[known], _FULL)
        is_better = (found.priority[known] < places["priority"]) | (depth < places["depth"])
        is_due = is_better | (places["held"] >= places["links"]) | (found.weight[known] > 0)
        due, rows = at[is_due], known[is_due]
        links[rows], outside[rows] = places["held"][is_due], places["held_outside"][is_due]
        self._places["links"][due] += links[rows]
        np.minimum.at(self._places["priority"], due, found.priority[rows])
        np.minimum.at(self._places["depth"], due, depth[is_due].astype(np.uint16))
        self._places["held"][due] = self._places["held_outside"][due] = 0
        return is_due

    def _note(self, at: I64, rows: I64, found: FoundRows, links: U32) -> None:
        """Store URLs that were not known. Of several at one place the last stays."""
        places = self._places
        for name, values in (("fingerprint", found.fingerprints), ("links", links), ("priority", found.priority)):
            places[name][at[rows]] = values[rows]
        places["depth"][at[rows]] = np.minimum(found.depth[rows], _FULL)
        places["held"][at[rows]] = places["held_outside"][at[rows]] = 0
