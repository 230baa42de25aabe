"""Which of these URLs are fresh?

In: batches of collected URLs with what is known of their pages (the papers' L and M), and of extracted URLs (E).
Out: the fresh ones, and a repository that knows every URL that was ever offered, across restarts and kills.

    contract           the guarantees, the records, and the protocols `UniquenessEngine` and `Repository`
    veuniq             the engine of production: its cost stays flat as the repository grows
    memory_repository  its twin in memory, for tests and simulations
    keys               hashes of hosts and URLs, by column

Life of a URL here: it is offered in a batch, waits on disk until a cycle verifies its block, is found fresh and
admitted, is scheduled when its host runs low, and comes back as collected.

Not done here: deciding which URLs are worth offering, and the order in which hosts are visited. The engines that the
papers compare are in `lab/engines`.
"""

from tarrafa.verify.contract import (
    Batch,
    BlockHistories,
    Collected,
    Cycle,
    Division,
    Expansion,
    Extracted,
    HostCollision,
    HostUrls,
    Known,
    KnownPage,
    Quota,
    Repository,
    RepositoryCounts,
    Scheduled,
    UniquenessEngine,
    UrlColumns,
    UrlOrder,
    UrlPlace,
    UrlState,
    Weigh,
    by_priority,
    drain,
)
from tarrafa.verify.memory_repository import MemoryRepository
from tarrafa.verify.page_histories import positions_of
from tarrafa.verify.veuniq import (
    RepositoryBounds,
    Veuniq,
    block_histories,
    counts_of,
    histories_beside,
    host_urls,
    hosts_left,
    is_repository,
    is_waiting,
    known_urls,
    locate,
    look_up,
    problems_of,
)

__all__ = [
    "Batch",
    "BlockHistories",
    "Collected",
    "Cycle",
    "Division",
    "Expansion",
    "Extracted",
    "HostCollision",
    "HostUrls",
    "Known",
    "KnownPage",
    "MemoryRepository",
    "Quota",
    "Repository",
    "RepositoryBounds",
    "RepositoryCounts",
    "Scheduled",
    "UniquenessEngine",
    "UrlColumns",
    "UrlOrder",
    "UrlPlace",
    "UrlState",
    "Veuniq",
    "Weigh",
    "block_histories",
    "by_priority",
    "counts_of",
    "drain",
    "histories_beside",
    "host_urls",
    "hosts_left",
    "is_repository",
    "is_waiting",
    "known_urls",
    "locate",
    "look_up",
    "positions_of",
    "problems_of",
]
