"""What limits a crawl, and which hosts hold it back. Pure.

A host rests between its visits, so it needs at least its URLs times its delay. The crawl cannot end before
the host that needs longest.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tarrafa.agent import Ending, Progress
from tarrafa.explain.slowness import why_slow
from tarrafa.units import rough_duration

_HOSTS_SHOWN = 10
# If one host needs more than this share of the time of the whole crawl, hosts decide and not the machine.
_HOSTS_SHARE = 0.5

# What to change, by the first word of the sentence of `slowness`.
_REMEDIES = {
    "Network": "Check the network of this machine. The crawl goes on by itself.",
    "Disk": "Put the crawl on a faster disk.",
    "Suspended": "Wait, or run with --wait to stay until they come back.",
    "CPU": "The crawl is as fast as one core allows.",
    "Limit": "Raise --in-flight.",
    "Names": "Give faster name servers by name_servers in [fetch].",
    "Extraction": "Large pages are parsed one after the other; lower body_limit in [fetch] to cut them.",
    "Failures": "See tarrafa status for the reasons, and tarrafa explain HOST for one host.",
    "Politeness": "More hosts make a crawl faster. Lower --delay for hosts of your own.",
    "Answers": "The hosts are slow to answer. Raise --in-flight if there are more hosts.",
}


class HoldingHost(NamedTuple):
    """A host that needs long to be visited whole."""

    name: str
    urls_left: int
    delay_seconds: float
    seconds_left: float  # at least; not counting a suspension
    status: str  # suspended or given up, and why; empty if it is visited


class CrawlExplanation(NamedTuple):
    is_running: bool
    limit: str  # what limits the crawl now, in a sentence
    remedy: str
    hosts: Sequence[HoldingHost]  # those that need longest
    seconds_left: float  # until all known URLs are visited, at least

    def told(self) -> dict[str, Any]:
        """Return all of it for a program."""
        return {**self._asdict(), "hosts": [host._asdict() for host in self.hosts]}


def explain_crawl(progress: Progress, is_running: bool, hosts: Sequence[HoldingHost]) -> CrawlExplanation:
    """Explain what limits a crawl, from its last report and the hosts with most URLs left."""
    longest = sorted(hosts, key=lambda host: -host.seconds_left)[:_HOSTS_SHOWN]
    visited = [host for host in longest if not host.status]
    seconds = visited[0].seconds_left if visited else 0.0
    limit, remedy = _limit(progress, is_running, bool(hosts))
    return CrawlExplanation(is_running, limit, " ".join(filter(None, (remedy, _slow_host(visited)))), longest, seconds)


def _limit(progress: Progress, is_running: bool, has_urls: bool) -> tuple[str, str]:
    if is_running:
        sentence = why_slow(progress._replace(ending=Ending.RUNNING))
        return sentence, _REMEDIES.get(sentence.partition(":")[0].partition(" ")[0], "")
    ending = Ending.KILLED if progress.ending is Ending.RUNNING else progress.ending
    if not has_urls:
        return f"Nothing is left: all known URLs were visited (last run: {ending}).", "Give more seeds to go on."
    return f"The crawl is not running (last run: {ending}).", "Run tarrafa crawl --dir DIR to continue it."


def _slow_host(visited: Sequence[HoldingHost]) -> str:
    """Return what to do if one host alone decides how long the crawl takes."""
    if len(visited) < 2 or visited[1].seconds_left > _HOSTS_SHARE * visited[0].seconds_left:
        return ""
    first = visited[0]
    return f"{first.name} alone needs {rough_duration(first.seconds_left)}; --host-pages bounds the pages of a host."
