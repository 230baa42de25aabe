"""Watches which hosts are mirrors of others, and which of their URLs are not worth a visit.

`Visits` reports every stored answer by `note`, and asks about each URL that is about to be fetched; `discovery` asks
about each URL that is found. What is known stands in memory (`Mirrors`), and which host is a mirror also in the record
of the host, so that a new process goes on with it. Pure: no clock, no file.
"""

from tarrafa.agent.host_table import HostTable
from tarrafa.agent.outcomes import MIRROR, WILDCARD
from tarrafa.extract import Extract, PageFormat
from tarrafa.records import Page
from tarrafa.schedule import Mirror, Mirrors, SlowedNames
from tarrafa.urls import host_of

_READ_FORMATS = (PageFormat.HTML, PageFormat.TEXT)


class MirrorWatch:
    """A watch that is off notes nothing and refuses nothing."""

    def __init__(self, hosts: HostTable, *, is_on: bool = True) -> None:
        self._hosts = hosts
        self._is_on = is_on
        self._mirrors = Mirrors()

    def note(self, page: Page, found: Extract) -> list[Mirror | SlowedNames]:
        """Count a stored answer; return what it says about hosts."""
        if not self._is_on:
            return []
        host = host_of(page.url)
        self._restore(host)
        is_read = page.is_success and found.format in _READ_FORMATS
        signature = found.document.signature if is_read else 0
        news = self._mirrors.note(host, page.url[len(host) :], signature, page.address)
        for each in news:
            if isinstance(each, Mirror):
                record = self._hosts.meet(each.host)
                record.mirror_of = "" if each.is_over else each.original
                self._hosts.changed(record)
        return news

    def refusal(self, host: str, url: str) -> str | None:
        """Return why a URL that is about to be fetched brings only what is known; None if it may bring more."""
        if not self._is_on:
            return None
        self._restore(host)
        if self._mirrors.refuses(host, url[len(host) :]):
            return MIRROR
        return WILDCARD if self._mirrors.refuses_name(host) else None

    def refusal_of_link(self, url: str) -> str | None:
        """Return why a URL that was found is not to be visited: names like that of its host bring copies."""
        if not self._mirrors.has_slowed_names or not self._mirrors.refuses_name(url[: url.find("/", 8)]):
            return None
        return WILDCARD

    def _restore(self, host: str) -> None:
        """Take what an earlier process found out about a host."""
        record = self._hosts.find(host)
        if record is not None and record.mirror_of:
            self._mirrors.restore(host, record.mirror_of)
