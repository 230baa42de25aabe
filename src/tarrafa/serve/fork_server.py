"""A process that has loaded the code of a worker once, and is forked for each worker.

The workers share the memory of the loaded code, which is most of what a worker needs. The life of a forked process:

1. `ForkServer.start` sends two sockets to the fork server: the connection for the child, and the status socket. The
   fork server forks, closes the connection, and sends the child's process id over the status socket.
2. When the child has ended, the fork server sends its exit code over the status socket.
3. If the fork server itself ends, the status socket is closed, and the process counts as ended: its connection must be
   closed, so that it exits. The next start begins a new fork server.
4. The fork server ends when the process that started it is gone. It has one thread, so a fork copies no locked lock.
"""

import contextlib
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import cast

from tarrafa.memory import collect_seldom
from tarrafa.task_process import python_command

_NUMBER = struct.Struct("<i")
_REQUEST = b"f"
_UNKNOWN_CODE = -1  # of a process whose fork server has ended
_CODE = "from tarrafa.serve.fork_server import serve_forks; serve_forks()"


class ForkedProcess:
    """A process of a fork server, with the methods of `subprocess.Popen` that are needed here. Thread-safe."""

    def __init__(self, status: socket.socket) -> None:
        self._status = status
        # Not closed at the end of the process: other threads may wait for that end.
        weakref.finalize(self, status.close)
        self._lock = threading.Lock()
        # Set by _read, from what the fork server sends.
        self._pid: int | None = None
        self.returncode: int | None = None

    @property
    def pid(self) -> int:
        """Wait until the process is forked. Raise ProcessLookupError if the fork server ended before."""
        with self._lock:
            # Reading under the lock: no other thread can take the message for which this one waits.
            while self._pid is None and self.returncode is None:
                self._read()
            if self._pid is None:
                raise ProcessLookupError("the fork server has ended")
            return self._pid

    def poll(self) -> int | None:
        """Return the exit code, or None if the process runs or is yet to be forked."""
        with self._lock:
            while self.returncode is None and select.select([self._status], [], [], 0)[0]:
                self._read()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raise `subprocess.TimeoutExpired` after this time."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._status], [], [], left)[0]:
                raise subprocess.TimeoutExpired("forked process", timeout or 0.0)
        return code

    def terminate(self) -> None:
        self._send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._send_signal(signal.SIGKILL)

    def _send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _read(self) -> None:
        try:
            message = self._status.recv(_NUMBER.size)
        except OSError:
            message = b""
        if not message:
            self.returncode = _UNKNOWN_CODE
        elif self._pid is None:
            self._pid = _NUMBER.unpack(message)[0]
        else:
            self.returncode = _NUMBER.unpack(message)[0]


class ForkServer:
    """Starts processes that run a function of a module: `target` is "module:function". Thread-safe.

    The function gets the file descriptor of its connection and the argument.
    """

    def __init__(self, target: str, argument: str) -> None:
        self._target = target
        self._argument = argument
        self._lock = threading.Lock()
        # Set by start, closed by close.
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self, connection: socket.socket) -> ForkedProcess:
        """Start a process that has this connection, which the caller closes. Raise OSError if it cannot be started."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._launch()
            assert self._control is not None
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            process = ForkedProcess(ours)
            with theirs:
                socket.send_fds(self._control, [_REQUEST], [connection.fileno(), theirs.fileno()])
        return process

    def close(self) -> None:
        """End the fork server; its processes end when their connections are closed."""
        with self._lock:
            if self._process is not None and self._control is not None:
                self._control.close()
                self._process.kill()
                self._process.wait()
                self._process = self._control = None

    def _launch(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = python_command(_CODE, str(theirs.fileno()), self._target, self._argument)
            # One thread for linear algebra: a fork copies only the thread that forks. In a session of its own Ctrl-C
            # does not reach it.
            self._process = subprocess.Popen(  # noqa: S603 - our own code
                command,
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )


def serve_forks() -> None:
    """Be the fork server: fork for each request until there are no more."""
    control, target, argument = socket.socket(fileno=int(sys.argv[1])), *sys.argv[2:4]
    module, _, name = target.partition(":")
    run = cast("Callable[[int, str], None]", getattr(import_module(module), name))
    collect_seldom()
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    while True:
        for key, _events in selector.select():
            if key.fileobj is not control:
                _report_end(selector, key)
                continue
            message, descriptors, _flags, _address = socket.recv_fds(control, 1, 2)
            if not message:
                return
            connection, status = descriptors
            _fork(selector, connection, status, lambda opened: run(opened, argument))


def _fork(selector: selectors.BaseSelector, connection: int, status: int, run: Callable[[int], None]) -> None:
    try:
        child = os.fork()
    except OSError:  # no memory: this process counts as ended, and the others go on
        os.close(connection)
        os.close(status)
        return
    if not child:
        _be_child(selector, connection, status, run)
    os.close(connection)
    pidfd = os.pidfd_open(child)
    told = socket.socket(fileno=status)
    selector.register(pidfd, selectors.EVENT_READ, (child, told))
    _tell(told, child)


def _be_child(selector: selectors.BaseSelector, connection: int, status: int, run: Callable[[int], None]) -> None:
    """Run the function and exit. What belongs to the fork server or to other children is closed first."""
    code = 1
    try:
        for key in list(selector.get_map().values()):
            for inherited in (key.fileobj, *(key.data or ())[1:]):
                os.close(inherited) if isinstance(inherited, int) else cast("socket.socket", inherited).close()
        os.close(status)
        selector.close()
        run(connection)
        code = 0
    except BaseException:  # noqa: BLE001 - nothing of the fork server may run in the child
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _report_end(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    child, told = key.data
    selector.unregister(key.fileobj)
    os.close(key.fd)
    _, status = os.waitpid(child, 0)
    _tell(told, os.waitstatus_to_exitcode(status))
    told.close()


def _tell(told: socket.socket, number: int) -> None:
    """Send a number, unless the process that would read it is gone."""
    with contextlib.suppress(OSError):
        told.send(_NUMBER.pack(number))
