"""One process per data directory: every other one is rejected with one line and exit code 2."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import foreseal
from live import LiveNode, live_node
from live.blocks import pending_number, wait_for_block


@pytest.fixture(scope="module")
def datadir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("held")


@pytest.fixture(scope="module")
def holder(datadir: Path) -> Iterator[LiveNode]:
    """Run a node that holds the lock."""
    with live_node("--datadir", str(datadir)) as node:
        yield node


COMMANDS = [
    ["dev", "--port", "0", "--datadir", "DIR"],
    ["run", "--port", "0", "--datadir", "DIR"],
    ["run", "--port", "0", "--no-produce", "--datadir", "DIR"],
    ["run", "--port", "0", "--workers", "2", "--datadir", "DIR"],
    ["import", "--datadir", "DIR", __file__],
    ["export", "--datadir", "DIR", "OUT"],
    ["journal", "check", "DIR"],
    ["journal", "repair", "DIR", "--yes"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_second_process_is_rejected(holder: LiveNode, datadir: Path, tmp_path: Path, command: list[str]) -> None:
    places = {"DIR": str(datadir), "OUT": str(tmp_path / "out.rlp")}
    second = foreseal(*(places.get(word, word) for word in command))
    assert_refused(holder, datadir, second)
    assert not (tmp_path / "out.rlp").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_removed_lock_file_lets_no_second_process_in(
    holder: LiveNode, datadir: Path, tmp_path: Path, command: list[str]
) -> None:
    (datadir / "LOCK").unlink(missing_ok=True)
    places = {"DIR": str(datadir), "OUT": str(tmp_path / "out.rlp")}
    assert_refused(holder, datadir, foreseal(*(places.get(word, word) for word in command)))
    assert not (datadir / "LOCK").exists()


def assert_refused(holder: LiveNode, datadir: Path, second: subprocess.CompletedProcess[str]) -> None:
    """Assert that one line names the folder and the process."""
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr.startswith(f"foreseal: data directory {datadir} is in use by process ")
    assert second.stderr.count("\n") == 1


def test_first_process_continues_after_a_rejected_second(holder: LiveNode) -> None:
    wait_for_block(holder.rpc, pending_number(holder.rpc))
    assert holder.rpc.request("GET", "/healthz").status == 200
