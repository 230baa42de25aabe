"""A report as sections with a table, some with a plot. The terminal and the HTML page render them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

import numpy as np

from tarrafa.agent import CHANGED, REFRESHES
from tarrafa.histories import DAY_SECONDS, Phase
from tarrafa.report.counters import Histogram, HistogramBar, TextCounter
from tarrafa.report.document_facts import CUT_PAGES, FIRST_PAGES
from tarrafa.report.report import LEVELS, SPANS, TOP, DiskUsage, Report
from tarrafa.report.spent_time import paper_rows, spent_rows
from tarrafa.report.true_freshness import TrueSums
from tarrafa.texts import cut, printable
from tarrafa.units import rough_duration, rough_size

CUT_ROWS = 100  # of the table of pages that were cut
WALL_ROWS = 50  # of the table of hosts behind a bot wall
PATTERN_ROWS = 50  # of the table of patterns that are visited less
_TRUE_COLUMNS = ("true fresh", "true mean age")
_NAME_LIMIT = 100  # characters of a text from outside


class PlotKind(Enum):
    HORIZONTAL = "a bar for each name"
    VERTICAL = "bars in the order of a scale"


class Plot(NamedTuple):
    kind: PlotKind
    bars: list[tuple[str, float, str]]  # name, length, label


class ReportSection(NamedTuple):
    title: str
    note: str  # what the numbers mean; may be empty
    columns: tuple[str, ...]  # the first is a name, the others are numbers
    rows: Sequence[tuple[str, ...]]
    plot: Plot | None = None


def sections_of(report: Report, spans_limit: int = SPANS) -> list[ReportSection]:
    """Return the sections that have rows. Texts from outside are made printable and cut."""
    documents = report.documents
    found = [
        _crawl(report),
        _states(report),
        _outcomes(report),
        _statuses(report),
        _counted_texts("Media types", "of fetched pages, as declared by the host", "type", documents.media_types),
        _hosts(report),
        _counted_texts("Languages", "of fetched pages", "language", documents.languages),
        _space(report),
        _steps(report),
        *_spent(report),
        _over_time(report, spans_limit),
        _freshness(report),
        _true_freshness(report),
        _phases(report),
        _fresh_hosts(report),
        _fresh_over_time(report, spans_limit),
        _sizes(report),
        _levels(report),
        _copies(report),
        _ranks(report),
        _cut_pages(report),
        *_not_visited(report),
    ]
    return [section for section in found if section.rows]


def _crawl(report: Report) -> ReportSection:
    timeline, totals, documents = report.documents.timeline, report.totals, report.documents
    pages, received_bytes = totals["pages"], totals["bytes"]
    rows = [
        ("pages", f"{pages:,}"),
        ("visits", f"{totals['visits']:,}"),
        ("bodies, as received", rough_size(received_bytes)),
        ("hosts", f"{totals['hosts']:,}"),
        ("visits in flight, at most", f"{report.in_flight:,}"),
        ("first page", _moment(timeline.first_at)),
        ("last page", _moment(timeline.last_at)),
        ("from first to last", rough_duration(report.seconds)),
        ("mean rate", f"{report.per_second(pages):,.2f} pages/s"),
        ("mean rate of visits", f"{report.per_second(totals['visits']):,.2f} visits/s"),
        ("mean rate of bodies", f"{rough_size(report.per_second(received_bytes))}/s"),
        ("on disk", rough_size(sum(each.bytes for each in report.disk))),
        (f"hosts among the first {min(FIRST_PAGES, documents.pages):,} pages", f"{len(documents.first_hosts):,}"),
        ("pages cut at a limit", f"{documents.pages_cut:,}"),
    ]
    if {"seconds", "cpu_seconds"} <= report.run.keys():
        rows.append(("last run", rough_duration(report.run["seconds"])))
        rows.append(("CPU time of the last run", rough_duration(report.run["cpu_seconds"])))
    return ReportSection("Crawl", "The crawl is running." if report.is_running else "", ("", ""), rows)


def _states(report: Report) -> ReportSection:
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


def _outcomes(report: Report) -> ReportSection:
    outcomes = report.totals.named("outcome")
    return _counted("Outcomes", "of finished URLs", "outcome", outcomes, sum(outcomes.values()))


def _statuses(report: Report) -> ReportSection:
    return _counted_texts("Statuses", "of responses", "status", report.documents.statuses)


def _counted(title: str, note: str, what: str, counts: Mapping[str, int], total: int) -> ReportSection:
    return _listed(title, note, what, list(counts.items()), total)


def _listed(title: str, note: str, what: str, counts: Sequence[tuple[str, int]], total: int) -> ReportSection:
    """Return a section with a row for each count, in the given order."""
    rows = [(_name(name), f"{count:,}", _share(count, total)) for name, count in counts]
    bars = [(_name(name), float(count), f"{count:,}") for name, count in counts]
    return ReportSection(title, note, (what, "count", "share"), rows if total else [], Plot(PlotKind.HORIZONTAL, bars))


def _counted_texts(title: str, note: str, what: str, counter: TextCounter) -> ReportSection:
    found = counter.top(TOP)
    counts = [(name or "unknown", count) for name, count in found.rows]
    section = _listed(title, f"{note}; {found.different:,} different", what, counts, counter.total)
    others = ("others", f"{found.others:,}", _share(found.others, counter.total))
    return section._replace(rows=[*section.rows, others]) if found.others else section


def _hosts(report: Report) -> ReportSection:
    hosts, total = report.hosts, report.totals["pages"]
    rows = [
        (
            _name(host.name),
            f"{host.pages:,}",
            _share(host.pages, total),
            f"{host.visits:,}",
            rough_size(host.bytes),
            f"{host.failures:,}",
        )
        for host in hosts.top
    ]
    have = "1 host has" if hosts.visited == 1 else f"{hosts.visited:,} hosts have"
    note = f"{have} pages; median {hosts.pages.quantile(0.5):,.0f} per host"
    bars = [(_name(host.name), float(host.pages), f"{host.pages:,}") for host in hosts.top]
    columns = ("host", "pages", "share", "visits", "bodies", "failures")
    return ReportSection("Hosts with most pages", note, columns, rows, Plot(PlotKind.HORIZONTAL, bars))


def _space(report: Report) -> ReportSection:
    pages, total = report.totals["pages"], sum(each.bytes for each in report.disk)
    whole = DiskUsage("all", sum(each.files for each in report.disk), total)
    rows = [
        (
            _name(each.part),
            rough_size(each.bytes),
            _share(each.bytes, total),
            rough_size(each.bytes / max(1, pages)),
            f"{each.files:,}",
        )
        for each in [*report.disk, whole]
    ]
    bars = [(_name(each.part), float(each.bytes), rough_size(each.bytes)) for each in report.disk]
    columns = ("part", "size", "share", "per page", "files")
    return ReportSection("Space", "on disk, by part", columns, rows, Plot(PlotKind.HORIZONTAL, bars))


def _steps(report: Report) -> ReportSection:
    """Return the times of each step. One that was not needed, such as a new connection, is not counted."""
    names = {"name": "name to address", "connect": "connect", "first_byte": "first byte", "total": "whole answer"}
    rows = [
        (names[step], f"{seconds.count:,}", *map(_seconds, _points(seconds)))
        for step, seconds in report.hosts.steps.items()
        if seconds.count
    ]
    note = "mean of the answers of each host, if the step was needed; connection: the last one"
    return ReportSection("Time of each step", note, ("step", "hosts", "median", "90%", "99%", "longest"), rows)


def _spent(report: Report) -> Iterable[ReportSection]:
    spent, pages = report.spent_seconds, report.totals["pages"]
    bars = [(step, seconds, f"{seconds:,.2f} s") for step, seconds in spent.items()]
    note = (
        "all runs; the steps of visits, up to failed visits, are summed over concurrent visits; "
        "each of the others runs one at a time"
    )
    yield ReportSection(
        "Time spent in each step",
        note,
        ("step", "sum", "per 1,000 pages"),
        spent_rows(spent, pages),
        Plot(PlotKind.HORIZONTAL, bars),
    )
    note = (
        "per 1,000 pages, and share without fetching; theirs: a cycle of 100,000 URLs with 350 million known, "
        "240 + 12 + 9.3 + 6 s; ours: all runs, fetching summed over concurrent visits"
    )
    columns = ("part", "theirs", "share", "ours", "share of ours")
    yield ReportSection("Time compared with the VEUNIQ paper", note, columns, paper_rows(spent, pages))


def _over_time(report: Report, limit: int) -> ReportSection:
    spans = report.documents.timeline.spans(limit)
    rows = [
        (
            _moment(span.at_seconds),
            f"{span.pages:,}",
            f"{span.pages_per_minute:,.0f}",
            f"{rough_size(span.bytes_per_minute)}",
        )
        for span in spans
    ]
    bars = [
        (_moment(span.at_seconds), span.pages_per_minute, f"{span.pages_per_minute:,.0f} pages/min") for span in spans
    ]
    width = rough_duration(spans[0].width_seconds) if spans else ""
    note = f"by when the fetch began, in spans of {width}; the first and the last are incomplete"
    columns = ("from (UTC)", "pages", "pages/min", "bodies/min, decompressed")
    return ReportSection("Pages over time", note, columns, rows, Plot(PlotKind.VERTICAL, bars))


def _freshness(report: Report) -> ReportSection:
    freshness, totals = report.freshness, report.totals
    total, again, changed = freshness.total, totals[REFRESHES], totals[CHANGED]
    rows = [
        ("policy", freshness.policy),
        ("pages with a copy", f"{total.pages:,.0f}"),
        ("fresh copies", f"{total.mean(total.fresh):.1%}"),
        ("mean age of copies", _days(total.mean(total.age_days))),
        ("stale for more than a week", f"{total.mean(total.wrong):.1%}"),
        ("visited again", f"{again:,}"),
        ("of these, changed", f"{changed:,} ({_share(changed, again)})" if again else "0"),
    ]
    note = "estimated from what visits found, by importance; the age of a copy is how long it has been stale"
    return ReportSection("Freshness", note, ("", ""), rows if total.pages else [])


def _true_freshness(report: Report) -> ReportSection:
    true, estimated = report.freshness.true, report.freshness.total
    title, columns = "True freshness", ("", "true", "estimated")
    if true is None:
        return ReportSection(title, "", columns, [])
    total = true.total
    rows = [
        ("copies whose truth is known", f"{total.pages:,.0f}", f"{estimated.pages:,.0f}"),
        ("fresh copies", f"{total.mean(total.fresh):.1%}", f"{estimated.mean(estimated.fresh):.1%}"),
        ("mean age of copies", _days(total.mean(total.age_days)), _days(estimated.mean(estimated.age_days))),
        ("the same in the web's time", _days(total.mean(total.web_age_days)), ""),
        ("stale for more than a week", f"{total.mean(total.wrong):.1%}", f"{estimated.mean(estimated.wrong):.1%}"),
        ("copies of which the web cannot tell", f"{true.unknown:,}", ""),
    ]
    sampled = "" if true.sampled_share == 1 else f"; true: of {true.sampled_share:.1%} of the pages"
    return ReportSection(title, f"as the synthetic web tells, by importance{sampled}", columns, rows)


def _phases(report: Report) -> ReportSection:
    phases = report.freshness.phases
    counts = {phase.name.lower(): int(phases[phase]) for phase in Phase if phases[phase]}
    return _counted("Phases of collected URLs", "what their last visits found", "phase", counts, int(phases.sum()))


def _fresh_hosts(report: Report) -> ReportSection:
    true = report.freshness.true
    rows = [
        (
            _name(host),
            f"{sums.pages:,.0f}",
            f"{sums.mean(sums.fresh):.1%}",
            _days(sums.mean(sums.age_days)),
            f"{sums.visits:,.0f}",
            f"{sums.changed_share:.1%}" if sums.visits > sums.pages else "",
            *(_true_cells(true.hosts.get(host, TrueSums())) if true else ()),
        )
        for host, sums in report.freshness.top
    ]
    columns = ("host", "copies", "fresh", "mean age", "visits", "found a change", *(_TRUE_COLUMNS if true else ()))
    return ReportSection("Freshness of the hosts with most copies", "estimated, as above", columns, rows)


def _true_cells(sums: TrueSums) -> tuple[str, str]:
    return (f"{sums.mean(sums.fresh):.1%}", _days(sums.mean(sums.age_days))) if sums.pages else ("", "")


def _fresh_over_time(report: Report, limit: int) -> ReportSection:
    found, true = report.freshness.over_time(limit), report.freshness.true
    past = true.over_time.at(np.array([each.at_seconds for each in found])) if true else [None] * len(found)
    rows = [
        (
            *(_moment(each.at_seconds), f"{each.pages:,}", f"{each.freshness:.1%}", _days(each.age_days)),
            *((f"{then.freshness:.1%}", _days(then.age_days)) if then else ()),
        )
        for each, then in zip(found, past, strict=True)
        if each.pages
    ]
    bars = [(_moment(each.at_seconds), each.freshness, f"{each.freshness:.1%}") for each in found if each.pages]
    sampled = report.freshness.sample.share
    note = "judged by what later visits found, all pages alike" + (
        "" if sampled == 1 else f"; of {sampled:.1%} of them"
    )
    columns = ("at (UTC)", "copies", "fresh", "mean age", *(_TRUE_COLUMNS if true else ()))
    return ReportSection("Freshness over time", note, columns, rows, Plot(PlotKind.VERTICAL, bars))


def _days(days: float) -> str:
    return rough_duration(days * DAY_SECONDS)


def _sizes(report: Report) -> ReportSection:
    sizes = report.documents.sizes
    points = ", ".join(map(rough_size, _points(sizes)))
    note = (
        f"of fetched pages, decompressed: mean {rough_size(sizes.mean)}; median, 90%, 99%, largest {points}; "
        f"{sizes.zeros:,} more have no body or an unwanted one"
    )
    return _distribution("Sizes of pages", note, sizes, rough_size)


def _levels(report: Report) -> ReportSection:
    levels = sorted(report.documents.levels.items())
    counts = {str(level): count for level, count in levels[:LEVELS]}
    counts |= {"more": more} if (more := sum(count for _, count in levels[LEVELS:])) else {}
    note = "dots of the name beyond its site, plus ten times the slashes of the path"
    return _counted("Levels of URLs", note, "level", counts, report.documents.pages)


def _copies(report: Report) -> ReportSection:
    copied = report.duplicates
    if not copied.pages:
        return ReportSection("Copies", "", (), [])
    rows = [
        ("pages with text", f"{copied.pages:,}"),
        ("different contents", f"{copied.contents:,}"),
        ("copies", f"{copied.copies:,} ({_share(copied.copies, copied.pages)})"),
        ("pages of one content, at most", f"{copied.most:,}"),
    ]
    note = "pages with the same text, without markup, accents and case"
    return ReportSection("Copies", note if copied.is_exact else f"{note}; estimated from a sample", ("", ""), rows)


def _ranks(report: Report) -> ReportSection:
    ranks = report.documents.ranks
    note = f"of fetched pages; the mean of all URLs is 1; {ranks.zeros:,} pages have none yet"
    return _distribution("Ranks", note, ranks, "{:g}".format)


def _cut_pages(report: Report) -> ReportSection:
    documents = report.documents
    counted = ", ".join(f"{name} of {count:,}" for name, count in documents.cuts.top(TOP).rows)
    note = f"{_number(documents.pages_cut, 'pages')}: {counted}"
    if documents.pages_cut > CUT_ROWS:
        note += f"; the first {CUT_ROWS} are shown, and --json lists up to {CUT_PAGES:,}"
    rows = [(_name(url), ", ".join(cuts)) for url, cuts in documents.cut_pages[:CUT_ROWS]]
    return ReportSection("Pages cut at a limit", note, ("URL", "cut"), rows)


def _not_visited(report: Report) -> Iterable[ReportSection]:
    refusals, failures = report.totals.named("refusal"), report.totals.named("failure")
    yield _counted("Links not followed", "by reason", "reason", refusals, sum(refusals.values()))
    yield _slowed_patterns(report)
    yield _mirrors(report)
    yield _walled_hosts(report)
    yield _counted("Failures", "of visits and names, by reason", "reason", failures, sum(failures.values()))
    hosts = {
        f"{status}: {reason}": n for status, reasons in report.host_statuses.items() for reason, n in reasons.items()
    }
    yield _counted("Hosts not visited", "by reason", "reason", hosts, report.hosts.count if hosts else 0)


def _walled_hosts(report: Report) -> ReportSection:
    counted = ", ".join(f"{count:,} of {name}" for name, count in report.totals.named("wall").items())
    rows = [
        (_name(each.host), each.wall, f"{each.pages:,}", f"{each.visits:,}") for each in report.hosts.walled[:WALL_ROWS]
    ]
    return ReportSection("Hosts behind a bot wall", f"challenges: {counted}", ("host", "wall", "pages", "visits"), rows)


def _mirrors(report: Report) -> ReportSection:
    mirrors = report.hosts.mirrors
    rows = [
        (_name(each.host), _name(each.original), f"{each.pages:,}", f"{each.visits:,}")
        for each in mirrors[:PATTERN_ROWS]
    ]
    note = f"{_number(len(mirrors), 'hosts')}, visited only for what the original does not have"
    return ReportSection("Mirrors of other hosts", note, ("host", "original", "pages", "visits"), rows)


def _slowed_patterns(report: Report) -> ReportSection:
    patterns = report.hosts.patterns
    note = f"{_number(len(patterns), 'patterns')} that brought little or nothing new; numbers are #, identifiers ~"
    rows = [
        (_name(f"{host}{slowed.pattern}"), f"{slowed.visits:,}", f"{slowed.new:,}", _name(slowed.reason), state)
        for host, slowed in patterns[:PATTERN_ROWS]
        for state in ("refused" if slowed.is_refused else "slowed",)
    ]
    return ReportSection("Patterns of URLs visited less", note, ("pattern", "visits", "new", "mostly", "now"), rows)


def _distribution(title: str, note: str, values: Histogram, written: Callable[[float], str]) -> ReportSection:
    bars = values.bars()
    named = [(_range(bar, written), bar.values) for bar in bars]
    rows = [(name, f"{count:,}", _share(count, values.count)) for name, count in named]
    plot = Plot(PlotKind.VERTICAL, [(name, float(count), f"{count:,}") for name, count in named])
    return ReportSection(title, note, ("from – to", "pages", "share"), rows, plot)


def _range(bar: HistogramBar, written: Callable[[float], str]) -> str:
    return f"{written(bar.low)} – {written(bar.high)}"


def _points(values: Histogram) -> Sequence[float]:
    return [*(values.quantile(share) for share in (0.5, 0.9, 0.99)), values.greatest]


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
