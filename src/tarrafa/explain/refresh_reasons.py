"""From the history of a collected URL to when it is visited again, and why then. Pure."""

from typing import Any

from tarrafa.agent import RefreshMode
from tarrafa.explain.evidence import RefreshEvidence, RunEvidence
from tarrafa.explain.moments import moment
from tarrafa.histories import DAY_SECONDS, PageHistory, Phase
from tarrafa.units import rough_duration

_NEVER = "never"
_START = "Run tarrafa refresh to visit what may have changed once, or tarrafa crawl --forever to keep all of it fresh."
# Why a URL is left alone until its moment, by phase.
_WAITS = {
    Phase.LIVE: "it was visited a short time ago",
    Phase.MOVED: "it was visited a short time ago",
    Phase.MISSING: "it was missing (404); a second look a day later decides whether it is gone",
    Phase.FAILING: "its last visits failed; each wait is longer than the one before",
    Phase.GONE: "it is gone; it is looked for more and more rarely",
    Phase.REFUSED: "it was refused; robots.txt and the rules are asked again in time",
}


def history_text(history: PageHistory) -> str:
    """Return what the visits to a URL found, as sentences."""
    visited = f"It was visited {_times(history.visits)}"
    if history.visits < 2:
        return f"{visited}."
    if not history.changes:
        return f"{visited}, and no visit after the first found a change{_rate(history)}."
    last = moment(history.changed_seconds)
    found = "visit" if history.changes == 1 else "visits"
    return f"{visited}; {history.changes:,} {found} found a change, the last one at {last}{_rate(history)}."


def refresh_text(refresh: RefreshEvidence, run: RunEvidence, now: float) -> tuple[str, str, float | None]:
    """Return when a URL is visited again and why, what to do for that, and the earliest moment if it is known."""
    if refresh.history.phase is Phase.DROPPED:
        return "It made room for more important pages, and is visited again if it becomes important enough.", "", None
    if refresh.policy == _NEVER:
        return 'refresh.policy is "never": no page is visited again.', 'Set refresh.policy to "optimal".', None
    not_before = refresh.not_before
    wait = f"It is not visited again before {moment(not_before)}: {_WAITS[refresh.history.phase]}."
    if not run.is_running or run.mode is RefreshMode.NOTHING:
        what = "This run visits no page again." if run.is_running else "The crawl is not running."
        return (f"{wait} {what}" if now < not_before else f"{what} {_worth(refresh, now)}"), _START, None
    if run.mode is RefreshMode.AGAIN and refresh.history.phase is Phase.REFUSED:
        return "This run leaves out what was refused without a visit.", _START, None
    if run.mode is RefreshMode.AGAIN:
        return "This run visits every page once more, those first that were visited longest ago.", "", now
    if now < not_before:
        return wait, "", not_before
    if refresh.history.visited_seconds >= run.began_at and run.mode is RefreshMode.ROUND:
        return "It was visited in this round, which visits each page at most once.", "", None
    return _worth(refresh, now), "", now


def _worth(refresh: RefreshEvidence, now: float) -> str:
    """Return how much a visit is worth, against those of other pages."""
    if now - refresh.history.visited_seconds > refresh.longest_seconds:
        longest = rough_duration(refresh.longest_seconds)
        return f"Its last visit is longer ago than refresh.longest ({longest}), so it is among the first."
    return (
        f"By the policy {refresh.policy}, a visit now is worth {refresh.value:.3g}: more than those of "
        f"{refresh.worth_share:.0%} of the pages beside it that may be visited now. Those worth most come first."
    )


def refresh_facts(refresh: RefreshEvidence) -> dict[str, Any]:
    """Return what is known of a URL over its visits, for a program."""
    history = refresh.history
    return {
        "phase": history.phase.name.lower(),
        "history_visits": history.visits,
        "history_changes": history.changes,
        "history_failures": history.failures or None,
        "changed_at": float(history.changed_seconds) or None,
        "changes_per_day": history.changes_per_day,
        "importance": history.importance,
        "refresh_policy": refresh.policy,
        "refresh_value": refresh.value,
        "refresh_worth_share": refresh.worth_share,
        "refresh_not_before_at": refresh.not_before,
    }


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _rate(history: PageHistory) -> str:
    """Return how often a page is believed to change, as the end of a sentence."""
    if history.changes_per_day <= 0:
        return ""
    return f"; it is believed to change every {rough_duration(DAY_SECONDS / history.changes_per_day)}"
