"""Watches what visits bring, host by host, and says which URLs lead into traps.

`ingest` reports every stored answer by `note`. `discovery` asks about each URL that is found, `visits` about each that
is about to be fetched. What is known of a host is kept here while the host is visited; patterns that are slowed also
stand in its record in the `HostTable`, so that a new process goes on with them. Pure: no clock, no file.
"""

from collections import OrderedDict

from tarrafa.agent.fruits import WatchedHost, fruit_of
from tarrafa.agent.host_table import HostTable
from tarrafa.extract import Extract
from tarrafa.records import Page
from tarrafa.schedule import HostYields, SlowedPattern
from tarrafa.urls import host_of

VISITS_MIN = 8  # with fewer, a host is not watched: most hosts of a broad crawl
# What is remembered of all hosts: contents and links, and patterns with what they have brought.
MARKS_LIMIT, PATTERNS_LIMIT = 300_000, 100_000
HOSTS_LIMIT = 5_000


class TrapWatch:
    """A watch that is off notes nothing and refuses nothing."""

    def __init__(
        self,
        hosts: HostTable,
        token: str,  # our name in directives of pages
        *,
        is_on: bool = True,
        marks_limit: int = MARKS_LIMIT,
        patterns_limit: int = PATTERNS_LIMIT,
    ) -> None:
        self._hosts = hosts
        self._token = token
        self._is_on = is_on
        self._marks_limit, self._patterns_limit = marks_limit, patterns_limit
        # The least recently visited first. Filled by _watched and refusal; _make_room drops the first.
        self._watched: OrderedDict[str, WatchedHost] = OrderedDict()
        self._marks_count = self._patterns_count = 0  # of all of them
        # Those of them with a slowed pattern, which is all that has to be asked. Filled and emptied with them.
        self._suspicious: dict[str, HostYields] = {}

    def refusal_of_link(self, url: str) -> str | None:
        """Return why a URL that was found leads into a trap. Called for every link, so only watched hosts count."""
        if not self._suspicious:
            return None
        yields = self._suspicious.get(url[: url.find("/", 8)])
        return None if yields is None else _refusal(yields, url)

    def refusal(self, host: str, url: str) -> str | None:
        """Return why a URL that is about to be fetched leads into a trap; None if it does not."""
        if not self._is_on:
            return None
        if host not in self._watched:
            record = self._hosts.find(host)
            if record is None or not record.slowed_patterns:
                return None
            self._watch(host, HostYields.load(record.slowed_patterns))
        yields = self._suspicious.get(host)
        return None if yields is None else _refusal(yields, url)

    def note(self, page: Page, found: Extract) -> list[SlowedPattern]:
        """Count a stored answer; return the patterns of its host that are slowed from now on."""
        host = host_of(page.url)
        record = self._hosts.find(host) if self._is_on else None
        if record is None or (record.visits < VISITS_MIN and not record.slowed_patterns):
            return []
        watched = self._watched.get(host) or self._watch(host, HostYields.load(record.slowed_patterns))
        self._watched.move_to_end(host)
        self._count(watched, -1)
        news = watched.yields.note(page.url, fruit_of(watched, page, found, self._token))
        self._count(watched, 1)
        self._make_room()
        if news or watched.yields.is_suspicious != (host in self._suspicious):
            self._save(host, watched)
        return news

    def _save(self, host: str, watched: WatchedHost) -> None:
        if watched.yields.is_suspicious:
            self._suspicious[host] = watched.yields
        else:
            self._suspicious.pop(host, None)
        record = self._hosts.meet(host)
        record.slowed_patterns = watched.yields.dump()
        self._hosts.changed(record)

    def _watch(self, host: str, yields: HostYields) -> WatchedHost:
        watched = self._watched[host] = WatchedHost(yields)
        self._count(watched, 1)
        if yields.is_suspicious:
            self._suspicious[host] = yields
        return watched

    def _count(self, watched: WatchedHost, sign: int) -> None:
        """Add what is remembered of a host to the counts, or take it off."""
        self._marks_count += sign * watched.marks_count
        self._patterns_count += sign * watched.yields.patterns_count

    @property
    def _is_full(self) -> bool:
        is_over = self._marks_count > self._marks_limit or self._patterns_count > self._patterns_limit
        return is_over or len(self._watched) > HOSTS_LIMIT

    def _make_room(self) -> None:
        while len(self._watched) > 1 and self._is_full:
            host, watched = self._watched.popitem(last=False)
            self._count(watched, -1)
            if self._suspicious.pop(host, None) is not None:
                record = self._hosts.meet(host)
                record.slowed_patterns = watched.yields.dump()
                self._hosts.changed(record)


def _refusal(yields: HostYields, url: str) -> str | None:
    reason = yields.refusal(url)
    return None if reason is None else f"pattern {reason}"
