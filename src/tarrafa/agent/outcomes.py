"""What became of a URL: one word for people, one number for the repository.

If the host answered, the number is the HTTP status. Refusals and failures have numbers above all statuses, so that the
reason is stored with the URL. These numbers are on disk and never change.
"""

from enum import StrEnum
from functools import lru_cache

from tarrafa.histories import DROPPED_STATUS
from tarrafa.records import Failure, FailureKind, Page

NO_FILE = 2**32 - 1  # the archive has no page

# Refusals that end a URL: by robots.txt, by the budget of its pattern, because its pattern brought nothing new, because
# another host has it, or, all others, by the scope.
ROBOTS, URL_BUDGET, _PATTERN = "robots", "url pages", "pattern "
MIRROR, WILDCARD = "mirror", "wildcard"
PAGE_ROOM = "page room"  # it makes room for more important pages
_DISALLOWED, OVER_BUDGET, BARREN, EXCLUDED, MIRRORED, WILD = 1_000, 1_001, 1_002, 1_003, 1_004, 1_005
_FAILURES = {
    FailureKind.NAME: 1_100,
    FailureKind.PRIVATE: 1_101,
    FailureKind.REFUSED: 1_102,
    FailureKind.UNREACHABLE: 1_103,
    FailureKind.TIMEOUT: 1_104,
    FailureKind.RESET: 1_105,
    FailureKind.TLS: 1_106,
    FailureKind.HEADER: 1_107,
    FailureKind.ANSWER: 1_108,
    FailureKind.URL: 1_109,
    FailureKind.OTHER: 1_110,
    FailureKind.NAME_SERVER: 1_111,
    FailureKind.WALL: 1_112,
}
DOUBTED = 1_113  # an answer that the page is gone, as of many pages of its host at once
_REFUSED = {ROBOTS: _DISALLOWED, URL_BUDGET: OVER_BUDGET, MIRROR: MIRRORED, WILDCARD: WILD, PAGE_ROOM: DROPPED_STATUS}
_REFUSALS = {
    _DISALLOWED: "disallowed by robots.txt",
    OVER_BUDGET: "over the budget of its pattern",
    BARREN: "other URLs of its pattern brought nothing new",
    EXCLUDED: "excluded by the scope when its turn came",
    MIRRORED: "its host is a mirror of another, which has answered at the same path",
    WILD: "hosts of its site with names like that of its host brought only copies",
}
_DOUBTS = {DOUBTED: "missing together with many pages of its host"}
_REASONS = {**_REFUSALS, **_DOUBTS, **{number: kind.value for kind, number in _FAILURES.items()}}
_GONE = frozenset({404, 410})


class Outcome(StrEnum):
    FETCHED = "fetched"
    UNCHANGED = "unchanged"
    REDIRECTED = "redirected"
    REFUSED = "refused"  # by robots.txt, a budget or the scope, or because it is in a trap or a copy; without a visit
    FAILED = "failed"  # no answer, or an error status
    GONE = "gone"
    DROPPED = "dropped"  # it made room for more important pages; without a visit
    WALLED = "walled"  # only a challenge page of a bot wall came


@lru_cache(maxsize=1 << 11)
def outcome_of(status: int) -> Outcome:
    if status in _REFUSALS:
        return Outcome.REFUSED
    if status == _FAILURES[FailureKind.WALL]:
        return Outcome.WALLED
    if status == DROPPED_STATUS:
        return Outcome.DROPPED
    if status == 304:
        return Outcome.UNCHANGED
    if status in _GONE:
        return Outcome.GONE
    if 200 <= status < 300:
        return Outcome.FETCHED
    return Outcome.REDIRECTED if 300 <= status < 400 else Outcome.FAILED


def status_of(outcome: Page | Failure | None, refusal: str = ROBOTS) -> int:
    """Return the number for the repository. None stands for a URL that was refused."""
    if outcome is None:
        return _REFUSED.get(refusal, BARREN if refusal.startswith(_PATTERN) else EXCLUDED)
    return outcome.status if isinstance(outcome, Page) else _FAILURES[outcome.kind]


def reason_of(status: int) -> str:
    """Return why there is no page; empty if there is one."""
    return _REASONS.get(status, "")
