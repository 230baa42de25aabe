"""Kill a crawl at any moment, again and again: it ends with exactly what an undisturbed crawl ends with."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import warcio.archiveiterator

from crawls import arguments, documents, followed, links, pages_fetched, served
from tarrafa.agent import CrawlFolder, checkpoint_of
from tarrafa.keep import read_pages, read_whole_pages
from tarrafa.verify import Veuniq

KILLS = 50
WEB = ("--hosts", "40", "--pages", "3000", "--rng-seed", "11")


class Killer:
    """Runs `tarrafa` in children that die when told."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, seconds: float | None, words: list[str]) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([seconds, *words]) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


def start_killer() -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("crawl_child.py"))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_crawl_killed_fifty_times_ends_with_the_truth(tmp_path: Path) -> None:
    chance, folder = random.Random(3), tmp_path / "crawl"
    with served(*WEB) as web, start_killer() as process:
        killer, killed_count = Killer(process), 0
        words = arguments(web, folder, "--in-flight", "20")
        for _ in range(KILLS):
            killed_count += killer.run(chance.uniform(0.0, 0.7), words) == "killed"
        assert killer.run(None, words) == "0"
        assert pages_fetched(folder, web) == web.collectable()
        log = web.log()
    assert killed_count > KILLS // 2, "the crawl was over before it was killed often enough to tell"
    assert (log["robots_violations"], log["malformed"]) == (0, 0)
    check_archive(folder)
    check_rows(folder)
    check_revisits(folder)
    # Only what was in flight when a kill came was asked for again.
    asked = Counter((entry["host"], entry["path"]) for entry in log["entries"] if entry["path"] != "/robots.txt")
    assert sum(asked.values()) - len(asked) <= 20 * killed_count


def test_no_host_is_visited_too_early_however_often_the_crawl_is_killed(tmp_path: Path) -> None:
    """Neither by the delay of the crawl, nor by the longer one that some hosts ask for in robots.txt."""
    chance, folder = random.Random(5), tmp_path / "crawl"
    web_options = ("--hosts", "12", "--pages", "200", "--delay", "300ms", "--faults", "crawl-delay")
    with served(*web_options) as web, start_killer() as process:
        killer = Killer(process)
        for _ in range(12):
            killer.run(chance.uniform(0.3, 2.0), arguments(web, folder, "--delay", "300ms"))
        log = web.log()
    assert log["pages"] > 20
    assert (log["too_early"], log["robots_violations"], log["malformed"]) == (0, 0, 0)


def check_archive(folder: Path) -> None:
    """Valid to the end, and no page in it twice."""
    kept = [stored.page.url for stored in read_pages(CrawlFolder(folder).archive)]
    assert len(kept) == len(set(kept))
    count = 0
    for path in sorted(CrawlFolder(folder).archive.iterdir()):
        with path.open("rb") as file:
            for record in warcio.archiveiterator.ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                count += record.rec_type in ("response", "revisit")
    assert count == len(kept)


def check_revisits(folder: Path) -> None:
    """Check that a page kept without its body has the same rows as the one with it."""
    stored = list(read_whole_pages(CrawlFolder(folder).archive))
    pages_by_place = {each.place: each.page for each in stored}
    revisits = [(each.page, pages_by_place[each.original]) for each in stored if each.original]
    assert revisits
    rows = {row["url"]: row for row in documents(folder)}
    links_by_source = Counter(row["source"] for row in links(folder))
    for page, original in revisits:
        assert page.body == original.body
        for name in ("title", "signature", "size_bytes", "digest"):
            assert rows[page.url][name] == rows[original.url][name]
        assert links_by_source[page.url] == links_by_source[original.url] > 0


def refusals(folder: Path) -> dict[str, int]:
    return checkpoint_of(CrawlFolder(folder).hosts).totals.named("refusal")


def check_rows(folder: Path) -> None:
    """Documents, links, archive and repository tell the same story."""
    rows = documents(folder)
    urls = [row["url"] for row in rows]
    assert len(urls) == len(set(urls))
    assert set(urls) == {stored.page.url for stored in read_pages(CrawlFolder(folder).archive)}
    sources = {row["source"] for row in links(folder)}
    assert sources <= set(urls)
    with Veuniq(CrawlFolder(folder).repository) as repository:
        assert list(repository.problems()) == []
        known = {each.url: each for each in repository.urls()}
        assert repository.counts().waiting == 0
    assert all(known[row["url"]].collected for row in rows)
    # Patterns of pages that are gone and of files that are not wanted are not followed any more. Each link is counted.
    refused = followed(folder) - known.keys()
    assert len(refused) <= sum(count for reason, count in refusals(folder).items() if reason.startswith("pattern "))
    assert all(
        (known[row["url"]].file, known[row["url"]].offset) == (row["archive_file"], row["archive_offset"])
        for row in rows
    )
