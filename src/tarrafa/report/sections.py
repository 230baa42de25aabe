"""A report in words: sections with a table, some with a plot. How they look is up to whoever shows them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from tarrafa.report.documents import FIRST_PAGES
from tarrafa.report.making import LEVELS, MOMENTS, TOP, Report
from tarrafa.report.space import Space
from tarrafa.report.spread import Bar, Spread
from tarrafa.report.tally import Tally
from tarrafa.texts import cut, printable
from tarrafa.units import rough_duration, rough_size

_NAME_LIMIT = 100  # characters of a text from outside


class Shape(Enum):
    ACROSS = "bars that lie, each with its name"
    UPRIGHT = "bars that stand, in an order of their own"


class Plot(NamedTuple):
    shape: Shape
    bars: list[tuple[str, float, str]]  # name, length, and what it says


class Section(NamedTuple):
    title: str
    note: str  # what the numbers mean, in a sentence; may be empty
    columns: tuple[str, ...]  # the first is a name, the others are numbers
    rows: Sequence[tuple[str, ...]]
    plot: Plot | None = None


def sections_of(report: Report, moments_limit: int = MOMENTS) -> list[Section]:
    """Those that have anything to say, in the order of reading. Texts from outside are printable and bounded."""
    documents = report.documents
    found = [
        _crawl(report),
        _states(report),
        _outcomes(report),
        _statuses(report),
        _tallied("Media types", "of pages that were fetched, as their hosts say", "type", documents.media_types),
        _hosts(report),
        _tallied("Languages", "of pages that were fetched", "language", documents.languages),
        _space(report),
        _steps(report),
        _over_time(report, moments_limit),
        _sizes(report),
        _levels(report),
        _copies(report),
        _ranks(report),
        *_not_visited(report),
    ]
    return [section for section in found if section.rows]


def _crawl(report: Report) -> Section:
    timeline, totals, documents = report.documents.timeline, report.totals, report.documents
    pages, received_bytes = totals["pages"], totals["bytes"]
    rows = [
        ("pages", f"{pages:,}"),
        ("bodies, as received", rough_size(received_bytes)),
        ("hosts that were met", f"{totals['hosts']:,}"),
        ("pages at the same time, at most", f"{report.in_flight:,}"),
        ("first page", _moment(timeline.first_at)),
        ("last page", _moment(timeline.last_at)),
        ("time between them", rough_duration(report.seconds)),
        ("mean rate", f"{report.per_second(pages):,.2f} pages/s"),
        ("mean rate of bodies", f"{rough_size(report.per_second(received_bytes))}/s"),
        ("on disk", rough_size(sum(each.bytes for each in report.space))),
        (f"hosts among the first {min(FIRST_PAGES, documents.pages):,} pages", f"{len(documents.first_hosts):,}"),
        ("pages whose body is not whole", f"{documents.truncated:,}"),
    ]
    if {"seconds", "cpu_seconds"} <= report.run.keys():
        rows.append(("last run", rough_duration(report.run["seconds"])))
        rows.append(("CPU time of the last run", rough_duration(report.run["cpu_seconds"])))
    return Section("Crawl", "It is running." if report.is_running else "", ("", ""), rows)


def _states(report: Report) -> Section:
    states = report.states
    counts = {
        "known": states.known,
        "collected": states.collected,
        "scheduled": states.scheduled,
        "remaining": states.remaining,
        "waiting to be verified": states.waiting,
    }
    note = f"of {_number(states.hosts, 'hosts')}, in {_number(states.blocks, 'blocks')} of the repository"
    return _counted("URLs by state", note, "state", counts, states.known)


def _outcomes(report: Report) -> Section:
    outcomes = report.totals.named("outcome")
    return _counted("Outcomes", "of URLs that are done with", "outcome", outcomes, sum(outcomes.values()))


def _statuses(report: Report) -> Section:
    return _tallied("Statuses", "of the hosts' answers", "status", report.documents.statuses)


def _counted(title: str, note: str, what: str, counts: Mapping[str, int], total: int) -> Section:
    return _listed(title, note, what, list(counts.items()), total)


def _listed(title: str, note: str, what: str, counts: Sequence[tuple[str, int]], total: int) -> Section:
    """In the order in which they are given; a name may come twice."""
    rows = [(_name(name), f"{count:,}", _share(count, total)) for name, count in counts]
    bars = [(_name(name), float(count), f"{count:,}") for name, count in counts]
    return Section(title, note, (what, "count", "share"), rows if total else [], Plot(Shape.ACROSS, bars))


def _tallied(title: str, note: str, what: str, tally: Tally) -> Section:
    found = tally.top(TOP)
    counts = [(name or "not told", count) for name, count in found.rows]
    section = _listed(title, f"{note}; {found.different:,} different", what, counts, tally.total)
    others = ("others", f"{found.others:,}", _share(found.others, tally.total))
    return section._replace(rows=[*section.rows, others]) if found.others else section


def _hosts(report: Report) -> Section:
    hosts, total = report.hosts, report.totals["pages"]
    rows = [
        (_name(host.name), f"{host.pages:,}", _share(host.pages, total), rough_size(host.bytes), f"{host.failures:,}")
        for host in hosts.top
    ]
    note = f"{hosts.visited:,} hosts gave pages; half of them gave no more than {hosts.pages.quantile(0.5):,.0f}"
    bars = [(_name(host.name), float(host.pages), f"{host.pages:,}") for host in hosts.top]
    columns = ("host", "pages", "share", "bodies", "failures")
    return Section("Hosts with most pages", note, columns, rows, Plot(Shape.ACROSS, bars))


def _space(report: Report) -> Section:
    pages, total = report.totals["pages"], sum(each.bytes for each in report.space)
    whole = Space("all", sum(each.files for each in report.space), total)
    rows = [
        (
            _name(each.part),
            rough_size(each.bytes),
            _share(each.bytes, total),
            rough_size(each.bytes / max(1, pages)),
            f"{each.files:,}",
        )
        for each in [*report.space, whole]
    ]
    bars = [(_name(each.part), float(each.bytes), rough_size(each.bytes)) for each in report.space]
    columns = ("part", "size", "share", "a page", "files")
    return Section("Space", "on disk, by part", columns, rows, Plot(Shape.ACROSS, bars))


def _steps(report: Report) -> Section:
    """Where a step was not needed, as when a connection was used again, it is not counted."""
    names = {"name": "name to address", "connect": "connect", "first_byte": "first byte", "total": "whole page"}
    rows = [
        (name, f"{spread.count:,}", *map(_seconds, _points(spread)))
        for name, spread in ((names[step], spread) for step, spread in report.hosts.steps.items())
        if spread.count
    ]
    note = "of the last page of each host, where the step was needed"
    return Section("Time of each step", note, ("step", "hosts", "median", "90%", "99%", "longest"), rows)


def _over_time(report: Report, limit: int) -> Section:
    moments = report.documents.timeline.moments(limit)
    rows = [
        (
            _moment(moment.at_seconds),
            f"{moment.pages:,}",
            f"{moment.pages_per_minute:,.0f}",
            f"{rough_size(moment.bytes_per_minute)}",
        )
        for moment in moments
    ]
    bars = [
        (_moment(moment.at_seconds), moment.pages_per_minute, f"{moment.pages_per_minute:,.0f} pages/min")
        for moment in moments
    ]
    width = rough_duration(moments[0].width_seconds) if moments else ""
    note = f"by when the fetch began, in spans of {width}; the first and the last are not whole"
    columns = ("from (UTC)", "pages", "pages/min", "bodies/min, decompressed")
    return Section("Pages over time", note, columns, rows, Plot(Shape.UPRIGHT, bars))


def _sizes(report: Report) -> Section:
    spread = report.documents.sizes
    points = ", ".join(map(rough_size, _points(spread)))
    note = (
        f"of pages that were fetched, decompressed: mean {rough_size(spread.mean)}; median, 90%, 99%, most {points}; "
        f"{spread.zeros:,} more have no body, or one that was not wanted"
    )
    return _spread("Sizes of pages", note, spread, rough_size)


def _levels(report: Report) -> Section:
    levels = sorted(report.documents.levels.items())
    counts = {str(level): count for level, count in levels[:LEVELS]}
    counts |= {"more": more} if (more := sum(count for _, count in levels[LEVELS:])) else {}
    note = "dots of the name beyond its site, plus ten times the slashes of the path"
    return _counted("Levels of URLs", note, "level", counts, report.documents.pages)


def _copies(report: Report) -> Section:
    copied = report.copied
    if not copied.pages:
        return Section("Copies", "", (), [])
    rows = [
        ("pages with text", f"{copied.pages:,}"),
        ("different contents", f"{copied.contents:,}"),
        ("copies", f"{copied.copies:,} ({_share(copied.copies, copied.pages)})"),
        ("pages of one content, at most", f"{copied.most:,}"),
    ]
    note = "pages that say the same without markup, accents and case"
    return Section("Copies", note if copied.is_exact else f"{note}; estimated from a share of them", ("", ""), rows)


def _ranks(report: Report) -> Section:
    spread = report.documents.ranks
    note = f"of pages that were fetched; the mean of all URLs is 1; {spread.zeros:,} pages have none yet"
    return _spread("Ranks", note, spread, "{:g}".format)


def _not_visited(report: Report) -> Iterable[Section]:
    refusals, failures = report.totals.named("refusal"), report.totals.named("failure")
    yield _counted("Links not followed", "by reason", "reason", refusals, sum(refusals.values()))
    yield _counted("Failures", "of URLs, by reason", "reason", failures, sum(failures.values()))
    hosts = {
        f"{standing}: {reason}": n for standing, reasons in report.standings.items() for reason, n in reasons.items()
    }
    yield _counted("Hosts not visited", "by reason", "reason", hosts, report.hosts.count if hosts else 0)


def _spread(title: str, note: str, spread: Spread, written: Callable[[float], str]) -> Section:
    bars = spread.bars()
    named = [(_range(bar, written), bar.values) for bar in bars]
    rows = [(name, f"{count:,}", _share(count, spread.count)) for name, count in named]
    plot = Plot(Shape.UPRIGHT, [(name, float(count), f"{count:,}") for name, count in named])
    return Section(title, note, ("from – to", "pages", "share"), rows, plot)


def _range(bar: Bar, written: Callable[[float], str]) -> str:
    return f"{written(bar.low)} – {written(bar.high)}"


def _points(spread: Spread) -> Sequence[float]:
    return [*(spread.quantile(share) for share in (0.5, 0.9, 0.99)), spread.greatest]


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count != 1 else f"1 {what.removesuffix('s')}"


def _name(text: str) -> str:
    return printable(cut(text, _NAME_LIMIT))


def _share(count: float, total: float) -> str:
    return f"{100 * count / total:.1f}%" if total else ""


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:,.3g} ms" if seconds < 1 else rough_duration(seconds)


def _moment(at_seconds: float | None) -> str:
    return "" if at_seconds is None else f"{datetime.fromtimestamp(at_seconds, UTC):%Y-%m-%d %H:%M:%S}"
