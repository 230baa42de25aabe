"""The HTTP server: uvicorn on one listening socket, with bounds on headers, connections and time."""

import errno
import socket
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tarrafa.errors import InputError
from tarrafa.serve.connections import ConnectionLimits, connection_type
from tarrafa.texts import quoted

BACKLOG = 512
_HEADER_LIMIT_BYTES = 64 * 1024
_KEEP_ALIVE_SECONDS = 15
_SHUTDOWN_SECONDS = 3  # for responses in flight
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - and how this machine reaches it


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free port."""
    family, place = _resolve(host, port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(place)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise InputError(f"cannot listen on {quoted(host)}, port {port}: {_reason(error)}") from error
    return sock


def _resolve(host: str, port: int) -> tuple[int, Any]:
    """Return family and place of a socket that listens on an address of this machine, or on a name of it."""
    try:
        if not host.strip():
            raise UnicodeError  # the system would take it for every address
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(
            f"cannot listen on {quoted(host)}: it is neither an address nor a name of this machine; "
            "give one with --host, for example 127.0.0.1"
        ) from error
    return found[0], found[4]


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRNOTAVAIL:
        return "it is not an address of this machine; give one with --host, for example 127.0.0.1, or 0.0.0.0 for all"
    if error.errno == errno.EADDRINUSE:
        return "another process listens there; give another --port, or 0 for any free one"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "the system does not permit it; give a --port of 1024 or higher"
    return f"{error.strerror}; give another --host or --port"


class SearchServer:
    """Serves on a listening socket. `run` returns after `stop`, which any thread or signal handler may call.

    In the main thread SIGINT and SIGTERM stop it too; uvicorn then raises them again for the previous handler.
    """

    def __init__(self, application: ASGIApp, sock: socket.socket, limits: ConnectionLimits | None = None) -> None:
        self._socket = sock
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                application,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
                h11_max_incomplete_event_size=_HEADER_LIMIT_BYTES,
                http=connection_type(limits or ConnectionLimits()),
                ws="none",
                lifespan="on",
            )
        )

    @property
    def url(self) -> str:
        """Return the URL for a browser on this machine."""
        host, port = self._socket.getsockname()[:2]
        host = _EVERY_ADDRESS.get(host, host)
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    @property
    def is_on_every_address(self) -> bool:
        return self._socket.getsockname()[0] in _EVERY_ADDRESS

    def run(self) -> None:
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        self._uvicorn.should_exit = True
