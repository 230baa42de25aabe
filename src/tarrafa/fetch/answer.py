"""What a host has sent so far, within its bounds."""

from tarrafa.records import Headers


class Answer:
    """Filled by the transfer, line by line and piece by piece; read when the transfer has ended.

    `take_header` and `take_body` say whether to go on.
    """

    def __init__(self, header_limit_bytes: int, body_limit_bytes: int) -> None:
        self._header_room = header_limit_bytes
        self._body_limit = body_limit_bytes
        self._headers: list[tuple[str, str]] = []
        self._in_header = False
        self._body = bytearray()
        self.status = 0
        self.is_header_too_large = False
        self.is_body_cut = False

    @property
    def headers(self) -> Headers:
        return tuple(self._headers)

    @property
    def body(self) -> bytes:
        return bytes(self._body)

    def take_header(self, line: bytes) -> bool:
        # Interim answers and trailers count too: a host must not send lines for ever.
        self._header_room -= len(line)
        if self._header_room < 0:
            self.is_header_too_large = True
            return False
        text = line.decode("latin-1").rstrip("\r\n")
        if self._in_header:
            self._take_field(text)
        elif self.status < 200 and text.startswith("HTTP/"):
            self._begin(text)
        return True

    def take_body(self, data: bytes) -> bool:
        room = self._body_limit - len(self._body)
        self._body += data[:room]
        self.is_body_cut = len(data) > room
        return not self.is_body_cut

    def _begin(self, status_line: str) -> None:
        """An interim answer (1xx) is forgotten when the next status line comes; after the final one come trailers."""
        status = status_line.split(" ", 2)[1:2]
        self.status = int(status[0]) if status and status[0].isdecimal() else 0
        self._headers.clear()
        self._in_header = True

    def _take_field(self, text: str) -> None:
        if not text:
            self._in_header = False
        elif text[0] in " \t" and self._headers:  # a value that goes on, as hosts wrote it long ago
            name, value = self._headers[-1]
            self._headers[-1] = (name, f"{value} {text.strip()}")
        else:
            name, colon, value = text.partition(":")
            if colon:
                self._headers.append((name.strip(), value.strip()))
