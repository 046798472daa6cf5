"""`foreseal genesis`, and valid genesis files of a new chain."""

from pathlib import Path

import orjson
import pytest

from command import foreseal
from live import LiveNode
from live.process import FAST, foreseal_command

OWNER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
PROOF_OF_WORK = {"config": {"chainId": 4711}, "difficulty": "0x20000", "gasLimit": "0x1c9c380", "alloc": {}}


def printed(*arguments: str) -> bytes:
    done = foreseal("genesis", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.encode()


def test_printed_genesis_starts_a_chain(tmp_path: Path) -> None:
    genesis, datadir = tmp_path / "genesis.json", tmp_path / "chain"
    genesis.write_bytes(printed("--chain-id", "4711", "--fund", f"{OWNER}=12"))
    command = [foreseal_command(), "run", "--port", "0", *FAST, "--datadir", str(datadir), "--genesis", str(genesis)]
    node = LiveNode(command)
    try:
        assert int(node.rpc("eth_chainId"), 16) == 4711
        assert int(node.rpc("eth_getBalance", OWNER, "pending"), 16) == 12 * 10**18
        assert int(node.rpc("eth_getBlockByNumber", "pending", False)["number"], 16) >= 1
    finally:
        assert node.stop() == 0, node.printed


def test_only_funded_accounts_have_a_balance() -> None:
    genesis = orjson.loads(printed("--chain-id", "4711"))
    assert {account["balance"] for account in genesis["alloc"].values()} == {"0x0"}
    assert len(genesis["alloc"]) == 4, "the system contracts"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--chain-id"),
        (["--chain-id", "0"], "at least 1"),
        (["--chain-id", "1", "--fund", OWNER], "ADDRESS=ETHER"),
        (["--chain-id", "1", "--fund", "0x12=1"], "20"),
        (["--chain-id", "1", "--fund", f"{OWNER}=x"], "whole number"),
        (["--chain-id", "1", "--fund", f"{OWNER}=1", "--fund", f"{OWNER.lower()}=2"], "may occur only once"),
    ],
)
def test_wrong_use_is_named(arguments: list[str], word: str) -> None:
    done = foreseal("genesis", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr


def without_system_contracts() -> dict[str, object]:
    genesis: dict[str, object] = orjson.loads(printed("--chain-id", "4711"))
    return genesis | {"alloc": {}}


@pytest.mark.parametrize("more", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_unusable_genesis_is_rejected_before_the_folder_is_written(tmp_path: Path, more: tuple[str, ...]) -> None:
    genesis, datadir = tmp_path / "genesis.json", tmp_path / "chain"
    for content, reason in (
        (PROOF_OF_WORK, "block 1 would not be a proof-of-stake block"),
        (without_system_contracts(), "(EIP-7002), "),
    ):
        genesis.write_bytes(orjson.dumps(content))
        done = foreseal("run", "--port", "0", "--datadir", datadir, "--genesis", genesis, *more)
        assert done.returncode == 2, done.stderr
        assert "no block can follow the genesis of --genesis: " in done.stderr
        assert reason in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert {path.name for path in datadir.iterdir()} <= {"LOCK", "feed"}


def test_read_only_chain_accepts_any_genesis(tmp_path: Path) -> None:
    genesis, datadir = tmp_path / "genesis.json", tmp_path / "chain"
    genesis.write_bytes(orjson.dumps(PROOF_OF_WORK))
    run = [foreseal_command(), "run", "--no-produce", "--port", "0"]
    node = LiveNode([*run, "--datadir", str(datadir), "--genesis", str(genesis)])
    try:
        assert int(node.rpc("eth_chainId"), 16) == 4711
    finally:
        assert node.stop() == 0, node.printed
