"""Long sitemaps: judged some at a time before their page is kept, and everything that they list is known."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawls import HASTE, run
from servers import Server, Visit
from tarrafa.agent import CrawlFolder
from tarrafa.agent.discovery import Discovery
from tarrafa.agent.unsaved import Unsaved
from tarrafa.agent.url_batches import UrlBatches, batch_of
from tarrafa.extract import Extract, ListedUrls, PageFormat
from tarrafa.folder_mark import MARK_FILE
from tarrafa.schedule import Level, Scope, UrlBounds, UrlKind
from tarrafa.verify import Veuniq

A = "http://a.example"
PATHS = ["/", "/1", "/2?x", "/a/a/a/a/", "/deep/er/", "/" + "x" * 2_000]
URLS = [host + path for host in (A, "http://b.example", "http://c.example") for path in PATHS]
LISTED = st.lists(st.tuples(st.sampled_from(URLS), st.booleans()), min_size=1)


def discovery() -> Discovery:
    return Discovery(Scope(lambda name: name != "b.example", UrlBounds(depth=3)), Level())


def unsaved_of(listing: ListedUrls, depth: int, is_judged_first: bool) -> Unsaved:
    found, judge = Unsaved(), discovery()
    extract = Extract(f"{A}/map.xml", PageFormat.SITEMAP, listed=listing)
    judged = asyncio.run(judge.judge_listed(extract, depth)) if is_judged_first else None
    judge.offer(found, f"{A}/1", 0)
    if judged is None:
        judge.follow_listed(found, extract, depth)
    else:
        found.merge_listed(judged)
    return found


def written(unsaved: Unsaved, folder: Path) -> dict[str, tuple[int, ...]]:
    """Return what the repository makes of a batch: of each URL all links, least priority and depth, greatest kind."""
    batches = UrlBatches(folder)
    batches.write(batch_of(1, unsaved))
    extracted = batches.read(0, 1).extracted
    rows = list(zip(map(str, extracted.urls), *(column.tolist() for column in extracted[1:]), strict=True))
    batches.remove(1)
    merges: tuple[Callable[[list[int]], int], ...] = (min, sum, sum, min, max)
    return {
        url: tuple(merge([row[column] for row in rows if row[0] == url]) for column, merge in enumerate(merges, 1))
        for url in {row[0] for row in rows}
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("batches")


@given(entries=LISTED, depth=st.integers(0, 3), slice_urls=st.integers(1, 20), part_urls=st.integers(1, 20))
def test_batch_is_the_same_whether_a_listing_is_judged_at_once_or_before_in_slices(
    folder: Path, entries: list[tuple[str, bool]], depth: int, slice_urls: int, part_urls: int
) -> None:
    urls, are_sitemaps = zip(*entries, strict=True)
    listing = ListedUrls(urls, are_sitemaps=are_sitemaps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tarrafa.agent.discovery.SLICE_URLS", slice_urls)
        patch.setattr("tarrafa.agent.url_batches.PART_URLS", part_urls)
        at_once, before = (unsaved_of(listing, depth, is_judged_first) for is_judged_first in (False, True))
        assert written(before, folder) == written(at_once, folder)
    assert before.counts == at_once.counts
    assert before.found_count >= at_once.found_count == len(at_once.found)


def test_what_long_listings_found_is_news_and_counts() -> None:
    found, judged = Unsaved(), Unsaved()
    judged.offer(f"{A}/1", 65, 0, UrlKind.PAGE, is_outside=False)
    judged.offer(f"{A}/2", 65, 0, UrlKind.PAGE, is_outside=False)
    assert not found
    found.merge_listed(judged)
    assert found
    assert found.found_count == 2


# A crawl.

COUNT = 50_000


def answered(visit: Visit) -> None:
    """A host that announces a sitemap of as many URLs as one may have."""
    path, host = visit.request.split(b" ")[1], visit.request.partition(b"Host: ")[2].partition(b"\r\n")[0]
    types = {b"/robots.txt": b"text/plain", b"/sitemap.xml": b"application/xml"}
    bodies = {
        b"/robots.txt": b"Sitemap: http://%b/sitemap.xml" % host,
        b"/sitemap.xml": b"<urlset>%b</urlset>"
        % b"".join(b"<url><loc>http://%b/p/%d</loc></url>" % (host, number) for number in range(COUNT)),
    }
    body = bodies.get(path, b"<p>a page")
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    visit.send(head % (types.get(path, b"text/html"), len(body)) + body)


@pytest.fixture
def host() -> Iterator[str]:
    server = Server(answered)
    yield f"http://127.0.0.1:{server.port}"
    server.close()


def known(folder: Path) -> set[str]:
    with Veuniq(CrawlFolder(folder).repository) as repository:
        return {each.url for each in repository.urls()}


def test_all_urls_of_a_long_sitemap_are_known_also_when_only_the_archive_is_left_of_the_crawl(
    host: str, tmp_path: Path
) -> None:
    """A kill before the first checkpoint leaves nothing but the mark of the folder and the archive."""
    haste = tmp_path / "haste.toml"
    haste.write_text(HASTE.replace('"200kB"', '"5MB"'))
    words = ["--config", str(haste), "crawl", f"{host}/", "--pages", "5", "--dir"]
    listed = {f"{host}/p/{number}" for number in range(COUNT)}
    first, second = tmp_path / "first", tmp_path / "second"
    assert run(*words, str(first)).returncode == 0
    assert known(first) == listed | {f"{host}/", f"{host}/sitemap.xml"}
    shutil.copytree(CrawlFolder(first).archive, CrawlFolder(second).archive)
    shutil.copy(first / MARK_FILE, second / MARK_FILE)
    assert run(*words, str(second)).returncode == 0
    assert known(second) == known(first)
