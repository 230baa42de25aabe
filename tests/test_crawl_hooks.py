"""`tarrafa crawl --hooks`: functions in a file, kills and failures; and the commands that write Markdown."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import tarrafa
from crawls import ServedWeb, arguments, crawled, documents, run, served

HOOKS = """
def on_page(page):
    page.fields["length"] = len(page.text)
    page.fields["first_link"] = next((link.target for link in page.links), None)

def on_url(url):
    return "-2" not in url.path
"""
BROKEN = """
def on_page(page):
    page.fields["length"] = len(page.text)
    raise LookupError("no price")
"""


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "6", "--pages", "150", "--rng-seed", "5") as found:
        yield found


def hooks_file(folder: Path, text: str) -> list[str]:
    path = folder / "hooks.py"
    path.write_text(text)
    return ["--hooks", str(path)]


def rows_of(folder: Path) -> list[dict[str, object]]:
    found = tarrafa.open(folder).documents().to_table(columns=["url", "outcome", "text", "length"])
    return [row for row in found.to_pylist() if row["outcome"] == "fetched"]


def test_functions_of_a_file_add_columns_and_refuse_urls(web: ServedWeb, tmp_path: Path) -> None:
    told = crawled(web, tmp_path / "crawl", *hooks_file(tmp_path, HOOKS))
    assert told["hook_errors"] == 0
    assert told["refusals"]["hook"] > 0
    rows = rows_of(tmp_path / "crawl")
    assert rows
    assert all(row["length"] == len(str(row["text"])) for row in rows)
    assert not any("-2" in str(row["url"]) for row in rows)
    out = tmp_path / "documents.parquet"
    assert run("export", "parquet", "--dir", str(tmp_path / "crawl"), "--out", str(out)).returncode == 0
    query = f"SELECT count(*), count(first_link) FROM '{out}' WHERE length > 0"
    ((count, links_count),) = duckdb.connect().execute(query).fetchall()
    assert count == len([row for row in rows if row["length"]])
    assert links_count > 0


def test_hook_that_fails_stops_only_a_strict_crawl(web: ServedWeb, tmp_path: Path) -> None:
    words = [*arguments(web, tmp_path / "crawl", "--pages", "3"), *hooks_file(tmp_path, BROKEN)]
    strict = run(*words, "--strict")
    assert strict.returncode == 1
    assert "the hook on_page failed for http" in strict.stderr
    assert "line 4: LookupError: no price; correct it, then run again" in strict.stderr
    assert "Traceback" not in strict.stderr
    done = run(*words)
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[-1])["hook_errors"] >= 3
    assert done.stderr.count("hook failed") >= 3
    assert all(row["length"] is not None for row in rows_of(tmp_path / "crawl"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is not a file"),
        ("x = 1", "has no hook"),
        ("def on_page(page)", "line 1: SyntaxError"),
        ("import no_such_module", "line 1: ModuleNotFoundError"),
    ],
)
def test_file_that_cannot_be_used_is_wrong_input(
    web: ServedWeb, tmp_path: Path, text: str | None, message: str
) -> None:
    words = hooks_file(tmp_path, text or "")
    if text is None:
        (tmp_path / "hooks.py").unlink()
    done = run(*arguments(web, tmp_path / "crawl", *words))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "crawl").exists()


def test_strict_without_hooks_is_wrong_input(web: ServedWeb, tmp_path: Path) -> None:
    done = run(*arguments(web, tmp_path / "crawl", "--strict"))
    assert done.returncode == 2
    assert "give --hooks FILE" in done.stderr


def test_every_page_goes_through_the_hooks_however_often_the_crawl_is_killed(web: ServedWeb, tmp_path: Path) -> None:
    chance, folder = random.Random(3), tmp_path / "crawl"
    words = [*arguments(web, folder, "--in-flight", "5"), *hooks_file(tmp_path, HOOKS)]
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("crawl_child.py"))]
    killed_count = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        for seconds in [*(chance.uniform(0.05, 0.6) for _ in range(12)), None]:
            process.stdin.write(json.dumps([seconds, *words]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline().strip()
            killed_count += answer == "killed"
        assert answer == "0"
    assert killed_count >= 3
    rows = rows_of(folder)
    assert len({row["url"] for row in rows}) == len(rows)
    assert all(row["length"] == len(str(row["text"])) for row in rows)


# Markdown.


@pytest.fixture(scope="module")
def crawl(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("markdown")
    crawled(web, folder / "crawl", "--pages", "20", *hooks_file(folder, HOOKS))
    return folder / "crawl"


def test_page_is_shown_as_markdown(web: ServedWeb, crawl: Path) -> None:
    done = run("page", web.url, "--dir", str(crawl), "--markdown")
    assert done.returncode == 0
    assert done.stdout.startswith("# ")
    assert "](http://127.0.0." in done.stdout
    assert done.stdout == tarrafa.open(crawl).page(web.url).markdown + "\n"


def test_kinds_of_output_are_exclusive(web: ServedWeb, crawl: Path) -> None:
    done = run("page", web.url, "--dir", str(crawl), "--markdown", "--links")
    assert done.returncode == 2
    assert "--text, --markdown, --links and --json are exclusive" in done.stderr


def test_pages_are_exported_as_markdown_files(crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages"
    done = run("export", "markdown", "--dir", str(crawl), "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    files = sorted(out.rglob("*.md"))
    fetched = {str(row["url"]) for row in documents(crawl) if row["outcome"] == "fetched"}
    assert json.loads(done.stdout)["pages"] == len(files) > 10
    texts = [path.read_text() for path in files]
    urls = {json.loads(text.splitlines()[1].removeprefix("url: ")) for text in texts}
    assert urls <= fetched
    assert all(text.startswith("---\nurl: ") and "\nlength: " in text for text in texts)
    again = run("export", "markdown", "--dir", str(crawl), "--out", str(out))
    assert again.returncode == 2
    assert "is not an empty folder" in again.stderr
    piped = run("export", "markdown", "--dir", str(crawl), "--out", "-")
    assert piped.returncode == 0
    assert piped.stdout.count("\nurl: ") == len(files)
