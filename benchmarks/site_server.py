"""Serve a folder of HTML over HTTP on loopback, and remember what was asked for: the real sites of a benchmark."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple


class Answer(NamedTuple):
    path: str
    status: int
    media_type: str


class SiteServer(ThreadingHTTPServer):
    """Serves one folder. `answers` holds one entry for each request, `sent_bytes` the bytes of all bodies."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        self.answers: list[Answer] = []  # filled by the handler's threads, emptied by nothing: one server a crawl
        self.sent_bytes = 0
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), partial(SiteHandler, directory=str(folder)))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def handle_error(self, *_: Any) -> None:
        """Log nothing: a crawler hangs up on what it does not want."""

    def pages(self) -> set[str]:
        """Return the paths of HTML that were answered with 200."""
        return {each.path for each in self.answers if each.status == 200 and each.media_type.startswith("text/html")}

    def successes(self) -> int:
        """Return how many answers had status 200."""
        return sum(each.status == 200 for each in self.answers)


class SiteHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as by any real server
    server: SiteServer

    def send_response(self, code: int, message: str | None = None) -> None:
        self._status, self._media_type = code, ""
        super().send_response(code, message)

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Content-type":
            self._media_type = value
        elif keyword == "Content-Length" and self.command == "GET":
            with self.server.lock:
                self.server.sent_bytes += int(value)
        super().send_header(keyword, value)

    def end_headers(self) -> None:
        super().end_headers()
        with self.server.lock:
            self.server.answers.append(Answer(self.path.partition("?")[0], int(self._status), self._media_type))

    def log_message(self, *_: Any) -> None:
        """Print nothing: `answers` is the log."""


@contextmanager
def served_folder(folder: Path) -> Iterator[SiteServer]:
    with SiteServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
