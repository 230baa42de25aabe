"""What authors say about the use of their pages, beyond visiting and indexing: training, answers, text mining.

None of it is finished, so the lines are kept as they were written and their meaning is read when somebody asks:

    Content-Usage   IETF drafts aipref-attach and aipref-vocab: `train-ai=n, search=y`; in robots.txt with a path before
    Content-Signal  contentsignals.org: `search=yes, ai-input=no, ai-train=no`
    tdm-reservation TDMRep, of a W3C community group: `1` reserves the rights of text and data mining, `0` does not
    tdm-policy      the address of the conditions

A line of ours is `name: value`, the name in lower case, the value verbatim but for what cannot be shown or stored.
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
    """A usage line of robots.txt, with the paths that it is about; without a path it is about all."""

    kind: str
    line: str
    head: str = ""
    tail: str = ""
    rank: int = 0  # the longest of its kind holds

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
    """For each use that the lines speak of, whether it is allowed; where two contradict each other, it is not.

    A use that is missing was not spoken of. Values that the drafts do not define are as if missing.
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
    # Of a member that comes twice the last counts, as in every structured field; parameters say nothing yet.
    members = (member.partition(";")[0].strip().partition("=") for member in value.split(","))
    return {
        category: _ANSWERS[answer]
        for category, _, answer in ((key.strip().lower(), _, text.strip().lower()) for key, _, text in members)
        if answer in _ANSWERS and _CATEGORY.fullmatch(category)
    }.items()
