"""Line charts as SVG: panels below each other, each with its own scale and, if it has one, its limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 210, 64, 16, 34, 34
_COLOURS = ("#06c", "#888", "#d9822b", "#3d9970", "#a0439c", "#b8860b")
_STEPS = 4
_LIMIT_COLOUR = "#c00"


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points with the same x as the others of its panel."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over one axis."""

    title: str
    xs: Sequence[float]
    lines: Sequence[Line]
    limit: float | None = None
    """Value of a dashed line: the target."""


def line_charts(panels: Sequence[Panel], x_title: str) -> str:
    """Draw panels below each other; the x axis of each begins at its first value."""
    height = len(panels) * _HEIGHT + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="11" role="img">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number * _HEIGHT)
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{height - 6}" text-anchor="end">{escape(x_title)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: Panel, top: float) -> list[str]:
    first, last = panel.xs[0], panel.xs[-1]
    highest = max([*(value for line in panel.lines for value in line.values), panel.limit or 0.0]) or 1.0
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    bottom = top + _TOP + height

    def x_of(value: float) -> float:
        return round(_LEFT + width * (value - first) / ((last - first) or 1), 1)

    def y_of(value: float) -> float:
        return round(bottom - height * value / highest, 1)

    parts = [f'<text x="{_LEFT}" y="{top + 16}" font-size="13">{escape(panel.title)}</text>']
    for step in range(_STEPS + 1):
        value, y = highest * step / _STEPS, y_of(highest * step / _STEPS)
        parts.append(f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{_short(value)}</text>')
        at = first + (last - first) * step / _STEPS
        parts.append(f'<text x="{x_of(at)}" y="{bottom + 16}" text-anchor="middle">{_short(at)}</text>')
    label = _WIDTH - _RIGHT
    for number, line in enumerate(panel.lines):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{x_of(x)},{y_of(y)}" for x, y in zip(panel.xs, line.values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{label}" y="{top + 16}" text-anchor="end" fill="{colour}">{escape(line.name)}</text>')
        label -= 14 + 6 * len(line.name)
    if panel.limit is not None:
        y = y_of(panel.limit)
        parts.append(
            f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}" stroke="{_LIMIT_COLOUR}" '
            'stroke-dasharray="4 3"/>'
        )
    return parts


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
