"""`foreseal statetest` and `blocktest`: one JSON line per case, counts, exit codes."""

import copy
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import rlp
import zstandard
from eth_account import Account
from eth_utils import keccak
from trie import HexaryTrie

from command import foreseal
from live_node import shared

ARCHIVE = "ethereum-tests.tar.zst"
FIELDS = ["file", "name", "fork", "data", "gas", "value", "stateRoot", "logsHash", "pass"]

KEY = "0x" + "45" * 32
SENDER = bytes.fromhex(Account.from_key(KEY).address[2:])
RECEIVER, MINER = b"\x11" * 20, b"\x22" * 20
WEALTH, PRICE, VALUES = 10**18, 10, (1, 700)
NO_LOGS = "0x" + keccak(rlp.encode([])).hex()


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def state_root(balances: dict[bytes, tuple[int, int]]) -> str:
    """Return the root over accounts without code (nonce, balance), by PyPI trie."""
    trie = HexaryTrie({})
    for address, (nonce, balance) in balances.items():
        trie[keccak(address)] = rlp.encode([nonce, balance, HexaryTrie({}).root_hash, keccak(b"")])
    return "0x" + trie.root_hash.hex()


def transfers() -> dict[str, Any]:
    """Return a state test of two plain transfers whose roots were computed without the code under test."""

    def root(value: int) -> str:
        fee = 21000 * PRICE
        return state_root({SENDER: (1, WEALTH - value - fee), RECEIVER: (0, value), MINER: (0, fee)})

    def post(index: int, value: int) -> dict[str, Any]:
        transaction = {"nonce": 0, "gasPrice": PRICE, "gas": 21000, "to": RECEIVER, "value": value, "chainId": 1}
        raw = Account.from_key(KEY).sign_transaction(transaction).raw_transaction
        indexes = {"data": 0, "gas": 0, "value": index}
        return {"hash": root(value), "logs": NO_LOGS, "indexes": indexes, "txbytes": "0x" + bytes(raw).hex()}

    account = {"balance": hex(WEALTH), "nonce": "0x0", "code": "0x", "storage": {}}
    header = {"Coinbase": MINER, "Difficulty": 0x20000, "GasLimit": 10**7, "Number": 1, "Timestamp": 1000}
    return {
        "transfers": {
            "env": {
                f"current{name}": "0x" + value.hex() if isinstance(value, bytes) else hex(value)
                for name, value in header.items()
            },
            "pre": {"0x" + SENDER.hex(): account},
            "transaction": {
                "data": ["0x"],
                "gasLimit": ["0x5208"],
                "gasPrice": hex(PRICE),
                "nonce": "0x0",
                "secretKey": KEY,
                "sender": "0x" + SENDER.hex(),
                "to": "0x" + RECEIVER.hex(),
                "value": [hex(value) for value in VALUES],
            },
            "post": {"Berlin": [post(index, value) for index, value in enumerate(VALUES)]},
        }
    }


def test_correct_expectation_passes_and_a_wrong_one_fails(tmp_path: Path) -> None:
    test = transfers()
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    right.write_text(json.dumps(test))
    done = foreseal("statetest", right)
    assert (done.returncode, done.stderr) == (0, "2 passed, 0 failed\n")
    cases = lines_of(done.stdout)
    assert [list(case) for case in cases] == [FIELDS] * 2
    for index, case in enumerate(cases):
        assert (case["file"], case["name"], case["fork"]) == (str(right), "transfers", "Berlin")
        assert (case["data"], case["gas"], case["value"]) == (0, 0, index)
        assert case["stateRoot"] == test["transfers"]["post"]["Berlin"][index]["hash"]
        assert (case["logsHash"], case["pass"]) == (NO_LOGS, True)

    spoiled = copy.deepcopy(test)
    spoiled["transfers"]["post"]["Berlin"][1]["hash"] = "0x" + "00" * 32
    wrong.write_text(json.dumps(spoiled))
    done = foreseal("statetest", wrong)
    assert (done.returncode, done.stderr) == (1, "1 passed, 1 failed\n")
    passed, failed = lines_of(done.stdout)
    assert (passed["pass"], failed["pass"]) == (True, False)
    assert failed["stateRoot"] == test["transfers"]["post"]["Berlin"][1]["hash"], "the root that was computed is shown"
    assert "00" * 32 in failed["error"]

    done = foreseal("statetest", tmp_path)
    assert (done.returncode, done.stderr) == (1, "3 passed, 1 failed\n")


def test_wrong_logs_fail(tmp_path: Path) -> None:
    test = transfers()
    test["transfers"]["post"]["Berlin"][0]["logs"] = "0x" + "00" * 32
    (tmp_path / "logs.json").write_text(json.dumps(test))
    done = foreseal("statetest", tmp_path / "logs.json")
    assert (done.returncode, done.stderr) == (1, "1 passed, 1 failed\n")


def test_selected_fork_runs_alone_and_zero_cases_fail(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text(json.dumps(transfers()))
    assert foreseal("statetest", "--fork", "Berlin", tmp_path).stderr == "2 passed, 0 failed\n"
    done = foreseal("statetest", "--fork", "Cancun", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "0 passed, 0 failed\n")
    done = foreseal("statetest", "--fork", "Cancan", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "foreseal: unknown fork Cancan: write it as the vectors do, such as Cancun\n"


@pytest.mark.parametrize(("command", "least"), [(["statetest", "--fork", "Shanghai"], 50), (["blocktest"], 100)])
def test_archive_passes_without_extraction(command: list[str], least: int) -> None:
    done = foreseal(*command, shared(ARCHIVE))
    cases = lines_of(done.stdout)
    print(f"\n{' '.join(command)}: {done.stderr.strip()}")
    assert len(cases) >= least
    assert all(case["pass"] for case in cases)
    assert (done.returncode, done.stderr) == (0, f"{len(cases):,} passed, 0 failed\n")


def archived(name: str) -> bytes:
    """Return one file of the archive."""
    with (
        shared(ARCHIVE).open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as archive,
    ):
        for member in archive:
            if member.name.removeprefix("./") == name:
                file = archive.extractfile(member)
                assert file is not None
                return file.read()
    raise AssertionError(f"{name} is not in the archive")


def test_a_corrupted_block_test_fails_with_the_difference(tmp_path: Path) -> None:
    inside = "BlockchainTests/ValidBlocks/bcBlockGasLimitTest/SuicideTransaction.json"
    path = tmp_path / "SuicideTransaction.json"
    path.write_bytes(archived(inside))
    done = foreseal("blocktest", path)
    assert done.returncode == 0
    tests = json.loads(path.read_text())
    spoiled = next(iter(tests))
    tests[spoiled]["lastblockhash"] = "0x" + "00" * 32
    path.write_text(json.dumps(tests))
    done = foreseal("blocktest", path)
    assert done.returncode == 1
    assert done.stderr == f"{len(tests) - 1} passed, 1 failed\n"
    failed = [case for case in lines_of(done.stdout) if not case["pass"]]
    assert [case["name"] for case in failed] == [spoiled]
    assert "00" * 32 in failed[0]["error"]
