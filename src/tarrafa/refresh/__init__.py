"""Which collected pages are visited again, and when.

In: the histories of collected pages, the time, and how many visits there are room for. Out: the pages to visit, the
best first. Pure: it does no I/O and reads no clock.

    policies   what a visit to each page is worth; one small class for each policy
    price      the value above which the bandwidth is filled, from counts of values
    hints      what sitemaps and feeds say of pages that have changed
    page_limit which pages leave a collection that is full
    looks      a look at the pages of a block
    rounds     when blocks are looked at, and how many visits a round may choose
    estimates  how fresh the collection is believed to be
    hindsight  how fresh it was over time, by what its visits found

Not done here: storing histories (`verify`), and politeness: a refresh takes a turn of its host like every visit.
"""

from tarrafa.refresh.estimates import WRONG_DAYS, FreshnessSums, expected_ages, fresh_shares, freshness_by_host
from tarrafa.refresh.hindsight import (
    CHANGED,
    ENDED,
    UNCHANGED,
    PastFreshness,
    PastVisits,
    VisitSample,
    freshness_at,
    ordered_visits,
)
from tarrafa.refresh.hints import HINTS_LIMIT, NO_HINTS, Hints, RefreshHints, hint_weights
from tarrafa.refresh.looks import Look, LookSettings, LookTime, look, values_at
from tarrafa.refresh.page_limit import PageLimit
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
from tarrafa.refresh.rounds import Load, Rounds, RoundSettings

__all__ = [
    "BINS",
    "CHANGED",
    "ENDED",
    "HINTS_LIMIT",
    "NO_HINTS",
    "POLICIES",
    "UNCHANGED",
    "WRONG_DAYS",
    "ByImportance",
    "FreshnessSums",
    "Hints",
    "Load",
    "Look",
    "LookSettings",
    "LookTime",
    "LowestAge",
    "Never",
    "Optimal",
    "PageLimit",
    "PageStates",
    "PastFreshness",
    "PastVisits",
    "Price",
    "Proportional",
    "RefreshHints",
    "RefreshPolicy",
    "RoundSettings",
    "Rounds",
    "Uniform",
    "VisitSample",
    "counts_of_values",
    "expected_ages",
    "fresh_shares",
    "freshness_at",
    "freshness_by_host",
    "hint_weights",
    "look",
    "ordered_visits",
    "page_states",
    "price_of",
    "proportional_rate",
    "stale_value",
    "values_at",
    "worth_visiting",
]
