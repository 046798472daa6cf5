"""Lines of the view: labelled values and tables. Texts are never markup."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

GOOD, WARNING, BAD = "green", "yellow", "bold red"
LABEL, HEADING = "dim", "bold cyan"
_GAP = "  "


@dataclass(frozen=True, slots=True)
class ViewSection:
    """A titled part of the view."""

    title: str
    lines: Sequence[Text]

    def rendered(self) -> list[Text]:
        """Return the title and the lines."""
        return [Text(self.title, style=HEADING), *self.lines]


@dataclass(frozen=True, slots=True)
class StyledText:
    """A value with a style."""

    text: str
    style: str = ""


Value = str | StyledText


def pairs(*items: tuple[str, Value]) -> Text:
    """Return one line of labelled values."""
    line = Text(no_wrap=True)
    for label, value in items:
        if line:
            line.append(_GAP)
        if label:
            line.append(f"{label} ", style=LABEL)
        line.append(*_styled(value))
    return line


def wrapped(items: Iterable[tuple[str, Value]], width: int) -> list[Text]:
    """Return labelled values on as many lines as they need."""
    lines: list[Text] = []
    for item in items:
        added = pairs(item)
        if lines and lines[-1].cell_len + len(_GAP) + added.cell_len <= width:
            lines[-1] = Text.assemble(lines[-1], _GAP, added, no_wrap=True)
        else:
            lines.append(added)
    return lines


def table(headings: Sequence[str], rows: Iterable[Sequence[Value]], texts: int = 1) -> list[Text]:
    """Return the headings and one line per row; columns after the first `texts` are right-aligned."""
    cells = [[StyledText(heading, LABEL) for heading in headings], *([_cell(value) for value in row] for row in rows)]
    widths = [max(Text(cell.text).cell_len for cell in column) for column in zip(*cells, strict=True)]
    return [_row(row, widths, texts) for row in cells]


def _row(row: Sequence[StyledText], widths: Sequence[int], texts: int) -> Text:
    line = Text(no_wrap=True)
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        shown = Text(cell.text, style=cell.style)
        padding = " " * (width - shown.cell_len)
        parts = (shown, padding) if column < texts else (padding, shown)
        for part in (_GAP if column else "", *parts):
            line.append(part)
    line.rstrip()
    return line


def _cell(value: Value) -> StyledText:
    return value if isinstance(value, StyledText) else StyledText(value)


def _styled(value: Value) -> tuple[str, str]:
    cell = _cell(value)
    return cell.text, cell.style
