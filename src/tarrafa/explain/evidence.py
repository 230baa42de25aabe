"""What the files of a crawl say about one URL, or about one host: the records that explanations are made from."""

from dataclasses import dataclass
from typing import NamedTuple

from tarrafa.agent import Ending, HostRecord, RefreshMode
from tarrafa.histories import PageHistory
from tarrafa.obey import Basis, RobotsLine
from tarrafa.verify import HostUrls, UrlPlace


class HostDelay(NamedTuple):
    """How long a host rests between two visits, and the rule that makes it so long."""

    seconds: float
    rule: str
    connections: int = 1  # visits that may be under way at once; if several, it rests between their starts

    def pace_seconds(self, response_seconds: float) -> float:
        """Return the time from one visit to the next, if each takes so long."""
        if self.connections == 1:
            return self.seconds + response_seconds
        return max(self.seconds, response_seconds / self.connections)

    @property
    def between(self) -> str:
        if self.connections == 1:
            return "between two visits"
        return f"between the starts of two visits, of which {self.connections} may be under way"


class RobotsEvidence(NamedTuple):
    """The last answer to a request for a host's robots.txt, and what it says about the URL."""

    basis: Basis
    reason: str
    fetched_at: float
    expires_at: float
    is_allowed: bool
    line: RobotsLine | None  # the one that decides
    crawl_delay_seconds: float


class FoundOn(NamedTuple):
    """A page that links to the URL."""

    source: str
    text: str
    at: float  # when the page was visited
    is_nofollow: bool  # the link, or the whole page, asks not to be followed


class RefreshEvidence(NamedTuple):
    """What decides when a collected URL is visited again."""

    policy: str
    history: PageHistory
    value: float  # of a visit now
    worth_share: float  # of the pages of its block that may be visited now, those that are worth less
    not_before: float
    longest_seconds: float  # after its last visit; then it comes first


class RunEvidence(NamedTuple):
    """The state of the crawl."""

    is_running: bool = False
    mode: RefreshMode = RefreshMode.NOTHING  # what a running crawl does with collected pages
    began_at: float = 0.0  # its round
    ending: Ending = Ending.RUNNING  # of the last run
    outage_seconds: float | None = None
    saved_at: float | None = None  # when the last checkpoint was made


@dataclass(frozen=True, slots=True)
class HostEvidence:
    name: str
    record: HostRecord | None
    robots: RobotsEvidence | None
    delay: HostDelay
    pages_limit: int
    urls: HostUrls
    refusal: str = ""  # why the scope leaves the host out
    priority: int = 0  # by its [[host]] table


@dataclass(frozen=True, slots=True)
class UrlEvidence:
    url: str
    host: HostEvidence
    run: RunEvidence
    refusal: str = ""  # why the scope or a bound refuses the URL; empty if it may be visited
    place: UrlPlace | None = None
    is_waiting: bool = False  # found, and not verified yet
    found_on: tuple[FoundOn, ...] = ()  # the pages visited last
    location: str = ""  # where the stored answer redirects to
    title: str = ""  # of the stored page
    cuts: tuple[str, ...] = ()  # what was left out of the stored page
    is_seed: bool = False
    refresh: RefreshEvidence | None = None  # of a collected URL
