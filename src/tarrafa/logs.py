"""Events with fields, as text or JSON lines, on the standard `logging` module.

    event(log, "page fetched", url=page.url, status=page.status)
    event(log, "host suspended", logging.WARNING, host=host, failures=5)

Each event is one line on standard error or in a file. Values come from strangers: none may break a line, move a
terminal's cursor, grow without bound, or raise.
"""

import json
import logging
import math
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from tarrafa.errors import InputError
from tarrafa.texts import cut, printable

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")

_TEXT_LIMIT = 2_000  # characters of one value
_ITEM_LIMIT = 50  # items of one list or mapping
_DEPTH_LIMIT = 4
_RESERVED = frozenset({"time", "level", "logger", "event", "exception"})


def event(logger: logging.Logger, name: str, level: int = logging.INFO, /, **fields: object) -> None:
    if logger.isEnabledFor(level):
        logger.log(level, name, extra={"fields": fields})


def start(level: str, line_format: str, stream: TextIO | None = None, file: Path | None = None) -> None:
    """Send events to a stream or the end of a file, by default to standard error. A second call replaces the first."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _EventHandler)]:
        root.removeHandler(handler)
        handler.close()
    handler = _EventHandler(_appended(file) if file else stream, is_owner=file is not None)
    handler.setFormatter(JsonFormatter() if line_format == "json" else TextFormatter())
    root.addHandler(handler)
    # The level is for Tarrafa alone. Libraries log from warnings up.
    logging.getLogger("tarrafa").setLevel(level.upper())


def _appended(path: Path) -> TextIO:
    try:
        return path.open("a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path}: the log cannot be written: {error.strerror}; give a file with --log-file") from error


class _EventHandler(logging.StreamHandler[TextIO]):
    """Writes to a stream; without one, to what is standard error at that moment: a live view replaces it."""

    def __init__(self, stream: TextIO | None, *, is_owner: bool) -> None:
        super().__init__(stream)
        self._is_fixed = stream is not None
        self._is_owner = is_owner

    def emit(self, record: logging.LogRecord) -> None:
        if not self._is_fixed:
            self.stream = sys.stderr
        super().emit(record)

    def close(self) -> None:
        if self._is_owner:
            self.stream.close()
        super().close()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Ignore the error: a log that cannot be written (closed pipe, full disk) must not stop the work."""


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_entry(record), ensure_ascii=True)


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = _entry(record)
        time, level, logger, name = (entry.pop(key) for key in ("time", "level", "logger", "event"))
        exception = entry.pop("exception", None)
        line = " ".join([f"{time} {level} {logger}: {printable(name)}", *(f"{k}={_word(v)}" for k, v in entry.items())])
        return f"{line}\n{exception}" if exception else line


def _entry(record: logging.LogRecord) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": _message(record),
    }
    for key, value in getattr(record, "fields", {}).items():
        entry[f"{key}_" if key in _RESERVED else key] = _plain(value)
    if record.exc_info:
        entry["exception"] = logging.Formatter().formatException(record.exc_info)
    return entry


def _message(record: logging.LogRecord) -> str:
    try:
        return _cut(record.getMessage())
    except Exception:  # noqa: BLE001 - a wrong format string in a library must not lose the event
        return _cut(_text(record.msg))


def _plain(value: object, depth: int = 0) -> Any:
    """Return the value as JSON types, within bounds."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _cut(str(value))
    if isinstance(value, int) and abs(value) < 1 << 64:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth < _DEPTH_LIMIT and isinstance(value, (Mapping, list, tuple, set, frozenset)):
        return _plain_items(value, depth + 1)
    return _cut(_repr(value))


def _plain_items(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_cut(_text(key)): _plain(item, depth) for key, item in list(value.items())[:_ITEM_LIMIT]}
    return [_plain(item, depth) for item in list(value)[:_ITEM_LIMIT]]


def _text(value: object) -> str:
    return value if isinstance(value, str) else _repr(value)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - any object may be logged, also one whose repr is broken
        return f"<{type(value).__name__}>"


def _cut(text: str) -> str:
    return cut(text, _TEXT_LIMIT)


def _word(value: object) -> str:
    if isinstance(value, str) and value.isprintable() and value and not set(value) & set(' "'):
        return value
    return json.dumps(value)
