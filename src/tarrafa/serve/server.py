"""The door: HTTP on one address and port, until it is told to stop."""

import socket

import uvicorn
from starlette.types import ASGIApp

from tarrafa.errors import InputError, WorkError

CONNECTIONS_LIMIT = 500
BACKLOG = 512
_HEADER_LIMIT_BYTES = 64 * 1024
_KEEP_ALIVE_SECONDS = 15
_FAREWELL_SECONDS = 3  # for answers that are under way when it ends


def listen(host: str, port: int) -> socket.socket:
    """Port 0 takes any free one."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(f"{host} is no address of this machine; give one with --host, as in 127.0.0.1") from error
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(place)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise WorkError(
            f"cannot listen on {host}, port {port}: {error.strerror}; choose another with --port, or 0 for any"
        ) from error
    return sock


class Server:
    """Serves on a socket that listens already. `run` returns after `stop`, which any thread or signal may call.

    In the main thread, SIGINT and SIGTERM stop it too; they are then raised once more for whoever handled them before.
    """

    def __init__(self, application: ASGIApp, sock: socket.socket) -> None:
        self._socket = sock
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                application,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=CONNECTIONS_LIMIT,
                backlog=BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_FAREWELL_SECONDS,
                h11_max_incomplete_event_size=_HEADER_LIMIT_BYTES,
                http="h11",
                ws="none",
                lifespan="on",
            )
        )

    @property
    def url(self) -> str:
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def run(self) -> None:
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        self._uvicorn.should_exit = True
