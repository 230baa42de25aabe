"""What a host has sent so far, within its bounds."""

import re

from tarrafa.fetch.wanted import Types
from tarrafa.records import Headers, header

# A value that goes on in the next line, as hosts wrote it long ago.
_CONTINUED = re.compile(r"\r?\n[ \t]+")
_END_OF_HEADER = (b"\r\n", b"\n")
_ABORT = -1  # tells libcurl to stop; None tells it to go on


class Answer:
    """Filled by the transfer, line by line and piece by piece; read when the transfer has ended; used again after.

    `take_header` and `take_body` are libcurl's callbacks, so they do little: a header is read once, when it is whole.
    """

    __slots__ = (
        "_any_type",
        "_body_limit",
        "_body_room",
        "_header_limit",
        "_header_room",
        "_lines",
        "_pieces",
        "_types",
        "headers",
        "http_version",
        "is_body_cut",
        "is_header_too_large",
        "is_unread",
        "reason",
        "status",
    )

    def __init__(self, header_limit_bytes: int, body_limit_bytes: int, types: Types) -> None:
        self._header_limit = header_limit_bytes
        self._body_limit = body_limit_bytes
        self._types = types
        self.begin(any_type=False)

    def begin(self, any_type: bool, body_limit_bytes: int | None = None) -> None:
        """Forget the page before."""
        self._any_type = any_type
        self._header_room = self._header_limit
        self._body_room = self._body_limit if body_limit_bytes is None else body_limit_bytes
        self._lines: list[bytes] = []
        self._pieces: list[bytes] = []
        self.headers: Headers = ()
        self.status = 0
        self.http_version = self.reason = ""
        self.is_header_too_large = self.is_body_cut = self.is_unread = False

    @property
    def has_begun(self) -> bool:
        """Whether the first byte has come."""
        return self._header_room != self._header_limit

    @property
    def body(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def take_header(self, line: bytes) -> int | None:
        # Interim answers and trailers count too: a host must not send lines for ever.
        size_bytes = len(line)
        self._header_room -= size_bytes
        if self._header_room < 0:
            self.is_header_too_large = True
            return _ABORT
        if self.status:  # the header has ended, so this is a trailer
            return None
        self._lines.append(line)
        return self._end_header() if size_bytes <= 2 and line in _END_OF_HEADER else None

    def take_body(self, data: bytes) -> int | None:
        room = self._body_room
        self._body_room -= len(data)
        if self._body_room >= 0:
            self._pieces.append(data)
            return None
        self._pieces.append(data[:room])
        self.is_body_cut = True
        return _ABORT

    def _end_header(self) -> int | None:
        """An interim answer (1xx) is forgotten; of the final one it is decided whether its body is wanted."""
        text = b"".join(self._lines).decode("latin-1")
        if "\n " in text or "\n\t" in text:
            text = _CONTINUED.sub(" ", text)
        first, *fields = text.split("\n")
        self._lines = []
        version, _, rest = first.rstrip().partition(" ")
        code, _, reason = rest.partition(" ")
        status = int(code) if code.isdecimal() and len(code) == 3 else 0
        if status < 200:
            return None
        self.status, self.reason = status, reason
        self.http_version = version.partition("/")[2]
        self.headers = _fields(fields)
        self.is_unread = not self._is_wanted()
        return _ABORT if self.is_unread else None

    def _is_wanted(self) -> bool:
        if self._any_type or self._types.want(header(self.headers, "content-type") or ""):
            return True
        return self.status in (204, 304) or header(self.headers, "content-length") == "0"


def _fields(lines: list[str]) -> Headers:
    return tuple(
        [(name.strip(), value.strip()) for line in lines for name, colon, value in [line.partition(":")] if colon]
    )
