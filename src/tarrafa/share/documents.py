"""Read JSON documents that other agents wrote, within bounds. What breaks one is a value, `Malformed`."""

import json
import re
from typing import Any, NamedTuple

DOCUMENT_MAX_BYTES = 1 << 20
NAME = re.compile(r"[0-9a-z][0-9a-z-]{0,31}")
TOKEN = re.compile(r"[0-9A-Za-z]{1,64}")
COUNT_MAX = 2**63 - 1


class Malformed(NamedTuple):
    """A document or message that is not obeyed. The reason is for the log."""

    reason: str


class FieldReader:
    """Reads the fields of one JSON object. A wrong one raises `ValueError`, which the codec turns into a value."""

    def __init__(self, data: bytes) -> None:
        if len(data) > DOCUMENT_MAX_BYTES:
            raise ValueError(f"{len(data)} bytes, more than {DOCUMENT_MAX_BYTES}")
        fields = json.loads(data)
        if not isinstance(fields, dict):
            raise TypeError("not an object")
        self._fields = fields

    def text(self, name: str, pattern: re.Pattern[str] = TOKEN, *, may_be_empty: bool = False) -> str:
        value = self._fields.get(name)
        if not isinstance(value, str) or not (pattern.fullmatch(value) or (may_be_empty and not value)):
            raise ValueError(f"{name} is {value!r:.80}")
        return value

    def count(self, name: str, most: int = COUNT_MAX) -> int:
        return checked_count(self._fields.get(name), name, most)

    def number(self, name: str) -> float:
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ValueError(f"{name} is {value!r:.80}")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self._fields.get(name)
        if not isinstance(value, bool):
            raise TypeError(f"{name} is {value!r:.80}")
        return value

    def mapping(self, name: str, most: int = 1 << 16) -> dict[str, Any]:
        value = self._fields.get(name)
        if not isinstance(value, dict) or len(value) > most:
            raise ValueError(f"{name} is no object of at most {most} entries")
        return value

    def list(self, name: str, most: int) -> list[Any]:
        value = self._fields.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise ValueError(f"{name} is no list of at most {most} entries")
        return value


def checked_count(value: object, name: str, most: int = COUNT_MAX) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{name} is {value!r:.80}")
    return value


def packed(fields: dict[str, Any]) -> bytes:
    """Return a document in its one spelling, so that equal documents have equal digests."""
    return json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()
