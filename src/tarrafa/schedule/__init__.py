"""Which visit may begin now.

In: seeds as a user writes them, URLs that were found, results of visits, and the time. Out: which URLs may be visited,
in which order, and the visits that may begin now. This room does no I/O and reads no clock, so politeness is proved by
plain tests and simulated at any speed. The life of a host:

1. `seeds`, `scope` and `scope_rules` say which URLs may be visited, `distance` how far they are from the seeds; `order`
   says which of a host's URLs come first, and which hosts.
2. The host waits in the `HostQueue`. It enters the `Workbench` with up to 10 URLs; the caller keeps the others.
   `next_unresolved` asks for its addresses; `LookupQueue` orders the lookups by turns of sites. Visits to one address
   share a queue, and hosts of one site take turns if sites rest.
3. `next` returns a visit when the delays of host and address have passed; `ended` takes its result. The next delay
   counts from then: the policy of `delays`, or what the host asks for if that is longer.
4. When the host runs low, `needs_urls` names it. The caller adds more URLs or removes it. A removed host is remembered
   until its delay has passed.
5. `yields` counts what each pattern of a host's URLs brings, and slows and refuses patterns that bring nothing new;
   `url_patterns` makes the patterns, `contents` tells what is new.
6. `mirrors` compares hosts of one site or address, and tells which of them say the same, and which names bring copies.
7. A host that fails backs off, is suspended, and is given up in the end: see `retry_policy`.

Not done here: robots.txt (the caller sets Crawl-delay by `update_crawl_delay` and queues robots.txt by `add_first`),
resolving names, fetching, storing URLs, detecting duplicates.
"""

from tarrafa.schedule.contents import PageText, SeenContents
from tarrafa.schedule.delays import (
    WAIT_MAX_SECONDS,
    ConstantDelay,
    DeadlineDelay,
    DelayPolicy,
    Delays,
    DensityDelay,
    HostTraits,
    TenTimesDelay,
)
from tarrafa.schedule.distance import FROM_OUTSIDE, depth_of, distance_of, hops_of, one_link_further
from tarrafa.schedule.host_queue import LONGEST_SHARE, HostQueue
from tarrafa.schedule.hosts import QUEUED_URLS_LIMIT
from tarrafa.schedule.lookup_queue import LOOKUPS_LIMIT, LookupQueue
from tarrafa.schedule.messages import (
    NO_HISTORY,
    BackOff,
    Fate,
    FollowUp,
    HostGivenUp,
    HostHistory,
    HostSuspended,
    Visit,
    VisitResult,
    WorkbenchCounts,
)
from tarrafa.schedule.mirrors import Mirror, Mirrors, SlowedNames
from tarrafa.schedule.order import (
    SITEMAP_PRIORITY,
    Backlinks,
    BestHosts,
    FastestHost,
    Fifo,
    HeaviestFirst,
    LargestHost,
    Level,
    Lifo,
    Order,
    QueuedHost,
    RandomOrder,
    UrlFacts,
    UrlKind,
    WeightKind,
)
from tarrafa.schedule.order_mix import Mix, MixSettings, read_modifiers, read_weights
from tarrafa.schedule.outage import OutageBreaker
from tarrafa.schedule.own_order import OwnOrder
from tarrafa.schedule.pattern_yield import Fruit
from tarrafa.schedule.retry_policy import BUSY_STATUSES, HostFailure, RetryPolicy
from tarrafa.schedule.scope import Refusal, Scope, ScopeRules, UrlBounds, rule_of
from tarrafa.schedule.scope_rules import CompiledRule, ScopeVerdict, compile_rules, needs_address
from tarrafa.schedule.seeds import BadSeed, Seeds, join_seeds, read_seed, read_seeds
from tarrafa.schedule.workbench import Workbench
from tarrafa.schedule.yields import HostYields, SlowedPattern

__all__ = [
    "BUSY_STATUSES",
    "FROM_OUTSIDE",
    "LONGEST_SHARE",
    "LOOKUPS_LIMIT",
    "NO_HISTORY",
    "QUEUED_URLS_LIMIT",
    "SITEMAP_PRIORITY",
    "WAIT_MAX_SECONDS",
    "BackOff",
    "Backlinks",
    "BadSeed",
    "BestHosts",
    "CompiledRule",
    "ConstantDelay",
    "DeadlineDelay",
    "DelayPolicy",
    "Delays",
    "DensityDelay",
    "FastestHost",
    "Fate",
    "Fifo",
    "FollowUp",
    "Fruit",
    "HeaviestFirst",
    "HostFailure",
    "HostGivenUp",
    "HostHistory",
    "HostQueue",
    "HostSuspended",
    "HostTraits",
    "HostYields",
    "LargestHost",
    "Level",
    "Lifo",
    "LookupQueue",
    "Mirror",
    "Mirrors",
    "Mix",
    "MixSettings",
    "Order",
    "OutageBreaker",
    "OwnOrder",
    "PageText",
    "QueuedHost",
    "RandomOrder",
    "Refusal",
    "RetryPolicy",
    "Scope",
    "ScopeRules",
    "ScopeVerdict",
    "Seeds",
    "SeenContents",
    "SlowedNames",
    "SlowedPattern",
    "TenTimesDelay",
    "UrlBounds",
    "UrlFacts",
    "UrlKind",
    "Visit",
    "VisitResult",
    "WeightKind",
    "Workbench",
    "WorkbenchCounts",
    "compile_rules",
    "depth_of",
    "distance_of",
    "hops_of",
    "join_seeds",
    "needs_address",
    "one_link_further",
    "read_modifiers",
    "read_seed",
    "read_seeds",
    "read_weights",
    "rule_of",
]
