"""A crawl visits its pages again over sockets: what has not changed is not sent, and costs no page."""

import json
import shutil
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from archive_pages import seen_by_fastwarc, seen_by_warcio, warc_files
from crawls import ServedWeb, crawled, documents, run, served
from tarrafa.agent import CrawlFolder
from tarrafa.histories import PageHistory, Phase
from tarrafa.keep import Place, StoredPage, read_page, read_whole_pages
from tarrafa.verify import Veuniq

DAYS = 5


class Crawled(NamedTuple):
    folder: Path
    told: dict[str, Any]


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "1", "--pages", "60", "--rng-seed", "3") as found:
        yield found


@pytest.fixture(scope="module")
def first(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("conditional") / "first"
    return Crawled(folder, crawled(web, folder))


@pytest.fixture(scope="module")
def still(web: ServedWeb, first: Crawled) -> Crawled:
    """All pages were visited again, and none has changed."""
    folder = first.folder.with_name("still")
    shutil.copytree(first.folder, folder)
    return Crawled(folder, crawled(web, folder, "--again"))


@pytest.fixture(scope="module")
def later(web: ServedWeb, still: Crawled) -> Crawled:
    """All pages were visited once more, some days later."""
    folder = still.folder.with_name("later")
    shutil.copytree(still.folder, folder)
    moved = urllib.request.Request(f"{web.url}__clock?advance_seconds={DAYS * 86_400}", method="POST")
    urllib.request.urlopen(moved).close()
    return Crawled(folder, crawled(web, folder, "--again"))


def stored(folder: Path) -> list[StoredPage]:
    return list(read_whole_pages(CrawlFolder(folder).archive))


def again(folder: Path, before: Path) -> list[dict[str, Any]]:
    """Return the rows of the last run."""
    return documents(folder)[len(documents(before)) :]


def histories(folder: Path) -> dict[str, PageHistory]:
    repository = Veuniq(CrawlFolder(folder).repository)
    try:
        rows = [(block, repository.histories(block).histories.row) for block in repository.blocks()]
        urls = [page.url for block, each in rows for page in repository.known_pages(block, each)]
        found = {url: repository.lookup(url) for url in urls}
    finally:
        repository.close()
    return {url: known.history for url, known in found.items() if known and known.history}


def test_pages_that_have_not_changed_are_not_sent_again(first: Crawled, still: Crawled, web: ServedWeb) -> None:
    rows = again(still.folder, first.folder)
    fetched = {row["url"] for row in documents(first.folder) if row["outcome"] == "fetched"}
    assert {row["url"] for row in rows if row["outcome"] == "unchanged"} == fetched
    visits = stored(still.folder)[len(stored(first.folder)) :]
    made = [each for each in visits if web.rows().get(each.page.url, {}).get("kind") == "page"]
    unsent = [each for each in made if each.page.status == 304]
    assert len(unsent) > 0.8 * len(made)
    assert all(each.original is not None for each in visits if each.page.url in fetched and not each.page.unread)


def test_pages_that_have_not_changed_cost_no_page(first: Crawled, still: Crawled) -> None:
    """What was refused without a visit, as in a trap, is left out."""
    assert still.told["pages"] == first.told["pages"]
    assert still.told["run_pages"] == 0
    refused = first.told["outcomes"].get("refused", 0)
    assert still.told["run_refreshes"] == first.told["known"] - first.told["fresh"] - refused
    assert still.told["run_changed"] == 0
    assert still.told["outcomes"] == first.told["outcomes"]
    assert still.told["bytes"] - first.told["bytes"] < 0.1 * first.told["bytes"]


def test_pages_that_have_changed_are_sent_and_no_others(still: Crawled, later: Crawled, web: ServedWeb) -> None:
    rows = {row["url"]: row for row in again(later.folder, still.folder)}
    changed = {url for url, row in web.rows().items() if row.get("changes") and row["kind"] == "page" and url in rows}
    fetched = {url for url, row in rows.items() if row["outcome"] == "fetched" and row["status"] == 200}
    assert len(changed) > 5
    assert changed <= fetched | {url for url, row in rows.items() if row["outcome"] == "failed"}
    known = {row["url"] for row in documents(still.folder)}
    assert later.told["run_changed"] == len(fetched & known)


def test_every_visit_counts_once_in_the_history_of_its_page(first: Crawled, still: Crawled, later: Crawled) -> None:
    before, after = histories(first.folder), histories(later.folder)
    assert {each.visits for each in before.values()} == {1}
    assert all(after[url].visits == (1 if each.phase is Phase.REFUSED else 3) for url, each in before.items())
    changes = Counter(url for url, each in after.items() for _ in range(each.changes))
    assert changes.total() == later.told["changed"]
    assert histories(still.folder).keys() == before.keys()


def test_what_is_known_of_a_page_leads_to_its_content(first: Crawled, later: Crawled) -> None:
    repository, archive = Veuniq(CrawlFolder(later.folder).repository), CrawlFolder(later.folder).archive
    pages = {row["url"]: row for row in documents(later.folder) if row["outcome"] == "fetched"}
    for url, row in pages.items():
        known = repository.lookup(url)
        assert known is not None
        assert known.file is not None
        assert known.offset is not None
        content = read_page(archive, Place(known.file, known.offset))
        assert content.page.status == 200
        assert content.digest == row["digest"]
    repository.close()
    assert len(pages) >= first.told["pages"]


def test_others_read_the_archive_of_refreshes_to_its_end(later: Crawled, tmp_path: Path) -> None:
    (path,) = warc_files(CrawlFolder(later.folder).archive)
    seen = seen_by_warcio(path)
    kept = stored(later.folder)
    assert [url for kind, url, *_ in seen if kind in ("response", "revisit")] == [each.page.url for each in kept]
    assert [(kind, url) for kind, url, _ in seen_by_fastwarc(path)] == [(kind, url) for kind, url, *_ in seen]
    out = tmp_path / "index.cdxj"
    assert run("export", "cdxj", "--dir", str(later.folder), "--out", str(out)).returncode == 0
    told = [json.loads(line.split(" ", 2)[2]) for line in out.read_text().splitlines()]
    revisits = Counter(each["url"] for each in told if each["mime"] == "warc/revisit")
    assert revisits == Counter(each.page.url for each in kept if each.original)
    whole = {each["digest"] for each in told if each["mime"] != "warc/revisit"}
    assert {each["digest"] for each in told} == whole


def test_refreshes_after_the_last_checkpoint_are_read_back_from_the_archive(
    web: ServedWeb, first: Crawled, still: Crawled, tmp_path: Path
) -> None:
    """Killed when every answer was in the archive, and nothing else was saved."""
    folder, asked = tmp_path / "crawl", len(web.log()["entries"])
    shutil.copytree(first.folder, folder)
    shutil.rmtree(CrawlFolder(folder).archive)
    shutil.copytree(CrawlFolder(still.folder).archive, CrawlFolder(folder).archive)
    told = crawled(web, folder)
    assert len(web.log()["entries"]) == asked
    assert sorted(map(str, documents(folder))) == sorted(map(str, documents(still.folder)))
    assert (told["pages"], told["refreshes"]) == (still.told["pages"], len(again(still.folder, first.folder)))
    # What is believed of the rate depends on all pages, and is no part of a history. Refusals leave no record.
    rows = {row["url"] for row in again(still.folder, first.folder)}
    saved, found = (
        {url: each[:-1] for url, each in histories(folder).items() if url in rows} for folder in (still.folder, folder)
    )
    assert found == saved
    assert len(found) > 60
