"""A process for tasks: what it returns and raises, and that it ends when it must."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tarrafa.task_process import ProcessEndedError, TaskProcess, python_command


@pytest.fixture
def process() -> Iterator[TaskProcess]:
    made = TaskProcess()
    yield made
    made.close()


def double(data: bytes) -> bytes:
    """In the other process."""
    sys.stdout.write("a library prints\n")
    return 2 * data


def fail(text: str) -> None:
    raise LookupError(text)


def wait_for_ever() -> None:
    while True:
        signal.pause()


def test_results_come_back_whatever_their_size(process: TaskProcess) -> None:
    for data in (b"", b"x", b"x" * 3_000_000):
        assert process.run(double, data) == 2 * data
    assert process.run(os.getpid) == process.process_id != os.getpid()


def test_error_of_a_task_is_raised_here_and_the_process_goes_on(process: TaskProcess) -> None:
    with pytest.raises(LookupError, match="why"):
        process.run(fail, "why")
    assert process.run(double, b"x") == b"xx"


def test_killed_process_frees_the_thread_that_waits(process: TaskProcess) -> None:
    errors: list[Exception] = []

    def wait() -> None:
        try:
            process.run(wait_for_ever)
        except ProcessEndedError as error:
            errors.append(error)

    process.run(double, b"x")
    thread = Thread(target=wait)
    thread.start()
    process.kill()
    thread.join()
    assert len(errors) == 1
    with pytest.raises(ProcessEndedError):
        process.run(double, b"x")


PROGRAM = """
import os, signal, sys
from tarrafa.task_process import TaskProcess

def wait():
    while True:
        signal.pause()

process = TaskProcess()
process.run(os.getpid)
print("ready", flush=True)
process.run(__import__("time").sleep, 600)
"""


def test_process_ends_with_the_one_that_started_it_also_during_a_task(tmp_path: Path) -> None:
    """A program without a guard for its main module, which is not run again."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        program.kill()
        # The other process has the same standard error, which is closed when both have ended.
        assert program.communicate(timeout=600.0) == ("", "")


def test_file_of_the_current_folder_is_not_taken_for_a_module(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a file of the user')")
    command = python_command("import json, sys; print(json.dumps(sys.argv[1:]))", "a", "b")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ('["a", "b"]\n', "")
