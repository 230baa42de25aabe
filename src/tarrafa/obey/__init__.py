"""What does the host allow?

In: what became of a host's robots.txt, and the headers and meta elements of a page. Out: whether a URL may be visited
and, if not, the reason that is stored with it; what a page wants to be done with it. The life of a host's permission:

1. `permission.first_request` says what to fetch; the caller fetches, as politely as any page, and undoes the coding.
2. `permission.settle` says what follows from what came: one more fetch, for a redirect, or an answer with its end.
3. The caller stores the answer, body and all; `permission_of` gives the permission that follows from it.
4. `robots` reads the body: the groups that concern us, Allow and Disallow, Crawl-delay, sitemaps, usage lines.
   `patterns` compares paths with its lines.
5. `Permission.refusal` judges each URL, until `Permission.is_due`; then it begins again with 1.

What a page says about itself is read by `directives`; what authors say about the use of pages, there and in robots.txt,
is kept verbatim and understood by `usage`.

Everything is pure: the time is passed in. Not done here: fetching, waiting for a host's turn, putting
Crawl-delay into effect, reading sitemaps, finding meta elements in a page, leaving out of the index what says noindex.
"""

from tarrafa.obey.directives import NO_DIRECTIVES, Directives, is_nofollow, read_directives
from tarrafa.obey.permission import (
    LONG_BYTES,
    Basis,
    Permission,
    Refusal,
    RobotsAnswer,
    RobotsRequest,
    first_request,
    permission_of,
    read_ahead,
    retry_after_seconds,
    settle,
)
from tarrafa.obey.robots import EVERYTHING_ALLOWED, ROBOTS_MAX_BYTES, Rules, product_token, read_robots
from tarrafa.obey.usage import preferences

__all__ = [
    "EVERYTHING_ALLOWED",
    "LONG_BYTES",
    "NO_DIRECTIVES",
    "ROBOTS_MAX_BYTES",
    "Basis",
    "Directives",
    "Permission",
    "Refusal",
    "RobotsAnswer",
    "RobotsRequest",
    "Rules",
    "first_request",
    "is_nofollow",
    "permission_of",
    "preferences",
    "product_token",
    "read_ahead",
    "read_directives",
    "read_robots",
    "retry_after_seconds",
    "settle",
]
