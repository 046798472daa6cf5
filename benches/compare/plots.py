"""Plots as inline SVG. Colours are classes and variables of the page, which has a light and a dark set of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

SERIES_COLOURS = 6
"""Number of classes of series: `s0`, `s1` and so on."""
_WIDTH, _LABEL, _VALUE, _BAR, _GAP, _TOP = 860, 230, 150, 13, 10, 28
_LANE = 22
_MARKS = {"p50_ms": "p50", "p90_ms": "p90", "p99_ms": "p99", "p999_ms": "p99.9"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A value of a series, with the text behind its bar."""

    series: str
    value: float
    text: str
    runs: Sequence[float] = ()
    """Values of the single runs, drawn as a line from the smallest to the largest with a mark for each."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Latencies of a series: counts by the upper bounds of their buckets, and quantiles, in milliseconds."""

    series: str
    buckets: Mapping[str, int]
    quantiles: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Bars with a common label and scale."""

    label: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class DistributionGroup:
    """Distributions with a common label."""

    label: str
    distributions: Sequence[Distribution]


def draw_bars(title: str, groups: Sequence[BarGroup], series: Sequence[str]) -> str:
    """Draw horizontal bars; each group has its own scale."""
    height = _TOP + sum(len(group.bars) * _BAR + _GAP for group in groups)
    span = _WIDTH - _LABEL - _VALUE
    shapes = []
    y = _TOP
    for group in groups:
        shapes.append(_label(group.label, y + len(group.bars) * _BAR / 2 + 4))
        top = max((max(bar.value, *bar.runs, 0.0) for bar in group.bars), default=0.0)
        scale = span / top if top else 0.0
        for bar in group.bars:
            shapes += _bar(bar, y, scale, _class(series, bar.series))
            y += _BAR
        y += _GAP
    return _svg(title, height, [*_legend(series), *shapes])


def draw_distributions(title: str, groups: Sequence[DistributionGroup], series: Sequence[str]) -> str:
    """Draw the histogram and the quantiles of each distribution over one logarithmic axis of milliseconds."""
    every = [distribution for group in groups for distribution in group.distributions if distribution.buckets]
    bounds = [float(bound) for distribution in every for bound in distribution.buckets]
    if not bounds:
        return ""
    first, last = math.floor(math.log10(min(bounds)) * 10 - 1) / 10, math.log10(max(bounds))
    scale = (_WIDTH - _LABEL - 20) / (last - first)
    height = 2 * _TOP + sum(len(group.distributions) * _LANE + _GAP for group in groups)
    shapes = _axis(first, last, scale, height)
    y = _TOP + 16
    for group in groups:
        shapes.append(_label(group.label, y + len(group.distributions) * _LANE / 2 + 4))
        for distribution in group.distributions:
            shapes += _histogram(distribution, y, first, scale, _class(series, distribution.series))
            y += _LANE
        y += _GAP
    return _svg(title, height, [*_legend(series), *shapes])


def _bar(bar: Bar, y: int, scale: float, colour: str) -> list[str]:
    width, middle = scale * bar.value, y + (_BAR - 2) / 2
    shapes = [f'<rect class="{colour}" x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR - 2}"/>']
    end = width
    if len(bar.runs) > 1:
        low, high = (_LABEL + scale * value for value in (min(bar.runs), max(bar.runs)))
        marks = "".join(f"M{_LABEL + scale * value:.1f} {middle - 3}v6" for value in bar.runs)
        shapes.append(f'<path class="run" d="M{low:.1f} {middle}H{high:.1f}{marks}"/>')
        end = max(width, high - _LABEL)
    return [*shapes, f'<text x="{_LABEL + end + 5:.1f}" y="{y + _BAR - 3}">{escape(bar.text)}</text>']


def _histogram(distribution: Distribution, y: int, first: float, scale: float, colour: str) -> list[str]:
    """Draw columns as high as their counts, and a mark for each quantile."""
    largest = max(distribution.buckets.values(), default=1)
    width, bottom = scale / 10, y + _LANE - 2
    columns = []
    for bound, count in distribution.buckets.items():
        x = _LABEL + (math.log10(float(bound)) - first) * scale - width
        height = max(0.5, (_LANE - 4) * count / largest)
        columns.append(f"M{x:.1f} {bottom}v{-height:.1f}h{width - 0.5:.1f}v{height:.1f}z")
    marks = []
    for name, shown in _MARKS.items():
        value = distribution.quantiles.get(name, 0)
        if value > 0:
            x = _LABEL + (math.log10(value) - first) * scale
            marks.append(f'<path class="quantile" d="M{x:.1f} {y + 1}v{_LANE - 3}">')
            marks.append(f"<title>{escape(distribution.series)}, {shown}: {value:g} ms</title></path>")
    return [f'<path class="{colour}" d="{"".join(columns)}"/>', *marks]


def _axis(first: float, last: float, scale: float, height: int) -> list[str]:
    shapes = []
    for exponent in range(math.ceil(first), math.floor(last) + 1):
        x = _LABEL + (exponent - first) * scale
        shapes.append(f'<path class="axis" d="M{x:.1f} {_TOP + 12}V{height - 16}"/>')
        text = f'text-anchor="middle">{10.0**exponent:g} ms</text>'
        shapes += [f'<text x="{x:.1f}" y="{y}" {text}' for y in (_TOP + 8, height - 4)]
    return shapes


def _svg(title: str, height: float, shapes: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" role="img" '
    return "\n".join([f'{head}aria-label="{escape(title)}">', *shapes, "</svg>"])


def _label(text: str, y: float) -> str:
    return f'<text x="{_LABEL - 8}" y="{y:.0f}" text-anchor="end">{escape(text)}</text>'


def _class(series: Sequence[str], name: str) -> str:
    return f"s{series.index(name) % SERIES_COLOURS}"


def _legend(series: Sequence[str]) -> list[str]:
    shapes = []
    x = _LABEL
    for name in series:
        shapes.append(f'<rect class="{_class(series, name)}" x="{x}" y="6" width="10" height="10"/>')
        shapes.append(f'<text x="{x + 14}" y="15">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    return shapes
