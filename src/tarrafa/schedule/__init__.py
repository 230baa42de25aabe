"""Whose turn is it?

In: seeds as a user writes them, URLs that were found, what became of visits, and the time. Out: which URLs may be
visited, in which order, and at each moment the visits that may begin. Nothing is done here: no clock is read, nothing
waits, nobody is asked; so politeness is proved by plain tests and runs at any speed. The life of a host:

1. `seeds` and `scope` say which URLs may be visited; `order` says which of a host's URLs come first.
2. The host is given to the `Workbench` with up to 10 URLs; the others stay where they are kept. `resolve_next` asks for
   its addresses, and the visits to one address stand in one queue.
3. `next` gives a visit when host and address have both rested; `ended` takes what came of it. From then the delay
   counts: what the policy in `delays` says, or what the host asks for when that is longer.
4. When it runs low, `hungry` names it, and it is given more URLs, or leaves. It is remembered until its delay is over.
5. When it fails, it waits longer each time, is set aside, and in the end given up: `patience` says when.

Not done here: robots.txt (whoever reads it calls `describe` with its Crawl-delay and asks for it by `add_first`),
resolving names, fetching, keeping URLs on disk, telling one URL from another.
"""

from tarrafa.schedule.delays import (
    WAIT_MAX_SECONDS,
    ConstantDelay,
    DelayPolicy,
    Delays,
    DensityDelay,
    TenTimesDelay,
    Traits,
)
from tarrafa.schedule.order import DEPTH_MAX, SITEMAP_HINT, Fifo, Level, Order, depth_of, hint_of, nearer
from tarrafa.schedule.patience import BUSY_STATUSES, Patience, Reason
from tarrafa.schedule.scope import Bounds, Refusal, Scope, rule_of
from tarrafa.schedule.seeds import BadSeed, Seeds, join_seeds, read_seeds
from tarrafa.schedule.visits import NO_PAST, Answer, Counts, Ended, Fate, GivenUp, Past, Rest, SetAside, Visit
from tarrafa.schedule.workbench import Workbench

__all__ = [
    "BUSY_STATUSES",
    "DEPTH_MAX",
    "NO_PAST",
    "SITEMAP_HINT",
    "WAIT_MAX_SECONDS",
    "Answer",
    "BadSeed",
    "Bounds",
    "ConstantDelay",
    "Counts",
    "DelayPolicy",
    "Delays",
    "DensityDelay",
    "Ended",
    "Fate",
    "Fifo",
    "GivenUp",
    "Level",
    "Order",
    "Past",
    "Patience",
    "Reason",
    "Refusal",
    "Rest",
    "Scope",
    "Seeds",
    "SetAside",
    "TenTimesDelay",
    "Traits",
    "Visit",
    "Workbench",
    "depth_of",
    "hint_of",
    "join_seeds",
    "nearer",
    "read_seeds",
    "rule_of",
]
