"""The conformance tool on a folder with a few cases."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "conformance.py"

URLS: list[dict[str, Any]] = [
    {"id": "u1", "group": "http", "base": "http://example.org/a/b", "href": "../c", "expected": "http://example.org/c"},
    {"id": "u2", "group": "nonhttp", "base": "http://example.org/", "href": "mailto:x", "expected": "mailto:x"},
    {"id": "u3", "group": "rfc3986", "base": None, "href": "no base", "expected": None},
    {"id": "u4", "group": "odd", "base": None, "href": "http://example.org/", "expected": "a matter of taste"},
    {
        "id": "u5",
        "group": "encoding",
        "base": "http://example.org/",
        "href": "?é",
        "encoding": "latin1",
        "expected": "http://example.org/?%E9",
    },
]
CANON: list[dict[str, Any]] = [
    {"id": "c1", "cls": "whatwg", "input": "HTTP://Example.ORG:80/#x", "expected": "http://example.org/"},
    {"id": "c2", "cls": "rfc3986", "input": "http://example.org/%7ea", "expected": "http://example.org/~a"},
    {"id": "c3", "cls": "policy", "input": "http://example.org/?b&a", "expected": "http://example.org/?a&b"},
]
ROBOTS: list[dict[str, Any]] = [
    {
        "id": "r1",
        "kind": "allowed",
        "tier": "core",
        "ua": "FooBot",
        "url": "http://example.org/a/b",
        "robots": "User-agent: foobot\nDisallow: /a/\n",
        "expected": False,
    },
    {
        "id": "r2",
        "kind": "allowed",
        "tier": "policy",
        "ua": "FooBot",
        "url": "http://example.org/a",
        "robots_b64": "VXNlci1hZ2VudDogKgpEaXNhbGxvdzogLw==",
        "expected": True,
    },
    {"id": "r3", "kind": "crawl_delay", "tier": "core", "ua": "x", "robots": "", "expected": None},
    {"id": "r4", "kind": "sitemaps", "tier": "core", "ua": "x", "robots": "Sitemap: /relative", "expected": []},
]


def folder(root: Path, urls: list[dict[str, Any]], canon: list[dict[str, Any]]) -> Path:
    for name, cases in (("urls", urls), ("canon", canon), ("robots", ROBOTS)):
        (root / name).mkdir()
        (root / name / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return root


def conformance(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=60)


def report(data: Path) -> dict[str, Any]:
    finished = conformance("--data", data, "--json")
    assert finished.returncode == 0, finished.stderr
    return dict(json.loads(finished.stdout))


def test_only_the_groups_that_count_make_the_percent(tmp_path: Path) -> None:
    got = report(folder(tmp_path, URLS, CANON))
    assert got["urls"]["percent"] == 100.0
    assert got["urls"]["groups"]["odd"] == {"cases": 1, "passed": 0, "percent": 0.0, "counts": False}
    assert got["urls"]["groups"]["encoding"]["passed"] == 1
    assert got["canon"]["percent"] == 100.0
    assert got["canon"]["groups"]["policy"]["passed"] == 0
    assert got["robots"]["percent"] == 100.0
    counts = {name: group["counts"] for name, group in got["robots"]["groups"].items()}
    assert counts == {"core": True, "policy": False, "crawl_delay core": False, "sitemaps core": False}


def test_one_wrong_expectation_lowers_the_percent(tmp_path: Path) -> None:
    wrong = {**URLS[0], "id": "wrong", "expected": "http://example.org/a/c"}
    got = report(folder(tmp_path, [*URLS, wrong], CANON))
    assert got["urls"]["percent"] == 75.0
    assert got["urls"]["groups"]["http"] == {"cases": 2, "passed": 1, "percent": 50.0, "counts": True}


def test_the_table_names_every_group_and_failures_are_listed_on_demand(tmp_path: Path) -> None:
    data = folder(tmp_path, URLS, CANON)
    plain, listed = conformance("--data", data), conformance("--data", data, "--failures")
    assert all(name in plain.stdout for name in ("http", "rfc3986", "policy", "100.00", "all that count"))
    assert "u4" not in plain.stdout
    assert "urls: odd: u4" in listed.stdout
    assert "canon: policy: c3" in listed.stdout


def test_failures_stay_inside_the_one_json_object(tmp_path: Path) -> None:
    finished = conformance("--data", folder(tmp_path, URLS, CANON), "--json", "--failures")
    assert [failure[:7] for failure in json.loads(finished.stdout)["canon"]["failures"]] == ["policy:"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--data"),
        (("--data", "no/such/folder"), "no/such/folder is not a folder"),
        (("--data", "{}", "--jsno"), "--jsno"),
        (("--data", "{}"), "urls/cases.jsonl"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    finished = conformance(*(argument.format(tmp_path) for argument in arguments))
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert says in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize("line", ["{not json", "[]", '{"id": "u1"}'])
def test_a_line_that_is_no_case_is_named(line: str, tmp_path: Path) -> None:
    data = folder(tmp_path, URLS, CANON)
    (data / "canon" / "cases.jsonl").write_text(line + "\n")
    finished = conformance("--data", data)
    assert finished.returncode == 2
    assert "cases.jsonl:1" in finished.stderr
    assert "Traceback" not in finished.stderr
