"""Plots as inline SVG: bars, drawn by a few lines. Colours are those of the page's style, dark or light."""

from collections.abc import Iterator, Sequence
from html import escape

from tarrafa.report.sections import Plot, Shape

_WIDTH = 720
_NAME_WIDTH, _TEXT_WIDTH = 250, 90
_ROW, _BAR = 22, 14
_HEIGHT, _FOOT, _HEAD = 160, 22, 16
_NAME_LIMIT = 36  # characters beside a bar
_GAP = 0.15  # between bars that stand, as a share of each


def drawn(plot: Plot, title: str) -> str:
    """The plot, told to whoever cannot see it by its title; the table beside it says the rest."""
    bars = plot.bars
    most = max((length for _, length, _ in bars), default=0.0)
    if most <= 0:
        return ""
    if plot.shape is Shape.ACROSS:
        height, parts = _ROW * len(bars), _across(bars, most)
    else:
        height, parts = _HEIGHT + _FOOT + _HEAD, _upright(bars, most)
    box = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return f'<svg {box} role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def _across(bars: Sequence[tuple[str, float, str]], most: float) -> Iterator[str]:
    for number, (name, length, says) in enumerate(bars):
        top = number * _ROW + (_ROW - _BAR) / 2
        width = (_WIDTH - _NAME_WIDTH - _TEXT_WIDTH) * length / most
        middle = top + _BAR - 3
        yield _text(_NAME_WIDTH - 8, middle, _short(name), "end")
        yield _bar(_NAME_WIDTH, top, width, _BAR, f"{name}: {says}")
        yield _text(_NAME_WIDTH + width + 6, middle, says)


def _upright(bars: Sequence[tuple[str, float, str]], most: float) -> Iterator[str]:
    each = _WIDTH / len(bars)
    for number, (name, length, says) in enumerate(bars):
        height = _HEIGHT * length / most
        left, top = each * (number + _GAP / 2), _HEAD + _HEIGHT - height
        yield _bar(left, top, each * (1 - _GAP), height, f"{name}: {says}")
    bottom = _HEAD + _HEIGHT
    yield f'<line x1="0" y1="{bottom}" x2="{_WIDTH}" y2="{bottom}"/>'
    yield _text(0, bottom + 16, bars[0][0])
    if len(bars) > 1:
        yield _text(_WIDTH, bottom + 16, bars[-1][0], "end")
    name, _, says = max(bars, key=lambda bar: bar[1])
    yield _text(0, 11, f"most: {says} ({name})")


def _bar(left: float, top: float, width: float, height: float, says: str) -> str:
    box = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f"<rect {box}><title>{escape(says)}</title></rect>"


def _text(left: float, bottom: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{left:.1f}" y="{bottom:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(name: str) -> str:
    """The end of a long name is dropped; the table has all of it."""
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 1]}…"
