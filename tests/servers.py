"""Servers on loopback that a test owns: a connection is read to the end of its header and answered by a script."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable

Script = Callable[["Visit"], None]


class Visit:
    """One connection, with what was asked on it."""

    def __init__(self, connection: socket.socket, request: bytes, over: threading.Event) -> None:
        self.connection = connection
        self.request = request
        self._over = over

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def hang(self) -> None:
        """Until the test ends."""
        self._over.wait()

    def rest(self, seconds: float) -> bool:
        """For so long; whether the test has ended meanwhile."""
        return self._over.wait(seconds)

    def reset(self) -> None:
        """Closing with a linger of zero seconds sends RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Server:
    def __init__(self, script: Script, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, 0), family=family)
        self._script = script
        self._tls = tls
        self._over = threading.Event()
        self.port: int = self._socket.getsockname()[1]
        self.requests: list[bytes] = []
        self.is_visited = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a visit
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            # Visitors hang up when they have seen enough; that is their right.
            with contextlib.suppress(OSError), connection, self._secured(connection) as secured:
                self._answer(secured)

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def _answer(self, connection: socket.socket) -> None:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            received = connection.recv(65_536)
            if not received:
                return
            request += received
            if not request[:1].isalpha():  # a greeting of TLS, to a server that does not speak it
                break
        self.requests.append(request)
        self.is_visited.set()
        self._script(Visit(connection, request, self._over))
