import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa import logs
from tarrafa.errors import InputError
from tarrafa.logs import JsonFormatter, TextFormatter, event

log = logging.getLogger("tarrafa.test")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """The log is the process's; each test leaves it as it was."""
    root, ours = logging.getLogger(), logging.getLogger("tarrafa")
    before = list(root.handlers), ours.level
    yield
    root.handlers[:], level = before
    ours.setLevel(level)


def record(name: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("tarrafa.test", logging.INFO, __file__, 1, name, None, None)
    made.created = 1_000_000_000.25
    made.fields = fields
    return made


def written(line_format: str, level: str, act: Callable[[], None]) -> str:
    stream = io.StringIO()
    logs.start(level, line_format, stream)
    act()
    return stream.getvalue()


def test_text_line_has_time_in_utc_level_logger_event_and_fields() -> None:
    line = TextFormatter().format(record("page fetched", url="http://a.test/?q=1", status=200, note="two words"))
    assert line == (
        '2001-09-09T01:46:40.250Z info tarrafa.test: page fetched url=http://a.test/?q=1 status=200 note="two words"'
    )


def test_json_line_is_one_flat_object() -> None:
    entry = json.loads(JsonFormatter().format(record("page fetched", url="http://a.test/", status=200)))
    assert entry == {
        "time": "2001-09-09T01:46:40.250Z",
        "level": "info",
        "logger": "tarrafa.test",
        "event": "page fetched",
        "url": "http://a.test/",
        "status": 200,
    }


def test_field_named_as_one_of_ours_is_kept_beside_it() -> None:
    entry = json.loads(JsonFormatter().format(record("x", level="high", time=3)))
    assert (entry["level"], entry["level_"], entry["time_"]) == ("info", "high", 3)


def test_quiet_by_default_levels() -> None:
    assert written("text", "warning", lambda: event(log, "page fetched")) == ""
    assert "host set aside" in written("text", "warning", lambda: event(log, "host set aside", logging.WARNING))


def test_debug_is_shown_for_us_and_not_for_libraries() -> None:
    def act() -> None:
        event(log, "ours", logging.DEBUG)
        logging.getLogger("asyncio").debug("theirs")

    text = written("text", "debug", act)
    assert "ours" in text
    assert "theirs" not in text


def test_starting_again_replaces_the_first() -> None:
    first = io.StringIO()
    logs.start("info", "text", first)
    assert "second" in written("json", "info", lambda: event(log, "second"))
    assert first.getvalue() == ""


def test_fields_may_have_any_name() -> None:
    text = written("json", "info", lambda: event(log, "x", logger="l", name="n", message="m", args="a"))
    assert json.loads(text)["message"] == "m"


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def endless() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


ODD = [
    Hostile(),
    float("nan"),
    float("inf"),
    10**5000,
    b"\xff",
    {1: {(2, 3): Hostile()}},
    {"a"},
    endless(),
    "\ud800",
    "\x1b[2J\n",
]


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_odd_value_makes_one_valid_line(value: object) -> None:
    line = JsonFormatter().format(record("x", value=value))
    assert line.isascii()
    assert line.isprintable()
    json.loads(line, parse_constant=pytest.fail)
    assert TextFormatter().format(record("x", value=value)).isprintable()


@given(st.text(), st.text())
def test_no_text_breaks_a_line(name: str, value: str) -> None:
    assert TextFormatter().format(record(name, value=value)).isprintable()
    assert json.loads(JsonFormatter().format(record(name, value=value)))["value"] == value


def test_long_values_are_cut() -> None:
    line = JsonFormatter().format(record("x", value="y" * 10**6, many=list(range(10**5))))
    assert len(line) < 4_000


def test_library_with_a_wrong_format_string_is_still_heard() -> None:
    made = logging.LogRecord("lib", logging.WARNING, __file__, 1, "%d items", ("three",), None)
    assert "%d items" in TextFormatter().format(made)


def test_exception_comes_with_its_traceback() -> None:
    def act() -> None:
        try:
            raise RuntimeError("why")
        except RuntimeError:
            log.exception("failed")

    assert "RuntimeError: why" in json.loads(written("json", "info", act))["exception"]


def test_closed_stream_does_not_stop_the_work() -> None:
    stream = io.StringIO()
    logs.start("info", "text", stream)
    stream.close()
    event(log, "nobody hears this")
    assert stream.closed


def test_events_are_appended_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    for name in ("first", "second"):
        logs.start("info", "json", file=path)
        event(log, name)
    logs.start("info", "text")
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["first", "second"]


def test_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"crawl\.log: the log cannot be written: No such file"):
        logs.start("info", "text", file=tmp_path / "missing" / "crawl.log")


def test_events_go_to_what_is_standard_error_at_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live view replaces standard error after the log has started, and prints what it gets above itself."""
    logs.start("info", "text")
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    event(log, "host suspended")
    assert "host suspended" in stream.getvalue()
