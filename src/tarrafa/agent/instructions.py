"""What the deciding half of an agent asks for. The event loop, or a simulation, carries it out."""

from enum import Enum
from typing import NamedTuple

from tarrafa.agent.outcomes import ROBOTS
from tarrafa.records import Failure, Request
from tarrafa.schedule import Mirror, SlowedNames, SlowedPattern, Visit
from tarrafa.verify import KnownPage


class Purpose(Enum):
    """What a fetch is for."""

    PAGE = "page"
    ROBOTS = "robots.txt"


class Resolve(NamedTuple):
    """Resolve the name of a host; report by `Visits.resolved`."""

    host: str
    name: str


class Fetch(NamedTuple):
    """Make a request; report by the `Visits` method for its purpose."""

    visit: Visit
    request: Request
    purpose: Purpose
    distance: int = 0  # from the seeds: depth, and hops outside the scope
    cash: int = 0  # what the page passes on to those that it links to
    known: KnownPage | None = None  # of a page that was collected before: what is known of its last content


class EndUrl(NamedTuple):
    """Record that a URL is done without a page: it failed, or was refused (no failure)."""

    url: str
    failure: Failure | None
    refusal: str = ROBOTS
    known: KnownPage | None = None  # of a page that was collected before: what is known of its last content


class CountRefused(NamedTuple):
    """Count URLs that are not visited."""

    reason: str
    urls_count: int


class OfferSitemaps(NamedTuple):
    """Offer the sitemaps that a host's robots.txt names."""

    host: str
    urls: tuple[str, ...]


class TellSuspended(NamedTuple):
    """Tell that a host is not visited before a wall-clock time."""

    host: str
    reason: str
    until: float


class TellGivenUp(NamedTuple):
    """Tell that a host is not visited any more."""

    host: str
    reason: str


class TellRobotsUnreachable(NamedTuple):
    """Tell that a host's robots.txt could not be fetched; it is tried again at a wall-clock time."""

    host: str
    reason: str
    until: float


class TellOutageBegun(NamedTuple):
    """Tell that this machine's network seems to be down, since this host failed."""

    host: str
    reason: str


class TellOutageEnded(NamedTuple):
    """Tell that an outage has ended: a host answered, or it lasts so long that failures count against hosts again."""

    seconds: float
    is_answered: bool


class TellPatternSlowed(NamedTuple):
    """Tell that URLs of a pattern are visited less from now on, or not any more."""

    host: str
    pattern: SlowedPattern


class TellMirror(NamedTuple):
    """Tell that a host is a mirror, or no longer is, or that names of hosts bring nothing but copies."""

    news: Mirror | SlowedNames


Tell = (
    TellSuspended
    | TellGivenUp
    | TellRobotsUnreachable
    | TellOutageBegun
    | TellOutageEnded
    | TellPatternSlowed
    | TellMirror
)
Instruction = Resolve | Fetch | EndUrl | CountRefused | OfferSitemaps | Tell
