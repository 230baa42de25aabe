"""Wikis, code browsers and listings end by themselves, after few visits, and nothing real is lost."""

from collections import deque
from collections.abc import Callable

import pytest

from brains import A
from tarrafa.agent import HostTable
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.trap_watch import TrapWatch
from tarrafa.extract import extract
from tarrafa.obey import read_directives
from wiki_sites import CodeBrowser, DokuWiki, Listing, MediaWiki, SmallSite

VISITS_LIMIT = 5_000
OURS = "tarrafa"


def crawl(site: SmallSite, *, is_on: bool = True) -> list[str]:
    """Visit what the watch admits, breadth first; return the URLs in order."""
    storage = MemoryHostStorage()
    hosts = HostTable(storage, storage)
    watch = TrapWatch(hosts, OURS, is_on=is_on)
    record = hosts.meet(A)
    visited: list[str] = []
    known, queue = {site.front}, deque([site.front])
    while queue and len(visited) < VISITS_LIMIT:
        url = queue.popleft()
        if watch.refusal(A, url) is not None:
            continue
        visited.append(url)
        record.visits += 1
        page = site.answer(url)
        found = extract(page, page.body)
        if page.status == 200 and not read_directives(page.headers, found.robots, OURS).nofollow:
            for target in (*found.links.targets, *found.listed.urls):
                if target.startswith(A) and target not in known and watch.refusal_of_link(target) is None:
                    known.add(target)
                    queue.append(target)
        watch.note(page, found)
    return visited


LIMITS: dict[Callable[[], SmallSite], int] = {MediaWiki: 190, DokuWiki: 200, CodeBrowser: 270, Listing: 140}


@pytest.mark.parametrize("make", LIMITS)
def test_site_ends_and_nothing_real_is_missing(make: Callable[[], SmallSite]) -> None:
    site = make()
    visited = crawl(site)
    assert len(visited) <= LIMITS[make]
    assert site.real <= set(visited)
    bodies = b"".join(site.answer(url).body for url in visited).decode()
    assert [story for story in site.stories if story not in bodies] == []


@pytest.mark.parametrize("make", [MediaWiki, DokuWiki, CodeBrowser])
def test_site_takes_several_times_as_many_visits_without_the_watch(make: Callable[[], SmallSite]) -> None:
    assert len(crawl(make(), is_on=False)) > 2.5 * LIMITS[make]
