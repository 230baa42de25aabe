"""`tarrafa web` and `tarrafa demo` on the command line."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tarrafa.cli.app import run
from tarrafa.lab.web import Plan, SyntheticWeb, Truth
from tarrafa.lab.web.web_server import listen

COMMAND = [sys.executable, "-m", "tarrafa"]


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [*COMMAND, "web", "--port", "0", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def test_web_ends_by_itself_after_two_lines_of_json() -> None:
    command = [*COMMAND, "web", "--port", "0", "--hosts", "7", "--pages", "70", "--time", "1s", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    begun, ended = map(json.loads, done.stdout.splitlines())
    assert (begun["hosts"], begun["pages"], begun["faults"]) == (7, 70, [])
    assert begun["url"] == f"http://127.0.0.1:{begun['port']}/"
    assert ended == {
        "requests": 0,
        "pages": 0,
        "too_early": 0,
        "overlapping": 0,
        "robots_violations": 0,
        "malformed": 0,
        "hosts": 0,
        "statuses": {},
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_web_is_ended_by_a_signal_and_says_what_was_asked(number: signal.Signals) -> None:
    with started("--hosts", "7", "--pages", "70", "--json") as process:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        with urllib.request.urlopen(url) as answer:
            body = answer.read()
        process.send_signal(number)
        rest, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(rest)["requests"] == 1
    web = SyntheticWeb(Plan(hosts=7, pages=70, port=int(url.split(":")[2].strip("/"))))
    assert body == web.renderer.page(web.hosts.host(0), 0, 0)


def asked_so_far(url: str) -> int:
    with urllib.request.urlopen(f"{url}__log?entries=0") as answer:
        return int(json.load(answer)["requests"])


def test_web_is_ended_while_a_host_hangs() -> None:
    with started("--hosts", "2", "--pages", "4", "--faults", "hang", "--json") as process:
        assert process.stdout
        begun = json.loads(process.stdout.readline())
        with socket.create_connection(("127.0.0.2", begun["port"])) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n")
            while not asked_so_far(begun["url"]):
                pass
            process.send_signal(signal.SIGTERM)
            rest, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(rest)["requests"] == 1


def test_web_says_in_words_where_it_is_and_what_was_asked() -> None:
    with started("--hosts", "3", "--pages", "1000", "--time", "0.1s") as process:
        out, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    first, second, last = out.splitlines()
    assert first.startswith("Serving 3 hosts and 1,000 pages at http://127.0.0.1:")
    assert "__truth" in second
    assert last == "0 requests to 0 hosts: 0 pages, 0 too early, 0 against robots.txt, 0 malformed"


def test_taken_port_is_one_line_that_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with listen(0) as taken:
        port = taken.getsockname()[1]
        assert run(["web", "--port", str(port), "--time", "1s"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"tarrafa: cannot listen on port {port}: ")
    assert "choose another with --port, or 0 for any" in line


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--faults", "hostil"], 'did you mean "hostile"?'),
        (["--faults", "slow,nonsense-x"], "nonsense-x"),
        (["--hosts", "10", "--pages", "9"], "pages must be from 10 (one a host)"),
        (["--hosts", "0"], "hosts"),
        (["--pages", "many"], "pages"),
        (["--port", "70000"], "port"),
        (["--rng-seed", "-1"], "rng_seed"),
        (["--time", "soon"], "soon"),
        (["--speed", "-1"], "speed"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["web", "--port", "0", *arguments, *([] if "--time" in arguments else ["--time", "0.1s"])]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert hint in line.replace("--rng-seed", "rng_seed")
    assert "Traceback" not in line


def test_demo_tells_the_truth_of_its_web(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--hosts", "12", "--pages", "120", "--rng-seed", "3", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["url"] == shown["truth"]["front"]
    port = int(shown["url"].split(":")[2].strip("/"))
    assert shown["truth"] == Truth(SyntheticWeb(Plan(hosts=12, pages=120, rng_seed=3, port=port))).summary()


def test_demo_collects_all_of_its_web_and_offends_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--hosts", "12", "--pages", "120", "--dir", str(tmp_path / "crawl"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["collected"] == shown["collectable"] > 50
    assert (shown["missing"], shown["robots_violations"], shown["malformed"]) == ([], 0, 0)
    assert shown["crawl"]["pages"] > shown["collected"]
    any_word, all_words, phrase = (found["count"] for found in shown["searches"])
    assert any_word >= all_words >= phrase > 0
    assert (tmp_path / "crawl" / "agents").is_dir()
    week = shown["week"]
    assert week["refreshes"] >= week["changed"] > 0
    assert week["url"].startswith("http://127.0.0.")
    assert week["query"].isalpha()


def test_demo_tells_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--hosts", "5", "--pages", "50"]) == 0
    out, err = capsys.readouterr()
    assert "(status 200)" in err
    assert "tarrafa search" in out
    assert "a synthetic web of 5 hosts and 50 pages" in out
    assert "collectable pages were collected" in out
    assert "0 against robots.txt" in out
    assert "A week has passed" in out


def test_demo_with_faults_that_are_unknown_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--faults", "trap"]) == 2
    assert 'did you mean "traps"?' in capsys.readouterr().err


def test_a_wrong_fault_in_the_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tarrafa.toml").write_text('[web]\n# what can go wrong\nfaults = "slw"\n')
    command = [sys.executable, "-m", "tarrafa", "web"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith('tarrafa: tarrafa.toml:3: [web] faults: unknown fault or profile "slw"')
