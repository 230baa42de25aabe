"""Faults of the synthetic web, by name, and profiles: named sets of faults.

The plain profile has no faults; redirects, missing pages, robots rules and sitemaps exist without them. Each fault
belongs to a share of the hosts. Traps add endless URLs that pages of such hosts link to. The first host has no fault,
so that a crawl can start.
"""

from difflib import get_close_matches
from enum import StrEnum

from tarrafa.errors import InputError


class Fault(StrEnum):
    """Faults by their name on the command line. The comment says what the host does."""

    SLOW = "slow"  # waits before each answer
    DRIP = "drip"  # sends the body a few bytes at a time
    HANG = "hang"  # takes the request and never answers
    RESET = "reset"  # resets the connection instead of answering
    FLAKY = "flaky"  # resets the first request for each URL, answers the next
    BUSY = "busy"  # answers every fifth request with 429 or 503 and Retry-After
    CRAWL_DELAY = "crawl-delay"  # asks for a delay in robots.txt
    ROBOTS_FORBIDDEN = "robots-403"  # answers robots.txt with 403: everything is allowed
    ROBOTS_ERROR = "robots-500"  # answers robots.txt with 500: nothing is allowed
    ROBOTS_UNREACHABLE = "robots-unreachable"  # resets on robots.txt: nothing is allowed
    ROBOTS_HUGE = "robots-huge"  # robots.txt of some megabytes, with the rules at its beginning
    ROBOTS_BROKEN = "robots-broken"  # byte order mark, lone CR, binary lines, unknown lines around the rules
    ENDLESS = "endless"  # links to bodies without end
    FALSE_LENGTH = "false-length"  # links to bodies shorter and longer than their Content-Length
    FALSE_TYPE = "false-type"  # links to bytes that are not what Content-Type says
    GZIP_BOMB = "gzip-bomb"  # links to small answers that expand enormously
    REDIRECT_LOOP = "redirect-loop"  # links to redirect loops
    DEAD = "dead"  # links to hosts that do not exist
    CALENDAR = "calendar"  # trap: a calendar with a next month forever
    SESSION = "session"  # trap: links carry a session id that is new on each page
    REPETITION = "repetition"  # trap: a relative link that makes the path longer each time
    COMBINATIONS = "combinations"  # trap: endless combinations of filters
    # New faults follow here: the place of a fault decides which hosts have it.
    WALL = "wall"  # answers every fourth request for a page with the challenge of a bot wall
    SORT_ORDERS = "sort-orders"  # trap: listings of folders, each in every order
    REVISIONS = "revisions"  # trap: edit forms, histories and differences of each page
    FALSE_VALIDATORS = "false-validators"  # ETag and Last-Modified stay as they were when a page changes
    MIRROR = "mirror"  # trap, with names: the host answers under a second name, too
    WILDCARD = "wildcard"  # trap, with names: the host answers under names without end, to which its pages link


# Hosts that answer no page; pages that only they link to cannot be reached.
SILENT = frozenset({Fault.HANG, Fault.RESET})
# Hosts without a readable robots.txt, which RFC 9309 closes to crawlers.
NOTHING_ALLOWED = SILENT | {Fault.ROBOTS_ERROR, Fault.ROBOTS_UNREACHABLE}

_WEATHER = {Fault.SLOW, Fault.FLAKY, Fault.BUSY, Fault.CRAWL_DELAY, Fault.REDIRECT_LOOP, Fault.DEAD}
_ROBOTS = {fault for fault in Fault if fault.name.startswith("ROBOTS_")}
_TRAPS = {
    *(Fault.CALENDAR, Fault.SESSION, Fault.REPETITION, Fault.COMBINATIONS),
    *(Fault.SORT_ORDERS, Fault.REVISIONS),
    *(Fault.MIRROR, Fault.WILDCARD),
}

_BY_NAME = {fault.value: fault for fault in Fault}

PROFILES: dict[str, frozenset[Fault]] = {
    "plain": frozenset(),
    "usual": frozenset(_WEATHER | _ROBOTS),
    "traps": frozenset(_TRAPS),
    "hostile": frozenset(Fault),
}


def parse_faults(text: str) -> frozenset[Fault]:
    """Parse profiles and fault names, separated by commas: `plain`, `hostile`, `slow,busy`, `traps,gzip-bomb`."""
    chosen: set[Fault] = set()
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name in PROFILES:
            chosen |= PROFILES[name]
        elif name in _BY_NAME:
            chosen.add(_BY_NAME[name])
        else:
            raise InputError(_unknown(name))
    return frozenset(chosen)


def _unknown(name: str) -> str:
    known = [*PROFILES, *Fault]
    near = get_close_matches(name, known, n=1)
    hint = f'; did you mean "{near[0]}"?' if near else f"; known are {', '.join(known)}"
    return f'unknown fault or profile "{name}"{hint}'
