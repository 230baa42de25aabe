"""The events of a crawl, as the log tells them. What decides is pure and does not log: the event loop calls these.

`docs/reference/events.md` lists every event with its fields.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from tarrafa.logs import event
from tarrafa.schedule import Mirror, SlowedNames, SlowedPattern

_log = logging.getLogger("tarrafa.crawl")


def crawl_begun(pages: int, known: int, seeds: int) -> None:
    event(_log, "crawl begun", pages=pages, known=known, seeds=seeds)


def crawl_ended(ending: str, pages: int, seconds: float) -> None:
    event(_log, "crawl ended", ending=ending, pages=pages, seconds=round(seconds, 3))


def limit_reached(limit: str, value: float) -> None:
    event(_log, "limit reached", limit=limit, value=value)


def stop_requested(in_flight: int) -> None:
    event(_log, "stop requested", in_flight=in_flight)


def checkpoint_saved(number: int, ended: int, found: int, seconds: float) -> None:
    event(_log, "checkpoint", number=number, ended=ended, found=found, seconds=round(seconds, 3))


def cycle_done(known: int, waiting: int, hosts_scheduled: int, seconds: float) -> None:
    event(_log, "cycle", known=known, waiting=waiting, hosts_scheduled=hosts_scheduled, seconds=round(seconds, 3))


def host_suspended(host: str, reason: str, until: float) -> None:
    event(_log, "host suspended", host=host, reason=reason, until=_moment(until))


def host_given_up(host: str, reason: str) -> None:
    event(_log, "host given up", host=host, reason=reason)


def robots_unreachable(host: str, reason: str, until: float) -> None:
    event(_log, "robots.txt unreachable", host=host, reason=reason, until=_moment(until))


def outage_begun(host: str, reason: str) -> None:
    event(_log, "outage begun", host=host, reason=reason)


def outage_ended(seconds: float, *, is_answered: bool) -> None:
    event(_log, "outage ended", seconds=round(seconds, 3), answered=is_answered)


def host_collision(host: str, other: str, urls_count: int) -> None:
    event(_log, "host collision", logging.WARNING, host=host, other=other, urls=urls_count)


def pattern_slowed(host: str, slowed: SlowedPattern) -> None:
    pattern, reason, visits, new, is_refused = slowed
    if is_refused:
        event(_log, "pattern refused", host=host, pattern=pattern, reason=reason, visits=visits, new=new)
    else:
        event(_log, "pattern slowed", host=host, pattern=pattern, reason=reason, visits=visits, new=new)


def mirror_found(news: Mirror | SlowedNames) -> None:
    match news:
        case Mirror(host, original, copies, pages, True):
            event(_log, "mirror ended", host=host, of=original, copies=copies, pages=pages)
        case Mirror(host, original, copies, pages):
            event(_log, "mirror found", host=host, of=original, copies=copies, pages=pages)
        case SlowedNames(site, pattern, visits, new, True):
            event(_log, "names refused", site=site, pattern=pattern, visits=visits, new=new)
        case SlowedNames(site, pattern, visits, new):
            event(_log, "names slowed", site=site, pattern=pattern, visits=visits, new=new)


def challenge_met(url: str, wall: str) -> None:
    event(_log, "challenge page", url=url, wall=wall)


def stored_page_unreadable(url: str, reason: str) -> None:
    event(_log, "stored page unreadable", logging.WARNING, url=url, reason=reason)


def page_cut(url: str, parts: Sequence[str]) -> None:
    event(_log, "page cut", url=url, parts=list(parts))


def hints_dropped(host: str, count: int) -> None:
    event(_log, "hints dropped", host=host, count=count)


def _moment(wall: float) -> str:
    """Return a wall-clock time in UTC, to the second."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
