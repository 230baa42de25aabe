"""Collect what a host sends, within bounds, and decide by its media type whether the body is wanted."""

import re
from collections.abc import Callable

from tarrafa.errors import InputError
from tarrafa.records import Headers, header, plain_type
from tarrafa.texts import quoted

_TOKEN = r"[a-z0-9!#$&^_.+-]+"  # noqa: S105 - what HTTP calls a token
_TYPE = re.compile(rf"\*/\*|{_TOKEN}/(?:\*|{_TOKEN})")
# A value that goes on in the next line, as old servers write it.
_CONTINUED = re.compile(r"\r?\n[ \t]+")
_END_OF_HEADER = (b"\r\n", b"\n")
_ABORT = -1  # tells libcurl to stop; None tells it to go on


class MediaTypes:
    """Media types by name, `text/*` for all of a kind, `*/*` for all."""

    __slots__ = ("_names",)

    def __init__(self, text: str) -> None:
        names = [name.strip().lower() for name in text.split(",")]
        for name in names:
            if not _TYPE.fullmatch(name):
                raise InputError(f'{quoted(name)} is not a media type; write for example "text/html, text/*"')
        self._names = frozenset(names)

    def want(self, content_type: str) -> bool:
        """Return True if a body with this Content-Type is wanted. A body without a type may be anything, so it is."""
        media_type = plain_type(content_type)
        if not media_type or media_type in self._names:
            return True
        return "*/*" in self._names or f"{media_type.partition('/')[0]}/*" in self._names


class ResponseBuffer:
    """Filled by the transfer, read when it has ended, reused for the next one.

    `take_header` and `take_body` are libcurl's callbacks. The header is parsed once, when it is complete.
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
        "_wants_type",
        "headers",
        "http_version",
        "is_body_cut",
        "is_header_too_large",
        "is_unread",
        "reason",
        "status",
    )

    def __init__(self, header_limit_bytes: int, body_limit_bytes: int, types: MediaTypes) -> None:
        self._header_limit = header_limit_bytes
        self._body_limit = body_limit_bytes
        self._types = types
        self.reset(any_type=False)

    def reset(
        self,
        any_type: bool,
        body_limit_bytes: int | None = None,
        wants_type: Callable[[str], bool] | None = None,
    ) -> None:
        """Forget the last response."""
        self._any_type = any_type
        self._wants_type = wants_type
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
        """Return True once the first byte has come."""
        return self._header_room != self._header_limit

    @property
    def body(self) -> bytes:
        return b"".join(self._pieces)

    def take_header(self, line: bytes) -> int | None:
        # Interim answers and trailers count too: a host must not send lines for ever.
        self._header_room -= len(line)
        if self._header_room < 0:
            self.is_header_too_large = True
            return _ABORT
        if self.status:  # the header has ended, so this is a trailer
            return None
        self._lines.append(line)
        return self._end_header() if line in _END_OF_HEADER else None

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
        """Parse a complete header: skip an interim answer (1xx), stop at a final one whose body is not wanted."""
        text = _CONTINUED.sub(" ", b"".join(self._lines).decode("latin-1"))
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
        content_type = header(self.headers, "content-type") or ""
        if self._wants_type is not None and 200 <= self.status < 300 and not self._wants_type(plain_type(content_type)):
            return False
        if self._any_type or self._types.want(content_type):
            return True
        return self.status in (204, 304) or header(self.headers, "content-length") == "0"


def _fields(lines: list[str]) -> Headers:
    parts = (line.partition(":") for line in lines)
    return tuple((name.strip(), value.strip()) for name, colon, value in parts if colon)
