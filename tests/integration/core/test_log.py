"""Log lines of the core: on standard error, at the requested levels, as text or as JSON."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

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
LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z +(ERROR|WARN|INFO|DEBUG|TRACE) (\[one\] )?foreseal\w+(::\w+)*: .+"
)


def lines(given: bytes, variable: str | None = None) -> list[str]:
    """Return the standard error of a node that starts and stops."""
    environment = {name: value for name, value in os.environ.items() if name != "FORESEAL_LOG"}
    if variable is not None:
        environment["FORESEAL_LOG"] = variable
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, check=True)
    assert done.stdout == b""
    return done.stderr.decode().splitlines()


def log(**more: Any) -> dict[str, Any]:
    return {"levels": "debug"} | more


@pytest.mark.parametrize(("variable", "levels"), [("info", None), (None, "info"), ("off", "info")])
def test_the_level_is_settable(tmp_path: Path, variable: str | None, levels: str | None) -> None:
    log_lines = lines(settings(tmp_path, log={"levels": levels}), variable)
    assert any("journal replayed" in line and " INFO " in line for line in log_lines)
    assert not any(" DEBUG " in line for line in log_lines)


def test_targets_have_separate_levels(tmp_path: Path) -> None:
    log_lines = lines(settings(tmp_path, log={"levels": "info,foreseal_node::store::start=off"}))
    assert not any("journal replayed" in line for line in log_lines)


def test_successful_start_is_silent_by_default(tmp_path: Path) -> None:
    assert lines(settings(tmp_path)) == []


def test_every_text_line_has_the_same_format(tmp_path: Path) -> None:
    log_lines = lines(settings(tmp_path, log=log(process="one")))
    assert log_lines
    assert all(LINE.fullmatch(line) for line in log_lines), log_lines
    (replayed,) = (line for line in log_lines if "journal replayed" in line)
    assert "[one] foreseal_node::store::start: journal replayed" in replayed
    assert " records=0 " in replayed
    assert "\x1b" not in "".join(log_lines)


def test_every_line_of_json_has_the_fields(tmp_path: Path) -> None:
    records = [json.loads(line) for line in lines(settings(tmp_path, log=log(form="json", process="one")))]
    assert records
    for line in records:
        assert line["level"] in ("ERROR", "WARN", "INFO", "DEBUG", "TRACE")
        assert line["target"].startswith("foreseal")
        assert line["message"]
        assert line["process"] == "one"
        at = datetime.fromisoformat(line["time"])
        assert abs(datetime.now(UTC) - at) < timedelta(minutes=5)
    (replayed,) = (line for line in records if line["message"] == "journal replayed")
    assert replayed["records"] == 0
