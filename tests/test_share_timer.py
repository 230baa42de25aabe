"""The timer that ends a process at the end of its lease, with real processes."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tarrafa.task_process import python_command

ARMED = """
import sys, time
from tarrafa.share.lease_timer import AlarmTimer, KernelTimer, boot_seconds, lease_timer
timer = {"kernel": KernelTimer, "alarm": AlarmTimer}[sys.argv[1]]()
timer.arm(boot_seconds() + 3_600)
timer.arm(boot_seconds() + float(sys.argv[2]))
print(type(lease_timer()).__name__, flush=True)
sys.stdin.readline()
timer.disarm()
print("disarmed", flush=True)
sys.stdin.readline()
timer.arm(boot_seconds() - 1)
time.sleep(3_600)
"""


@contextmanager
def armed(kind: str, seconds: float) -> Iterator[subprocess.Popen[str]]:
    command = python_command(ARMED, kind, str(seconds))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def send_line(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def stop(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    # On a machine that is very busy it may have ended before.
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def test_stopped_process_is_killed_while_it_is_stopped() -> None:
    with armed("kernel", 1.0) as process:
        assert read_line(process) == "KernelTimer"
        stop(process)
        assert process.wait() == -signal.SIGKILL


def test_process_stopped_past_its_alarm_ends_when_continued_and_runs_nothing_before() -> None:
    with armed("alarm", 1.0) as process:
        read_line(process)
        stop(process)
        signal.sigtimedwait([], 1.2)  # the alarm goes off meanwhile, or has not yet: it ends all the same
        send_line(process)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait() == -signal.SIGALRM
        assert read_line(process) == ""


@pytest.mark.parametrize(("kind", "end"), [("kernel", signal.SIGKILL), ("alarm", signal.SIGALRM)])
def test_disarmed_timer_does_nothing_and_one_in_the_past_ends_at_once(kind: str, end: signal.Signals) -> None:
    with armed(kind, 600.0) as process:
        read_line(process)
        send_line(process)
        assert read_line(process) == "disarmed"
        assert process.poll() is None
        send_line(process)
        assert process.wait() == -end
