"""A chain in this process: it acts only on command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from foreseal.errors import NodeError, RpcError
from foreseal.testing import Chain, ChainSettings
from foreseal.testing.folder import remove_abandoned

# Output of a revert with the reason "no".
REVERT_NO = "08c379a0" + (32).to_bytes(32).hex() + (2).to_bytes(32).hex() + b"no".ljust(32, b"\0").hex()


@pytest.fixture
def chain() -> Iterator[Chain]:
    with Chain(ChainSettings(accounts=3, balance=7)) as chain:
        yield chain


def number(chain: Chain) -> int:
    return int(chain.rpc("eth_blockNumber"), 16)


def pay(chain: Chain, value: int = 1) -> str:
    """Send from the first account to the second and return the hash."""
    sender, receiver = chain.accounts[:2]
    transfer = {
        "to": receiver.address,
        "value": value,
        "nonce": int(chain.rpc("eth_getTransactionCount", sender, "pending"), 16),
        "gas": 21_000,
        "maxFeePerGas": 10**10,
        "maxPriorityFeePerGas": 1,
        "chainId": chain.settings.chain_id,
    }
    return str(chain.rpc("eth_sendRawTransaction", sender.signer().sign_transaction(transfer).raw_transaction))


def test_accounts_are_funded_and_derived_from_the_mnemonic(chain: Chain) -> None:
    assert str(chain.accounts[0]) == "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
    assert [int(chain.rpc("eth_getBalance", account), 16) for account in chain.accounts] == [7 * 10**18] * 3
    assert chain.accounts[0].signer().address == chain.accounts[0].address
    assert chain.accounts[0].key not in repr(chain.accounts[0])


def test_transaction_is_sealed_on_submission(chain: Chain) -> None:
    sent = pay(chain)
    receipt = chain.rpc("eth_getTransactionReceipt", sent)
    assert (receipt["blockNumber"], receipt["status"], number(chain)) == ("0x1", "0x1", 1)


@pytest.mark.parametrize(("field", "message"), [("data", "execution reverted"), ("message", "execution reverted: no")])
def test_revert_reason_is_in_the_configured_field(field: str, message: str) -> None:
    with Chain(ChainSettings(accounts=1, revert_reason=field)) as chain:
        reverting = "0x" + "77" * 20
        chain.rpc("anvil_setCode", reverting, "0x6064600a5f3960645ffd" + REVERT_NO)
        transaction = {"from": chain.accounts[0], "to": reverting}
        for method, code, expected in [
            ("eth_estimateGas", -32000, message),
            ("eth_sendTransaction", 3, "execution reverted: no"),
        ]:
            with pytest.raises(RpcError) as caught:
                chain.rpc(method, *([transaction, "pending"] if method == "eth_estimateGas" else [transaction]))
            error = caught.value
            assert (error.code, error.message, orjson.loads(error.data or b"")) == (code, expected, "0x" + REVERT_NO)


def test_transactions_wait_without_automine(chain: Chain) -> None:
    chain.automine = False
    sent = pay(chain)
    assert chain.rpc("eth_getTransactionReceipt", sent) is None
    chain.step()
    assert chain.rpc("eth_getTransactionReceipt", sent)["blockNumber"] == "0x1"
    assert number(chain) == 0
    chain.mine()
    assert number(chain) == 1


def test_the_clock_moves_on_request_and_blocks_follow_it(chain: Chain) -> None:
    begin = chain.time
    chain.mine(3)
    assert (number(chain), chain.time) == (3, begin + 3)
    chain.advance(3600)
    chain.mine()
    assert int(chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) == chain.time
    assert chain.time >= begin + 3603
    with pytest.raises(ValueError, match="cannot move backwards"):
        chain.advance(-1)


def test_rollback_restores_chain_pool_clock_and_automine(chain: Chain) -> None:
    pay(chain)
    before = (number(chain), chain.time, chain.rpc("eth_getBlockByNumber", "pending", True))
    with chain.rollback():
        pay(chain, 5)
        chain.fund(chain.accounts[2], 100)
        chain.advance(1000)
        chain.automine = False
        pay(chain, 6)
    assert (number(chain), chain.time, chain.rpc("eth_getBlockByNumber", "pending", True)) == before
    assert chain.automine
    assert int(chain.rpc("eth_getBalance", chain.accounts[2]), 16) == 7 * 10**18
    pay(chain)
    assert number(chain) == 2


def test_snapshot_can_be_reverted_once(chain: Chain) -> None:
    snapshot = chain.snapshot()
    pay(chain)
    chain.revert(snapshot)
    assert number(chain) == 0
    with pytest.raises(ValueError, match="each can be reverted once"):
        chain.revert(snapshot)


def test_the_same_calls_make_the_same_chain() -> None:
    def build() -> str:
        with Chain() as chain:
            pay(chain)
            chain.mine(2)
            pay(chain)
            return str(chain.rpc("eth_getBlockByNumber", "latest", False)["hash"])

    assert build() == build()


def test_chain_raises_the_errors_of_the_method(chain: Chain) -> None:
    with pytest.raises(RpcError) as raised:
        chain.rpc("eth_sendRawTransaction", "0x00")
    assert raised.value.code in (-32602, -32000)
    assert chain.request("nothing", [])["error"]["code"] == -32601
    assert chain.request("eth_chainId", None) == {"jsonrpc": "2.0", "id": 1, "result": "0x7a69"}
    with pytest.raises(TypeError, match="not JSON serializable"):
        chain.rpc("eth_getBalance", object())


def test_a_closed_chain_raises(chain: Chain) -> None:
    chain.close()
    chain.close()
    with pytest.raises(NodeError, match="the node is closed"):
        chain.step()


def test_closed_chains_hold_neither_files_nor_memory() -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def address_space() -> int:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")

    Chain().close()
    files, size = open_files(), address_space()
    closed = []
    for _ in range(200):
        chain = Chain(ChainSettings(accounts=1))
        chain.rpc("eth_blockNumber")
        chain.close()
        closed.append(chain)
    assert open_files() == files
    # One map of a store has 1 TiB.
    assert address_space() - size < 1 << 40
    for chain in closed:
        with pytest.raises(NodeError, match="the node is closed"):
            chain.rpc("eth_blockNumber")


def test_data_of_killed_processes_is_removed(tmp_path: Path) -> None:
    program = (
        "import sys, os, pathlib\n"
        "from foreseal.testing import Chain, folder\n"
        "folder.MEMORY = pathlib.Path(sys.argv[1])\n"
        "chain = Chain()\n"
        "for data in folder.MEMORY.iterdir():\n"
        "    os.utime(data, (1, 1))\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        (data,) = tmp_path.iterdir()
        remove_abandoned(tmp_path)
        assert data.is_dir()
        process.kill()
    assert data.is_dir()
    assert sum(file.stat().st_blocks * 512 for file in data.rglob("*")) < 4 << 20
    remove_abandoned(tmp_path)
    assert not data.exists()


def test_the_genesis_has_the_initial_time_and_the_create2_deployer(chain: Chain) -> None:
    genesis = chain.rpc("eth_getBlockByNumber", "0x0", False)
    assert int(genesis["timestamp"], 16) == chain.settings.time
    deployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
    assert chain.rpc("eth_getTransactionCount", deployer, "latest") == "0x1"
    # It deploys code that returns 42 at the address of EIP-1014.
    code = bytes.fromhex("602a5f5260205ff3")
    init = bytes.fromhex("67") + code + bytes.fromhex("5f526008" + "6018f3")
    call = {"from": str(chain.accounts[0]), "to": deployer, "data": "0x" + (bytes(32) + init).hex()}
    deployed = chain.rpc("eth_call", call, "latest")
    assert len(deployed) == 2 + 40
    chain.rpc("eth_sendTransaction", call)
    assert int(chain.rpc("eth_call", {"to": deployed}, "latest"), 16) == 42


def test_call_accepts_and_returns_json_bytes(chain: Chain) -> None:
    assert orjson.loads(chain.call("eth_chainId", b"[]")) == "0x7a69"
