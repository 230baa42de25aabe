"""What does the host allow?

In: the outcome of fetching a host's robots.txt, and the headers and meta elements of a page. Out: whether a URL may be
visited and, if not, the reason that is stored with it; what a page asks of crawlers. The life of a host's permission:

1. `permission.first_request` says what to fetch; the caller fetches, as politely as any page, and undoes the coding.
2. `permission.settle` returns one more request, for a redirect, or an answer that is valid until a moment.
3. The caller stores the answer, body and all; `permission_of` returns the permission that follows from it.
4. `robots` parses the body: the groups for this crawler, Allow and Disallow, Crawl-delay, sitemaps, usage lines.
   `patterns` matches paths with its lines.
5. `Permission.refusal` decides on each URL, until `Permission.is_due`; then it begins again with 1.

`walls` recognises challenge pages of bot walls, which are no answers of the host.

`directives` reads what a page says about itself. Usage preferences of authors, there and in robots.txt, are kept
verbatim and interpreted by `usage`.

Everything is pure: the time is passed in. Not done here: fetching, waiting for a host's turn, storing answers, putting
Crawl-delay into effect, reading sitemaps, finding meta elements in a page, leaving pages with noindex out of the index.
"""

from tarrafa.obey.directives import NO_DIRECTIVES, Directives, is_nofollow, read_directives
from tarrafa.obey.permission import (
    LONG_BYTES,
    Basis,
    Permission,
    RobotsAnswer,
    RobotsRefusal,
    RobotsRequest,
    first_request,
    permission_of,
    read_ahead,
    retry_after_seconds,
    settle,
)
from tarrafa.obey.robots import (
    EVERYTHING_ALLOWED,
    ROBOTS_MAX_BYTES,
    RobotsLine,
    Rules,
    deciding_line,
    product_token,
    read_robots,
)
from tarrafa.obey.usage import preferences
from tarrafa.obey.walls import Wall, wall_of

__all__ = [
    "EVERYTHING_ALLOWED",
    "LONG_BYTES",
    "NO_DIRECTIVES",
    "ROBOTS_MAX_BYTES",
    "Basis",
    "Directives",
    "Permission",
    "RobotsAnswer",
    "RobotsLine",
    "RobotsRefusal",
    "RobotsRequest",
    "Rules",
    "Wall",
    "deciding_line",
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
    "wall_of",
]
