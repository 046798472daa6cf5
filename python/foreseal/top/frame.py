"""One frame of the view: sections in one, two or three columns, cut to the size of the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from foreseal.top.lines import LABEL, WARNING, StyledText, ViewSection, pairs
from foreseal.top.node_model import NodeModel
from foreseal.top.node_view import header, node_sections
from foreseal.top.service_model import ServiceModel
from foreseal.top.service_view import service_section

_COLUMN_WIDTH = 78
_GAP = 3
_MAX_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class FrameModel:
    """Content of a frame."""

    node: NodeModel
    service: ServiceModel | None = None


@dataclass(frozen=True, slots=True)
class FrameOptions:
    """State of the view that the keys change, and limits of the terminal."""

    width: int
    height: int | None
    """None: all lines, without a footer."""
    is_paused: bool = False
    by_time: bool = False
    """Order methods by time, not by calls."""
    ascii_only: bool = False


def draw_frame(model: FrameModel, options: FrameOptions, wall: float) -> list[Text]:
    """Return the lines of a frame, none wider than the terminal. `wall` is the Unix time in seconds."""
    columns = max(1, min(_MAX_COLUMNS, (options.width + _GAP) // (_COLUMN_WIDTH + _GAP)))
    width = (options.width - _GAP * (columns - 1)) // columns
    lines = header(model.node, wall)
    sections: list[ViewSection] = []
    if not model.node.sample.fault:
        sections += node_sections(model.node, width, wall, by_time=options.by_time, ascii_only=options.ascii_only)
    if model.service is not None:
        # Behind the steps and the pool: on a small terminal the last sections are cut.
        sections.insert(min(2, len(sections)), service_section(model.service, width))
    body = _side_by_side(_distribute(sections, columns), width)
    shown = [*lines, *body]
    if options.height is not None:
        shown = _fit(shown, options)
    for line in shown:
        if options.ascii_only:
            # Names of other machines may have any characters; the terminal cannot encode them.
            line.plain = line.plain.encode("ascii", "replace").decode()
        line.truncate(options.width, overflow="crop")
    return shown


def _fit(lines: list[Text], options: FrameOptions) -> list[Text]:
    """Cut the lines to the height, and add the footer."""
    assert options.height is not None
    space = max(1, options.height - 1)
    missing = max(0, len(lines) - space)
    shown = lines[:space]
    footer = pairs(
        ("q", "quit"),
        ("p", StyledText("paused", WARNING) if options.is_paused else "pause"),
        ("s", "sort by calls" if options.by_time else "sort by time"),
        *([("", StyledText(f"{missing} more lines: enlarge the terminal", LABEL))] if missing else []),
    )
    return [*shown, *(Text() for _ in range(space - len(shown))), footer]


def _distribute(sections: Sequence[ViewSection], columns: int) -> list[list[Text]]:
    """Place each section, in order, in the shortest column."""
    placed: list[list[Text]] = [[] for _ in range(columns)]
    for section in sections:
        shortest = min(placed, key=len)
        shortest += section.rendered()
    return placed


def _side_by_side(columns: Sequence[Sequence[Text]], width: int) -> list[Text]:
    lines: list[Text] = []
    for number in range(max(map(len, columns), default=0)):
        line = Text(no_wrap=True)
        for at, column in enumerate(columns):
            cell = column[number].copy() if number < len(column) else Text()
            is_last = at == len(columns) - 1
            cell.truncate(width, overflow="crop", pad=not is_last)
            line.append_text(cell)
            if not is_last:
                line.append(" " * _GAP)
        lines.append(line)
    return lines
