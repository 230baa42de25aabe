"""Which of a host's URLs are scheduled, that is chosen to be fetched next, and which remain.

A host has up to a thousand scheduled URLs. When fewer than ten of them are left, a thousand more are chosen in the
order of the policy; a host that is new begins with its shortest paths, which tell most about it. What was chosen
stays so until it is collected.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tarrafa.verify.contract import Quota
from tarrafa.verify.veuniq.block import REMAINING, SCHEDULED, Columns

Rows: TypeAlias = NDArray[np.int64]


def schedule(columns: Columns, quota: Quota, known_hosts: int, url_bytes: NDArray[np.integer]) -> None:
    """Choose URLs for the hosts that have few; hosts from `known_hosts` on are new.

    `url_bytes` are the lengths of the last rows' URLs: all that new hosts have are among them.
    """
    left = np.bincount(columns.host[columns.state == SCHEDULED], minlength=int(columns.host.max(initial=0)) + 1)
    is_low = left < quota.refill_below
    rows = np.flatnonzero((columns.state == REMAINING) & is_low[columns.host])
    keys = columns.priority[rows].astype(np.int64)
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
