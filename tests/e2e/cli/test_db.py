"""`foreseal db`, and stores that a node rejects: one line, an exit code, and nothing changed."""

import contextlib
import ctypes
import json
import os
import re
import resource
import shutil
from pathlib import Path

import pytest

from command import foreseal
from live import DEV_ACCOUNTS, LiveNode, RpcFailure, live_node, wait_for
from live.blocks import wait_for_block
from live.process import FAST, foreseal_command
from live.sending import Sender
from store_pages import replace

EXTRA_DATA = b"foreseal"

_LIBC = ctypes.CDLL(None)
_PR_CAPBSET_DROP = 24


@pytest.fixture
def datadir(original: Path, tmp_path: Path) -> Path:
    """Return a copy of the original, to be damaged."""
    return Path(shutil.copytree(original, tmp_path / "copy"))


def content(datadir: Path) -> dict[str, bytes]:
    """Return all files except the lock files."""
    files = (path for path in datadir.rglob("*") if path.is_file() and path.name not in ("LOCK", "lock.mdb"))
    return {str(path.relative_to(datadir)): path.read_bytes() for path in files}


def assert_refused(datadir: Path, code: int, message: str, *more: str) -> None:
    """Assert that a node does not start, gives the reason in one line, and changes nothing."""
    before = content(datadir)
    ended = foreseal("run", "--port", "0", "--datadir", datadir, *more)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.startswith("foreseal: ")
    assert ended.stderr.count("\n") == 1
    assert message in ended.stderr
    assert content(datadir) == before


def test_db_stats_reports_the_figures_of_a_store(datadir: Path) -> None:
    before = content(datadir)
    shown = foreseal("db", "stats", datadir)
    assert (shown.returncode, shown.stderr) == (0, "")
    stats = json.loads(foreseal("db", "stats", datadir, "--json").stdout)
    assert stats["chain_id"] == 31337
    assert stats["head"]["number"] >= 3
    assert stats["head"]["hash"] in shown.stdout
    tables = {table["name"]: table["entries"] for table in stats["tables"]}
    assert tables["headers"] == stats["head"]["number"] + 1
    assert tables["logs"] == stats["logs"] == 0
    assert all(name in shown.stdout for name in tables)
    assert content(datadir) == before


def test_a_consistent_store_is_reported(datadir: Path) -> None:
    before = content(datadir)
    verified = foreseal("db", "verify", datadir)
    assert verified.returncode == 0
    assert verified.stdout.endswith("the store is consistent\n")
    parts = ["pages", "blocks", "versions", "state root", "trie nodes", "log index"]
    assert [part for part in parts if f"verifying {part}: " in verified.stderr] == parts
    assert content(datadir) == before


def test_damage_is_named(datadir: Path) -> None:
    replace(datadir, EXTRA_DATA, EXTRA_DATA[::-1], sealed=True)
    verified = foreseal("db", "verify", datadir)
    assert verified.returncode == 1
    assert "damaged: table headers, key 0x0000000000000001: " in verified.stdout
    assert verified.stderr.splitlines()[-1].startswith("foreseal: the store is damaged: ")


def test_a_page_without_its_checksum_is_named(datadir: Path) -> None:
    replace(datadir, EXTRA_DATA, EXTRA_DATA[::-1], sealed=False)
    verified = foreseal("db", "verify", datadir)
    assert verified.returncode == 1
    assert re.search(
        r"damaged: table headers, key 0x\w*: page \d+ of data.mdb, at offset \d+, fails its checksum", verified.stdout
    )
    # The node builds no block on it.
    ended = foreseal("run", "--port", "0", "--datadir", datadir)
    assert (ended.returncode, "store is damaged: table headers, key " in ended.stderr) == (1, True)


def test_store_of_a_running_node_can_be_inspected(tmp_path: Path) -> None:
    with live_node("--datadir", str(tmp_path / "data")) as node:
        before = int(node.rpc("eth_blockNumber"), 16)
        assert foreseal("db", "verify", tmp_path / "data").returncode == 0
        assert foreseal("db", "stats", tmp_path / "data").returncode == 0
        assert int(node.rpc("eth_blockNumber"), 16) >= before


def test_missing_store_is_reported(tmp_path: Path, datadir: Path) -> None:
    empty = foreseal("db", "verify", tmp_path)
    assert (empty.returncode, "has no chain yet" in empty.stderr) == (2, True)
    shutil.rmtree(datadir / "store")
    stats = foreseal("db", "stats", datadir)
    assert (stats.returncode, "has no store" in stats.stderr) == (2, True)


def test_store_with_a_newer_schema_is_rejected(datadir: Path) -> None:
    replace(datadir, b"schema\0\0\0\3", b"schema\0\0\0\4", sealed=True)
    message = "store has schema version 4, newer than the supported version 3"
    assert_refused(datadir, 2, message)
    verified = foreseal("db", "verify", datadir)
    assert (verified.returncode, message in verified.stderr) == (2, True)
    replace(datadir, b"schema\0\0\0\4", b"schema\0\0\0\3", sealed=True)
    assert foreseal("db", "verify", datadir).returncode == 0


def test_a_store_of_another_genesis_is_rejected(datadir: Path, tmp_path: Path) -> None:
    with live_node("--datadir", str(tmp_path / "other")):
        pass
    shutil.rmtree(datadir / "store")
    shutil.copytree(tmp_path / "other" / "store", datadir / "store")
    assert_refused(datadir, 2, "store belongs to the chain with genesis 0x")
    verified = foreseal("db", "verify", datadir)
    assert (verified.returncode, "belongs to the chain with genesis" in verified.stderr) == (2, True)


def test_truncated_store_is_rejected(datadir: Path) -> None:
    data = datadir / "store" / "data.mdb"
    os.truncate(data, data.stat().st_size // 2)
    assert_refused(datadir, 1, "the rest is missing")
    assert foreseal("db", "verify", datadir).returncode == 1


def test_file_that_is_not_a_store_is_rejected(datadir: Path) -> None:
    (datadir / "store" / "data.mdb").write_bytes(b"somebody else's" * 1000)
    assert_refused(datadir, 2, "holds a file that is not a store of this program")


def test_full_disk_stops_production_without_data_loss(tmp_path: Path) -> None:
    datadir = tmp_path / "data"
    node = LiveNode([foreseal_command(), "dev", "--port", "0", *FAST, "--datadir", str(datadir)])
    try:
        sender = Sender(node.rpc, DEV_ACCOUNTS[0])
        wait_for_block(node.rpc, 1)
        # The file size limit is the current size of journal and store: the store cannot grow.
        size = (datadir / "store" / "data.mdb").stat().st_size
        resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (size, size))

        def failed() -> bytes | None:
            with contextlib.suppress(RpcFailure):
                sender.send(to=DEV_ACCOUNTS[1].address, value=1)
            health = node.rpc.request("GET", "/healthz")
            # A busy machine may be late with a step for a while, which is another 503.
            return health.body if health.status == 503 and b"production stopped: " in health.body else None

        wait_for(failed, 60, "the failure")
        head = node.rpc("eth_getBlockByNumber", "latest", False)
        assert node.rpc("eth_getBlockByNumber", head["number"], False) == head
    finally:
        node.kill()
    assert foreseal("db", "verify", datadir).returncode == 0
    with live_node("--datadir", str(datadir)) as node:
        assert node.rpc("eth_getBlockByNumber", head["number"], False)["hash"] == head["hash"]
        wait_for_block(node.rpc, int(head["number"], 16) + 1)
    assert foreseal("db", "verify", datadir).returncode == 0


def without_override() -> None:
    """Apply file permissions to the superuser too: drop CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH at exec."""
    for capability in (1, 2):
        _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def test_unwritable_folder_is_reported(datadir: Path) -> None:
    paths = [datadir, *datadir.rglob("*")]
    before = content(datadir)
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        ended = foreseal("run", "--port", "0", "--datadir", datadir, preexec_fn=without_override)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.count("\n") == 1
        assert str(datadir) in ended.stderr
        assert "Permission denied" in ended.stderr
    finally:
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert content(datadir) == before
    assert foreseal("db", "verify", datadir).returncode == 0
