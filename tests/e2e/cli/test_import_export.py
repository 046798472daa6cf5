"""`foreseal import`, `export`, `journal` and `run` on the sample chain."""

from pathlib import Path

import pytest

from command import foreseal
from live.process import LiveNode, foreseal_command
from live_node import produce, shared

HEAD = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"


@pytest.fixture(scope="module")
def datadir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with the sample chain."""
    sample = shared("execution-apis")
    folder = tmp_path_factory.mktemp("chain")
    done = foreseal("import", "--datadir", folder, "--genesis", sample / "genesis.json", sample / "chain.rlp")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"imported 54 blocks, head 54 {HEAD}\n"
    return folder


def test_second_import_skips_existing_blocks(datadir: Path) -> None:
    done = foreseal("import", "--datadir", datadir, shared("execution-apis") / "chain.rlp")
    assert (done.returncode, done.stdout) == (0, f"imported 0 blocks (54 already stored), head 54 {HEAD}\n")


def test_export_reproduces_the_imported_file(datadir: Path, tmp_path: Path) -> None:
    done = foreseal("export", "--datadir", datadir, tmp_path / "out.rlp")
    assert (done.returncode, done.stdout) == (0, f"exported 54 blocks, head 54 {HEAD}\n")
    assert (tmp_path / "out.rlp").read_bytes() == (shared("execution-apis") / "chain.rlp").read_bytes()


def test_a_bad_block_stops_the_import_and_is_named(tmp_path: Path) -> None:
    sample = shared("execution-apis")
    bad = bytearray((sample / "chain.rlp").read_bytes())
    bad[20_000] ^= 1
    (tmp_path / "bad.rlp").write_bytes(bad)
    done = foreseal("import", "--datadir", tmp_path / "d", "--genesis", sample / "genesis.json", tmp_path / "bad.rlp")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("foreseal: block 12 is invalid: ")
    assert "expected 0x" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_imported_chain_is_served_and_nothing_is_produced(datadir: Path) -> None:
    node = LiveNode([foreseal_command(), "run", "--datadir", str(datadir), "--no-produce", "--port", "0"])
    assert node.rpc("eth_blockNumber") == hex(54)
    for tag in ("latest", "safe", "finalized"):
        assert node.rpc("eth_getBlockByNumber", tag, False)["hash"] == HEAD
    assert node.stop() == 0


def test_a_folder_without_a_chain_needs_a_genesis(tmp_path: Path) -> None:
    done = foreseal("run", "--datadir", tmp_path, "--port", "0")
    assert done.returncode == 2
    assert "--genesis" in done.stderr
    assert done.stderr.count("\n") == 1


def test_check_summarizes_the_journal(datadir: Path) -> None:
    done = foreseal("journal", "check", datadir)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"hash {HEAD}" in done.stdout
    done = foreseal("journal", "repair", datadir)
    assert (done.returncode, done.stdout) == (0, "the journal is consistent: nothing to repair\n")


def test_a_damaged_journal_is_rejected_and_repaired_on_request(tmp_path: Path) -> None:
    produce(tmp_path, 3)
    segment = next((tmp_path / "journal").iterdir())
    damaged = bytearray(segment.read_bytes())
    # Appends begin with the same bytes at 512-byte boundaries. The damage is in the middle; later appends stay valid.
    starts = [at for at in range(512, len(damaged), 512) if damaged[at : at + 4] == damaged[512:516]]
    damaged[starts[1] + 100] ^= 1
    segment.write_bytes(damaged)
    check = foreseal("journal", "check", tmp_path)
    assert check.returncode == 1
    assert "fault" in check.stdout
    refused = foreseal("run", "--datadir", tmp_path, "--port", "0")
    assert refused.returncode == 1
    told = refused.stderr.splitlines()[-1]
    assert told.startswith("foreseal: ")
    assert segment.name in told
    assert "foreseal journal repair" in told
    asked = foreseal("journal", "repair", tmp_path, input="n\n")
    assert asked.returncode == 130
    assert "data to be lost" in asked.stdout
    assert segment.read_bytes() == damaged
    assert foreseal("journal", "repair", tmp_path, "--yes").returncode == 0
    assert foreseal("journal", "check", tmp_path).returncode == 0
