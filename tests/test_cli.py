import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from servers import Server, Visit
from tarrafa import __version__, wiring
from tarrafa.agent import Ending, Progress
from tarrafa.cli.app import COMMANDS, EXAMPLES, GROUPS, app, run
from tarrafa.cli.endings import exit_code, sentence
from tarrafa.cli.progress_view import summary
from tarrafa.configuration import KEYS, load
from tarrafa.records import Failure, FailureKind, Page, Request

COMMAND = [sys.executable, "-m", "tarrafa"]
HTML = b"<title>hi</title>" * 100
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Evil: \x1b[2J\r\nContent-Encoding: gzip\r\n\r\n"
)

Tarrafa = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tarrafa(capsys: pytest.CaptureFixture[str]) -> Tarrafa:
    """Runs the command line in this process: exit code, standard output, standard error."""

    def typed(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return typed


@pytest.fixture
def url() -> Iterator[str]:
    server = Server(lambda visit: visit.send(ANSWER + gzip.compress(HTML)))
    yield f"http://127.0.0.1:{server.port}/"
    server.close()


# The frame.


def test_without_arguments_the_help_is_shown(tarrafa: Tarrafa) -> None:
    code, out, err = tarrafa()
    assert (code, err) == (0, "")
    assert "Usage: tarrafa" in out
    assert all(name in out for name in COMMANDS)


def test_version_is_shown(tarrafa: Tarrafa) -> None:
    assert tarrafa("--version") == (0, f"tarrafa {__version__}\n", "")


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_has_examples(tarrafa: Tarrafa, command: list[str]) -> None:
    code, out, _ = tarrafa(*command, "--help")
    assert code == 0
    assert "Examples:" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["fetc"],
        ["fetch"],
        ["fetch", "--nonsense"],
        ["--nonsense"],
        ["config", "--config"],
        ["config", "extra"],
        ["config", "--json", "--toml"],
        ["fetch", "http://127.0.0.1/", "--headers", "--body"],
        ["config", "--log-level", "loud"],
        ["config", "--config", "none.toml"],
        ["fetch", "http://127.0.0.1/", "--timeout", "30"],
        ["fetch", "example.org"],
        ["fetch", "mailto:you@your.site"],
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(tarrafa: Tarrafa, arguments: list[str]) -> None:
    code, out, err = tarrafa(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tarrafa: ")
    assert err.count("\n") == 1


def test_near_miss_is_told(tarrafa: Tarrafa) -> None:
    assert "https://example.org/" in tarrafa("fetch", "example.org")[2]
    assert "--help" in tarrafa("fetch", "--nonsense")[2]
    assert '"30s"' in tarrafa("fetch", "http://127.0.0.1/", "--timeout", "30")[2]


def test_global_flags_may_stand_anywhere(tarrafa: Tarrafa) -> None:
    Path("mine.toml").write_text("web.hosts = 7\n")
    for arguments in (
        ["--config", "mine.toml", "config", "--json"],
        ["config", "--config", "mine.toml", "--json"],
        ["config", "--json", "--config=mine.toml"],
    ):
        code, out, _ = tarrafa(*arguments)
        assert code == 0
        assert json.loads(out)["sections"]["web"]["hosts"]["origin"] == "file mine.toml:1"


def test_what_follows_two_dashes_is_no_flag(tarrafa: Tarrafa) -> None:
    code, _, err = tarrafa("fetch", "--", "--debug")
    assert code == 2
    assert '"--debug" is not an http or https URL' in err


def test_error_has_a_traceback_with_debug_only(tarrafa: Tarrafa) -> None:
    assert "Traceback" not in tarrafa("fetch", "nonsense")[2]
    code, _, err = tarrafa("fetch", "nonsense", "--debug")
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("tarrafa: ")


def test_error_of_our_own_is_one_line_too(tarrafa: Tarrafa, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise KeyError("x\n")

    monkeypatch.setattr("tarrafa.cli.config.to_toml", fail)
    code, _, err = tarrafa("config", "--toml")
    assert (code, err.count("\n")) == (1, 1)
    assert "run again with --debug" in err


def test_system_error_is_one_line_too(tarrafa: Tarrafa, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tarrafa.cli.config.to_toml", fail)
    assert tarrafa("config", "--toml") == (1, "", "tarrafa: No space left on device\n")


def test_interruption_is_quiet(tarrafa: Tarrafa, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("tarrafa.cli.config.to_toml", interrupt)
    assert tarrafa("config", "--toml") == (130, "", "")


# The same as a process of its own.


def test_module_and_exit_code() -> None:
    done = subprocess.run([*COMMAND, "fetch", "nonsense"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tarrafa: ")


@pytest.mark.parametrize("arguments", [["--version"], ["config"], ["config", "--json"], ["fetch", "--help"]])
def test_closed_pipe_is_quiet(arguments: list[str]) -> None:
    """`tarrafa config | head -1`, when head has left."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.stderr == b""


def test_full_disk_is_told_in_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "config"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "tarrafa: No space left on device\n")


def _heed_interrupts() -> None:
    """A suite that runs in the background of a shell ignores them, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupted_fetch_ends_at_once_with_130() -> None:
    server = Server(Visit.hang)
    command = [*COMMAND, "fetch", f"http://127.0.0.1:{server.port}/", "--allow-private"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, preexec_fn=_heed_interrupts, stdout=pipe, stderr=pipe) as process:
        server.is_visited.wait()
        process.send_signal(signal.SIGINT)
        assert process.communicate() == (b"", b"")
    server.close()
    assert process.returncode == 130


# tarrafa config


def test_config_shows_every_key_with_value_origin_and_meaning(tarrafa: Tarrafa) -> None:
    Path("tarrafa.toml").write_text('[fetch]\ntimeout = "5s"\n')
    code, out, _ = tarrafa("config", "--log-level", "info")
    rows = {line.split()[0]: line for line in out.splitlines() if line}
    assert code == 0
    assert rows.keys() > KEYS.keys()
    assert '"5s"' in rows["fetch.timeout"]
    assert "file tarrafa.toml:2" in rows["fetch.timeout"]
    assert KEYS["fetch.timeout"].help in rows["fetch.timeout"]
    assert "flag --log-level" in rows["log.level"]


def test_config_says_whether_public_hosts_may_be_visited(tarrafa: Tarrafa) -> None:
    assert "Public hosts cannot be crawled" in tarrafa("config")[1]
    assert json.loads(tarrafa("config", "--json")[1])["public_hosts"] is False
    Path("tarrafa.toml").write_text('crawl.user_agent = "Name/1.0 (+https://your.site/bot)"\n')
    assert "Public hosts can be crawled" in tarrafa("config")[1]
    assert json.loads(tarrafa("config", "--json")[1])["contact"] == "https://your.site/bot"


def test_config_as_toml_is_a_file_that_loads_to_the_same_values(tarrafa: Tarrafa) -> None:
    Path("tarrafa.toml").write_text('fetch.timeout = "5s"\nweb.hosts = 7\n')
    Path("again.toml").write_text(tarrafa("config", "--toml")[1])
    assert load(Path("again.toml")) == load()


def test_wrong_configuration_is_told_line_by_line(tarrafa: Tarrafa) -> None:
    Path("tarrafa.toml").write_text("[fetch]\ntime_out = 3\n[web]\nhosts = 0\n")
    code, out, err = tarrafa("config")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        'tarrafa: tarrafa.toml:2: [fetch] unknown key "time_out"; did you mean "timeout"?',
        "tarrafa: tarrafa.toml:4: [web] hosts: 0 is out of bounds; give a whole number from 1 to 1000000",
    ]


# tarrafa fetch


def test_fetch_shows_status_type_size_and_timings(tarrafa: Tarrafa, url: str) -> None:
    code, out, err = tarrafa("fetch", url, "--allow-private")
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (code, err) == (0, "")
    assert (rows["status"].strip(), rows["type"].strip()) == ("200", "text/html")
    assert "1,700 decompressed" in rows["size"]
    assert "first byte" in rows["time"]


def test_fetch_shows_a_header_that_cannot_harm_a_terminal(tarrafa: Tarrafa, url: str) -> None:
    code, out, _ = tarrafa("fetch", url, "--allow-private", "--headers")
    assert code == 0
    assert out.splitlines()[:3] == ["status: 200", "Content-Type: text/html; charset=utf-8", "X-Evil: \\x1b[2J"]


def test_fetch_prints_the_body_decompressed(url: str) -> None:
    command = [*COMMAND, "fetch", url, "--allow-private", "--body"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, HTML, b"")


def test_fetch_as_json(tarrafa: Tarrafa, url: str) -> None:
    code, out, _ = tarrafa("fetch", url, "--allow-private", "--json")
    got = json.loads(out)
    assert code == 0
    assert (got["url"], got["status"], got["type"], got["decoded_bytes"]) == (url, 200, "text/html", len(HTML))
    assert got["timings"]["total_seconds"] > 0


def test_fetch_of_a_private_address_says_how_to_allow_it(tarrafa: Tarrafa, url: str) -> None:
    code, out, err = tarrafa("fetch", url)
    assert (code, out) == (1, "")
    assert "--allow-private" in err
    Path("tarrafa.toml").write_text("crawl.allow_private = true\n")
    assert tarrafa("fetch", url)[0] == 0
    assert tarrafa("fetch", url, "--no-allow-private")[0] == 1


class Recorder:
    """Stands where the network would be; remembers what was asked for."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    async def fetch(self, request: Request) -> Page | Failure:
        self.urls.append(request.url)
        return Failure(request.url, FailureKind.TIMEOUT, "no answer")

    def close(self) -> None:
        """There is no connection."""


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(wiring, "transport", lambda _: recorder)
    return recorder


def test_public_host_is_fetched_only_with_a_contact(tarrafa: Tarrafa, network: Recorder) -> None:
    code, _, err = tarrafa("fetch", "https://example.org/")
    assert code == 2
    assert "user_agent = " in err
    assert network.urls == []
    tarrafa("fetch", "HTTPS://Example.org", "--user-agent", "Name/1.0 (you@your.site)")
    assert network.urls == ["https://example.org/"]


def test_failure_is_exit_code_1_and_json_too(tarrafa: Tarrafa, network: Recorder) -> None:
    code, out, err = tarrafa("fetch", "http://a.test/", "--json")
    assert code == 1
    assert json.loads(out) == {"url": "http://a.test/", "failure": "timeout", "detail": "no answer"}
    assert err == "tarrafa: http://a.test/: timeout: no answer; give a longer --timeout\n"


def test_events_go_to_standard_error_as_json(tarrafa: Tarrafa, url: str) -> None:
    arguments = ["fetch", url, "--allow-private", "--log-level", "debug", "--log-format", "json"]
    code, _, err = tarrafa(*arguments)
    assert code == 0
    assert json.loads(err)["event"] == "page fetched"


def test_every_option_that_sets_a_key_is_named_and_explained_as_the_key_is() -> None:
    group: Any = typer.main.get_command(app())
    for command in [group, *group.commands.values()]:
        for option in command.params:
            helps = tuple(key.help for key in KEYS.values() if key.flag == option.opts[0])
            # A limit of a crawl is not the size of a made-up web, nor is the port of the search page that web's.
            is_other = (command.name, option.opts[0]) in (
                ("crawl", "--pages"),
                ("map", "--pages"),
                ("index", "--follow"),
                ("crawl", "--hosts"),
                ("crawl", "--port"),
                ("serve", "--port"),
                ("refresh", "--budget"),
            )
            assert is_other or not helps or option.help.startswith(helps)


@pytest.mark.parametrize("name", ["", *COMMANDS, *GROUPS])
def test_no_example_of_the_help_is_taken_for_markup(name: str) -> None:
    lines = import_module(f"tarrafa.cli.{name}").EXAMPLES if name else EXAMPLES
    assert lines
    assert not [line for line in lines if "[" in "".join(line)]


# The summary of a crawl.


@pytest.mark.parametrize(
    ("progress", "directory", "last_line"),
    [
        (
            Progress(Ending.SUSPENDED, disk_bytes=2_060_000, suspended=3),
            Path("crawl"),
            "Suspended: 3 hosts still have URLs and are suspended. Run the same command again to continue. "
            "--wait stays for suspended hosts. Data is in crawl/ (2.06 MB).",
        ),
        (
            Progress(Ending.FAILED, reason="the disk is full", disk_bytes=1_000),
            Path("crawl"),
            "Failed: the disk is full. Everything up to the last checkpoint is saved. "
            "Run the same command again to continue. Data is in crawl/ (1.00 kB).",
        ),
        (
            Progress(Ending.NOTHING, host_statuses={"suspended": {"refused": 1}}),
            Path("crawl"),
            "Nothing was fetched. Why: hosts suspended: refused. The port is closed: check that the server runs, "
            "and the port. Run the same command again to continue. Data is in crawl/ (0 B).",
        ),
        (
            Progress(Ending.PAGES, disk_bytes=1_000, host_statuses={"suspended": {"busy": 1}}),
            Path("crawl"),
            "Stopped: reached the limit of --pages. Run again with a higher --pages to continue. "
            "Data is in crawl/ (1.00 kB).",
        ),
        (
            Progress(Ending.DONE, disk_bytes=1_000),
            None,
            "Done: no more URLs can be fetched. Data (1.00 kB) was not kept; give --dir to keep it.",
        ),
    ],
)
def test_summary_says_what_happened_what_it_means_and_what_to_do(
    progress: Progress, directory: Path | None, last_line: str
) -> None:
    assert summary(progress, directory).splitlines()[-1] == last_line


def test_crawl_that_is_run_again_at_the_minute_that_it_told_finds_a_host_that_is_back() -> None:
    until = 1_000_000_010.5
    last_line = summary(Progress(Ending.SUSPENDED, suspended=1, suspended_until=until), None).splitlines()[-1]
    found = re.search(r"until (\d+-\d+-\d+ \d+:\d+)\.", last_line)
    assert found
    told = datetime.strptime(found[1], "%Y-%m-%d %H:%M").astimezone().timestamp()
    assert until <= told < until + 60


@pytest.mark.parametrize("ending", Ending)
def test_every_ending_has_a_sentence(ending: Ending) -> None:
    assert summary(Progress(ending), Path("crawl")).splitlines()[-1].endswith("Data is in crawl/ (0 B).")


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        *((ending, 0) for ending in (Ending.DONE, Ending.PAGES, Ending.TIME, Ending.STOPPED)),
        *((ending, 1) for ending in (Ending.NOTHING, Ending.FAILED)),
        (Ending.SUSPENDED, 3),
        (Ending.INTERRUPTED, 130),
    ],
)
def test_every_ending_has_an_exit_code(ending: Ending, code: int) -> None:
    assert exit_code(ending) == code


def test_a_round_that_finds_nothing_to_do_says_why() -> None:
    assert "no page may be visited again yet" in sentence(Progress(ending=Ending.ROUND))
    assert "Run again for the next one" in sentence(Progress(ending=Ending.ROUND, run_refreshes=3))
