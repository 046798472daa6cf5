"""`foreseal backup` and `foreseal restore`: a copy made under load has everything that was durable when it began."""

import contextlib
import http.client
import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import foreseal
from live import DEV_ACCOUNTS, LiveNode, live_node, wait_for
from live.blocks import wait_for_block
from live.process import FAST, foreseal_command
from live.rpc import Rpc
from live.sending import Sender

SEGMENT = "journal/0000000001.segment"


class Load:
    """A thread that sends as fast as it gets responses, until it is stopped or the node is gone."""

    def __init__(self, url: str) -> None:
        self._sender = Sender(Rpc(url), DEV_ACCOUNTS[3])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        nonce = self._sender.nonce()
        with contextlib.closing(self._sender.rpc), contextlib.suppress(OSError, http.client.HTTPException):
            while not self._stop.is_set():
                self._sender.send(nonce)
                nonce += 1

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture
def backup(original: Path, tmp_path: Path) -> Path:
    """Return a backup of the original."""
    target = tmp_path / "backup"
    made = foreseal("backup", original, target)
    assert (made.returncode, made.stdout.endswith(f"backup written to {target}\n")) == (0, True), made.stderr
    return target


def steps(datadir: Path) -> list[dict[str, Any]]:
    """Return every append of a journal, from `foreseal journal show`."""
    return [json.loads(line) for line in foreseal("journal", "show", datadir).stdout.splitlines()]


def hashes(appends: list[dict[str, Any]]) -> list[str]:
    """Return the steps' hashes, in order."""
    return [record["hash"] for append in appends for record in append["records"] if record["kind"] == "step"]


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[tuple[LiveNode, Path]]:
    """Run a node under load and yield it with its data directory."""
    datadir = tmp_path / "data"
    with live_node("--datadir", str(datadir), "--block-time", "1s") as node:
        load = Load(node.url)
        wait_for_block(node.rpc, 2)
        yield node, datadir
        load.stop()


def test_backup_under_load_matches_the_running_node(loaded: tuple[LiveNode, Path], tmp_path: Path) -> None:
    node, datadir = loaded
    shown = node.rpc("eth_getBlockByNumber", "pending", False)["hash"]
    target, restored = tmp_path / "backup", tmp_path / "restored"
    made = foreseal("backup", datadir, target)
    assert made.returncode == 0, made.stderr
    assert foreseal("restore", target, restored, "--verify").returncode == 0
    copied, there = steps(restored), {append["sequence"]: append for append in steps(datadir)}
    assert shown in hashes(copied)
    assert all(there[append["sequence"]] == append for append in copied)
    refused = foreseal("dev", "--port", "0", "--datadir", restored)
    assert_refused(refused, 2, "is missing, and the steps of this data directory are signed by 0x")
    with live_node("--datadir", str(restored), "--block-time", "1s", "--new-sequencer-key") as again:
        newest = copied[-1]["records"][-1]
        wait_for_block(again.rpc, newest["number"] + 1)
        for number in range(newest["number"]):
            assert again.rpc("eth_getBlockByNumber", hex(number), True) == node.rpc(
                "eth_getBlockByNumber", hex(number), True
            )
    # The next start resumes at the last step of the backup.
    assert hashes(steps(restored))[: len(hashes(copied))] == hashes(copied)


@pytest.mark.parametrize("moment", [0.0, 0.05, 0.15])
def test_a_backup_of_a_node_that_is_killed_meanwhile(tmp_path: Path, moment: float) -> None:
    datadir, target, restored = tmp_path / "data", tmp_path / "backup", tmp_path / "restored"
    node = LiveNode([foreseal_command(), "dev", "--port", "0", *FAST, "--block-time", "1s", "--datadir", str(datadir)])
    load = Load(node.url)
    wait_for_block(node.rpc, 2)
    shown = node.rpc("eth_getBlockByNumber", "pending", False)["hash"]
    making = subprocess.Popen([foreseal_command(), "backup", str(datadir), str(target)], stderr=subprocess.PIPE)
    threading.Event().wait(moment)
    node.kill()
    load.stop()
    _, told = making.communicate(timeout=60)
    assert making.returncode == 0, told
    assert foreseal("restore", target, restored, "--verify").returncode == 0
    copied, there = steps(restored), {append["sequence"]: append for append in steps(datadir)}
    assert shown in hashes(copied)
    assert all(there[append["sequence"]] == append for append in copied if append["sequence"] in there)
    with live_node("--datadir", str(restored), "--new-sequencer-key") as again:
        wait_for_block(again.rpc, copied[-1]["records"][-1]["number"])


def test_interrupted_backup_leaves_no_files_or_a_complete_backup(loaded: tuple[LiveNode, Path], tmp_path: Path) -> None:
    _, datadir = loaded
    target = tmp_path / "backup"
    making = subprocess.Popen([foreseal_command(), "backup", str(datadir), str(target)], stderr=subprocess.PIPE)
    assert making.stderr is not None
    # The backup has begun.
    making.stderr.readline()
    making.send_signal(signal.SIGINT)
    making.communicate(timeout=60)
    assert making.returncode in (0, 130)
    if making.returncode == 0 or target.exists():
        # The signal came after the rename.
        assert foreseal("restore", target, tmp_path / "restored").returncode == 0
    assert not target.with_name("backup.partial").exists()


def test_backup_excludes_keys_unless_requested(original: Path, backup: Path, tmp_path: Path) -> None:
    assert not (backup / "sequencer.key").exists()
    with_key, restored = tmp_path / "with-key", tmp_path / "restored"
    assert "sequencer key        yes" in foreseal("backup", original, with_key, "--with-key").stdout
    assert foreseal("restore", with_key, restored).returncode == 0
    key = restored / "sequencer.key"
    assert key.read_bytes() == (original / "sequencer.key").read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    assert with_key.stat().st_mode & 0o777 == 0o700


def assert_refused(ended: subprocess.CompletedProcess[str], code: int, message: str) -> None:
    """Assert that one line gives the reason."""
    told = ended.stderr.splitlines()[-1]
    assert (ended.returncode, told.startswith("foreseal: "), message in told) == (code, True, True), ended.stderr


def test_existing_target_folder_is_rejected(original: Path, backup: Path, tmp_path: Path) -> None:
    assert_refused(foreseal("backup", original, backup), 2, "backup is not empty: choose a new folder")
    partial = tmp_path / "other.partial"
    partial.mkdir()
    assert_refused(foreseal("backup", original, tmp_path / "other"), 2, "is from an interrupted backup")
    assert_refused(foreseal("backup", tmp_path, tmp_path / "third"), 2, "has no chain yet")
    assert_refused(foreseal("restore", backup, original), 2, "is not empty: choose a new folder")
    assert_refused(foreseal("restore", original, tmp_path / "new"), 2, "is not a backup: MANIFEST.json is missing")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["store/data.mdb", SEGMENT, "genesis.json", "identity.json"])
def test_damage_is_reported_and_no_files_remain(backup: Path, tmp_path: Path, name: str) -> None:
    path, restored = backup / name, tmp_path / "restored"
    whole = path.read_bytes()
    for damaged, why in (
        (whole[:-1] + bytes([whole[-1] ^ 1]), f"one bit is flipped at offset {len(whole) - 1}"),
        (whole[:-2] + bytes([whole[-2] ^ 1, whole[-1] ^ 1]), "the checksum does not match"),
        (whole[:-1], f"it has {len(whole) - 1} bytes, not {len(whole)}"),
    ):
        path.write_bytes(damaged)
        assert_refused(foreseal("restore", backup, restored), 1, f"the backup is damaged: {name}: {why}")
        assert [entry.name for entry in restored.iterdir()] == ["LOCK"]
    path.unlink()
    assert_refused(foreseal("restore", backup, restored), 1, f"the backup is damaged: {name}: it cannot be opened")
    path.write_bytes(whole)
    # A rejected restore leaves nothing that blocks the next attempt.
    assert foreseal("restore", backup, restored).returncode == 0


def test_a_changed_bit_of_the_manifest_is_named(backup: Path, tmp_path: Path) -> None:
    manifest = backup / "MANIFEST.json"
    whole = manifest.read_bytes()
    for at in range(0, len(whole), len(whole) // 12):
        manifest.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        message = f"the backup is damaged: MANIFEST.json: one bit is flipped at offset {at}"
        assert_refused(foreseal("restore", backup, tmp_path / "new"), 1, message)


def test_backup_of_an_unreleased_version_is_rejected(backup: Path, tmp_path: Path) -> None:
    manifest = backup / "MANIFEST.json"
    content = json.loads(manifest.read_text())
    content["format"] = content.pop("version")
    manifest.write_text(json.dumps(content))
    message = "the backup was written by an unreleased version of Foreseal: start with an empty data directory"
    assert_refused(foreseal("restore", backup, tmp_path / "new"), 2, message)
    assert not (tmp_path / "new").exists()


def test_interrupted_restore_starts_over(backup: Path, tmp_path: Path) -> None:
    restored = tmp_path / "restored"
    shutil.copytree(backup, restored / "restoring")
    (restored / "LOCK").touch()
    assert_refused(foreseal("run", "--port", "0", "--datadir", restored), 2, "has no chain yet")
    shutil.rmtree(restored / "store", ignore_errors=True)
    for left in restored.iterdir():
        if left.name not in ("restoring", "LOCK"):
            left.unlink() if left.is_file() else shutil.rmtree(left)
    assert foreseal("restore", backup, restored).returncode == 0
    assert not (restored / "restoring").exists()
    assert wait_for(lambda: foreseal("db", "verify", restored).returncode == 0, 30, "a whole store")
