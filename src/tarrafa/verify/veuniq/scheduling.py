"""Which of a host's URLs are scheduled, that is chosen to be fetched next, and which remain.

A host has up to a thousand scheduled URLs. When fewer than ten of them are left, a thousand more are chosen in the
order of the policy; a host that is new begins with its shortest paths, which tell most about it. What was chosen
stays so until it is collected.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tarrafa.verify.veuniq.block import REMAINING, SCHEDULED, Columns

Rows: TypeAlias = NDArray[np.int64]
# A policy: a number for each of these rows, the lower the earlier.
Order: TypeAlias = Callable[[Columns, Rows], NDArray[np.integer]]


def by_priority(columns: Columns, rows: Rows) -> NDArray[np.integer]:
    """As the hints say that came with the URLs."""
    return columns.priority[rows]


class Quota(NamedTuple):
    """How many URLs of a host are scheduled at a time, and below how many the next are chosen."""

    scheduled: int = 1_000
    refill_below: int = 10
    order: Order = by_priority


def schedule(columns: Columns, quota: Quota, known_hosts: int, url_bytes: NDArray[np.integer]) -> None:
    """Choose URLs for the hosts that have few; hosts from `known_hosts` on are new.

    `url_bytes` are the lengths of the last rows' URLs: all that new hosts have are among them.
    """
    left = np.bincount(columns.host[columns.state == SCHEDULED], minlength=int(columns.host.max(initial=0)) + 1)
    is_low = left < quota.refill_below
    rows = np.flatnonzero((columns.state == REMAINING) & is_low[columns.host])
    keys = quota.order(columns, rows).astype(np.int64)
    new = np.flatnonzero(columns.host[rows] >= known_hosts)
    keys[new] = url_bytes[rows[new] - (len(columns.host) - len(url_bytes))]
    columns.state[ordered(columns, rows, keys, quota.scheduled)] = SCHEDULED


def ordered(columns: Columns, rows: Rows, keys: NDArray[np.integer], per_host: int) -> Rows:
    """Host by host the rows with the lowest keys, up to `per_host` of each; the earliest first among equals."""
    rows = rows[np.lexsort((keys, columns.host[rows]))]
    edges = edges_of_hosts(columns, rows)
    return rows[np.arange(len(rows)) - np.repeat(edges[:-1], np.diff(edges)) < per_host]


def edges_of_hosts(columns: Columns, rows: Rows) -> Rows:
    """Where each host begins among rows that are ordered by host, and where the last ends."""
    hosts = columns.host[rows]
    return np.flatnonzero(np.concatenate(([len(hosts) > 0], hosts[1:] != hosts[:-1], [True])))
