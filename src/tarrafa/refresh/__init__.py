"""Which collected pages are visited again, and when.

In: the histories of collected pages, the time, and how many visits there are room for. Out: the pages to visit, the
best first. Pure: it does no I/O and reads no clock.

    policies   what a visit to each page is worth; one small class for each policy
    price      the value above which the bandwidth is filled, from counts of values
    looks      a look at the pages of a block

Not done here: storing histories (`verify`), and politeness: a refresh takes a turn of its host like every visit.
"""

from tarrafa.refresh.looks import Look, LookSettings, LookTime, look, values_at
from tarrafa.refresh.policies import (
    POLICIES,
    ByImportance,
    LowestAge,
    Never,
    Optimal,
    PageStates,
    Proportional,
    RefreshPolicy,
    Uniform,
    page_states,
    proportional_rate,
    stale_value,
)
from tarrafa.refresh.price import BINS, Price, counts_of_values, price_of, worth_visiting

__all__ = [
    "BINS",
    "POLICIES",
    "ByImportance",
    "Look",
    "LookSettings",
    "LookTime",
    "LowestAge",
    "Never",
    "Optimal",
    "PageStates",
    "Price",
    "Proportional",
    "RefreshPolicy",
    "Uniform",
    "counts_of_values",
    "look",
    "page_states",
    "price_of",
    "proportional_rate",
    "stale_value",
    "values_at",
    "worth_visiting",
]
