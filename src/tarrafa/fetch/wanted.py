"""Which types of page are wanted: of the others nobody reads the body, so it is left where it is."""

import re

from tarrafa.errors import InputError
from tarrafa.texts import quoted

_TOKEN = r"[a-z0-9!#$&^_.+-]+"  # noqa: S105 - what HTTP calls a token
_TYPE = re.compile(rf"\*/\*|{_TOKEN}/(?:\*|{_TOKEN})")


class Types:
    """Media types by name, `text/*` for all of a kind, `*/*` for all."""

    __slots__ = ("_names",)

    def __init__(self, text: str) -> None:
        names = [name.strip().lower() for name in text.split(",")]
        for name in names:
            if not _TYPE.fullmatch(name):
                raise InputError(f'{quoted(name)} is not a media type; write for example "text/html, text/*"')
        self._names = frozenset(names)

    def want(self, content_type: str) -> bool:
        """What a host says in Content-Type. A host that says nothing may have anything, so it is read."""
        media_type = content_type.partition(";")[0].strip().lower()
        if not media_type or media_type in self._names:
            return True
        return "*/*" in self._names or f"{media_type.partition('/')[0]}/*" in self._names
