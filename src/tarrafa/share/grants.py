"""Pages that each agent may still take, so that `--pages` is never exceeded by all of them together.

A grant is cumulative: the number of pages that an agent may keep over all runs. An agent that has no use for its grant
gives the rest back, in a cumulative number as well. The limit of an agent is the difference. All grants stand in one
document, changed by compare-and-set, so their sum is never above the limit of the crawl plus what was given back.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tarrafa.share.documents import NAME, FieldReader, Malformed, checked_count, packed
from tarrafa.share.table import AGENTS_MAX

_SHARES = 2  # an agent gets at most one of so many parts of what is left, divided by the number of agents


class GrantUse(NamedTuple):
    """What an agent says of its grants, in its record."""

    pages: int  # kept
    returned: int  # given back
    has_work: bool = True


def limit_of(granted: int, returned: int) -> int:
    """Return how many pages an agent may keep."""
    return granted - returned


def granted_more(limit: int, grants: Mapping[str, int], uses: Mapping[str, GrantUse]) -> dict[str, int] | None:
    """Return the next grants, or None if no agent needs more or nothing is left.

    `uses` are of the live agents. What a lost agent was granted stays granted, because it may have been used.
    """
    left = limit - sum(grants.values()) + sum(uses[name].returned for name in uses)
    share = max(1, left // (_SHARES * max(len(uses), 1)))
    found = dict(grants)
    for name, use in sorted(uses.items()):
        spare = limit_of(found.get(name, 0), use.returned) - use.pages
        if use.has_work and spare * 2 < share and left > 0:
            part = min(share - max(spare, 0), left)
            found[name] = found.get(name, 0) + part
            left -= part
    return found if found != dict(grants) else None


def encoded_grants(grants: Mapping[str, int]) -> bytes:
    return packed({"grants": dict(grants)})


def parse_grants(data: bytes) -> dict[str, int] | Malformed:
    """Return the grants of a document, or why it holds none."""
    try:
        fields = FieldReader(data).mapping("grants", AGENTS_MAX)
        if not all(NAME.fullmatch(name) for name in fields):
            raise ValueError("a name of an agent is wrong")
        return {name: checked_count(count, name) for name, count in fields.items()}
    except (ValueError, TypeError, RecursionError) as error:
        return Malformed(f"grants: {error}")
