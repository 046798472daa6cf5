"""A data directory of an older version: `fixtures/schema-1.tar.xz`, with its store of schema 1."""

import json
import tarfile
from pathlib import Path

import pytest

from command import foreseal
from live import live_node
from live.blocks import wait_for_block
from repository import SUPPORT

FIXTURE = SUPPORT / "fixtures" / "schema-1.tar.xz"
HEAD = 10
HASH = "0xf73c106f87685a6b7fc93a0584576f0d7dbf318d14fbc220a6bff2d3755f7cf4"
LOGS = 5


@pytest.fixture
def datadir(tmp_path: Path) -> Path:
    """Return the directory in the state of that version."""
    folder = tmp_path / "data"
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def assert_served(datadir: Path) -> None:
    """Assert that a node resumes from it."""
    with live_node("--datadir", str(datadir), "--new-sequencer-key") as node:
        wait_for_block(node.rpc, HEAD + 1)
        assert node.rpc("eth_getBlockByNumber", hex(HEAD), False)["hash"] == HASH
        assert len(node.rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": hex(HEAD)})) == LOGS
    verified = foreseal("db", "verify", datadir)
    assert verified.returncode == 0, verified.stdout
    stats = json.loads(foreseal("db", "stats", datadir, "--json").stdout)
    assert (stats["schema"], [origin["schema"] for origin in stats["origins"]]) == (3, [2, 3])
    assert stats["origins"][0]["time"] > 1_700_000_000


def test_a_reader_rejects_the_old_schema_and_names_the_upgrade(datadir: Path) -> None:
    before = (datadir / "store" / "data.mdb").read_bytes()
    for command in ("stats", "verify"):
        refused = foreseal("db", command, datadir)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "store has schema version 1, this program works with 3: run `foreseal db upgrade`" in refused.stderr
    assert (datadir / "store" / "data.mdb").read_bytes() == before


def test_start_upgrades_the_store(datadir: Path) -> None:
    assert_served(datadir)


def test_stopped_store_is_upgraded_after_a_restorable_backup(datadir: Path, tmp_path: Path) -> None:
    backup, restored = tmp_path / "backup", tmp_path / "restored"
    unsaid = foreseal("db", "upgrade", datadir)
    assert (unsaid.returncode, "pass either --backup TARGET or --no-backup" in unsaid.stderr) == (2, True)
    upgraded = foreseal("db", "upgrade", datadir, "--backup", backup)
    assert (upgraded.returncode, upgraded.stdout.splitlines()[-1]) == (0, "upgraded the store from schema 1 to 3")
    again = foreseal("db", "upgrade", datadir, "--no-backup")
    assert (again.returncode, again.stdout) == (0, "the store already has schema 3: nothing to upgrade\n")
    assert json.loads((backup / "MANIFEST.json").read_text())["schema"] == 1
    assert_served(datadir)
    # The backup has the old schema: an older version can read it, and this one upgrades it.
    assert foreseal("restore", backup, restored).returncode == 0
    assert foreseal("db", "stats", restored).returncode == 2
    assert_served(restored)


def test_upgrade_under_a_running_node_changes_nothing(datadir: Path) -> None:
    with live_node("--datadir", str(datadir), "--new-sequencer-key"):
        ended = foreseal("db", "upgrade", datadir, "--no-backup")
        assert (ended.returncode, "nothing to upgrade" in ended.stdout) == (0, True)
