"""The live view of a crawl: why it is slow, its lines at 80 and 140 columns, and the whole in a real terminal."""

import os
import pty
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pyte
import pytest

from brains import A, B, make_page
from crawls import served
from servers import Server, Visit
from tarrafa.agent import Ending, Progress
from tarrafa.agent.recent_visits import RecentVisits
from tarrafa.cli.live_view import RateCurve, live_lines, notice
from tarrafa.cli.progress_view import interrupted, line
from tarrafa.explain.slowness import why_slow
from tarrafa.records import Failure, FailureKind

RUNNING = Progress(seconds=60.0, in_flight_limit=300)
FAILED = [("refused", f"{A}/"), ("refused", f"{B}/")]

CASES = [
    (RUNNING._replace(waiting=3, ready=0), "Politeness: 3 hosts resting between visits."),
    (RUNNING._replace(waiting=1, next_seconds=4.2), "Politeness: 1 host resting between visits, next in 4.2 s."),
    (RUNNING._replace(waiting=2, last_visits=FAILED), "Failures (refused): 2 hosts backing off."),
    (RUNNING._replace(waiting=9, last_visits=[FAILED[0], ("200", A)]), "Politeness: 9 hosts resting between visits."),
    (RUNNING._replace(resolving=40, in_flight=10, waiting=90), "Names: 40 names being looked up."),
    (RUNNING._replace(in_flight=12), "Answers: 12 visits waiting for an answer."),
    (RUNNING._replace(in_flight=2, slowest_hosts={A: 9.0, B: 0.1}), "Answers: 2 visits waiting for an answer."),
    (
        RUNNING._replace(in_flight=1, slowest_hosts={A: 0.02}),
        "Politeness: one visit at a time per host, 1 visit under way.",
    ),
    (RUNNING._replace(in_flight=1, extracting=1), "Extraction: 1 large page being parsed."),
    (RUNNING._replace(in_flight=300, waiting=10, ready=10), "Limit: all 300 visits of --in-flight are under way."),
    (RUNNING._replace(in_flight=300, busy_share=0.93), "CPU: the event loop is busy 93% of the time."),
    (
        RUNNING._replace(is_saving_late=True, in_flight=3),
        "Disk: saving has fallen behind; visits pause until it is done.",
    ),
    (
        RUNNING._replace(outage_seconds=95.0, waiting=3, last_visits=FAILED),
        "Network: down for 1 min 35 s; visits go on when it is back.",
    ),
    (RUNNING._replace(suspended=7), "Suspended: only 7 hosts left, all suspended."),
    (
        RUNNING._replace(suspended=2, next_seconds=48.0),
        "Suspended: only 2 hosts left, all suspended, next in 48.0 s.",
    ),
    (RUNNING, "Verifying: found URLs are being checked; visits follow."),
    (RUNNING._replace(in_flight=9, ready=3, waiting=3), "Nothing: visits begin as fast as they can."),
    (RUNNING._replace(ending=Ending.STOPPED, in_flight=3), ""),
]


def test_line_of_a_crawl_without_a_terminal_joins_its_parts() -> None:
    shown = line(RUNNING._replace(hosts=1, in_flight=1, extracting=1))
    assert ", 1 host, " in shown
    assert shown.endswith("; Extraction: 1 large page being parsed")


@pytest.mark.parametrize(("progress", "sentence"), CASES, ids=[sentence[:12] for _, sentence in CASES])
def test_sentence_says_why_a_crawl_is_slow_and_fits_in_80_columns(progress: Progress, sentence: str) -> None:
    assert why_slow(progress) == sentence
    assert len(sentence) <= 69


# Lines.

LONG = f"{A}/{'long-path/' * 30}"
FULL = Progress(
    pages=1_234,
    visits=2_000,
    pages_limit=5_000,
    left_seconds=95.0,
    seconds=60.0,
    in_flight=12,
    in_flight_limit=300,
    waiting=200,
    resolving=5,
    suspended=2,
    outcomes={"fetched": 1_234, "gone": 400, "redirected": 300, "failed": 60, "refused": 6},
    slowest_hosts={A: 12.0, B: 0.25},
    last_visits=[("200", LONG), ("timeout", f"{B}/\x1b[2Jevil"), *[("200", f"{A}/{n}") for n in range(4)]],
)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_no_line_is_longer_than_the_terminal_is_wide_or_moves_its_cursor(width: int) -> None:
    lines = live_lines(FULL, RateCurve(), width, "http://127.0.0.1:8080/")
    assert max(line.cell_len for line in lines) <= width
    assert all(line.plain.isprintable() for line in lines)
    assert len(lines) <= 24


def test_bar_ends_with_the_limit_and_the_time_left() -> None:
    bar = live_lines(FULL, RateCurve(), 80)[0].plain
    assert bar.endswith("─ 1,234 of 5,000 pages, 1 min 35 s left")
    assert bar.startswith("━" * 10 + "─")


def test_without_a_limit_there_is_no_bar() -> None:
    assert live_lines(FULL._replace(pages_limit=None), RateCurve(), 80)[0].plain.startswith("pages")


def test_bar_shows_the_limit_that_is_nearer() -> None:
    assert "of 1 min 15 s" in live_lines(FULL._replace(seconds_limit=75.0), RateCurve(), 80)[0].plain


def test_wide_terminal_shows_more_of_the_last_urls() -> None:
    counts = [len(live_lines(FULL, RateCurve(), width)) for width in (80, 140)]
    assert counts[1] == counts[0] + 2


def test_curve_rises_and_falls_with_the_rate() -> None:
    curve = RateCurve()
    for second, pages in enumerate([0, 10, 30, 70, 80, 80]):
        curve.note(float(second), pages)
    assert curve.drawn(30) == "▃▅█▃▁"
    assert curve.drawn(2) == "█▁"
    assert RateCurve().drawn(30) == ""


def test_first_ctrl_c_says_what_is_finished_and_what_the_second_does() -> None:
    assert notice(FULL._replace(ending=Ending.STOPPED)) == "Finishing 12 visits, Ctrl-C again stops now."
    assert notice(FULL._replace(ending=Ending.STOPPED, in_flight=1)) == "Finishing 1 visit, Ctrl-C again stops now."


def test_second_ctrl_c_says_what_is_kept_and_how_to_go_on() -> None:
    assert interrupted(FULL, Path("my crawl")) == (
        "Stopped at once. Kept in my crawl/: 1,234 pages; 12 visits in flight to be made again. "
        "To continue: tarrafa crawl --dir 'my crawl'"
    )


def test_slowest_hosts_are_those_of_long_visits_also_while_they_last() -> None:
    recent = RecentVisits()
    recent.begin(A, f"{A}/", 0.0)
    recent.begin(B, f"{B}/", 1.0)
    assert recent.end(f"{A}/", make_page(f"{A}/", 404), 2.0) == 2.0
    assert recent.slowest(now=9.0) == {B: 8.0, A: 2.0}
    recent.end(f"{B}/", Failure(f"{B}/", FailureKind.TIMEOUT, ""), 9.0)
    assert recent.last == [("timeout", f"{B}/"), ("404", f"{A}/")]


# In a real terminal.

ROW = r"(pages|visits|URLs|hosts|why slow|slowest|last|used) "


class CrawlTerminal:
    """A command in a terminal, and what the terminal shows."""

    def __init__(self, command: list[str], columns: int) -> None:
        self._screen = pyte.Screen(columns, 30)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "", "LINES": "", "NO_COLOR": ""}
        del environment["COLUMNS"], environment["LINES"], environment["NO_COLOR"]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment
        )
        os.close(slave)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for(self, is_there: Callable[[str], object]) -> str:
        """Return the first screen that fulfils the condition."""
        while not is_there(self.text):
            try:
                self._stream.feed(os.read(self._master, 1 << 16))
            except OSError:  # the command has ended
                pytest.fail(f"the terminal shows only:\n{self.text}")
        return self.text

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@contextmanager
def terminal(url: str, folder: Path, columns: int, *options: str) -> Iterator[CrawlTerminal]:
    command = [sys.executable, "-m", "tarrafa", "crawl", url, "--dir", str(folder), "--allow-private", "--delay", "1s"]
    made = CrawlTerminal([*command, *options], columns)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("columns", [80, 140])
def test_view_and_events_share_a_terminal(columns: int, tmp_path: Path) -> None:
    with (
        served("--hosts", "1", "--pages", "50") as web,
        terminal(web.url, tmp_path / "crawl", columns, "--pages", "40", "--log-level", "info") as shown,
    ):
        text = shown.wait_for(lambda text: "Politeness: 1 host" in text and "crawl: cycle" in text)
        lines = text.splitlines()
        names = [line[:10].strip() for line in lines if re.match(ROW, line)]
        assert names == ["pages", "visits", "URLs", "hosts", "why slow", "slowest", "last", "used"]
        bar = next(number for number, line in enumerate(lines) if "of 40 pages" in line)
        assert all("tarrafa.crawl:" not in line for line in lines[bar:])
        shown.process.send_signal(signal.SIGINT)
        end = shown.wait_for(lambda text: "Stopped on request." in text)
        assert "why slow" not in end
        assert shown.process.wait() == 0


def never_answered(visit: Visit) -> None:
    if b"robots.txt" in visit.request:
        visit.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    else:
        visit.hang()


def test_first_ctrl_c_finishes_and_the_second_stops_and_both_say_so(tmp_path: Path) -> None:
    server = Server(never_answered)
    try:
        with terminal(f"127.0.0.1:{server.port}", tmp_path / "crawl", 80) as shown:
            shown.wait_for(lambda text: "Answers: 1 visit waiting for an answer." in text)
            os.killpg(shown.process.pid, signal.SIGINT)
            shown.wait_for(lambda text: "Finishing 1 visit, Ctrl-C again stops now." in text)
            os.killpg(shown.process.pid, signal.SIGINT)
            # The lines of the screen end wherever the path is long enough.
            text = shown.wait_for(lambda text: "Tocontinue:tarrafacrawl" in "".join(text.split()))
            assert "Traceback" not in text
            assert shown.process.wait() == 130
    finally:
        server.close()
