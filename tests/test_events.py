"""The events of a crawl, by name. What decides instructs the loop to tell them; loop and checkpoints log them."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brains import EPOCH, A, BrainDriver, BrainSettings, told
from crawls import run, served
from tarrafa.agent import events
from tarrafa.agent.instructions import TellRobotsUnreachable, TellSuspended
from tarrafa.logs import JsonFormatter
from tarrafa.records import FailureKind
from tarrafa.schedule import RetryPolicy


class EventList(logging.Handler):
    """The events as they would be logged, each as a JSON object."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.entries.append(json.loads(JsonFormatter().format(record)))


@pytest.fixture
def logged() -> Iterator[EventList]:
    handler, logger = EventList(), logging.getLogger("tarrafa")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_moments_are_in_utc(logged: EventList) -> None:
    events.host_suspended("http://a.test", "timeout", 1_000_000_000.4)
    (entry,) = logged.entries
    assert (entry["event"], entry["until"]) == ("host suspended", "2001-09-09T01:46:40Z")


def test_unreachable_robots_txt_is_told_with_the_time_of_the_next_try() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(tries_limit=1, failures_limit=100)))
    brain.schedule(f"{A}/")
    brain.fail(brain.next_fetch(), FailureKind.TIMEOUT)
    assert told(brain.take()) == [TellRobotsUnreachable(A, "timeout", EPOCH + brain.now + 300.0)]


def test_suspension_is_told_with_its_reason_and_end() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.answer(brain.next_fetch(), 429, b"", ("Retry-After", "20000"))
    assert told(brain.take()) == [TellSuspended(A, "busy", EPOCH + brain.now + 20_000.0)]


@pytest.fixture(scope="module")
def crawl_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a crawl of a hostile web in haste, with a limit on pages that it does not reach at first."""
    folder = tmp_path_factory.mktemp("events")
    settings = folder / "haste.toml"
    settings.write_text(SETTINGS)
    log = ["--log-level", "info", "--log-format", "json", "--log-file", str(folder / "crawl.log")]
    with served("--hosts", "12", "--pages", "150", "--faults", "hostile", "--rng-seed", "3") as web:
        command = ["--config", str(settings), "crawl", web.url, "--dir", str(folder / "crawl"), "--json"]
        first = run(*command, "--pages", "20", *log)
        second = run(*command, *log)
        third = run(*command)  # at the usual level, which shows no event
    assert [first.stderr, second.stderr, third.stderr] == ["", "", ""]
    return folder / "crawl.log"


SETTINGS = """
[crawl]
scope = "any"
allow_private = true
host_pages = 30
[politeness]
delay = "0s"
address_delay = "0s"
tries = 1
failures = 2
back_off = "1ms"
back_off_ceiling = "1ms"
suspension = "1ms"
suspensions = 1
[fetch]
timeout = "2s"
first_byte_timeout = "1s"
slow_time = "1s"
body_limit = "20kB"
"""


def entries(path: Path, name: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [entry for entry in found if entry["event"] == name]


def test_both_runs_begin_and_end(crawl_log: Path) -> None:
    begun, ended = entries(crawl_log, "crawl begun"), entries(crawl_log, "crawl ended")
    assert [entry["pages"] for entry in begun] == [0, ended[0]["pages"]]
    assert ended[0]["ending"] == "page limit"
    assert len(ended) == 2


def test_limit_is_told_when_it_is_reached(crawl_log: Path) -> None:
    assert [(entry["limit"], entry["value"]) for entry in entries(crawl_log, "limit reached")] == [("pages", 20)]


def test_checkpoints_are_numbered_and_cycles_count_what_is_known(crawl_log: Path) -> None:
    numbers = [entry["number"] for entry in entries(crawl_log, "checkpoint")]
    assert numbers == sorted(numbers)
    known = [entry["known"] for entry in entries(crawl_log, "cycle")]
    assert known == sorted(known)
    assert known[-1] > 20


@pytest.mark.parametrize(
    "name", ["host suspended", "host given up", "page cut", "robots.txt unreachable", "pattern slowed"]
)
def test_what_a_hostile_web_causes_is_told(crawl_log: Path, name: str) -> None:
    found = entries(crawl_log, name)
    assert found
    assert all(entry.get("reason", "cut") and entry.get("host", entry.get("url")) for entry in found)


def test_flags_of_the_log_are_for_one_run(crawl_log: Path) -> None:
    kept = (crawl_log.parent / "crawl" / "crawl.toml").read_text()
    assert "level =" not in kept
    assert str(crawl_log) not in kept
