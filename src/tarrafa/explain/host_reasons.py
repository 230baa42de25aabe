"""From the evidence of a host to why its URLs are not fetched now. Pure."""

from typing import Any

from tarrafa.agent import HostRecord, HostStatus
from tarrafa.explain.evidence import HostEvidence, RunEvidence
from tarrafa.explain.moments import moment
from tarrafa.explain.remedies import remedy_of
from tarrafa.explain.url_reasons import Explanation, Verdict, end_of_host, host_facts, refusal_text
from tarrafa.obey import Basis
from tarrafa.units import rough_duration


def explain_host(host: HostEvidence, run: RunEvidence, now: float) -> Explanation:
    """Explain when the next URL of a host may be fetched, or why none is."""
    found = _ended(host) or _suspended(host, now) or _idle(host) or _waiting(host, run, now)
    urls = host.urls
    facts: dict[str, Any] = {
        **host_facts(host),
        "urls": {"collected": urls.collected, "scheduled": urls.scheduled, "remaining": urls.remaining},
        "next_urls": list(urls.next_urls),
    }
    return found._replace(facts=facts)


def _ended(host: HostEvidence) -> Explanation | None:
    if host.refusal:
        return _of(host, Verdict.REFUSED, f"The host is not visited: {refusal_text(host.refusal)}.")
    end = end_of_host(host)
    return None if end is None else _of(host, end.verdict, f"{end.why} {_left(host)}", end.remedy)


def _suspended(host: HostEvidence, now: float) -> Explanation | None:
    record = host.record
    if record is None or record.status != HostStatus.SUSPENDED or record.until <= now:
        return None
    until = f"until {moment(record.until)}, for {rough_duration(record.until - now)}"
    cause = record.reason
    if host.robots is not None and host.robots.basis is Basis.UNREACHABLE:
        cause = f"its robots.txt cannot be fetched: {host.robots.reason}"
    why = f"The host is suspended {until} ({cause}). {_left(host)}"
    return _of(host, Verdict.SUSPENDED, why, remedy_of(record.reason), record.until)


def _idle(host: HostEvidence) -> Explanation | None:
    if host.urls.left_count:
        return None
    if host.record is None and not host.urls.collected:
        return _of(host, Verdict.UNKNOWN, "The crawl knows no URL of this host.", "Give one as a seed to visit it.")
    return _of(host, Verdict.FETCHED, f"All {host.urls.collected:,} known URLs of the host were visited.")


def _waiting(host: HostEvidence, run: RunEvidence, now: float) -> Explanation:
    record = host.record or HostRecord(host.name)
    rested_at = max(record.visited_at + host.delay.seconds if record.visited_at else now, record.until, now)
    seconds = host.urls.left_count * host.delay.pace_seconds(record.total_seconds)
    rests = f"It rests {rough_duration(host.delay.seconds)} ({host.delay.rule}) {host.delay.between}"
    why = f"{_left(host)} {rests}, so these take at least {rough_duration(seconds)}."
    if not run.is_running:
        why = f"The crawl is not running; its last run ended: {run.ending}. {why}"
        return _of(host, Verdict.NOT_RUNNING, why, "Run tarrafa crawl --dir DIR to continue it.")
    if run.outage_seconds is not None:
        return _of(host, Verdict.OUTAGE, f"The network of this machine seems to be down. {why}")
    if record.mirror_of:
        why = f"The host is a mirror of {record.mirror_of}, so it is visited when nothing else is left. {_left(host)}"
        return _of(host, Verdict.MIRROR, why)
    if record.until > now:
        why = f"The host failed or asked for time, and is left alone until {moment(record.until)}. {why}"
        return _of(host, Verdict.BACKING_OFF, why, at=rested_at)
    return _of(host, Verdict.RESTING if rested_at > now else Verdict.READY, why, at=rested_at)


def _left(host: HostEvidence) -> str:
    return f"{host.urls.left_count:,} of its {host.urls.left_count + host.urls.collected:,} known URLs are left."


def _of(host: HostEvidence, verdict: Verdict, why: str, remedy: str = "", at: float | None = None) -> Explanation:
    return Explanation(host.name, verdict, why, remedy, at)
