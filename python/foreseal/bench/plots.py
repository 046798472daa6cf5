"""Plots as inline SVG."""

from collections.abc import Sequence
from html import escape

_COLOURS = ("#0b66c3", "#d9822b", "#3d9970", "#a0439c", "#666", "#b8860b")
_WIDTH, _LABEL, _VALUE, _BAR, _GAP = 860, 230, 150, 13, 10

Group = tuple[str, Sequence[tuple[str, float, str]]]
"""A label, and bars: series, value, and the text behind the bar."""


def bars(groups: Sequence[Group], series: Sequence[str], reference: float | None = None) -> str:
    """Draw horizontal bars in groups, each group to its own scale unless there is a reference: a line at that value."""
    height = sum(len(found) * _BAR + _GAP for _, found in groups) + 30
    maximum = max((value for _, found in groups for _, value, _ in found), default=0.0)
    span = _WIDTH - _LABEL - _VALUE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="11" role="img">',
        *_legend(series),
    ]
    y = 28
    for label, found in groups:
        middle = y + len(found) * _BAR / 2 + 4
        parts.append(f'<text x="{_LABEL - 8}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>')
        top = maximum if reference is not None else max((value for _, value, _ in found), default=0.0)
        for name, value, written in found:
            width = span * value / top if top else 0
            colour = _COLOURS[series.index(name) % len(_COLOURS)]
            parts.append(f'<rect x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR - 2}" fill="{colour}"/>')
            parts.append(f'<text x="{_LABEL + width + 4:.1f}" y="{y + _BAR - 4}">{escape(written)}</text>')
            y += _BAR
        y += _GAP
    if reference is not None and maximum:
        x = _LABEL + span * reference / maximum
        parts.append(f'<line x1="{x:.1f}" y1="22" x2="{x:.1f}" y2="{height}" stroke="#999" stroke-dasharray="3 3"/>')
    return "\n".join([*parts, "</svg>"])


def _legend(series: Sequence[str]) -> list[str]:
    parts = []
    x = _LABEL
    for at, name in enumerate(series):
        colour = _COLOURS[at % len(_COLOURS)]
        parts.append(f'<rect x="{x}" y="6" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="15">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    return parts
