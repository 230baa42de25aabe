"""Which names this server answers for, and the refusal of all others.

A page of another site may let its own name lead to this machine (DNS rebinding). To the browser it then has the same
origin as the search page and may read it. Such a request still has the other site's name in its Host header. So:

1. Every IP address is accepted: a browser sends one only for an origin that is that address.
2. So are `localhost`, names below it, the name of this machine, and the name that the server was told to listen on.
3. Any other name must be given by the owner.
"""

import re
import socket
from collections.abc import Iterable
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from tarrafa.addresses import parse_address
from tarrafa.errors import InputError
from tarrafa.serve.params import RefusedError
from tarrafa.texts import quoted
from tarrafa.urls import host_of, parse

_HEADER = re.compile(r"([A-Za-z0-9._\-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?", re.ASCII)


class HostNames:
    """The names of a server. Pure."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower().removesuffix(".") for name in names) | {"localhost"}

    def is_known(self, name: str) -> bool:
        plain = name.lower().removesuffix(".")
        return plain in self._names or plain.endswith(".localhost") or parse_address(plain) is not None


def host_names(listening_on: str, given: Iterable[str]) -> HostNames:
    """Return the names of a server on this machine. Raise InputError if one that was given is not a host name."""
    return HostNames((listening_on, socket.gethostname(), *map(_canonical_name, given)))


def _canonical_name(text: str) -> str:
    """Return the name as browsers send it: in lower case, with Punycode."""
    parsed = None if set(text) & set("/:@?#\\ ") else parse(f"http://{text}/")
    if not text or parsed is None:
        raise InputError(f"{quoted(text)} is not a host name; give --server-name one such as search.example.org")
    return host_of(parsed.url).partition("//")[2]


def name_in(header: str) -> str | None:
    """Return the name or address in a Host header, without its port, or None if the header is malformed."""
    matched = _HEADER.fullmatch(header)
    return matched[1] if matched else None


class HostCheck:
    """Refuse requests for unknown names. Inside Starlette's exception handlers.

    A request without the header is accepted: only HTTP/1.0 allows it, and no browser sends it.
    """

    def __init__(self, app: ASGIApp, names: HostNames) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        header = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        name = name_in(header)
        if header and name is None:
            raise RefusedError("refused_host")
        if name is not None and not self._names.is_known(name):
            raise RefusedError("error_421_text", HTTPStatus.MISDIRECTED_REQUEST, name=name)
        await self._app(scope, receive, send)
