"""How a crawl ended: the sentence that says it, what it means, what to do, and the exit code."""

from datetime import datetime
from math import ceil

from tarrafa.agent import Ending, HostStatus, Progress
from tarrafa.explain.remedies import REMEDIES

_CONTINUE = "Run the same command again to continue."
_SENTENCES = {
    Ending.RUNNING: "Running.",
    Ending.DONE: "Done: no more URLs can be fetched.",
    Ending.PAGES: "Stopped: reached the limit of --pages. Run again with a higher --pages to continue.",
    Ending.TIME: f"Stopped: reached the limit of --time. {_CONTINUE}",
    Ending.ROUND: "Done: the round is over. Run again for the next one.",
    Ending.STOPPED: f"Stopped on request. {_CONTINUE}",
    Ending.INTERRUPTED: f"Interrupted; everything up to the last checkpoint is saved. {_CONTINUE}",
    Ending.KILLED: f"Killed; everything up to the last checkpoint is saved. {_CONTINUE}",
}
_EXIT_CODES = {Ending.NOTHING: 1, Ending.FAILED: 1, Ending.SUSPENDED: 3, Ending.INTERRUPTED: 130}


def exit_code(ending: Ending) -> int:
    """Return the exit code of `tarrafa crawl`."""
    return _EXIT_CODES.get(ending, 0)


def sentence(progress: Progress) -> str:
    """Return what happened, what it means, and what to do."""
    if progress.ending is Ending.SUSPENDED:
        return f"Suspended: {_suspended(progress)} {_CONTINUE} --wait stays for suspended hosts."
    if progress.ending is Ending.NOTHING:
        return f"Nothing was fetched. {_causes(progress)}"
    if progress.ending is Ending.FAILED:
        return f"Failed: {progress.reason}. Everything up to the last checkpoint is saved. {_CONTINUE}"
    if progress.ending is Ending.ROUND and not progress.run_refreshes:
        return (
            "Done: no page may be visited again yet. None is visited sooner than refresh.shortest, and an hour, after "
            "its last visit; tarrafa explain URL tells when. tarrafa crawl --again visits all of them now."
        )
    return _SENTENCES[progress.ending]


def _suspended(progress: Progress) -> str:
    count, until = progress.suspended, progress.suspended_until
    hosts = "1 host still has URLs and is" if count == 1 else f"{count:,} hosts still have URLs and are"
    moment = (
        "" if until is None else f" until {_moment(until)}" if count == 1 else f", the first until {_moment(until)}"
    )
    return f"{hosts} suspended{moment}."


def _moment(wall: float) -> str:
    """Return a time of day of this machine's zone, with the date: the first full minute that is no earlier."""
    return datetime.fromtimestamp(60 * ceil(wall / 60)).astimezone().strftime("%Y-%m-%d %H:%M")


def _causes(progress: Progress) -> str:
    """Return why there is no page, and what to do, as far as the reasons tell."""
    causes = [
        *(f"hosts {status}: {reason}" for status, reasons in progress.host_statuses.items() for reason in reasons),
        *(f"visits failed: {kind}" for kind in progress.failures),
        *(f"URLs refused: {reason}" for reason in progress.refusals),
        *(f"URLs {outcome}" for outcome in progress.outcomes),
    ]
    reasons = [cause.rpartition(": ")[2].removeprefix("robots.txt ") for cause in causes]
    remedies = dict.fromkeys(REMEDIES[reason] for reason in reasons if reason in REMEDIES)
    told = f"Why: {', '.join(causes)}." if causes else "No URL could be visited."
    return " ".join([told, *remedies, _until(progress), _CONTINUE]).replace("  ", " ")


def _until(progress: Progress) -> str:
    has_suspended = HostStatus.SUSPENDED in progress.host_statuses
    return _suspended(progress) if has_suspended and progress.suspended_until is not None else ""
