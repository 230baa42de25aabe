"""A report as one HTML file, with plots as inline SVG: no script, no external resource, every text escaped.

A content security policy in the page enforces this: it allows the style by its hash and nothing else.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from tarrafa.report.report_sections import Plot, PlotKind, ReportSection
from tarrafa.texts import cut, printable

_LONG_ROWS = 25  # a longer table is folded if there is a plot
_WIDTH = 720
_NAME_WIDTH, _TEXT_WIDTH = 250, 90
_ROW, _BAR = 22, 14
_HEIGHT, _FOOT, _HEAD = 160, 22, 16
_NAME_LIMIT = 36  # characters next to a bar
_GAP = 0.15  # between vertical bars, as a share of their width
_STYLE = """
:root { color-scheme: light dark; --text: #1d2329; --soft: #59636e; --line: #d5dae0; --back: #fff; --bar: #2a6fb0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e8ee; --soft: #9ba6b2; --line: #39424c; --back: #14181c; --bar: #5aa0e0; }
}
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; color: var(--text); background: var(--back);
  font: 1rem/1.5 system-ui, sans-serif; }
h1, h2 { line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 .25rem; }
p, nav, summary { color: var(--soft); margin: .25rem 0 .75rem; }
nav a { color: inherit; margin-right: .75rem; white-space: nowrap; }
svg { display: block; max-width: 100%; height: auto; margin: .5rem 0 1rem; font-size: 12px; }
svg rect { fill: var(--bar); }
svg text { fill: var(--text); }
svg line { stroke: var(--line); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid var(--line); text-align: right; font-weight: normal; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; min-width: 10rem; }
thead th { color: var(--soft); }
"""


def html_page(name: str, made_at: float, sections: Sequence[ReportSection]) -> str:
    """Return the page; `name` is what the report is about, such as the name of a folder."""
    title = escape(f"Report of {printable(cut(name, 100))}")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{title}</h1>",
            f"<p>Made {datetime.fromtimestamp(made_at, UTC):%Y-%m-%d %H:%M:%S} UTC</p>",
            f"<nav>{''.join(_entries(sections))}</nav>",
            "<main>",
            *(line for number, section in enumerate(sections) for line in _section(number, section)),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _policy() -> str:
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _entries(sections: Sequence[ReportSection]) -> Iterator[str]:
    for number, section in enumerate(sections):
        yield f'<a href="#s{number}">{escape(section.title)}</a> '


def _section(number: int, section: ReportSection) -> Iterator[str]:
    yield f'<section id="s{number}">'
    yield f"<h2>{escape(section.title)}</h2>"
    if section.note:
        yield f"<p>{escape(section.note)}</p>"
    if section.plot is not None:
        yield _svg(section.plot, section.title)
    is_long = section.plot is not None and len(section.rows) > _LONG_ROWS
    if is_long:
        yield f"<details><summary>{len(section.rows)} rows</summary>"
    yield from _table(section)
    if is_long:
        yield "</details>"
    yield "</section>"


def _table(section: ReportSection) -> Iterator[str]:
    yield '<div class="wide"><table>'
    if any(section.columns):
        cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in section.columns)
        yield f"<thead><tr>{cells}</tr></thead>"
    yield "<tbody>"
    for name, *values in section.rows:
        cells = "".join(f"<td>{escape(value)}</td>" for value in values)
        yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _svg(plot: Plot, title: str) -> str:
    """Return the plot, with its title for screen readers; the table has the numbers."""
    bars = plot.bars
    most = max((length for _, length, _ in bars), default=0.0)
    if most <= 0:
        return ""
    if plot.kind is PlotKind.HORIZONTAL:
        height, parts = _ROW * len(bars), _horizontal(bars, most)
    else:
        height, parts = _HEIGHT + _FOOT + _HEAD, _vertical(bars, most)
    box = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return f'<svg {box} role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def _horizontal(bars: Sequence[tuple[str, float, str]], most: float) -> Iterator[str]:
    for number, (name, length, label) in enumerate(bars):
        top = number * _ROW + (_ROW - _BAR) / 2
        width = (_WIDTH - _NAME_WIDTH - _TEXT_WIDTH) * length / most
        middle = top + _BAR - 3
        yield _text(_NAME_WIDTH - 8, middle, _short(name), "end")
        yield _bar(_NAME_WIDTH, top, width, _BAR, f"{name}: {label}")
        yield _text(_NAME_WIDTH + width + 6, middle, label)


def _vertical(bars: Sequence[tuple[str, float, str]], most: float) -> Iterator[str]:
    each = _WIDTH / len(bars)
    for number, (name, length, label) in enumerate(bars):
        height = _HEIGHT * length / most
        left, top = each * (number + _GAP / 2), _HEAD + _HEIGHT - height
        yield _bar(left, top, each * (1 - _GAP), height, f"{name}: {label}")
    bottom = _HEAD + _HEIGHT
    yield f'<line x1="0" y1="{bottom}" x2="{_WIDTH}" y2="{bottom}"/>'
    yield _text(0, bottom + 16, bars[0][0])
    if len(bars) > 1:
        yield _text(_WIDTH, bottom + 16, bars[-1][0], "end")
    name, _, label = max(bars, key=lambda bar: bar[1])
    yield _text(0, 11, f"most: {label} ({name})")


def _bar(left: float, top: float, width: float, height: float, label: str) -> str:
    box = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f"<rect {box}><title>{escape(label)}</title></rect>"


def _text(left: float, bottom: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{left:.1f}" y="{bottom:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(name: str) -> str:
    """Cut a long name; the table has all of it."""
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 1]}…"
