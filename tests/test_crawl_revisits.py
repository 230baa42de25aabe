"""Content that a crawl meets again at another URL is kept once; whoever reads it back gets all of it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from archive_pages import seen_by_fastwarc, seen_by_warcio, warc_files
from crawls import HASTE, ServedWeb, documents, links, pages, run, served
from tarrafa.agent import CrawlFolder
from tarrafa.keep import StoredPage, read_whole_pages
from tarrafa.serve import FactsReader

LEAST_BYTES = 1_000
# What the watch refuses depends on the order of the answers, which a recovery does not have.
NO_WATCH = HASTE.replace("[crawl]", "[crawl]\ntrap_watch = false")


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "30", "--pages", "900", "--rng-seed", "4") as found:
        yield found


def crawled(web: ServedWeb, folder: Path, *options: str) -> dict[str, Any]:
    configuration = folder.parent / "haste.toml"
    configuration.write_text(NO_WATCH)
    done = run("--config", str(configuration), "crawl", web.url, "--dir", str(folder), "--json", *options)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def begun(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """After its first page."""
    folder = tmp_path_factory.mktemp("revisits") / "begun"
    crawled(web, folder, "--pages", "1")
    return folder


@pytest.fixture(scope="module")
def whole(web: ServedWeb, begun: Path) -> Path:
    """The same crawl, at its end."""
    folder = begun.with_name("whole")
    shutil.copytree(begun, folder)
    assert crawled(web, folder)["ending"] == "done"
    return folder


def kept(folder: Path) -> list[StoredPage]:
    return list(read_whole_pages(CrawlFolder(folder).archive))


def revisits(folder: Path) -> dict[str, StoredPage]:
    return {stored.page.url: stored for stored in kept(folder) if stored.original}


def exported(form: str, folder: Path, out: Path) -> Path:
    done = run("export", form, "--dir", str(folder), "--out", str(out))
    assert done.returncode == 0, done.stderr
    return out


def test_every_body_that_is_not_small_is_kept_once(whole: Path) -> None:
    first: dict[str, StoredPage] = {}
    again = 0
    for stored in kept(whole):
        page = stored.page
        if len(page.body) < LEAST_BYTES or page.truncated or page.unread:
            assert stored.original is None
        elif (original := first.setdefault(stored.digest, stored)) is not stored:
            again += 1
            assert stored.original == original.place
            assert page.body == original.page.body
    assert again > 0


def test_copies_of_the_web_are_revisits(web: ServedWeb, whole: Path) -> None:
    """Whichever of the two was met first."""
    found = {stored.page.url: stored for stored in kept(whole)}
    pairs = [(row["url"], row["copy_of"]) for row in web.rows().values() if row.get("copy_of")]
    pairs = [pair for pair in pairs if found.keys() >= set(pair)]
    assert pairs
    assert all(found[one].original or found[other].original for one, other in pairs)
    assert all(found[one].page.body == found[other].page.body for one, other in pairs)


def test_others_read_the_archive_to_its_end(whole: Path) -> None:
    (path,) = warc_files(CrawlFolder(whole).archive)
    seen = seen_by_warcio(path)
    assert [url for kind, url, *_ in seen if kind == "revisit"] == list(revisits(whole))
    assert [(kind, url) for kind, url, _ in seen_by_fastwarc(path)] == [(kind, url) for kind, url, *_ in seen]


# After a kill.


def test_revisits_after_the_last_checkpoint_are_read_back_with_all_that_they_say(
    web: ServedWeb, begun: Path, whole: Path, tmp_path: Path
) -> None:
    """Killed when every page was in the archive, and nothing else was saved since the first."""
    folder, before = tmp_path / "crawl", asked(web)
    shutil.copytree(begun, folder)
    shutil.rmtree(CrawlFolder(folder).archive)
    shutil.copytree(CrawlFolder(whole).archive, CrawlFolder(folder).archive)
    assert crawled(web, folder)["ending"] == "done"
    assert asked(web) == before
    assert by_url(rows_of(folder, tmp_path)) == by_url(rows_of(whole, tmp_path))
    assert sorted(map(str, links(folder))) == sorted(map(str, links(whole)))
    assert kept(folder) == kept(whole)


def asked(web: ServedWeb) -> list[tuple[str, str]]:
    """But for robots.txt, which is no page."""
    entries = [(entry["host"], entry["path"]) for entry in web.log()["entries"]]
    return [entry for entry in entries if entry[1] != "/robots.txt"]


def rows_of(folder: Path, out: Path) -> list[dict[str, Any]]:
    """Return every document, but for when it was fetched: the archive rounds the last digit."""
    table = pq.read_table(exported("parquet", folder, out / "documents.parquet")).drop_columns("fetched_at")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def by_url(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {row["url"]: row for row in rows}
    assert len(found) == len(rows)
    return found


# Reading back.


def test_document_of_a_revisit_is_that_of_its_original(whole: Path, tmp_path: Path) -> None:
    rows, by_place = by_url(rows_of(whole, tmp_path)), {stored.place: stored.page.url for stored in kept(whole)}
    lines = exported("jsonl", whole, tmp_path / "documents.jsonl").read_text().splitlines()
    told = by_url([json.loads(line) for line in lines])
    for url, stored in revisits(whole).items():
        assert stored.original
        original = rows[by_place[stored.original]]
        for name in ("title", "text", "language", "digest", "signature", "size_bytes"):
            assert rows[url][name] == original[name] != ""
        assert told[url]["text"] == original["text"]
        assert (rows[url]["archive_file"], rows[url]["archive_offset"]) == stored.place


def test_page_that_is_kept_as_a_revisit_is_shown_in_every_form(whole: Path, tmp_path: Path) -> None:
    encodings = {row["url"]: row["encoding"] for row in rows_of(whole, tmp_path)}
    url, stored = next(each for each in revisits(whole).items() if encodings[each[0]] == "utf-8")
    asked = ("page", url, "--dir", str(whole))
    facts = json.loads(run(*asked, "--json").stdout)
    assert (facts["url"], facts["digest"]) == (url, stored.digest)
    assert facts["text"] in run(*asked, "--text").stdout
    assert f"<title>{facts['title']}" in run(*asked, "--body").stdout
    assert run(*asked, "--headers").stdout.startswith("HTTP/1.1 200")
    assert run(*asked, "--links").stdout


def test_stored_copy_of_a_revisit_is_shown(whole: Path) -> None:
    reader, by_place = FactsReader(whole), {stored.place: stored.page.url for stored in kept(whole)}
    for url, stored in revisits(whole).items():
        assert stored.original
        copy, original = reader.copy(url), reader.copy(by_place[stored.original])
        assert copy
        assert original
        assert copy.html == original.html != ""
        facts = reader.facts(url, None)
        assert facts
        assert by_place[stored.original] in facts.copies


def test_records_have_the_html_of_revisits(whole: Path, tmp_path: Path) -> None:
    lines = exported("records", whole, tmp_path / "records.txt").read_text(errors="replace")
    titles = {row["url"]: row["title"] for row in rows_of(whole, tmp_path)}
    for url in revisits(whole):
        _, _, rest = lines.partition(f"||| {url} | ")
        assert f"<title>{titles[url]}" in rest.partition(" |||\n")[0]


def test_index_and_archive_in_one_file_tell_revisits(whole: Path, tmp_path: Path) -> None:
    found = revisits(whole)
    lines = exported("cdxj", whole, tmp_path / "index.cdxj").read_text().splitlines()
    told = {entry["url"]: entry for entry in (json.loads(line.split(" ", 2)[2]) for line in lines)}
    assert {url for url, entry in told.items() if entry["mime"] == "warc/revisit"} == found.keys()
    assert all(f"sha1:{told[url]['digest']}" == stored.digest for url, stored in found.items())
    seen = seen_by_warcio(exported("warc", whole, tmp_path / "all.warc.gz"))
    assert [url for kind, url, *_ in seen if kind == "revisit"] == list(found)


def test_report_counts_revisits_as_pages(whole: Path) -> None:
    told = json.loads(run("report", "--dir", str(whole), "--json").stdout)
    assert told["crawl"]["pages"] == len(pages(whole))
    assert len(documents(whole)) == len(kept(whole))
