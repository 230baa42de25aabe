"""A report as one HTML file: no script, nothing from elsewhere, every text escaped.

The page says so itself by a content security policy, which allows its one style by hash and nothing else.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from tarrafa.report.sections import Section
from tarrafa.report.svg import drawn
from tarrafa.texts import cut, printable

_LONG_ROWS = 25  # a table with more is folded where a plot shows it
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


def html_page(name: str, made_at: float, sections: Sequence[Section]) -> str:
    """`name` is what the report is about, such as the name of a folder."""
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


def _entries(sections: Sequence[Section]) -> Iterator[str]:
    for number, section in enumerate(sections):
        yield f'<a href="#s{number}">{escape(section.title)}</a> '


def _section(number: int, section: Section) -> Iterator[str]:
    yield f'<section id="s{number}">'
    yield f"<h2>{escape(section.title)}</h2>"
    if section.note:
        yield f"<p>{escape(section.note)}</p>"
    if section.plot is not None:
        yield drawn(section.plot, section.title)
    is_long = section.plot is not None and len(section.rows) > _LONG_ROWS
    if is_long:
        yield f"<details><summary>{len(section.rows)} rows</summary>"
    yield from _table(section)
    if is_long:
        yield "</details>"
    yield "</section>"


def _table(section: Section) -> Iterator[str]:
    yield '<div class="wide"><table>'
    if any(section.columns):
        cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in section.columns)
        yield f"<thead><tr>{cells}</tr></thead>"
    yield "<tbody>"
    for name, *values in section.rows:
        cells = "".join(f"<td>{escape(value)}</td>" for value in values)
        yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"
