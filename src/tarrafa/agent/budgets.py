"""Budgets: how many pages hosts, sites, addresses and patterns of URLs may give.

A host that has reached its limit, or that of its site or address, is given up with the name of the limit as the reason.
A URL of a pattern that has given its pages is ended without a visit. Pages are counted when they are kept, so visits in
flight may exceed the budget of a site, an address or a pattern; that of a host is exact,
unless several visits to it may be in flight.
"""

from collections.abc import Callable
from typing import NamedTuple

from tarrafa.addresses import is_public, parse_address
from tarrafa.agent.host_table import HostRecord, HostTable
from tarrafa.agent.referrers import Referrers
from tarrafa.configuration import HostTables, UrlBudget, UrlBudgets
from tarrafa.lru import LruCache
from tarrafa.records import Page
from tarrafa.schedule import LONGEST_SHARE, HostTraits
from tarrafa.urls import fingerprint, host_name, site

# Limits by which a host is given up: of its pages, of the visits that these may need, of its site, of its address.
PAGE_LIMIT, VISIT_LIMIT, SITE_LIMIT, ADDRESS_LIMIT = "pages", "visits", "site pages", "address pages"
# The refusals of URLs for these limits.
REFUSALS = {
    PAGE_LIMIT: "host pages",
    VISIT_LIMIT: "host visits",
    SITE_LIMIT: "site pages",
    ADDRESS_LIMIT: "address pages",
}
# Visits to a host, for each page of its limit: redirects and errors without end give no page that could be counted.
_VISITS_PER_PAGE, _VISITS_MIN = 10, 1_000
_CONTENTS_LIMIT = 200_000  # pages whose copies are recognised
_COPIES_MIN_PAGES = 20  # of a host, before copies among them count


_NO_TABLES = HostTables()


class CrawlLimits(NamedTuple):
    """How far an agent goes."""

    in_flight: int = 300  # concurrent visits
    hosts: int | None = None  # no new hosts are visited beyond this many
    host_pages: int = 100_000
    own_hosts: frozenset[str] = frozenset()  # by name
    allow_private: bool = False
    has_contact: bool = False  # without a contact, hosts of the public web are not visited
    site_pages: int | None = None
    address_pages: int | None = None
    url_budgets: tuple[UrlBudget, ...] = ()
    longest_share: float = LONGEST_SHARE  # of hosts that enter: those that have waited longest
    # Pages of a host for itself and for each other site that links to it, up to `host_pages`; None if all hosts have
    # the same limit.
    star_pages: int | None = None
    tables: HostTables = _NO_TABLES  # settings of some hosts
    probes_sitemaps: bool = False  # ask for /sitemap.xml where robots.txt names no sitemap
    refresh_share: float = 0.3  # of the turns of a host with new URLs, for pages that are visited again
    retries_given_up: bool = False  # a host that was given up has an attempt now and then

    def page_limit_of(self, host: HostRecord) -> int:
        """Return how many pages a host may give."""
        pages = self.tables.of(host.name).pages
        if pages is not None:
            return pages
        if self.star_pages is None:
            return self.host_pages
        earned = self.star_pages * (1 + host.referrers)
        if host.pages >= _COPIES_MIN_PAGES:
            earned -= earned * host.copies // host.pages
        return min(earned, self.host_pages)

    def traits(self, host: HostRecord, addresses: tuple[str, ...], largest_count: int) -> HostTraits:
        """Return what a host's delay depends on. `largest_count` are the pages at the largest host."""
        is_private = self.allows_private(host.name) and _are_private(addresses)
        is_own, has_answered = is_private or host_name(host.name) in self.own_hosts, host.pages > 0
        settings = self.tables.of(host.name)
        asked = settings.delay_seconds, settings.connections or 1
        return HostTraits(host.available, host.crawl_delay_seconds, is_own, largest_count, has_answered, *asked)

    def priority_of(self, host: str) -> int:
        """Return the priority of a host among those that are to enter the workbench; higher ones come first."""
        return self.tables.of(host).priority or 0

    def allows_private(self, host: str) -> bool:
        """Return True if a host may be at a private address: all may, or a table gives its address."""
        return self.allow_private or self.tables.of(host).address is not None


class Budgets:
    def __init__(self, limits: CrawlLimits, hosts: HostTable, admits: Callable[[str], bool]) -> None:
        self._limits = limits
        self._hosts = hosts
        self.referrers = Referrers(hosts.referrers, admits)
        # The page that had a content first, by signature. Filled by _count_copy; drops the least recently used.
        self._contents: LruCache[int, int] = LruCache(_CONTENTS_LIMIT)
        self._patterns = UrlBudgets(limits.url_budgets)

    def update_sizes(self, host: HostRecord, left_count: int) -> None:
        """Note that the repository has so many URLs of a host that were not visited, and which sites link to it."""
        if self._limits.star_pages is not None:
            self._hosts.set_referrers(host, self.referrers.count(host.name))
        self._hosts.set_available(host, min(host.pages + left_count, self._limits.page_limit_of(host)))

    def limit_of(self, host: HostRecord) -> str | None:
        """Return the limit that a host has reached; None if it may give more pages."""
        pages, limits = self._limits.page_limit_of(host), self._limits
        if host.pages >= pages:
            return PAGE_LIMIT
        if limits.site_pages is not None and self._spent(_site_unit(host.name)) >= limits.site_pages:
            return SITE_LIMIT
        if limits.address_pages is not None and self._spent(_address_unit(host.address)) >= limits.address_pages:
            return ADDRESS_LIMIT
        visits = host.visits - host.refreshes
        return VISIT_LIMIT if visits >= max(_VISITS_MIN, _VISITS_PER_PAGE * pages) else None

    def refuses(self, url: str) -> bool:
        """Return True if the pattern of a URL has given its pages."""
        budget = self._patterns.of(url) if self._patterns else None
        return budget is not None and self._spent(_url_unit(budget)) >= budget.pages

    def note_address(self, host: HostRecord, address: str) -> None:
        """Remember the address of a host that is about to be visited."""
        self._hosts.set_address(host, address)

    def count(self, page: Page, host: str, signature: int) -> None:
        """Count an answer that was stored, if it is a page. The signature is that of its text, 0 for none."""
        if not page.is_success:
            return
        if self._limits.star_pages is not None and signature:
            self._count_copy(page.url, host, signature)
        if self._limits.site_pages is not None:
            self._spend(_site_unit(host))
        if self._limits.address_pages is not None:
            record = self._hosts.meet(host)
            self.note_address(record, page.address or record.address)
            self._spend(_address_unit(record.address))
        if self._patterns and (budget := self._patterns.of(page.url)) is not None:
            self._spend(_url_unit(budget))

    def _count_copy(self, url: str, host: str, signature: int) -> None:
        page = fingerprint(url)
        first = self._contents.get(signature)
        if first is None:
            self._contents.put(signature, page)
        elif first != page:
            self._hosts.meet(host).copies += 1

    def _spent(self, unit: str) -> int:
        return self._hosts.spent.get(unit)

    def _spend(self, unit: str) -> None:
        self._hosts.spent.put(unit, self._hosts.spent.get(unit) + 1)


def _site_unit(host: str) -> str:
    return f"site {site(host_name(host))}"


def _address_unit(address: str) -> str:
    return f"address {address}"


def _url_unit(budget: UrlBudget) -> str:
    return f"url {budget.match}"


def _are_private(addresses: tuple[str, ...]) -> bool:
    parsed = [parse_address(each) for each in addresses]
    return bool(parsed) and not any(each is None or is_public(each) for each in parsed)
