"""Collections: searched, read by other tools, while a crawl runs, and where nothing may be written."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars
import pytest

import tarrafa
from crawls import ServedWeb, crawled, documents, served
from sample_batches import batches
from tarrafa.agent import CrawlFolder
from tarrafa.disk import FolderLock
from tarrafa.keep.markdown_export import file_name
from tarrafa.verify import RepositoryBounds, Veuniq, drain, known_urls


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "6", "--pages", "120", "--rng-seed", "5") as found:
        yield found


@pytest.fixture(scope="module")
def folder(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("collection") / "crawl"
    crawled(web, found)
    return found


@pytest.fixture
def collection(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tarrafa.Collection:
    monkeypatch.chdir(tmp_path)
    return tarrafa.open(folder)


def word_of(collection: tarrafa.Collection) -> str:
    """Return a long word of a title."""
    titles = collection.documents().to_table(columns=["title"]).column(0).to_pylist()
    words: list[str] = [word for title in titles for word in title.split() if word.isalpha()]
    return max(words, key=len)


def test_folder_without_a_crawl_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(tarrafa.InputError, match="holds no crawl"):
        tarrafa.open(tmp_path)


def test_search_indexes_what_is_new_and_tells_what_a_reader_needs(collection: tarrafa.Collection) -> None:
    word = word_of(collection)
    hits = collection.search(word, top=3)
    assert 0 < len(hits) <= 3
    best = hits[0]
    assert word.lower() in f"{best.title} {best.snippet}".lower()
    assert best.score >= hits[-1].score > 0
    assert best.fetched_at.tzinfo is UTC
    assert best.fetched_at <= datetime.now(UTC)
    assert collection.page(best.url).title == best.title
    assert collection.search(word, site="no.example") == []


def test_ranks_are_made_and_used(collection: tarrafa.Collection) -> None:
    collection.rank()
    assert any(hit.rank for hit in collection.search(word_of(collection)))


def test_index_is_made_once(collection: tarrafa.Collection) -> None:
    collection.index(rebuild=True)
    assert collection.index() == 0


def test_search_goes_on_while_another_process_indexes(collection: tarrafa.Collection, folder: Path) -> None:
    word = word_of(collection)
    found = tarrafa.open(folder).search(word)
    lock = FolderLock(CrawlFolder(folder).index)
    try:
        assert tarrafa.open(folder).search(word) == found
    finally:
        lock.release()


def test_other_tools_read_documents_and_links(collection: tarrafa.Collection, folder: Path) -> None:
    rows = documents(folder)
    dataset = collection.documents()
    assert dataset.count_rows() == len(rows)
    in_duckdb = duckdb.connect().execute("SELECT url FROM dataset WHERE outcome = 'fetched'").fetchall()
    in_polars = polars.scan_pyarrow_dataset(dataset).filter(polars.col("outcome") == "fetched").select("url").collect()
    fetched = sorted(row["url"] for row in rows if row["outcome"] == "fetched")
    assert sorted(url for (url,) in in_duckdb) == sorted(in_polars["url"].to_list()) == fetched
    links = collection.links().to_table(columns=["source"]).column(0).to_pylist()
    assert set(links) <= {row["url"] for row in rows}


def test_page_has_its_stored_copy_and_its_links(collection: tarrafa.Collection, web: ServedWeb) -> None:
    page = collection.page(web.url)
    assert page.status == 200
    assert str(page.header("content-type")).startswith("text/html")
    assert page.body.startswith(b"<!")
    assert page.title in page.html
    assert page.select("title").text() == page.title
    assert page.select_all("a")
    assert page.links
    assert [link.position for link in page.links] == list(range(len(page.links)))
    assert page.fetched_at.tzinfo is not None
    assert page.document["digest"] == page.stored.digest
    assert page.fields == {}


def test_page_that_is_not_there_is_an_error_that_says_why(collection: tarrafa.Collection, web: ServedWeb) -> None:
    with pytest.raises(tarrafa.PageMissingError, match="is unknown"):
        collection.page(web.url + "no-such-page")
    disallowed = next(known for known in collection.urls() if known.outcome == "refused")
    with pytest.raises(tarrafa.PageMissingError, match=r"disallowed by robots\.txt"):
        collection.page(disallowed.url)


def test_every_known_url_is_told_once(collection: tarrafa.Collection, folder: Path) -> None:
    urls = {known.url: known for known in collection.urls()}
    assert len(urls) == collection.status.progress.known
    for row in documents(folder):
        known = urls[row["url"]]
        assert (known.is_visited, known.status, known.outcome) == (True, row["status"], row["outcome"])
        assert known.visited_at is not None
    refused = [known for known in urls.values() if known.outcome == "refused"]
    assert refused
    assert {(known.status, known.reason) for known in refused} == {(None, "disallowed by robots.txt")}
    assert urls[next(iter(urls))].links_count >= 0


def test_status_and_report_are_those_of_the_commands(collection: tarrafa.Collection, folder: Path) -> None:
    status = collection.status
    assert not status.is_running
    assert status.saved_pages == status.progress.pages == collection.report()["crawl"]["pages"]
    assert json.loads(json.dumps(status.told()))["pages"] == status.saved_pages


def test_urls_are_told_while_blocks_are_split(tmp_path: Path) -> None:
    """A reader goes on from where it was, and sees each URL once."""
    with Veuniq(tmp_path, bounds=RepositoryBounds(rows=100), seed=1) as repository:
        first, *others = batches(3, 6)
        repository.cycle(first)
        list(drain(repository, 1))
        before = {known.url for known in repository.urls()}
        reading = known_urls(tmp_path)
        seen = [next(reading).url]
        for number, each in enumerate(others):
            repository.cycle(each._replace(number=100 + number))
        list(drain(repository, 200))
        assert len(repository.blocks()) > 2
        seen += [known.url for known in reading]
        after = [known.url for known in known_urls(tmp_path)]
        assert sorted(after) == sorted(known.url for known in repository.urls())
    assert len(seen) == len(set(seen))
    assert before <= set(seen) <= set(after)


def test_folder_without_a_repository_knows_no_url(tmp_path: Path) -> None:
    assert list(known_urls(tmp_path)) == []


@pytest.mark.parametrize(
    "url",
    [
        *("http://a.example/", "http://a.example/a/b?c=d", "http://[::1]/x", "http://xn--0.example/" + "x" * 3_000),
        *("http://a.example/%2E%2E/%00", "http://a.example/CON", "http://u:p@a.example/../../etc/passwd"),
    ],
)
def test_name_of_an_exported_file_is_safe(url: str) -> None:
    path = file_name(url)
    assert len(path.parts) == 2
    assert all(part.strip(".") == part and len(part) < 150 for part in path.parts)
    assert not set(str(path)) - set("abcdefghijklmnopqrstuvwxyz0123456789-./")


IMPORT = """
import json, sys
before = set(sys.modules)
import tarrafa
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def test_importing_the_package_loads_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) <= {"tarrafa", "importlib", "typing", "collections", "functools", "re"} | set(
        sys.stdlib_module_names
    )


def test_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'crwal'"):
        tarrafa.crwal  # type: ignore[attr-defined]  # noqa: B018
    assert set(tarrafa.__all__) <= set(dir(tarrafa))
