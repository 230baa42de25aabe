"""Read what the files of a crawl say about a URL or a host, without writing or locking anything."""

import time
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tarrafa.agent import (
    CrawlFolder,
    Ending,
    HostDatabaseReader,
    HostRecord,
    HostStatus,
    RefreshMode,
    RefreshSettings,
    is_offered,
    journal_records,
    read_ending,
    read_round,
)
from tarrafa.agent.refresher import rates_of
from tarrafa.explain.bottleneck import HoldingHost
from tarrafa.explain.evidence import (
    FoundOn,
    HostDelay,
    HostEvidence,
    RefreshEvidence,
    RobotsEvidence,
    RunEvidence,
    UrlEvidence,
)
from tarrafa.explain.url_reasons import Explanation, explain_url
from tarrafa.histories import PageHistory
from tarrafa.keep import Place, read_page
from tarrafa.keep.catalogue import LinkCatalogue
from tarrafa.keep.finder import CataloguedStretch, Finder, find_current, find_newest_links, newest_visits
from tarrafa.obey import Basis, deciding_line, is_nofollow, permission_of
from tarrafa.refresh import page_states, values_at
from tarrafa.urls import BaseUrl, host_of
from tarrafa.verify import (
    UrlOrder,
    by_priority,
    histories_beside,
    host_urls,
    hosts_left,
    is_waiting,
    locate,
)

_SOURCES = 20  # pages that link to a URL, those visited last
_NEXT_URLS = 5
_HOSTS = 1_000  # with most URLs left, of which those that need longest are shown

_Links = list[CataloguedStretch[LinkCatalogue]]


class CrawlRules(NamedTuple):
    """What the configuration of a crawl says about URLs and hosts."""

    refusal: Callable[[str, int], str | None]  # of a URL at its distance from the seeds
    host_refusal: Callable[[str], str | None]
    delay_of: Callable[[HostRecord], HostDelay]
    priority_of: Callable[[str], int]  # of a host
    pages_limit_of: Callable[[HostRecord], int]
    robots_token: str
    order: UrlOrder = by_priority  # of the URLs of a host
    refresh: RefreshSettings = RefreshSettings()
    refresh_policy: str = "optimal"  # its name


class CrawlReader:
    """Reads the folder of a crawl as it is at each call."""

    def __init__(self, folder: CrawlFolder, rules: CrawlRules) -> None:
        self._folder = folder
        self._rules = rules
        self._finder = Finder(folder)

    def url(self, url: str) -> UrlEvidence:
        """Return what is known of a canonical URL."""
        folder, place = self._folder, locate(self._folder.repository, url, self._rules.order)
        with closing(HostDatabaseReader(folder.hosts)) as database:
            host = self._host(database, host_of(url), url)
            checkpoint = database.checkpoint().number
        distance = place.known.depth if place is not None else 0
        document, location = self._stored(checkpoint, url)
        return UrlEvidence(
            url,
            host,
            self.run(),
            refusal=self._rules.refusal(url, distance) or "",
            place=place,
            is_waiting=place is None and (is_waiting(folder.repository, url) or is_offered(folder.batches, url)),
            found_on=self._found_on(checkpoint, url),
            location=location,
            title=document.get("title") or "",
            cuts=tuple(document.get("cuts") or ()),
            is_seed=place is None and folder.is_seed(url),
            refresh=self._refresh(url, place.known.history if place is not None else None),
        )

    def _refresh(self, url: str, history: PageHistory | None) -> RefreshEvidence | None:
        """Return what a visit to a collected URL is worth now, among the pages of its block."""
        beside = None if history is None else histories_beside(self._folder.repository, url)
        if beside is None or history is None:
            return None
        settings, now, own = self._rules.refresh, time.time(), beside.position
        histories, bounds = beside.block.histories, settings.intervals.of(beside.block)
        rates = rates_of(beside.block, beside.mean_rate)
        value = float(settings.policy.values(page_states(histories, rates, now))[own])
        worth = values_at(histories, rates, settings.policy, now, bounds)
        worth = worth[worth > 0]
        shortest, longest = (float(np.broadcast_to(each, len(rates))[own]) for each in bounds[:2])
        return RefreshEvidence(
            self._rules.refresh_policy,
            history,
            value,
            worth_share=float((worth < value).mean()) if len(worth) else 1.0,
            not_before=max(float(history.not_before_seconds), history.visited_seconds + shortest),
            longest_seconds=longest,
        )

    def explain(self, url: str) -> Explanation:
        """Explain a canonical URL as it is now."""
        return explain_url(self.url(url), time.time())

    def host(self, name: str) -> HostEvidence:
        """Return what is known of a host such as `http://example.org`."""
        with closing(HostDatabaseReader(self._folder.hosts)) as database:
            return self._host(database, name, f"{name}/")

    def hosts_named(self, name: str) -> list[str]:
        """Return the hosts of the crawl with this name, whatever their scheme: `http://example.org`, and by https."""
        candidates = [f"{scheme}://{name}" for scheme in ("https", "http")]
        with closing(HostDatabaseReader(self._folder.hosts)) as database:
            met = [each for each in candidates if database.host(each)]
        return met or [each for each in candidates if host_urls(self._folder.repository, each, 0).left_count]

    def run(self) -> RunEvidence:
        """Return the state of the crawl."""
        is_running, status = self._folder.is_locked(), self._folder.read_status()
        ending = read_ending(status, self._folder.status)
        if ending is Ending.RUNNING and not is_running:
            ending = Ending.KILLED
        if not is_running:
            return RunEvidence(ending=ending)
        mode = status.get("mode", RefreshMode.NOTHING)
        return RunEvidence(
            is_running,
            RefreshMode(mode) if mode in set(RefreshMode) else RefreshMode.NOTHING,
            read_round(self._folder.round).began_at,
            ending,
            status.get("outage_seconds"),
        )

    def holding_hosts(self) -> list[HoldingHost]:
        """Return the hosts with most URLs left, and how long they need."""
        newer = self._journal()
        with closing(HostDatabaseReader(self._folder.hosts)) as database:
            left = hosts_left(self._folder.repository, _HOSTS)
            records = [newer.get(name) or database.host(name) or HostRecord(name) for name, _ in left]
        return [self._holding(record, count) for record, (_, count) in zip(records, left, strict=True)]

    def _holding(self, record: HostRecord, count: int) -> HoldingHost:
        delay = self._rules.delay_of(record)
        room = max(0, self._rules.pages_limit_of(record) - record.pages)
        seconds = min(count, room) * delay.pace_seconds(record.total_seconds)
        is_left_alone = record.status in (HostStatus.SUSPENDED, HostStatus.GIVEN_UP)
        status = f"{record.status} ({record.reason})" if is_left_alone else ""
        seconds = 0.0 if record.status == HostStatus.GIVEN_UP else seconds
        return HoldingHost(record.name, count, delay.seconds, seconds, status)

    def _host(self, database: HostDatabaseReader, name: str, url: str) -> HostEvidence:
        record = self._journal().get(name) or database.host(name)
        own = record or HostRecord(name)
        urls = host_urls(self._folder.repository, name, _NEXT_URLS, self._rules.order)
        robots, refusal = self._robots(database, name, url), self._rules.host_refusal(name) or ""
        delay, limit = self._rules.delay_of(own), self._rules.pages_limit_of(own)
        return HostEvidence(name, record, robots, delay, limit, urls, refusal, self._rules.priority_of(name))

    def _journal(self) -> dict[str, HostRecord]:
        """Return the records that are newer than the database."""
        return {record.name: record for record in journal_records(self._folder.host_journal)}

    def _robots(self, database: HostDatabaseReader, host: str, url: str) -> RobotsEvidence | None:
        answer = database.robots_answer(host)
        if answer is None:
            return None
        permission = permission_of(answer, self._rules.robots_token)
        is_allowed = permission.refusal(url) is None
        line = deciding_line(answer.body, self._rules.robots_token, url) if answer.body else None
        if answer.basis is Basis.UNREACHABLE:
            line = None
        delay = permission.rules.crawl_delay_seconds or 0.0
        return RobotsEvidence(
            answer.basis, answer.reason, answer.fetched_at, answer.expires_at, is_allowed, line, delay
        )

    def _stored(self, checkpoint: int, url: str) -> tuple[dict[str, Any], str]:
        """Return the row of the last visit, and where the answer redirects to."""
        with self._finder.documents(checkpoint) as stretches:
            found = next(newest_visits(stretches, url), None)
            document = found.document() if found else None
        if document is None:
            return {}, ""
        if not 300 <= document["status"] < 400 or document["archive_file"] is None:
            return document, ""
        page = read_page(self._folder.archive, Place(document["archive_file"], document["archive_offset"])).page
        return document, BaseUrl(url).link(page.header("location") or "") or ""

    def _found_on(self, checkpoint: int, url: str) -> tuple[FoundOn, ...]:
        with self._finder.links(checkpoint) as stretches:
            found = (link for stretch in reversed(stretches) for link in stretch.catalogue.links_to(url))
            newest = {link.source: link for link in islice(found, _SOURCES)}
            rels = {source: _rels(stretches, source, url) for source in newest}
        with self._finder.documents(checkpoint) as documents:
            found_pages = {source: find_current(documents, source) for source in newest}
            pages = {source: found.document() if found else {} for source, found in found_pages.items()}
        return tuple(
            FoundOn(
                source,
                link.text or "",
                link.fetched_at,
                "nofollow" in (pages[source].get("directives") or ()) or all(map(is_nofollow, rels[source])),
            )
            for source, link in newest.items()
        )


def _rels(stretches: _Links, source: str, url: str) -> list[str]:
    """Return the rel of each link from a page to the URL."""
    return [row["rel"] or "" for row in find_newest_links(stretches, source)[1] if row["target"] == url]
