"""An order of a user's own class, called with care: what it raises or returns wrongly ends the crawl with its name."""

import math
from operator import index
from typing import Any

from tarrafa.errors import InputError, WorkError
from tarrafa.schedule.order import PRIORITY_MAX, Keys, Order, QueuedHost, UrlFacts, WeightKind
from tarrafa.texts import printable, quoted

_NEEDED = ("weight", "priority", "url_keys", "host_key")


class OwnOrder:
    """Fulfils `Order`. `name` is that of the class, for errors."""

    def __init__(self, own: Any, name: str) -> None:
        missing = [each for each in _NEEDED if not hasattr(own, each)]
        if missing:
            raise InputError(f"{quoted(name)} has no {missing[0]}; it needs what the protocol Order of schedule names")
        if not isinstance(own.weight, WeightKind):
            raise InputError(f"the weight of {quoted(name)} must be a WeightKind of tarrafa.schedule")
        self._own: Order = own
        self._name = name

    @property
    def weight(self) -> WeightKind:
        return self._own.weight

    def priority(self, url: str, language: str = "") -> int:
        try:
            found = self._own.priority(url, language)
        except Exception as error:
            raise self._failed(f"priority for {url}", error) from error
        priority = _whole(found)
        if not 1 <= priority <= PRIORITY_MAX:
            raise self._wrong(f"priority for {url}", found, f"a whole number from 1 to {PRIORITY_MAX}")
        return priority

    def url_keys(self, urls: UrlFacts) -> Keys:
        try:
            return self._own.url_keys(urls)
        except Exception as error:
            raise self._failed("url_keys", error) from error

    def host_key(self, host: QueuedHost) -> float:
        try:
            found = self._own.host_key(host)
        except Exception as error:
            raise self._failed(f"host_key for {host.name}", error) from error
        key = _number(found)
        if math.isnan(key):
            raise self._wrong(f"host_key for {host.name}", found, "a number")
        return key

    def _failed(self, call: str, error: Exception) -> WorkError:
        reason = printable(f"{type(error).__name__}: {error}")
        return WorkError(f"{quoted(self._name)} failed in {call}: {reason}; correct it, then run again")

    def _wrong(self, call: str, found: object, wanted: str) -> WorkError:
        told = f"returned {quoted(repr(found))} as its {call}, not {wanted}"
        return WorkError(f"{quoted(self._name)} {told}; correct it, then run again")


def _whole(found: Any) -> int:
    """Return a whole number, also one of numpy; 0 for anything else."""
    try:
        return index(found)
    except TypeError:
        return 0


def _number(found: Any) -> float:
    try:
        return float(found)
    except (TypeError, ValueError, OverflowError):
        return math.nan
