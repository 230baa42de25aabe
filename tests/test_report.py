"""Reports of crawls: the numbers agree with the stored data, and the HTML page is safe."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from crawls import ServedWeb, crawled, documents, served
from tarrafa.agent import (
    Checkpoint,
    CrawlFolder,
    CrawlStep,
    HostChanges,
    HostDatabase,
    HostDatabaseReader,
    HostRecord,
    Totals,
)
from tarrafa.cli.app import run
from tarrafa.keep import DocumentRow, DocumentWriter, Place
from tarrafa.report import html_page, make_report, sections_of
from tarrafa.report.host_facts import HostFacts
from tarrafa.verify import Veuniq

NOW = 1_763_251_200.0
HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e"


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "20", "--pages", "300", "--rng-seed", "5") as found:
        yield found


@pytest.fixture(scope="module")
def whole(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "crawl"
    crawled(web, folder)
    return folder


@pytest.fixture(scope="module")
def told(whole: Path) -> dict[str, Any]:
    """Through JSON and back, as a script gets it."""
    found: dict[str, Any] = json.loads(json.dumps(make_report(CrawlFolder(whole), 7).as_json()))
    return found


def counted(rows: dict[str, Any]) -> dict[str, int]:
    return {row["name"]: row["count"] for row in rows["rows"]}


# Of a crawl.


def test_statuses_and_outcomes_are_those_of_the_documents(whole: Path, told: dict[str, Any]) -> None:
    rows = documents(whole)
    assert counted(told["statuses"]) == {str(status): n for status, n in Counter(row["status"] for row in rows).items()}
    outcomes = Counter(row["outcome"] for row in rows)
    assert {name: n for name, n in told["outcomes"].items() if name != "refused"} == outcomes


def test_states_are_those_of_the_repository(whole: Path, told: dict[str, Any]) -> None:
    with Veuniq(CrawlFolder(whole).repository) as repository:
        counts = repository.counts()
    assert told["states"]["known"] == counts.known > 0
    assert told["states"]["remaining"] == counts.known - counts.collected - counts.scheduled
    assert [told["states"][name] for name in ("collected", "scheduled", "waiting", "hosts", "blocks")] == [
        *(counts.collected, counts.scheduled, counts.waiting, counts.hosts, counts.blocks)
    ]


def test_every_page_is_in_each_of_the_counts(whole: Path, told: dict[str, Any]) -> None:
    pages = fetched = told["outcomes"]["fetched"]
    assert pages == sum(row["outcome"] == "fetched" for row in documents(whole))
    assert told["crawl"]["pages"] == pages < len(documents(whole)) <= told["crawl"]["visits"]
    assert sum(moment["pages"] for moment in told["over_time"]) == pages
    assert sum(told["levels"].values()) == pages
    assert told["hosts"]["pages"]["mean"] * told["hosts"]["pages"]["count"] == pytest.approx(pages)
    for name in ("media_types", "languages"):
        assert sum(counted(told[name]).values()) + told[name]["others"] == fetched
    assert told["size_bytes"]["count"] + told["size_bytes"]["zeros"] == fetched


def test_copies_are_found_as_the_web_made_them(web: ServedWeb, told: dict[str, Any]) -> None:
    assert told["copies"]["pages"] == len(web.collectable())
    assert 0 < told["copies"]["copies"] <= web.ask("__truth")["summary"]["copies"]


def test_space_is_all_that_the_folder_takes(whole: Path) -> None:
    # A new report: a test that locks the folder changes the size of the lock file.
    told = make_report(CrawlFolder(whole), 7).as_json()
    parts = {each["part"]: each["bytes"] for each in told["space"]}
    assert parts.keys() >= {"archive", "documents", "links", "repository", "hosts"}
    assert parts["archive"] == sum(path.stat().st_size for path in CrawlFolder(whole).archive.iterdir())
    assert sum(parts.values()) == told["crawl"]["disk_bytes"] == CrawlFolder(whole).disk_bytes()


def test_steps_have_a_time_and_first_pages_have_hosts(told: dict[str, Any]) -> None:
    steps = told["steps_seconds"]
    assert 0 < steps["first_byte"]["median"] <= steps["total"]["greatest"]
    assert told["crawl"]["hosts_of_first_pages"] == told["hosts"]["visited"] > 1
    assert told["crawl"]["in_flight"] == 7


def test_time_spent_in_every_step_is_shown_per_1000_pages(whole: Path, told: dict[str, Any]) -> None:
    spent, pages = told["spent_seconds"], told["crawl"]["pages"]
    assert spent.keys() >= set(CrawlStep) - {CrawlStep.NAMES, CrawlStep.CONNECT, CrawlStep.FAILED, CrawlStep.REFRESH}
    assert all(each["per_1000_pages"] == pytest.approx(1000 * each["sum"] / pages) for each in spent.values())
    titles = [section.title for section in sections_of(make_report(CrawlFolder(whole), 7))]
    assert {"Time spent in each step", "Time compared with the VEUNIQ paper"} <= set(titles)


def test_freshness_is_estimated_from_histories_and_judged_over_time(whole: Path, told: dict[str, Any]) -> None:
    freshness = told["freshness"]
    with Veuniq(CrawlFolder(whole).repository) as repository:
        assert sum(freshness["phases"].values()) == repository.counts().collected
    assert (
        freshness["pages"]
        == freshness["phases"]["live"] + freshness["phases"]["missing"] + freshness["phases"]["failing"]
    )
    assert freshness["policy"] == "optimal"
    assert 0.9 < freshness["freshness"] <= 1.0  # the crawl has just ended
    assert (freshness["refreshes"], freshness["changes"]) == (0, 0)
    assert sum(each["pages"] for each in freshness["hosts"]) == freshness["pages"]
    assert freshness["over_time"][-1]["pages"] == told["outcomes"]["fetched"]
    later = make_report(CrawlFolder(whole), 7, "uniform", now=time.time() + 30 * 86_400).freshness
    assert later.total.mean(later.total.fresh) < freshness["freshness"] - 0.2
    titles = [section.title for section in sections_of(make_report(CrawlFolder(whole), 7))]
    assert {"Freshness", "Phases of collected URLs", "Freshness over time"} <= set(titles)


def test_ranks_are_shown_when_they_are_there(whole: Path, told: dict[str, Any]) -> None:
    assert told["ranks"] is None
    assert run(["rank", "--dir", str(whole), "--top", "0"]) == 0
    found = make_report(CrawlFolder(whole), 7)
    assert found.as_json()["ranks"]["count"] == told["outcomes"]["fetched"]
    assert "Ranks" in [section.title for section in sections_of(found)]


def test_report_while_a_crawl_holds_the_folder(whole: Path) -> None:
    folder = CrawlFolder(whole)
    hold = folder.lock()
    with Veuniq(folder.repository):
        found = make_report(folder, 7)
    hold.release()
    assert found.is_running
    assert found.states.known > 0


# The command.


def test_tables_are_plain_when_nobody_sees_them(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--dir", str(whole)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    for title in ("Crawl", "URLs by state", "Media types", "Hosts with most pages", "Space", "Pages over time"):
        assert f"\n{title}\n" in f"\n{out}"


def test_json_is_one_object(whole: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--dir", str(whole), "--json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == told.keys()


def test_page_is_written_whole_and_is_the_same_kind_each_time(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    assert run(["report", "--dir", str(whole), "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert out.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("wrong", ["none", "folder", "missing/report.html"])
def test_wrong_input_is_told_in_a_line(
    wrong: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    given = ["--dir", str(tmp_path)] if wrong == "none" else ["--dir", str(whole), "--out", str(tmp_path / wrong)]
    assert run(["report", *given]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith("tarrafa: ")


# Hostile input.


def made(root: Path, rows: list[DocumentRow], hosts: list[HostRecord], totals: dict[str, int]) -> CrawlFolder:
    folder = CrawlFolder(root)
    folder.agent.mkdir(parents=True)
    kept = DocumentWriter(folder.documents, 0)
    for row in rows:
        kept.add(row)
    kept.sync(1)
    book = HostDatabase(folder.hosts)
    book.commit(Checkpoint(1, Place(0, 0), Totals(totals)), HostChanges(hosts))
    book.close()
    return folder


def test_crawl_without_a_page_has_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first second of a crawl, or seeds that lead nowhere."""
    folder = made(tmp_path / "crawl", [], [], {})
    found = make_report(folder, 1)
    assert json.loads(json.dumps(found.as_json()))["crawl"]["pages"] == 0
    assert "Crawl" in [section.title for section in sections_of(found)]
    assert run(["report", "--dir", str(folder.root)]) == 0


def test_pages_that_were_cut_are_listed_by_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cuts: list[tuple[str, ...]] = [("links", "text"), (), ("body",)]
    rows = [
        DocumentRow(f"http://a.test/{number}", NOW, "fetched", 200, cuts=each, size_bytes=9)
        for number, each in enumerate(cuts)
    ]
    folder = made(tmp_path / "crawl", rows, [], {"pages": 3, "pages cut": 2})
    told = make_report(folder, 1).as_json()
    assert (told["crawl"]["pages_cut"], counted(told["cuts"])) == (2, {"links": 1, "text": 1, "body": 1})
    assert told["cut_pages"] == [
        {"url": "http://a.test/0", "cuts": ["links", "text"]},
        {"url": "http://a.test/2", "cuts": ["body"]},
    ]
    assert run(["report", "--dir", str(folder.root)]) == 0
    shown = capsys.readouterr().out
    assert "Pages cut at a limit" in shown
    assert re.search(r"http://a\.test/0 +links, text", shown)


class Elements(HTMLParser):
    """Every element and attribute of a page, and all of its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(root: Path) -> str:
    row = DocumentRow("http://a.test/", NOW, "fetched", 200, HOSTILE, language=HOSTILE, size_bytes=2**40, signature=3)
    host = HostRecord(HOSTILE + "x" * 5_000, 9, 8, 5, 2**50, 1, NOW, 1e-12, 1e9, 0.1, 0.1, "given up", 0.0, HOSTILE)
    folder = made(root, [row], [host], {"pages": 1, "bytes": 2**50, f"failure {HOSTILE}": 3})
    return html_page(HOSTILE, NOW, sections_of(make_report(folder, 1)))


def test_text_of_strangers_stays_text(tmp_path: Path) -> None:
    page = hostile(tmp_path / "crawl")
    found = Elements(page)
    assert "script" not in found.names
    assert "<script>alert(1)</script>" in found.text
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "x" * 200 not in page


def test_page_asks_nobody_for_anything(tmp_path: Path) -> None:
    """No attribute that loads or runs, and a policy that forbids it all the same."""
    found = Elements(hostile(tmp_path / "crawl"))
    forbidden = {"src", "srcset", "style", "action", "formaction", "data", "poster", "background"}
    assert not [name for name, _ in found.attributes if name in forbidden or name.startswith("on")]
    assert all(re.fullmatch(r"#s\d+", value) for name, value in found.attributes if name == "href")
    policy = next(value for name, value in found.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_many_media_types_become_a_few_and_others(tmp_path: Path) -> None:
    rows = [DocumentRow(f"http://a.test/{n}", NOW + n, "fetched", 200, f"text/x-{n % 40}") for n in range(200)]
    found = make_report(made(tmp_path / "crawl", rows, [], {"pages": 200}), 1).as_json()["media_types"]
    assert (len(found["rows"]), found["others"], found["different"]) == (20, 100, 40)


def test_hosts_are_read_in_portions(tmp_path: Path) -> None:
    folder = made(tmp_path / "crawl", [], [HostRecord(f"http://h{n}.test", pages=n) for n in range(7)], {})
    found = HostFacts()
    with closing(HostDatabaseReader(folder.hosts)) as database:
        found.read(database, batch_rows=2)
    assert (found.count, found.visited) == (7, 6)
    assert [host.pages for host in found.top] == [6, 5, 4, 3, 2, 1]
