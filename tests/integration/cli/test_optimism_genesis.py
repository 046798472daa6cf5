"""`foreseal genesis --optimism`: the genesis of a rollup configuration, and the errors of other files."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from command import foreseal
from live.sending import CHAIN_ID
from optimism import op_genesis
from optimism.genesis import CANYON_DENOMINATOR, DENOMINATOR, ELASTICITY, GAS_LIMIT, GENESIS_TIME
from optimism.recordings import RECORDED_CHAINS, recorded_genesis, recordings

WRONG_HASH = "0x" + "ab" * 32
FORKS = ("regolith", "canyon", "delta", "ecotone", "fjord", "granite", "holocene", "isthmus")


def rollup_config(genesis_hash: str, *forks: str, params: str = "0x" + "00" * 8) -> dict[str, Any]:
    """Return the rollup configuration of `op_genesis`, with these forks after Isthmus."""
    system = {"gasLimit": GAS_LIMIT, "eip1559Params": params, "minBaseFee": 0}
    return {
        "genesis": {"l2": {"hash": genesis_hash, "number": 0}, "l2_time": GENESIS_TIME, "system_config": system},
        "block_time": 1,
        "l2_chain_id": CHAIN_ID,
        **{f"{fork}_time": 0 for fork in (*FORKS, *forks)},
        "chain_op_config": {
            "eip1559Elasticity": ELASTICITY,
            "eip1559Denominator": DENOMINATOR,
            "eip1559DenominatorCanyon": CANYON_DENOMINATOR,
        },
    }


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return the paths of a rollup configuration with a wrong hash, and of `op_genesis` with another fee recipient."""
    rollup, alloc = tmp_path / "rollup.json", tmp_path / "alloc.json"
    rollup.write_bytes(orjson.dumps(rollup_config(WRONG_HASH, "jovian")))
    alloc.write_bytes(orjson.dumps(op_genesis() | {"coinbase": "0x" + "00" * 20}))
    return rollup, alloc


@pytest.mark.parametrize("name", RECORDED_CHAINS)
@pytest.mark.parametrize("dump", [False, True], ids=["genesis", "dump"])
def test_recorded_genesis_is_reproduced(tmp_path: Path, name: str, dump: bool) -> None:
    recorded = recorded_genesis(name)
    recorded["alloc"] = {address.lower(): account for address, account in recorded["alloc"].items()}
    alloc = tmp_path / "alloc.json"
    alloc.write_bytes(orjson.dumps(recorded["alloc"] if dump else recorded))
    done = foreseal("genesis", "--optimism", recordings() / f"rollup-{name}.json", "--alloc", alloc)
    assert (done.returncode, done.stderr) == (0, "")
    assert orjson.loads(done.stdout) == recorded


@pytest.mark.parametrize(
    ("forks", "params", "extra_data"),
    [
        ((), "0x" + "00" * 8, "0x00" + "000000fa" + "00000006"),
        (("jovian",), "0x" + "00" * 8, "0x01" + "000000fa" + "00000006" + "00" * 8),
        (("jovian", "karst"), "0x0000006400000004", "0x01" + "00000064" + "00000004" + "00" * 8),
    ],
    ids=["isthmus", "jovian", "karst"],
)
def test_genesis_of_each_fork_has_its_extra_data(
    files: tuple[Path, Path], forks: tuple[str, ...], params: str, extra_data: str
) -> None:
    rollup, alloc = files
    rollup.write_bytes(orjson.dumps(rollup_config(WRONG_HASH, *forks, params=params)))
    rejected = foreseal("genesis", "--optimism", rollup, "--alloc", alloc)
    assert rejected.returncode == 2
    digest = rejected.stderr.partition("has the hash ")[2][:66]
    rollup.write_bytes(orjson.dumps(rollup_config(digest, *forks, params=params)))
    done = foreseal("genesis", "--optimism", rollup, "--alloc", alloc)
    assert done.returncode == 0, done.stderr
    genesis = orjson.loads(done.stdout)
    assert genesis["extraData"] == extra_data
    assert ("osakaTime" in genesis["config"]) == ("karst" in forks)


def test_wrong_hash_prints_both_and_the_reason(files: tuple[Path, Path]) -> None:
    rollup, alloc = files
    done = foreseal("genesis", "--optimism", rollup, "--alloc", alloc)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"genesis.l2.hash of {rollup} is {WRONG_HASH}" in done.stderr
    assert f"coinbase is 0x4200000000000000000000000000000000000011 here and 0x{'00' * 20} in the file" in done.stderr
    alloc.write_bytes(orjson.dumps(op_genesis()["alloc"]))
    done = foreseal("genesis", "--optimism", rollup, "--alloc", alloc)
    assert "the accounts are not those of this chain" in done.stderr


def test_missing_accounts_come_from_op_deployer(files: tuple[Path, Path]) -> None:
    done = foreseal("genesis", "--optimism", files[0])
    assert (done.returncode, done.stdout) == (2, "")
    assert f"op-deployer inspect genesis {CHAIN_ID}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--alloc", "ALLOC"), "--alloc requires --optimism"),
        (("--chain-id", "5", "--alloc", "ALLOC"), "--alloc requires --optimism"),
        (("--optimism", "ROLLUP", "--alloc", "ALLOC", "--chain-id", "5"), "the chain id comes from the file"),
        (("--optimism", "ALLOC", "--alloc", "ALLOC"), "this is not a rollup configuration of op-node"),
        (("--optimism", "ROLLUP", "--alloc", "ROLLUP"), "'genesis' is not an address"),
        (("--optimism", "absent.json"), "'absent.json' does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_named(files: tuple[Path, Path], arguments: tuple[str, ...], words: str) -> None:
    paths = {"ROLLUP": files[0], "ALLOC": files[1]}
    done = foreseal("genesis", *(paths.get(each, each) for each in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_unsupported_fork_is_named(files: tuple[Path, Path]) -> None:
    rollup, alloc = files
    rollup.write_bytes(orjson.dumps(rollup_config(WRONG_HASH) | {"jovian_time": GENESIS_TIME + 60}))
    done = foreseal("genesis", "--optimism", rollup, "--alloc", alloc)
    assert done.returncode == 2
    assert f"jovian_time is {GENESIS_TIME + 60}, after genesis at {GENESIS_TIME}" in done.stderr


def test_no_file_remains(files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    done = foreseal("genesis", "--optimism", files[0], "--alloc", files[1])
    assert "has the hash" in done.stderr
    assert list(folder.iterdir()) == []
