"""A weighted mix of policies, with modifiers by suffix of the host and by language of the page that links.

Each policy of the mix gives a URL a score from 0 to 1, greater for what comes first, and a host likewise. The score of
a URL is the sum of these, each times its weight, times the modifiers of its host and language. A host has the score of
its best URL, and what the policies of hosts add.

The modifiers are known when a URL is found, and the scores later. So the priority holds both: the product of the
modifiers in the upper 6 bits, rounded to one of 64 steps, and the level of the URL in the lower 10.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tarrafa.errors import InputError
from tarrafa.schedule.order import LEVEL_MAX, Keys, LevelCache, QueuedHost, UrlFacts, WeightKind
from tarrafa.texts import quoted

_STEPS, _NO_STEP, _STEPS_PER_DOUBLE = 64, 32, 8
_LEVEL_BITS = 10
_CACHE_LIMIT = 1 << 16  # hosts; a full cache is cleared
_WEIGHT_MOST, _MODIFIER_MOST = 1_000.0, 16.0

Scores: TypeAlias = NDArray[np.floating[Any]]

_URL_SCORES: Mapping[str, Callable[[UrlFacts], Scores]] = {
    "level": lambda urls: 10.0 / (10.0 + (urls.priority & LEVEL_MAX)),
    "fifo": lambda urls: 1.0 / (1.0 + urls.depth),
    "backlinks": lambda urls: np.log2(1.0 + urls.links) / 16.0,
    "pagerank": lambda urls: np.log2(1.0 + urls.weight) / 32.0,
    "opic": lambda urls: np.log2(1.0 + urls.weight) / 32.0,
}
_HOST_SCORES: Mapping[str, Callable[[QueuedHost], float]] = {
    "largest-host": lambda host: math.log2(1.0 + host.urls_left + host.pages) / 32.0,
    "fastest-host": lambda host: 1.0 / (1.0 + host.response_seconds),
}
MIXED_NAMES = (*_URL_SCORES, *_HOST_SCORES)


class MixSettings(NamedTuple):
    weights: Mapping[str, float]  # by the name of the policy
    suffixes: Mapping[str, float] = {}
    languages: Mapping[str, float] = {}


def read_weights(text: str) -> dict[str, float]:
    """Read the weights of policies, such as `level 1, backlinks 0.5`."""
    found = _read_numbers(text, 0.0, _WEIGHT_MOST)
    unknown = [name for name in found if name not in MIXED_NAMES]
    if unknown:
        raise InputError(f"{quoted(unknown[0])} cannot be mixed; write some of {', '.join(MIXED_NAMES)}")
    if "pagerank" in found and "opic" in found:
        raise InputError("pagerank and opic exclude each other, because a URL has one weight; remove one of them")
    if not any(found.values()):
        raise InputError('all weights are 0; write for example "level 1, backlinks 1"')
    return found


def read_modifiers(text: str) -> dict[str, float]:
    """Read modifiers, such as `br 2, gov.br 4`, or `none`."""
    if text.strip().lower() == "none":
        return {}
    found = _read_numbers(text, 1 / _MODIFIER_MOST, _MODIFIER_MOST)
    return {name.strip(".").lower(): value for name, value in found.items()}


def _read_numbers(text: str, least: float, most: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition(" ")
        try:
            value = float(number)
        except ValueError:
            raise InputError(f'{quoted(part.strip())} is not a name and a number; write for example "br 2"') from None
        if not least <= value <= most:
            raise InputError(f"{quoted(part.strip())} is out of bounds; give a number from {least:g} to {most:g}")
        if name in found:
            raise InputError(f"{quoted(name)} is given twice; remove one")
        found[name] = value
    return found


class Mix:
    """Fulfils `Order`."""

    def __init__(self, settings: MixSettings) -> None:
        weights = settings.weights
        self._url_weights = {name: weight for name, weight in weights.items() if name in _URL_SCORES and weight}
        self._host_weights = {name: weight for name, weight in weights.items() if name in _HOST_SCORES and weight}
        self._suffixes, self._languages = settings.suffixes, settings.languages
        kinds = {"pagerank": WeightKind.RANK, "opic": WeightKind.CASH}
        self.weight = next((kinds[name] for name in kinds if name in self._url_weights), WeightKind.NONE)
        self._levels = LevelCache()
        # The modifier of each host. Filled by _of_suffix, cleared when full.
        self._found: dict[str, float] = {}

    def priority(self, url: str, language: str = "") -> int:
        modifier = self._of_suffix(url[: url.find("/", 8)]) * self._languages.get(language, 1.0)
        step = round(_NO_STEP - _STEPS_PER_DOUBLE * math.log2(modifier))
        return min(max(step, 0), _STEPS - 1) << _LEVEL_BITS | self._levels.of(url)

    def _of_suffix(self, host: str) -> float:
        """Return the modifier of the longest suffix of a host's name."""
        if not self._suffixes:
            return 1.0
        found = self._found.get(host)
        if found is None:
            if len(self._found) >= _CACHE_LIMIT:
                self._found.clear()
            labels = host.rpartition("/")[2].partition(":")[0].split(".")
            names = (".".join(labels[first:]) for first in range(len(labels)))
            found = self._found[host] = next((self._suffixes[each] for each in names if each in self._suffixes), 1.0)
        return found

    def url_keys(self, urls: UrlFacts) -> Keys:
        scores = np.zeros(len(urls.priority))
        for name, weight in self._url_weights.items():
            scores += weight * _URL_SCORES[name](urls)
        steps = (urls.priority >> _LEVEL_BITS).astype(np.float64)
        return -scores * 2.0 ** ((_NO_STEP - steps) / _STEPS_PER_DOUBLE)

    def host_key(self, host: QueuedHost) -> float:
        added = sum(weight * _HOST_SCORES[name](host) for name, weight in self._host_weights.items())
        return host.first_key - added
