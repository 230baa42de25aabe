"""Which of these URLs are fresh?

In: batches of collected URLs with what is known of their pages (the papers' L and M), and of extracted URLs (E).
Out: the fresh ones, and a repository that knows every URL that was ever offered, across restarts and kills.
`contract` says what every engine promises; `veuniq` is the one that production uses, whose cost stays flat as the
repository grows; `engines` holds the others that the papers compare, behind the same contract.

Life of a URL here: it is offered in a batch, waits on disk if its block is not the one whose turn it is, is found
fresh and admitted, is read by the schedule, and comes back as collected.

Not done here: deciding which URLs are worth offering, and the order in which they are fetched.
"""

from tarrafa.verify.contract import Batch, Collected, Counts, Cycle, Extracted, Known, Repository, drain
from tarrafa.verify.veuniq import Bounds, Quota, Scheduled, Veuniq, counts_of, look_up

__all__ = [
    "Batch",
    "Bounds",
    "Collected",
    "Counts",
    "Cycle",
    "Extracted",
    "Known",
    "Quota",
    "Repository",
    "Scheduled",
    "Veuniq",
    "counts_of",
    "drain",
    "look_up",
]
