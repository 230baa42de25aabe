"""From the evidence of a URL to the first reason why it is not fetched. Pure.

The rules are asked in order, from what can never change by itself to what only needs time: the first that applies
explains the URL.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from tarrafa.agent import EXCLUDED, HostRecord, HostStatus, Outcome, outcome_of, reason_of
from tarrafa.agent.budgets import ADDRESS_LIMIT, SITE_LIMIT
from tarrafa.agent.outcomes import BARREN, MIRRORED, OVER_BUDGET, URL_BUDGET, WILD
from tarrafa.explain.evidence import HostDelay, HostEvidence, RobotsEvidence, UrlEvidence
from tarrafa.explain.moments import moment
from tarrafa.explain.refresh_reasons import history_text, refresh_facts, refresh_text
from tarrafa.explain.remedies import remedy_of
from tarrafa.histories import DROPPED_STATUS, Phase
from tarrafa.obey import Basis
from tarrafa.schedule import UrlKind, depth_of
from tarrafa.units import rough_duration
from tarrafa.verify import UrlPlace, UrlState

_SHOWN = 10  # pages that link to a URL
_REFUSALS = {
    "outside": "its host is out of scope (crawl.scope)",
    "userinfo": "it contains a user name or password",
    "length": "it is longer than crawl.url_chars",
    "depth": "it is more links away from a seed than crawl.depth",
    "repetition": "its path repeats a segment more often than crawl.repeated_segments",
}


class Verdict(StrEnum):
    """Why a URL is where it is, in a word."""

    FETCHED = "fetched"
    REDIRECTED = "redirected"
    GONE = "gone"
    FAILED = "failed"
    DISALLOWED = "disallowed by robots.txt"
    REFUSED = "refused"  # by the scope, or by a bound on URLs
    NOFOLLOW = "nofollow"  # only links that ask not to be followed lead to it
    UNKNOWN = "unknown"
    OVER_BUDGET = "over budget"  # the URLs of its pattern have given their pages
    HOST_LIMIT = "host limit"
    GIVEN_UP = "host given up"
    SUSPENDED = "host suspended"
    UNVERIFIED = "not verified yet"
    MIRROR = "mirrors come last"  # its host has the pages of another
    NOT_RUNNING = "crawl not running"
    OUTAGE = "network down"
    BACKING_OFF = "host backs off"
    ROBOTS_FIRST = "robots.txt comes first"
    RESTING = "host rests"
    QUEUED = "queued"
    READY = "ready"


class Explanation(NamedTuple):
    subject: str  # the URL or host, in its canonical form
    verdict: Verdict
    why: str  # one or more sentences
    remedy: str = ""
    may_fetch_at: float | None = None  # the earliest moment; None if it never will be, or if it is not known
    facts: Mapping[str, Any] = {}

    def told(self) -> dict[str, Any]:
        """Return all of it for a program."""
        return {**self._asdict(), "verdict": str(self.verdict), "facts": dict(self.facts)}


def explain_url(evidence: UrlEvidence, now: float) -> Explanation:
    """Explain why a URL was not fetched yet, or what came of it."""
    ended = _ended(evidence)
    found = _again(evidence, ended, now) if ended else None
    found = found or _never(evidence) or _later(evidence, now) or _soon(evidence, now)
    return found._replace(facts=_facts(evidence))


# What has ended.


def _ended(evidence: UrlEvidence) -> Explanation | None:
    place = evidence.place
    if place is None or place.state is not UrlState.COLLECTED or place.known.status is None:
        return None
    status, at = place.known.status, moment(place.known.at_seconds or 0.0)
    outcome = outcome_of(status)
    if status == DROPPED_STATUS:
        return _of(evidence, Verdict.REFUSED, f"It left the collection at {at}, which was full.")
    if outcome is Outcome.REFUSED:
        return _refused(evidence, status)
    if reason := reason_of(status):
        return _of(evidence, Verdict.FAILED, f"Its last visit failed at {at}: {reason}.", remedy_of(reason))
    return _answered(evidence, outcome, status, at)


def _answered(evidence: UrlEvidence, outcome: Outcome, status: int, at: str) -> Explanation:
    """Explain what the host has answered."""
    if outcome is Outcome.REDIRECTED:
        target = f" to {evidence.location}, which is a URL of its own" if evidence.location else ""
        return _of(evidence, Verdict.REDIRECTED, f"It was visited at {at} and redirects (status {status}){target}.")
    if evidence.refresh is not None and evidence.refresh.history.phase is Phase.MISSING:
        return _of(evidence, Verdict.GONE, f"It was visited at {at}; the host did not find it (status {status}).")
    if outcome is Outcome.GONE:
        return _of(evidence, Verdict.GONE, f"It was visited at {at}; the host says that it is gone (status {status}).")
    if outcome is Outcome.FAILED:
        return _of(evidence, Verdict.FAILED, f"It was visited at {at}; the host answered with an error ({status}).")
    return _of(evidence, Verdict.FETCHED, f"It was fetched at {at} (status {status}).")


def _again(evidence: UrlEvidence, ended: Explanation, now: float) -> Explanation:
    """Add the history of a collected URL, and when it is visited again."""
    refresh = evidence.refresh
    if refresh is None:
        return ended
    why, remedy, at = refresh_text(refresh, evidence.run, now)
    if at is not None and (end := end_of_host(evidence.host)) is not None and end.verdict is Verdict.GIVEN_UP:
        why, remedy, at = end.why, end.remedy, None
    return ended._replace(
        why=f"{ended.why} {history_text(refresh.history)} {why}", remedy=ended.remedy or remedy, may_fetch_at=at
    )


def _refused(evidence: UrlEvidence, status: int) -> Explanation:
    """Explain why a URL was refused when its turn came."""
    if status == OVER_BUDGET:
        why = "The URLs of its pattern had given their pages when its turn came. It is not visited."
        return _of(evidence, Verdict.OVER_BUDGET, why, remedy_of(URL_BUDGET))
    if status in (BARREN, MIRRORED, WILD):
        return _of(evidence, Verdict.REFUSED, f"It is not visited: {reason_of(status)}.")
    if status == EXCLUDED:
        hint = "Give it as a seed of another crawl, without the rule."
        return _of(evidence, Verdict.REFUSED, "At its turn a rule of the scope left it out. It is not visited.", hint)
    line = _line(evidence.host.robots)
    return _of(evidence, Verdict.DISALLOWED, f"robots.txt of the host disallows it{line}. It is not visited.")


# What will not happen as things are.


def _never(evidence: UrlEvidence) -> Explanation | None:
    if evidence.refusal:
        return _of(evidence, Verdict.REFUSED, f"It is not visited: {refusal_text(evidence.refusal)}.")
    host = evidence.host
    if evidence.place is None and not evidence.is_waiting:
        return _unknown(evidence)
    robots = host.robots
    if robots is not None and not robots.is_allowed and robots.basis is not Basis.UNREACHABLE:
        why = f"robots.txt of the host disallows it{_line(robots)}. At its turn it ends without a visit."
        return _of(evidence, Verdict.DISALLOWED, why)
    return None if (end := end_of_host(host)) is None else _of(evidence, *end)


class HostEnd(NamedTuple):
    """Why no URL of a host is visited any more."""

    verdict: Verdict
    why: str
    remedy: str


def end_of_host(host: HostEvidence) -> HostEnd | None:
    """Return why no URL of a host is visited any more; None if they are."""
    record = host.record
    if record is None:
        return None
    if record.pages >= host.pages_limit:
        why = f"The host has given {record.pages:,} pages, and its limit is {host.pages_limit:,}."
        return HostEnd(Verdict.HOST_LIMIT, why, remedy_of("pages"))
    if record.reason in (SITE_LIMIT, ADDRESS_LIMIT):
        unit = "site" if record.reason == SITE_LIMIT else "address"
        why = f"The hosts of its {unit} together have given as many pages as they may."
        return HostEnd(Verdict.HOST_LIMIT, why, remedy_of(record.reason))
    if record.status == HostStatus.GIVEN_UP:
        why = f"The host was given up ({record.reason}) after {record.failures:,} failures."
        return HostEnd(Verdict.GIVEN_UP, why, remedy_of(record.reason))
    return None


def mirror_text(original: str) -> str:
    """Return what becomes of the URLs of a mirror."""
    return (
        f"Its host is a mirror of {original}, so it is visited when nothing else is left, "
        "and if the original has not answered at this path."
    )


def refusal_text(refusal: str) -> str:
    """Return why the scope refuses a URL or a host, as part of a sentence."""
    by_rule = f"a rule of the scope leaves it out ({refusal})"
    return _REFUSALS.get(refusal, by_rule if refusal.startswith(("include ", "exclude ", "rule")) else refusal)


def _unknown(evidence: UrlEvidence) -> Explanation:
    if evidence.is_seed:
        return _of(evidence, Verdict.UNVERIFIED, "It is a seed; the crawl has not taken it in yet.")
    if not evidence.found_on:
        why = "The crawl does not know it: no page that is saved links to it, and no sitemap lists it."
        return _of(evidence, Verdict.UNKNOWN, why, "Give it as a seed to visit it.")
    if all(link.is_nofollow for link in evidence.found_on):
        why = f"All links to it ask not to be followed (nofollow), as on {evidence.found_on[0].source}."
        return _of(evidence, Verdict.NOFOLLOW, why, "Give it as a seed to visit it.")
    why = f"A link to it was found on {evidence.found_on[0].source}; the crawl has not taken it in yet."
    return _of(evidence, Verdict.UNVERIFIED, why)


# What needs something else than time.


def _later(evidence: UrlEvidence, now: float) -> Explanation | None:
    host, record = evidence.host, evidence.host.record
    if record is not None and record.status == HostStatus.SUSPENDED and record.until > now:
        return _suspended(evidence, host, record, now)
    if not evidence.run.is_running:
        why = f"The crawl is not running; its last run ended: {evidence.run.ending}."
        return _of(evidence, Verdict.NOT_RUNNING, why, "Run tarrafa crawl --dir DIR to continue it.")
    if evidence.run.outage_seconds is not None:
        lasts = rough_duration(evidence.run.outage_seconds)
        why = f"The network of this machine seems to be down for {lasts}. The crawl goes on by itself when it is back."
        return _of(evidence, Verdict.OUTAGE, why)
    if record is not None and record.mirror_of:
        return _of(evidence, Verdict.MIRROR, mirror_text(record.mirror_of))
    if evidence.place is None:
        why = "It was found and is compared with all known URLs when many wait, or when visits run short."
        return _of(evidence, Verdict.UNVERIFIED, why)
    return None


def _suspended(evidence: UrlEvidence, host: HostEvidence, record: HostRecord, now: float) -> Explanation:
    until = f"until {moment(record.until)}, for {rough_duration(record.until - now)}"
    if host.robots is not None and host.robots.basis is Basis.UNREACHABLE:
        why = f"robots.txt of the host cannot be fetched ({host.robots.reason}), so nothing of it is visited {until}."
    else:
        why = f"The host is suspended ({record.reason}) {until}."
    return _of(evidence, Verdict.SUSPENDED, why, remedy_of(record.reason), record.until)


# What only needs time.


def _soon(evidence: UrlEvidence, now: float) -> Explanation:
    host, place = evidence.host, evidence.place
    assert place is not None
    record = host.record or HostRecord(host.name)
    free_at, reason = _free_at(record, host.delay, now)
    turn_at = max(now, free_at) + place.ahead_count * host.delay.pace_seconds(record.total_seconds)
    if host.robots is None or host.robots.expires_at <= now:
        word = "again: the last one has expired" if host.robots else "first"
        why = f"robots.txt of the host is fetched {word}. {_queue(place)}"
        return _of(evidence, Verdict.ROBOTS_FIRST, why, at=turn_at + host.delay.seconds)
    if place.ahead_count:
        why = f"{_queue(place)} The host rests {_delay(host.delay)}."
        return _of(evidence, Verdict.QUEUED, why, at=turn_at)
    if reason:
        return _of(evidence, Verdict.BACKING_OFF, reason, at=turn_at)
    if free_at > now:
        why = f"It is next at its host, which rests {_delay(host.delay)}."
        return _of(evidence, Verdict.RESTING, why, at=turn_at)
    return _of(
        evidence, Verdict.READY, "It is next at its host, and may be fetched now: other hosts take their turns.", at=now
    )


def _free_at(record: HostRecord, delay: HostDelay, now: float) -> tuple[float, str]:
    """Return when the host may be visited, and why if it is later than its delay."""
    rested_at = record.visited_at + delay.seconds if record.visited_at else now
    if record.until <= rested_at or record.until <= now:
        return rested_at, ""
    failures = record.consecutive_failures
    cause = f"failed {failures} times in a row" if failures else "asked for time"
    return record.until, f"The host {cause} and is left alone until {moment(record.until)}."


def _queue(place: UrlPlace) -> str:
    if not place.ahead_count:
        return "The URL is next at its host."
    word = "scheduled" if place.state is UrlState.SCHEDULED else "remaining, to be scheduled later"
    return f"It is {word}: {place.ahead_count:,} URLs of its host come before it."


def _delay(delay: HostDelay) -> str:
    return f"{rough_duration(delay.seconds)} ({delay.rule}) {delay.between}"


def _line(robots: RobotsEvidence | None) -> str:
    return f", by line {robots.line.number}: {robots.line.text}" if robots and robots.line else ""


def _of(evidence: UrlEvidence, verdict: Verdict, why: str, remedy: str = "", at: float | None = None) -> Explanation:
    return Explanation(evidence.url, verdict, why, remedy, at)


def _facts(evidence: UrlEvidence) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    place = evidence.place
    if place is not None:
        known = place.known
        facts["state"] = str(place.state)
        facts |= {
            "visited_at": known.at_seconds,
            "status": known.status if known.status and not reason_of(known.status) else None,
        }
        facts |= {"kind": UrlKind(known.kind).name.lower(), "priority": known.priority}
        facts |= {"depth": depth_of(known.depth)}
        facts |= {"links": known.links, "links_from_other_hosts": known.outside}
        facts |= {"urls_ahead": place.ahead_count, "urls_left_of_host": place.left_count}
    if evidence.refresh is not None:
        facts |= refresh_facts(evidence.refresh)
    facts |= host_facts(evidence.host)
    facts["known_since"] = min((link.at for link in evidence.found_on), default=None)
    facts["found_on"] = [link._asdict() for link in evidence.found_on[:_SHOWN]]
    for name in ("title", "location"):
        if getattr(evidence, name):
            facts[name] = getattr(evidence, name)
    if evidence.cuts:
        facts["cut"] = list(evidence.cuts)
    return {name: value for name, value in facts.items() if value not in (None, [])}


def host_facts(host: HostEvidence) -> dict[str, Any]:
    """Return what is known of a host, for a program."""
    facts: dict[str, Any] = {"host": host.name, "delay_seconds": host.delay.seconds, "delay_rule": host.delay.rule}
    facts |= {"connections": host.delay.connections, "host_priority": host.priority}
    if host.record is not None:
        shown = ("pages", "visits", "failures", "visited_at", "total_seconds", "status", "reason", "until", "mirror_of")
        facts |= {f"host_{name}": getattr(host.record, name) for name in shown if getattr(host.record, name)}
    if host.robots is not None:
        facts["robots"] = f"{host.robots.basis} ({host.robots.reason})"
        facts["robots_expires_at"] = host.robots.expires_at
        if host.robots.line is not None:
            facts["robots_line"] = host.robots.line._asdict()
    return facts
