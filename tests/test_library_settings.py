"""Settings of the Python API: every key of a crawl by its name, with Python's values, and errors that help."""

from datetime import timedelta
from pathlib import Path

import pytest

import tarrafa
from tarrafa.agent import CrawlFolder
from tarrafa.configuration import KEYS
from tarrafa.library.settings import configuration_of, crawl_keys, key_of, seconds_of


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder without a tarrafa.toml."""
    monkeypatch.chdir(tmp_path)


def value(name: str, given: object, tmp_path: Path) -> object:
    return configuration_of({name: given}, CrawlFolder(tmp_path)).value(key_of(name))


@pytest.mark.parametrize("path", [key.path for key in KEYS.values() if key.section not in ("log", "web")])
def test_every_key_of_a_crawl_is_a_setting(path: str, tmp_path: Path) -> None:
    key = KEYS[path]
    assert key_of(path) is key
    assert key in crawl_keys()[key.name]
    assert value(path, key.default, tmp_path) == key.default


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("delay", "2s", 2.0),
        ("delay", 0.25, 0.25),
        ("delay", 3, 3.0),
        ("delay", timedelta(minutes=1), 60.0),
        ("body_limit", "2MB", 2_000_000),
        ("body_limit", 300_000, 300_000),
        ("allow_private", True, True),
        ("scope", "any", "any"),
        ("own_hosts", ["a.example", "b.example"], "a.example, b.example"),
        ("politeness.delay", "2s", 2.0),
    ],
)
def test_value_is_that_of_a_flag_or_of_python(name: str, given: object, read: object, tmp_path: Path) -> None:
    assert value(name, given, tmp_path) == read


def test_misspelt_setting_is_an_error_that_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(tarrafa.ConfigurationError, match=r"unknown setting .dealy.; did you mean delay"):
        tarrafa.Crawl("a.example", dir=tmp_path / "a", dealy="2s")
    with pytest.raises(tarrafa.ConfigurationError, match=r"unknown setting .*; did you mean crawl\.scope"):
        key_of("crawl.scop")
    with pytest.raises(tarrafa.ConfigurationError, match=r"known settings: .*delay"):
        tarrafa.Crawl("a.example", dir=tmp_path / "a", xyzzyx="2s")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delay": "2"}, "no unit"),
        ({"delay": "soon"}, "not a duration"),
        ({"delay": -1}, "not a duration"),
        ({"delay": float("nan")}, "not a duration"),
        ({"delay": timedelta(days=2)}, "out of bounds"),
        ({"body_limit": 1.5}, "not a whole number of bytes"),
        ({"allow_private": "yes"}, "not a boolean"),
        ({"depth": "5"}, "not a whole number"),
        ({"order": "random access"}, "not one of"),
    ],
)
def test_wrong_value_is_an_error_that_says_what_to_write(
    given: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(tarrafa.InputError, match=message):
        configuration_of(given, CrawlFolder(tmp_path))


@pytest.mark.parametrize("given", [{"pages": 0}, {"pages": "10"}, {"hosts": -1}, {"time": "soon"}, {"dir": " "}])
def test_wrong_argument_is_an_input_error_before_anything_is_written(given: dict[str, object], tmp_path: Path) -> None:
    arguments: dict[str, object] = {"dir": tmp_path / "crawl", **given}
    with pytest.raises(tarrafa.InputError):
        tarrafa.crawl("a.example", **arguments)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_seed_that_is_none_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(tarrafa.InputError, match="not an http or https URL"):
        tarrafa.Crawl(["a.example", "ftp://b.example/"], dir=tmp_path)


def test_public_host_without_a_contact_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tarrafa.InputError, match="no contact"):
        tarrafa.crawl("example.org", dir=tmp_path / "crawl")
    assert not (tmp_path / "crawl").exists()


def test_file_of_the_current_folder_and_a_named_one_count(tmp_path: Path) -> None:
    (tmp_path / "tarrafa.toml").write_text('[politeness]\ndelay = "7s"\n')
    other = tmp_path / "other.toml"
    other.write_text('[politeness]\ndelay = "9s"\n')
    folder = CrawlFolder(tmp_path / "crawl")
    assert configuration_of({}, folder).politeness.delay_seconds == 7.0
    assert configuration_of({}, folder, other).politeness.delay_seconds == 9.0
    assert configuration_of({"delay": "8s"}, folder, other).politeness.delay_seconds == 8.0


def test_duration_of_a_run_is_a_text_a_number_or_a_timedelta() -> None:
    assert [seconds_of(each) for each in ("2h", 90, 0.5, timedelta(minutes=2))] == [7200.0, 90.0, 0.5, 120.0]
