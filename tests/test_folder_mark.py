"""Folders that are written: only those that are missing, empty or marked."""

import json
from pathlib import Path

import pytest

from tarrafa.agent import CrawlFolder
from tarrafa.cli.app import run
from tarrafa.disk import UNFINISHED
from tarrafa.errors import InputError
from tarrafa.folder_mark import MARK_FILE, check_mark, claim_folder


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder of a user's own, with files of the names that a crawl would write."""
    folder = tmp_path / "strange"
    folder.mkdir()
    for name in ("tarrafa.toml", "crawl.toml", "seeds.txt", "growth.json"):
        (folder / name).write_text("# mine\n")
    return folder


def test_missing_and_empty_folders_are_marked(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing/deep"):
        claim_folder(tmp_path / name, "crawl", 1)
        assert check_mark(tmp_path / name, "crawl", 1)
        claim_folder(tmp_path / name, "crawl", 1)


def test_mark_that_was_not_finished_does_not_count(tmp_path: Path) -> None:
    """Killed between the first write and the rename."""
    (tmp_path / f"{MARK_FILE}.17{UNFINISHED}").write_text("{")
    claim_folder(tmp_path, "crawl", 1)
    assert check_mark(tmp_path, "crawl", 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"kind": "result of an experiment", "format": 1}', "not a crawl"),
        ('{"kind": "crawl", "format": 2}', "format 2"),
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
    ],
)
def test_mark_of_another_kind_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / MARK_FILE).write_text(text)
    with pytest.raises(InputError, match=problem):
        claim_folder(tmp_path, "crawl", 1)
    assert (tmp_path / MARK_FILE).read_text() == text


@pytest.mark.parametrize(
    "words",
    [
        ["crawl", "http://127.0.0.1:9/", "--allow-private", "--dir"],
        ["demo", "--hosts", "1", "--pages", "1", "--dir"],
        ["experiment", "uniqueness", "--known", "1", "--dir"],
        ["experiment", "uniqueness", "--known", "1", "--out"],
        ["experiment", "crawl", "--pages", "100", "--dir"],
        ["experiment", "crawl", "--pages", "100", "--out"],
    ],
)
def test_folder_with_other_files_is_left_as_it_is(
    strange: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, str(strange)]) == 2
    assert {path.name: path.read_text() for path in strange.iterdir()} == dict.fromkeys(
        ("tarrafa.toml", "crawl.toml", "seeds.txt", "growth.json"), "# mine\n"
    )
    assert "missing or empty" in capsys.readouterr().err


def test_demo_does_not_change_a_crawl(tmp_path: Path) -> None:
    """It would get the settings of the demo, which visit without delay."""
    CrawlFolder(tmp_path).lock().release()
    assert run(["demo", "--hosts", "1", "--pages", "1", "--dir", str(tmp_path)]) == 2
    assert not CrawlFolder(tmp_path).has_configuration()


@pytest.mark.parametrize("words", [["crawl", "example.org"], ["status"], ["demo"], ["experiment", "crawl"]])
@pytest.mark.parametrize("flag", [["--dir", ""], ["--dir="], ["--dir", " "]])
def test_empty_name_of_a_folder_is_an_error(
    words: list[str], flag: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*words, *flag]) == 2
    assert list(tmp_path.iterdir()) == []


def test_crawl_folder_is_marked_first(tmp_path: Path) -> None:
    lock = CrawlFolder(tmp_path / "crawl").lock()
    assert json.loads((tmp_path / "crawl" / MARK_FILE).read_text()) == {"kind": "crawl", "format": 1}
    lock.release()
