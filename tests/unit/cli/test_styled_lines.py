"""Styles of lines on standard output, by the variables that terminals set."""

import pytest

from foreseal.cli.styled_lines import StyledLines

BOLD_GREEN = "\x1b[32m\x1b[1mtext\x1b[0m"


def printed(capsys: pytest.CaptureFixture[str], **environment: str) -> str:
    """Return a line in bold green, as printed with these variables."""
    lines = StyledLines(environment)
    lines.print(lines.style("text", "green", bold=True))
    return capsys.readouterr().out.removesuffix("\n")


def test_output_without_terminal_has_no_styles(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == "text"


@pytest.mark.parametrize("name", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_variable_declares_the_output_a_terminal(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert printed(capsys, **{name: "1"}) == BOLD_GREEN


def test_a_dumb_terminal_has_no_styles(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, FORCE_COLOR="1", TERM="dumb") == "text"


def test_no_color_leaves_bold_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, FORCE_COLOR="1", NO_COLOR="1") == "\x1b[1mtext\x1b[0m"
