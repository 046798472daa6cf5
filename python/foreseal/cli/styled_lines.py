"""Styled lines on standard output. Needs no terminal library, so that a command that serves starts quickly."""

import os
import sys
from collections.abc import Mapping
from typing import TextIO

import click

_UNSTYLED_TERMINALS = ("dumb", "unknown")


class StyledLines:
    """Lines on standard output, with styles if it is a terminal.

    Follows FORCE_COLOR, TTY_COMPATIBLE and TERM. With NO_COLOR, text may be bold but has no color.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._is_styled = _is_styled(environment, sys.stdout)
        self._is_colored = not environment.get("NO_COLOR")

    def style(self, text: str, color: str | None = None, *, bold: bool = False, italic: bool = False) -> str:
        """Return the text with its style. `color` is one of ANSI's names."""
        fg = color if self._is_colored else None
        return click.style(text, fg, bold=bold or None, italic=italic or None)

    def dim(self, text: str) -> str:
        """Return the text in a lighter style."""
        return click.style(text, dim=True)

    def print(self, line: str) -> None:
        """Print a line, without its styles if the output has none."""
        click.echo(line, color=self._is_styled)


def _is_styled(environment: Mapping[str, str], output: TextIO) -> bool:
    """Return True if the output displays styles."""
    compatible, forced = environment.get("TTY_COMPATIBLE"), environment.get("FORCE_COLOR")
    if compatible in ("0", "1"):
        is_terminal = compatible == "1"
    else:
        is_terminal = output.isatty() if forced is None else forced != ""
    return is_terminal and environment.get("TERM", "").lower() not in _UNSTYLED_TERMINALS
