"""What is known of each collected URL over its visits: when it was visited, how often it changed, what it is now.

In: visits to collected URLs, as columns. Out: histories as columns, 33 bytes a URL. The repository stores them beside
its rows and folds the visits of each batch into them; refresh policies read them.

    columns   the record, its phases and codes
    belief    how often a page changes, as a Gamma distribution
    fold      what a visit changes in a history

Not done here: which pages are visited again (`refresh`), and where histories are stored (`verify`).
"""

from tarrafa.histories.belief import FIRST_RATE, Belief, host_means, host_rates, joined, prior
from tarrafa.histories.columns import (
    DAY_SECONDS,
    HISTORY_BYTES,
    HISTORY_TYPES,
    Change,
    Histories,
    PageHistory,
    Phase,
    importance_codes,
    importance_of,
    interval_days,
    new_histories,
    taken,
)
from tarrafa.histories.fold import DROPPED_STATUS, REFUSED_STATUS, VisitNews, fold, phase_after

__all__ = [
    "DAY_SECONDS",
    "DROPPED_STATUS",
    "FIRST_RATE",
    "HISTORY_BYTES",
    "HISTORY_TYPES",
    "REFUSED_STATUS",
    "Belief",
    "Change",
    "Histories",
    "PageHistory",
    "Phase",
    "VisitNews",
    "fold",
    "host_means",
    "host_rates",
    "importance_codes",
    "importance_of",
    "interval_days",
    "joined",
    "new_histories",
    "phase_after",
    "prior",
    "taken",
]
