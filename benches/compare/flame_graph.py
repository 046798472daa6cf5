"""Flame graphs as SVG: the width of a function is its share of all samples."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from benches.compare.perf import StackFrame, Stacks

_WIDTH, _ROW, _TOP, _CHARACTER = 1200, 16, 58, 6.6
# Narrower functions are omitted, and narrower boxes have no text; both in pixels.
_MIN_WIDTH, _MIN_TEXT = 0.5, 25
_STYLE = """
svg { color-scheme: light dark; background: #fff } text { font: 11px monospace; fill: #111 } .t { font-size: 15px }
.thread { fill: #c9c9c9 } .kernel { fill: #e8a15c } .core { fill: #e4796b } .python { fill: #8fb3e0 }
.native { fill: #a5cf9a } rect:hover { stroke: #000 }
@media (prefers-color-scheme: dark) { svg { background: #16181c } text { fill: #f2f2f2 } .thread { fill: #4a4d55 }
  .kernel { fill: #9a5b1b } .core { fill: #9c3d31 } .python { fill: #32608f } .native { fill: #37703a }
  rect:hover { stroke: #fff } }
"""
_KINDS = {
    "core": "Rust core of Foreseal",
    "python": "Python interpreter",
    "native": "other native code",
    "kernel": "kernel",
    "thread": "thread",
}


@dataclass(slots=True)
class _Box:
    """A function below the same callers, with the functions that it calls."""

    frame: StackFrame
    samples: int = 0
    callees: dict[StackFrame, "_Box"] = field(default_factory=dict)


def draw_flame_graph(title: str, stacks: Stacks) -> str:
    """Return the SVG: threads at the top, callees below their callers. A tooltip has name, module and share."""
    root = _Box(StackFrame("", ""))
    for stack, samples in stacks.items():
        box = root
        box.samples += samples
        for frame in stack:
            box = box.callees.setdefault(frame, _Box(frame))
            box.samples += samples
    scale = _WIDTH / root.samples if root.samples else 0.0
    boxes = list(_placed(root, 0.0, 0, scale))
    height = _TOP + (1 + max((depth for _, _, depth in boxes), default=0)) * _ROW
    shapes = [_shape(box, x, depth, scale, root.samples) for box, x, depth in boxes]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}">',
            f"<style>{_STYLE}</style>",
            f'<text class="t" x="4" y="18">{escape(title)}, {root.samples:,} samples</text>',
            *_legend(),
            *shapes,
            "</svg>\n",
        ]
    )


def _placed(caller: _Box, x: float, depth: int, scale: float) -> Iterator[tuple[_Box, float, int]]:
    """Yield each callee that is wide enough with its position and depth, in order of names."""
    for box in sorted(caller.callees.values(), key=lambda callee: callee.frame.name):
        width = box.samples * scale
        if width >= _MIN_WIDTH:
            yield box, x, depth
            yield from _placed(box, x, depth + 1, scale)
        x += width


def _shape(box: _Box, x: float, depth: int, scale: float, total: int) -> str:
    width, y = box.samples * scale, _TOP + depth * _ROW
    frame = box.frame
    module = f" ({frame.module})" if frame.module else ""
    share = f"{box.samples:,} samples, {100 * box.samples / total:.1f} %"
    shape = f'<rect class="{_kind(frame)}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 1}" rx="1"/>'
    if width >= _MIN_TEXT:
        fits = int((width - 4) / _CHARACTER)
        text = frame.name if len(frame.name) <= fits else frame.name[: fits - 1] + "…"
        shape += f'<text x="{x + 2:.1f}" y="{y + 11}">{escape(text)}</text>'
    return f"<g><title>{escape(frame.name + module)}: {share}</title>{shape}</g>"


def _kind(frame: StackFrame) -> str:
    if not frame.module:
        return "thread"
    if frame.module.startswith(("[kernel", "[guest.kernel")):
        return "kernel"
    if frame.module.startswith("_core."):
        return "core"
    return "python" if frame.module.startswith(("libpython", "python")) else "native"


def _legend() -> Iterator[str]:
    x = 4.0
    for kind, text in _KINDS.items():
        yield f'<rect class="{kind}" x="{x:g}" y="30" width="11" height="11"/>'
        yield f'<text x="{x + 15:g}" y="40">{text}</text>'
        x += 30 + _CHARACTER * len(text)
