"""The live view of a crawl: from a progress report to lines of text, for a terminal of a given width. Pure."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from tarrafa.agent import Ending, Progress
from tarrafa.explain.slowness import why_slow
from tarrafa.texts import printable
from tarrafa.units import rough_duration, rough_size

_LEVELS = "▁▂▃▄▅▆▇█"
_NAME_CHARS = 10
_WIDE_CHARS = 120  # from here on there is room for more
_CURVE_LIMIT = 60  # samples of the rate


class RateCurve:
    """Pages per second between two reports, as a small curve."""

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None
        # Filled by note, which also drops the oldest.
        self._rates: deque[float] = deque(maxlen=_CURVE_LIMIT)

    def note(self, seconds: float, pages: int) -> None:
        if self._last is not None and seconds > self._last[0]:
            self._rates.append((pages - self._last[1]) / (seconds - self._last[0]))
        self._last = (seconds, pages)

    def drawn(self, chars: int) -> str:
        """Return the last rates, each as a bar; the highest of them fills its line."""
        rates = list(self._rates)[-chars:]
        most = max(rates, default=0.0)
        if most <= 0:
            return ""
        return "".join(_LEVELS[min(len(_LEVELS) - 1, int(len(_LEVELS) * max(0.0, rate) / most))] for rate in rates)


def live_lines(progress: Progress, curve: RateCurve, width: int, address: str = "") -> list[Text]:
    """Return the lines of the view. None is longer than the width; the most important are first."""
    is_wide = width >= _WIDE_CHARS
    lines = [_bar(progress, width), *(_row(name, value) for name, value in _rows(progress, curve, is_wide))]
    if address:
        lines.insert(1, _row("search", address))
    lines.append(Text(notice(progress), style="bold" if progress.ending is not Ending.RUNNING else "dim"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return [line for line in lines if line]


def notice(progress: Progress) -> str:
    """Return what Ctrl-C does now."""
    visits = "1 visit" if progress.in_flight == 1 else f"{progress.in_flight:,} visits"
    if progress.ending is Ending.RUNNING:
        return "Ctrl-C finishes the visits in flight and saves; the same command continues."
    if progress.in_flight:
        return f"Finishing {visits}, Ctrl-C again stops now."
    return "Saving, Ctrl-C again stops now; nothing is lost."


def _rows(progress: Progress, curve: RateCurve, is_wide: bool) -> Iterator[tuple[str, str]]:
    yield "pages", f"{progress.pages:,}, {progress.pages_per_second:,.1f}/s {curve.drawn(60 if is_wide else 30)}"
    yield "visits", f"{progress.visits:,}, {progress.visits_per_second:,.1f}/s{_outcomes(progress.outcomes)}"
    if progress.run_refreshes:
        share = progress.run_changed / progress.run_refreshes
        yield "refreshed", f"{progress.run_refreshes:,} visited again, {share:.0%} of them changed"
    yield "URLs", f"{progress.known:,} known, {progress.fresh:,} not visited yet"
    yield "hosts", _hosts(progress) + (_more_hosts(progress) if is_wide else "")
    yield "why slow", why_slow(progress)
    yield "slowest", "  ".join(f"{_seconds(each)} {host}" for host, each in progress.slowest_hosts.items())
    for number, (result, url) in enumerate(progress.last_visits[: 6 if is_wide else 4]):
        yield "last" if number == 0 else "", f"{result} {url}"
    yield "used", _used(progress)


def _hosts(progress: Progress) -> str:
    return (
        f"{progress.ready:,} ready, {max(0, progress.waiting - progress.ready):,} waiting, "
        f"{progress.in_flight:,} in flight, looking up {progress.resolving:,} names, "
        f"{progress.suspended:,} suspended"
    )


def _more_hosts(progress: Progress) -> str:
    return f", {progress.given_up:,} given up; {progress.hosts:,} found"


def _used(progress: Progress) -> str:
    return (
        f"{rough_duration(progress.seconds)}, {progress.cpu_seconds:,.0f} s of CPU, "
        f"{rough_size(progress.memory_bytes)} of memory, {rough_size(progress.disk_bytes)} of disk, "
        f"{rough_size(progress.bytes_per_second)}/s"
    )


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else rough_duration(seconds)


def _outcomes(counts: Mapping[str, int]) -> str:
    return "; " + ", ".join(f"{count:,} {name}" for name, count in counts.items()) if counts else ""


def _row(name: str, value: str) -> Text:
    if not value:
        return Text()
    return Text.assemble((f"{name:<{_NAME_CHARS}}", "cyan"), printable(value))


def _bar(progress: Progress, width: int) -> Text:
    """Return a bar towards the nearest limit; empty without a limit."""
    shares: Sequence[tuple[float, str]] = [
        (done / limit, f"{shown} {what}{_left(progress)}") for done, limit, shown, what in _limits(progress) if limit
    ]
    if not shares:
        return Text()
    share, label = max(shares)
    room = max(10, width - len(label) - 2)
    filled = min(room, round(room * share))
    return Text.assemble(("━" * filled, "green"), ("─" * (room - filled), "dim"), f" {label}")


def _limits(progress: Progress) -> Iterator[tuple[float, float, str, str]]:
    """Yield how much is done, the limit, and both for people."""
    if progress.pages_limit:
        yield progress.pages, progress.pages_limit, f"{progress.pages:,} of {progress.pages_limit:,}", "pages"
    if progress.seconds_limit:
        both = f"{rough_duration(progress.seconds)} of {rough_duration(progress.seconds_limit)}"
        yield progress.seconds, progress.seconds_limit, both, ""


def _left(progress: Progress) -> str:
    return "" if progress.left_seconds is None else f", {rough_duration(progress.left_seconds)} left"
