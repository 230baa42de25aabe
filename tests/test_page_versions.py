"""Versions of a page: which one is shown, its history, and what changed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tarrafa
from crawls import run
from tarrafa.dates import format_moment
from tarrafa.errors import InputError, PageMissingError
from tarrafa.keep.finder import Finder
from tarrafa.library.page_versions import diff_lines, find_versions
from versioned import BEGAN, DAY, VersionedCrawl

A, B, C, D = (f"http://example.org/{name}" for name in "abcd")


def day(number: float) -> str:
    return format_moment(BEGAN + number * DAY)


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[VersionedCrawl]:
    """A changes on day 4, and is gone from day 7 on; B has only one version; C comes back; D failed."""
    found = VersionedCrawl(tmp_path / "crawl")
    found.visit(A, "old words\nthat stay", links=[(B, "to b", "", "a", 0)])
    found.visit(B, "only version")
    found.visit(A, outcome="unchanged")
    found.visit(A, "new words\nthat stay", links=[(C, "to c", "", "a", 0)])
    found.visit(C, "first life")
    found.visit(A, outcome="failed")
    found.visit(A, outcome="gone")
    found.visit(C, outcome="redirected")
    found.save()
    found.visit(C, "second life")
    found.visit(D, outcome="failed")
    found.visit(B, outcome="failed")
    found.save()
    yield found
    found.close()


def test_page_is_the_current_version_whatever_mere_visits_follow(crawl: VersionedCrawl) -> None:
    collection = tarrafa.Collection(crawl.folder.root)
    assert collection.page(B).text == "only version"
    assert collection.page(C).text == "second life"
    assert collection.page(A).status == 410
    assert collection.page(D).status == 503


@pytest.mark.parametrize(
    ("url", "at", "text", "target"),
    [
        (A, 1, "old words\nthat stay", B),
        (A, 3.5, "old words\nthat stay", B),
        (A, 4, "new words\nthat stay", C),
        (A, 6.9, "new words\nthat stay", C),
        (C, 7, "first life", ""),
        (C, 9, "second life", ""),
    ],
)
def test_version_of_a_moment_has_its_own_text_links_and_copy(
    crawl: VersionedCrawl, url: str, at: float, text: str, target: str
) -> None:
    page = tarrafa.Collection(crawl.folder.root).page(url, at=day(at))
    assert page.text == text
    assert text in page.html
    assert [link.target for link in page.links] == ([target] if target else [])


@pytest.mark.parametrize(
    ("url", "at", "said"),
    [
        (A, 0, f"no version before {day(0)}; its first is of {day(1)}"),
        (A, 8, f"is gone since {day(7)}; its last version is of {day(4)}: give --at {day(4)}"),
        (C, 8.5, f"is redirected since {day(8)}; its last version is of {day(5)}"),
        (D, 1, f"no version before {day(1)}; its first is of {day(10)}"),
    ],
)
def test_moment_without_a_version_says_which_ones_there_are(
    crawl: VersionedCrawl, url: str, at: float, said: str
) -> None:
    with pytest.raises(PageMissingError) as caught:
        tarrafa.Collection(crawl.folder.root).page(url, at=day(at))
    assert said in str(caught.value)


def test_day_means_its_end(crawl: VersionedCrawl) -> None:
    assert tarrafa.Collection(crawl.folder.root).page(A, at=day(4)[:10]).text.startswith("new")
    with pytest.raises(InputError, match="is no date"):
        tarrafa.Collection(crawl.folder.root).page(A, at="last week")


def test_history_tells_each_visit_newest_first(crawl: VersionedCrawl) -> None:
    visits = tarrafa.Collection(crawl.folder.root).history(A)
    assert [(each.outcome, each.is_changed, each.is_current) for each in visits] == [
        ("gone", None, True),
        ("failed", None, False),
        ("fetched", True, False),
        ("unchanged", False, False),
        ("fetched", None, False),
    ]
    assert [each.has_copy for each in visits] == [False, False, True, False, True]
    with pytest.raises(PageMissingError, match="is unknown"):
        tarrafa.Collection(crawl.folder.root).history("http://example.org/nowhere")


def diff(crawl: VersionedCrawl, url: str, *dates: str) -> list[str]:
    return list(diff_lines(*find_versions(crawl.folder, Finder(crawl.folder), url, dates)))[3:]


def test_diff_compares_the_last_two_versions_or_those_of_two_dates(crawl: VersionedCrawl) -> None:
    changed = ["-old", "-old words", "+new", "+new words", " that stay"]
    assert diff(crawl, A) == changed
    assert diff(crawl, A, day(5), day(2)) == changed
    assert diff(crawl, C, day(5)) == ["-first", "-first life", "+second", "+second life"]
    assert diff(crawl, A, day(2), day(3)) == []
    with pytest.raises(PageMissingError, match=f"one version only, of {day(2)}"):
        diff(crawl, B)
    with pytest.raises(PageMissingError, match="never fetched"):
        diff(crawl, D)


def page(crawl: VersionedCrawl, *options: str) -> Any:
    return run("page", A, "--dir", str(crawl.folder.root), *options)


def test_command_shows_history_versions_and_changes(crawl: VersionedCrawl) -> None:
    told = json.loads(page(crawl, "--history", "--json").stdout)["visits"]
    assert [each["is_version"] for each in told] == [False, False, True, False, True]
    table = page(crawl, "--history").stdout
    assert [line.split()[0] for line in table.splitlines()[1:6]] == [day(number) for number in (7, 6, 4, 3, 1)]
    assert table.splitlines()[-1] == "5 visits, 2 versions."
    assert page(crawl, "--at", day(3), "--text").stdout == "old\n\nold words\nthat stay\n"
    shown = page(crawl, "--diff").stdout.splitlines()
    assert shown[:2] == [f"--- {A} {day(1)}", f"+++ {A} {day(4)}"]
    assert shown[3:] == json.loads(page(crawl, "--diff", day(1), day(4), "--json").stdout)["diff"][3:]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["2025"], "only --diff takes"),
        (["--diff", "2025", "2026", "2027"], "3 dates were given"),
        (["--diff", "soon"], "is no date"),
        (["--at", "2025", "--history"], "--at shows one version"),
        (["--history", "--text"], "--text and --history are exclusive"),
        (["--at", "2025-13"], "is no date"),
    ],
)
def test_command_refuses_what_it_does_not_understand(crawl: VersionedCrawl, options: list[str], said: str) -> None:
    done = page(crawl, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert not done.stdout
