"""Usage preferences of authors, beyond visiting and indexing: AI training, AI answers, text mining.

The standards are drafts, so the lines are kept as they were written and interpreted on demand:

    Content-Usage   IETF drafts aipref-attach and aipref-vocab: `train-ai=n, search=y`; in robots.txt with a path before
    Content-Signal  contentsignals.org: `search=yes, ai-input=no, ai-train=no`
    tdm-reservation TDMRep, of a W3C community group: `1` reserves the rights of text and data mining, `0` does not
    tdm-policy      the address of the conditions

A stored line is `name: value`, the name in lower case, the value verbatim but for unprintable characters.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from tarrafa.obey.patterns import spelt_pattern, split_pattern, tail_matches
from tarrafa.texts import printable

USAGE_LINE_MAX_CHARS = 300

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
_CATEGORY = re.compile(r"[a-z*][a-z0-9_.*-]{0,39}")


class UsageRule(NamedTuple):
    """A usage line of robots.txt, with the paths that it applies to; without a path, to all."""

    kind: str
    line: str
    head: str = ""
    tail: str = ""
    rank: int = 0  # the longest of its kind applies

    def matches(self, path: str) -> bool:
        return path.startswith(self.head) and (not self.tail or tail_matches(self.tail, path, len(self.head)))


def usage_line(name: str, value: str) -> str:
    return printable(f"{name}: {value.strip()}"[:USAGE_LINE_MAX_CHARS])[:USAGE_LINE_MAX_CHARS]


def usage_rule(kind: str, value: str) -> UsageRule:
    path, *rest = value.split(maxsplit=1) or [""]
    if kind != "content-usage" or not path.startswith("/"):
        return UsageRule(kind, usage_line(kind, value))
    pattern = spelt_pattern(path[:USAGE_LINE_MAX_CHARS])
    return UsageRule(kind, usage_line(kind, rest[0] if rest else ""), *split_pattern(pattern), rank=len(pattern))


def preferences(lines: Iterable[str]) -> dict[str, bool]:
    """Return for each use named in the lines whether it is allowed; if two lines contradict each other, it is not.

    Values that the drafts do not define are ignored.
    """
    found: dict[str, bool] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        for category, allowed in _read(name, value):
            found[category] = allowed and found.get(category, True)
    return found


def _read(name: str, value: str) -> Iterable[tuple[str, bool]]:
    if name == "tdm-reservation":
        return [("tdm", value == "0")] if value in ("0", "1") else []
    if name not in ("content-usage", "content-signal"):
        return []
    # Of a repeated member the last counts, as in every structured field; parameters are ignored.
    members = (member.partition(";")[0].strip().partition("=") for member in value.split(","))
    return {
        category: _ANSWERS[answer]
        for category, _, answer in ((key.strip().lower(), _, text.strip().lower()) for key, _, text in members)
        if answer in _ANSWERS and _CATEGORY.fullmatch(category)
    }.items()
