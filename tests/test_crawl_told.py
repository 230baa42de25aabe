"""What commands tell of a crawl whose pages are hostile, whose status is of another version, or that holds logins."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from crawls import hasty, run
from tarrafa.agent import CrawlFolder
from tarrafa.configuration import Configuration, HostSettings
from test_crawl_hosts import NOT_FOUND, answer, host

# Colours, a cleared screen, a title, a bell, an override of the order of reading; as text and as references.
HOSTILE = "red \x1b[31m clear \x1b[2J title \x1b]0;gone\x07 bell \x07 left \u202e &#27;[5m end"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A crawl of one page, and its URL."""
    folder = tmp_path_factory.mktemp("told")
    paragraphs = "".join(f"<p>{'plain words of a paragraph ' * 20} {n} {HOSTILE}</p>" for n in range(2))
    page = answer(f"<title>{HOSTILE}</title><h1>A page</h1>{paragraphs}", kind="text/html; charset=utf-8")
    with host(lambda path: NOT_FOUND if path == "/robots.txt" else page, "127.0.0.2") as server:
        url = f"http://127.0.0.2:{server.port}/"
        done = run("--config", str(hasty(folder)), "crawl", url, "--dir", str(folder / "crawl"))
        assert done.returncode == 0, done.stderr
    return folder / "crawl", url


def is_harmless(text: str) -> bool:
    return all(char.isprintable() or char in "\n\t" for char in text)


@pytest.mark.parametrize("option", ["--text", "--headers", "--links"])
def test_page_of_a_hostile_author_does_nothing_to_a_terminal(crawl: tuple[Path, str], option: str) -> None:
    folder, url = crawl
    done = run("page", url, "--dir", str(folder), option)
    assert done.returncode == 0
    assert is_harmless(done.stdout)


def test_text_keeps_its_lines(crawl: tuple[Path, str]) -> None:
    folder, url = crawl
    shown = run("page", url, "--dir", str(folder), "--text").stdout
    stored = json.loads(run("page", url, "--dir", str(folder), "--json").stdout)["text"]
    assert "\x1b" in stored
    assert shown.count("\n") == stored.count("\n") + 3
    assert "\\x1b[2J" in shown


def test_status_of_another_version_is_shown_as_far_as_it_is_known(crawl: tuple[Path, str], tmp_path: Path) -> None:
    folder = CrawlFolder(shutil.copytree(crawl[0], tmp_path / "crawl"))
    told = json.loads(folder.status.read_text())
    folder.status.write_text(json.dumps({**told, "moons": 2, "phases": {"new": 1}}))
    done = run("status", "--dir", str(folder.root), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert shown["pages"] == told["pages"] == 1
    assert "moons" not in shown


@pytest.mark.parametrize("words", [("status",), ("explain", "--crawl"), ("explain", "a.example")])
def test_ending_that_is_not_known_is_told_with_the_file_and_what_to_do(
    crawl: tuple[Path, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = CrawlFolder(shutil.copytree(crawl[0], tmp_path / "crawl"))
    folder.status.write_text(json.dumps({"ending": "eclipsed", "pages": 3}))
    done = run(*words, "--dir", str(folder.root))
    assert done.returncode == 1
    assert str(folder.status) in done.stderr
    assert '"eclipsed" is unknown' in done.stderr
    assert "run the crawl again" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "[1, 2]", "17", '"word"', "{", "null"])
def test_status_file_that_is_no_object_counts_as_missing(crawl: tuple[Path, str], tmp_path: Path, text: str) -> None:
    folder = CrawlFolder(shutil.copytree(crawl[0], tmp_path / "crawl"))
    folder.status.write_text(text)
    done = run("status", "--dir", str(folder.root), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert (shown["ending"], shown["pages"], shown["saved_pages"]) == ("killed", 1, 1)


# Logins.


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("settings", "has_secrets"),
    [
        (HostSettings("host:a.example", bearer_token="t"), True),
        (HostSettings("host:a.example", cookies="a=b"), True),
        (HostSettings("host:a.example", basic_login="user:password"), True),
        (HostSettings("host:a.example", headers=(("X-Key", "k"),)), True),
        (HostSettings("host:a.example"), False),
    ],
)
def test_logins_cookies_and_headers_are_secrets(settings: HostSettings, has_secrets: bool) -> None:
    assert Configuration(hosts=(settings,)).has_secrets is has_secrets


def test_configuration_with_a_password_is_for_its_owner_only(tmp_path: Path) -> None:
    """Here it is that of a proxy. The file of a crawl that has none may be read by all, as before."""
    folder = CrawlFolder(tmp_path / "crawl")
    words = ["crawl", "127.0.0.2:1", "--dir", str(folder.root), "--time", "1s", "--allow-private"]
    run("--config", str(hasty(tmp_path)), *words)
    assert mode_of(folder.configuration) & 0o044 == 0o044 & ~umask()
    settings = tmp_path / "proxy.toml"
    settings.write_text('[fetch]\nproxy = "http://user:password@127.0.0.1:1"\n')
    run("--config", str(settings), *words)
    assert "user:password" in folder.configuration.read_text()
    assert mode_of(folder.configuration) == 0o600


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_another_user_reads_a_crawl_whose_configuration_is_not_for_them(crawl: tuple[Path, str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="tarrafa-told-") as name:
        public = Path(name)
        public.chmod(0o755)
        folder = CrawlFolder(shutil.copytree(crawl[0], public / "crawl"))
        folder.configuration.chmod(0o600)
        child = Path(__file__).with_name("reader_child.py")
        asked = [json.dumps(["status", "--dir", str(folder.root), "--json"])]
        asked.append(json.dumps(["page", crawl[1], "--dir", str(folder.root), "--text"]))
        words = [sys.executable, str(child), "65534", *asked]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    assert [code for code, *_ in json.loads(done.stdout.splitlines()[-1])] == [0, 0]
