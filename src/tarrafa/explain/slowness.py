"""Why a crawl is not faster now: from its counters to one short sentence. Pure."""

from itertools import takewhile

from tarrafa.agent import Ending, Progress
from tarrafa.units import rough_duration

_BUSY_SHARE = 0.85  # of the time of the event loop's thread; above, nothing else matters
_SLOW_SECONDS = 1.0  # a host whose visits take less answers at once
_NAMES_SHARE = 0.5  # of all that is under way


def why_slow(progress: Progress) -> str:
    """Return what limits a running crawl; the cause that hides the others comes first."""
    if progress.ending is not Ending.RUNNING:
        return ""
    return _stuck(progress) or _busy(progress) or _waiting(progress)


def _stuck(progress: Progress) -> str:
    """Return why no visit begins."""
    if progress.outage_seconds is not None:
        return f"Network: down for {rough_duration(progress.outage_seconds)}; visits go on when it is back."
    if progress.is_saving_late:
        return "Disk: saving has fallen behind; visits pause until it is done."
    if progress.in_flight or progress.resolving or progress.waiting or progress.ready:
        return ""
    if progress.suspended:
        return f"Suspended: only {_number(progress.suspended, 'host')} left, all suspended{_next(progress)}."
    return "Verifying: found URLs are being checked; visits follow."


def _busy(progress: Progress) -> str:
    if progress.busy_share >= _BUSY_SHARE:
        return f"CPU: the event loop is busy {progress.busy_share:.0%} of the time."
    if progress.in_flight >= progress.in_flight_limit:
        return f"Limit: all {progress.in_flight_limit:,} visits of --in-flight are under way."
    return ""


def _waiting(progress: Progress) -> str:
    resting, asked = max(0, progress.waiting - progress.ready), progress.in_flight - progress.extracting
    if progress.resolving > _NAMES_SHARE * (progress.resolving + progress.in_flight + progress.ready):
        return f"Names: {_number(progress.resolving, 'name')} being looked up."
    if progress.ready:
        return "Nothing: visits begin as fast as they can."
    if progress.extracting > max(asked, resting):
        return f"Extraction: {_number(progress.extracting, 'large page')} being parsed."
    if resting >= asked and _failed_count(progress) >= min(resting, len(progress.last_visits)) > 0:
        reason = progress.last_visits[0][0]
        return f"Failures ({reason}): {_number(resting, 'host')} backing off{_next(progress)}."
    if resting >= asked:
        return f"Politeness: {_number(resting, 'host')} resting between visits{_next(progress)}."
    if not resting and max(progress.slowest_hosts.values(), default=_SLOW_SECONDS) < _SLOW_SECONDS:
        return f"Politeness: one visit at a time per host, {_number(asked, 'visit')} under way."
    return f"Answers: {_number(asked, 'visit')} waiting for an answer."


def _failed_count(progress: Progress) -> int:
    """Return how many of the last visits failed, back to the last one that did not."""
    return sum(1 for _ in takewhile(lambda visit: not visit[0].isdigit(), progress.last_visits))


def _next(progress: Progress) -> str:
    seconds = progress.next_seconds
    return "" if seconds is None or seconds < 1 else f", next in {rough_duration(seconds)}"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
