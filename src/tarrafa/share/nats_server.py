"""A NATS server of our own: a process on a free port, with its store in a folder of the crawl.

It ends with the thread that started it, however that ends. Each write is synced, so a loss of power does not set the
store back. Beyond loopback it wants a token, and TLS if there is a certificate.
"""

import contextlib
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.disk import make_folder, map_disk_errors, replace_file
from tarrafa.errors import InputError, WorkError
from tarrafa.share.messages import BODY_MAX_BYTES
from tarrafa.texts import quoted

LOOPBACK = "127.0.0.1"
_HEADERS_BYTES = 1 << 20
_START_SECONDS, _STOP_SECONDS = 20.0, 10.0
_LOG_MAX_BYTES = 16 << 20
# Runs before the server, in its process: end with the one that started it.
_GUARD = (
    "import ctypes, os, signal, sys; "
    "ctypes.CDLL(None).prctl(1, signal.SIGTERM); "  # PR_SET_PDEATHSIG
    "os.getppid() == int(sys.argv[1]) or sys.exit(1); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


class ServerListen(NamedTuple):
    """Where the server listens, and what it demands. A port of 0 means a free one."""

    host: str = LOOPBACK
    port: int = 0
    token: str = ""
    certificate: str = ""  # file, with its key in `key`
    key: str = ""

    @property
    def is_loopback(self) -> bool:
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"

    def check(self) -> None:
        """Raise `InputError` if the server could be used by strangers."""
        if bool(self.certificate) != bool(self.key):
            raise InputError("a NATS server needs both a certificate and its key; give both, or neither")
        if not (self.is_loopback or self.token):
            raise InputError(
                f"a NATS server that listens on {quoted(self.host)} can be reached by others; set a token, "
                f"or listen on {LOOPBACK}"
            )


def server_program() -> str:
    """Return the path of nats-server: beside this Python, where the wheel puts it, or on the PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("nats-server")
    if found is None:
        raise InputError("nats-server is missing; install tarrafa[cluster], or put nats-server on the PATH")
    return found


class NatsServer:
    """Started in its constructor. Used by one thread."""

    def __init__(self, folder: Path, listen: ServerListen | None = None) -> None:
        self._listen = listen or ServerListen()
        self._listen.check()
        self._folder = folder
        self._process = self._started()

    @property
    def port(self) -> int:
        return self._listen.port

    @property
    def url(self) -> str:
        scheme = "tls" if self._listen.certificate else "nats"
        host = self._greeted_host()
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def process_id(self) -> int:
        return self._process.pid

    def is_healthy(self) -> bool:
        """Return True if the process runs and greets a client, with its store in use."""
        return self._process.poll() is None and self._greets()

    def restart(self) -> None:
        """Start a server that has ended again, with the same store and port."""
        self.kill()
        self._process = self._started()

    def stop(self) -> None:
        """End the server when it has written everything."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the server at once."""
        self._process.kill()
        self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        program = server_program()
        with map_disk_errors(self._folder):
            make_folder(self._folder)
            if not self._listen.port:
                self._listen = self._listen._replace(port=_free_port(self._listen.host))
            path = self._folder / "server.conf"
            replace_file(path, json.dumps(self._configuration()).encode(), is_private=True)
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid()), program, "--config", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C in a terminal is left to the crawl
        )
        self._wait_until_ready(process)
        return process

    def _configuration(self) -> dict[str, Any]:
        listen = self._listen
        found: dict[str, Any] = {
            "host": listen.host,
            "port": listen.port,
            "max_payload": BODY_MAX_BYTES + _HEADERS_BYTES,
            "log_file": str(self._folder / "server.log"),
            "log_size_limit": _LOG_MAX_BYTES,
            "jetstream": {"store_dir": str(self._folder / "store"), "sync_interval": "always"},
        }
        if listen.token:
            found["authorization"] = {"token": listen.token}
        if listen.certificate:
            found["tls"] = {"cert_file": listen.certificate, "key_file": listen.key}
        return found

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + _START_SECONDS
        while not self._greets():
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                process.wait()
                raise WorkError(f"nats-server did not start; see {self._folder / 'server.log'}")
            time.sleep(0.02)

    def _greets(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((self._greeted_host(), self.port), 1) as connection:
            connection.settimeout(1)
            greeting = connection.makefile("rb").readline(1 << 16)
            return greeting.startswith(b"INFO ") and b'"jetstream":true' in greeting
        return False

    def _greeted_host(self) -> str:
        return LOOPBACK if self._listen.host in ("0.0.0.0", "::") else self._listen.host  # noqa: S104 - compared


def _free_port(host: str) -> int:
    with contextlib.closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)) as found:
        try:
            found.bind((host, 0))
        except OSError as error:
            raise InputError(
                f"cannot listen on {quoted(host)}: {error.strerror}; give an address of this one"
            ) from error
        port: int = found.getsockname()[1]
        return port
