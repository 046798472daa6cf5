"""`foreseal journal show`."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from command import foreseal
from foreseal._core import Node, journal_show
from live_node import produce, settings, wait_until


def shown(datadir: Path, *options: object) -> list[dict[str, Any]]:
    """Return the output of the command."""
    done = foreseal("journal", "show", datadir, *options)
    assert (done.returncode, done.stderr) == (0, "")
    return [orjson.loads(line) for line in done.stdout.splitlines()]


def test_every_append_is_one_line(tmp_path: Path) -> None:
    produce(tmp_path, 3)
    appends = shown(tmp_path)
    assert [append["sequence"] for append in appends] == list(range(len(appends)))
    records = [record for append in appends for record in append["records"]]
    opened = [record["number"] for record in records if record["kind"] == "open"]
    assert opened == list(range(1, len(opened) + 1))
    steps = [record for record in records if record["kind"] == "step"]
    assert [step["index"] for step in steps] == [0] * len(opened)
    assert all(len(step["signature"]) == 132 and step["time"] > 1_700_000_000_000 for step in steps)
    # Empty blocks: the previous hash of a step is that of the step before, and therefore of the block before.
    assert [step["previous"] for step in steps[1:]] == [step["hash"] for step in steps[:-1]]
    sealed = [record["hash"] for record in records if record["kind"] == "seal"]
    assert sealed == [step["hash"] for step in steps[: len(sealed)]]
    assert shown(tmp_path, "--from", 2) == appends[2:]
    assert shown(tmp_path, "--from", 10**6) == []


def test_journal_of_a_running_node_is_readable(tmp_path: Path) -> None:
    node = Node(settings(tmp_path))
    node.start()
    wait_until(lambda: node.freshness()[0] > 2)
    first = shown(tmp_path)
    last = max(record["number"] for append in first for record in append["records"])
    wait_until(lambda: node.freshness()[0] > last)
    later = shown(tmp_path)
    node.stop()
    assert len(first) < len(later)
    assert later[: len(first)] == first


def test_exception_of_the_reader_ends_the_command(tmp_path: Path) -> None:
    produce(tmp_path, 2)
    seen = []

    def stop(line: bytes) -> None:
        seen.append(line)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        journal_show(tmp_path, stop)
    assert len(seen) == 1


def test_folder_without_a_journal_is_reported(tmp_path: Path) -> None:
    done = foreseal("journal", "show", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"foreseal: {tmp_path} has no journal\n"
