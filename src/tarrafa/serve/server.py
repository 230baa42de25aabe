"""The HTTP server: uvicorn on one listening socket, with bounds on connections, headers and time."""

import socket

import uvicorn
from starlette.types import ASGIApp

from tarrafa.errors import InputError, WorkError

CONNECTIONS_LIMIT = 500
BACKLOG = 512
_HEADER_LIMIT_BYTES = 64 * 1024
_KEEP_ALIVE_SECONDS = 15
_SHUTDOWN_SECONDS = 3  # for responses in flight


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free port."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(
            f"{host} is not an address of this machine; give one with --host, for example 127.0.0.1"
        ) from error
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(place)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise WorkError(
            f"cannot listen on {host}, port {port}: {error.strerror}; give another --port, or 0 for any free one"
        ) from error
    return sock


class SearchServer:
    """Serves on a listening socket. `run` returns after `stop`, which any thread or signal handler may call.

    In the main thread SIGINT and SIGTERM stop it too; uvicorn then raises them again for the previous handler.
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
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
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
