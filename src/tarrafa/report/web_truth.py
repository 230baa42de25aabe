"""Ask a running synthetic web when copies of its pages became stale. Any other web keeps that to itself."""

import http.client
import json
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from itertools import islice
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from tarrafa.errors import InputError
from tarrafa.texts import quoted

BATCH_COPIES = 1_000
_ANSWER_MAX_BYTES = 1_000_000
_TIMEOUT_SECONDS = 60.0


class Copy(NamedTuple):
    url: str
    at_seconds: float  # when its content was fetched, since 1970


class CopyTruth(NamedTuple):
    """What became of a copy."""

    is_judged: bool  # False if the web cannot tell
    changed_seconds: float | None = None  # since 1970: when the page changed; None while the copy is fresh
    stale_web_seconds: float = 0.0  # for how long the copy has been stale, in the web's time


class WebTruth(Protocol):
    def fates(self, copies: Sequence[Copy]) -> Iterator[CopyTruth]:
        """Yield what became of each copy."""
        ...


class SyntheticWebTruth:
    """The truth of a web that `tarrafa web` serves."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._host, self._port = _address_of(url)
        found = self._ask("GET", "/__clock")
        if not isinstance(found, dict) or "web_seconds" not in found:
            raise self._other_web()

    def fates(self, copies: Sequence[Copy]) -> Iterator[CopyTruth]:
        rest = iter(copies)
        while batch := list(islice(rest, BATCH_COPIES)):
            found = self._ask("POST", "/__copies", json.dumps({"copies": batch}).encode())
            try:
                fates = [CopyTruth(**each) for each in found["copies"]]
            except (TypeError, LookupError):
                raise self._other_web() from None
            if len(fates) != len(batch):
                raise self._other_web()
            yield from fates

    def _ask(self, method: str, path: str, body: bytes = b"") -> Any:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            text = answer.read(_ANSWER_MAX_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise InputError(
                f"no web answers at {quoted(self._url)} ({error or type(error).__name__}); give --truth the URL that "
                "tarrafa web shows, while it runs"
            ) from error
        finally:
            connection.close()
        try:
            if answer.status != http.client.OK or len(text) > _ANSWER_MAX_BYTES:
                raise self._other_web()
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self._other_web() from None

    def _other_web(self) -> InputError:
        return InputError(
            f"{quoted(self._url)} is not a synthetic web; give --truth the URL that tarrafa web shows, while it runs"
        )


def _address_of(url: str) -> tuple[str, int]:
    """Return the address and port of a URL on this machine: URLs of the collection are sent nowhere else."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 80
        is_own = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own or parts.scheme != "http":
        raise InputError(
            f"{quoted(url)} is not the URL of a web on this machine; give for example --truth http://127.0.0.1:8800/"
        )
    return host, port
