"""Log lines of the core: to standard error, plain where it is no terminal, at the level that is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from live_node import settings

CODE = """
import sys, time
from foreseal._core import Node
node = Node(sys.stdin.buffer.read())
node.start()
while not node.ready()[0]:
    time.sleep(0.01)
node.stop()
"""


def lines(given: bytes, variable: str | None) -> list[str]:
    """What a node that starts and stops writes to standard error."""
    environment = {name: value for name, value in os.environ.items() if name != "FORESEAL_LOG"}
    if variable is not None:
        environment["FORESEAL_LOG"] = variable
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, check=True)
    assert done.stdout == b""
    return done.stderr.decode().splitlines()


@pytest.mark.parametrize(("variable", "level"), [("info", None), (None, "info"), ("info", "off")])
def test_the_level_is_settable(tmp_path: Path, variable: str | None, level: str | None) -> None:
    found = lines(settings(tmp_path, log=level), variable)
    assert any("journal" in line and " INFO " in line for line in found)
    assert "\x1b" not in "".join(found)


def test_a_good_start_is_silent_by_default(tmp_path: Path) -> None:
    assert lines(settings(tmp_path), None) == []
