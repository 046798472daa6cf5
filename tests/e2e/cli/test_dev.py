"""`foreseal dev`: options, data folder, port and signals. `live/test_first_run.py` tests banner and first call."""

import contextlib
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from command import foreseal
from live import Rpc, live_node, wait_for
from live.process import foreseal_command

WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def test_a_temporary_chain_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with live_node():
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_options_reach_the_chain() -> None:
    chain = ["--chain-id", "5", "--accounts", "2", "--balance", "7", "--gas-limit", "30000000", "--mnemonic", WORDS]
    with live_node(*chain, "--block-time", "1s") as node:
        assert node.rpc("eth_chainId") == "0x5"
        assert int(node.rpc("eth_getBlockByNumber", "earliest", False)["gasLimit"], 16) == 30_000_000
        wait_for(lambda: "Ctrl-C" in node.printed, 30, "whole banner")
        accounts = re.findall(r"(0x[0-9a-fA-F]{40}) ", node.printed)
        assert len(accounts) == 2
        assert int(node.rpc("eth_getBalance", accounts[0], "latest"), 16) == 7 * 10**18


def test_payments_require_accounts_and_the_development_genesis(tmp_path: Path) -> None:
    few = foreseal("dev", "--payments", "--accounts", "3", "--port", "0")
    assert (few.returncode, few.stdout) == (2, "")
    assert few.stderr.startswith("foreseal: --payments: payments require 4 accounts, got 3")
    (tmp_path / "genesis.json").write_text("{}")
    other = foreseal("dev", "--payments", "--genesis", tmp_path / "genesis.json")
    assert (other.returncode, other.stdout) == (2, "")
    assert "conflict with --genesis" in other.stderr


def test_persistent_chain_with_payments_resumes(tmp_path: Path) -> None:
    chain = ["--datadir", str(tmp_path), "--payments", "--block-time", "1s"]
    with live_node(*chain) as node:
        block = wait_for(lambda: node.rpc("eth_getBlockByNumber", "0x1", False), 20, "block 1")
    with live_node(*chain) as node:
        assert node.rpc("eth_getBlockByNumber", "0x1", False) == block


def test_persistent_chain_resumes_and_has_one_owner(tmp_path: Path) -> None:
    with live_node("--datadir", str(tmp_path), "--block-time", "1s") as node:
        block = wait_for(lambda: node.rpc("eth_getBlockByNumber", "0x2", False), 20, "block 2")
        second = foreseal("dev", "--datadir", tmp_path, "--port", "0")
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr.startswith("foreseal: ")
    assert second.stderr.count("\n") == 1
    assert str(tmp_path) in second.stderr
    with live_node("--datadir", str(tmp_path), "--block-time", "1s") as node:
        assert node.rpc("eth_getBlockByNumber", "0x2", False) == block


def test_genesis_has_the_time_of_its_creation_or_a_given_one(tmp_path: Path) -> None:
    before = int(time.time())

    def genesis(*options: str) -> dict[str, Any]:
        with live_node("--automine", *options) as node:
            return dict(node.rpc("eth_getBlockByNumber", "0x0", False))

    created = genesis("--datadir", str(tmp_path))
    # It is rounded down to the begin of a slot of 2 s.
    assert before - 2 < int(created["timestamp"], 16) <= time.time()
    assert genesis("--datadir", str(tmp_path)) == created
    fixed = genesis("--genesis-time", "1700000000")
    assert int(fixed["timestamp"], 16) == 1_700_000_000
    assert genesis("--genesis-time", "1700000000")["hash"] == fixed["hash"]
    other = foreseal("dev", "--datadir", tmp_path, "--port", "0", "--genesis-time", "1700000000")
    assert (other.returncode, "another genesis" in other.stderr) == (2, True)


def test_persistent_chain_with_another_genesis_is_rejected(tmp_path: Path) -> None:
    with live_node("--datadir", str(tmp_path)):
        pass
    other = foreseal("dev", "--datadir", tmp_path, "--port", "0", "--chain-id", "5")
    assert (other.returncode, other.stdout) == (2, "")
    assert "another genesis" in other.stderr


def test_two_servers_do_not_share_a_port() -> None:
    with live_node() as node:
        port = node.url.rpartition(":")[2]
        second = foreseal("dev", "--port", port)
    assert (second.returncode, second.stdout) == (1, "")
    refused = f"cannot listen on 127.0.0.1:{port}: Address already in use"
    assert second.stderr == f"foreseal: {refused}: choose another port with --port\n"


def handles_signals(pid: int) -> bool:
    """Return True if the process has its own handler for SIGTERM, which is installed with that for SIGINT."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def holds_the_core(pid: int) -> bool:
    """Return True if the process has loaded the extension, its last action before it opens its chain."""
    return "_core" in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the moments of a start are read from Linux' /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("reached", [handles_signals, holds_the_core])
def test_signal_during_the_start_exits_with_code_0(reached: Callable[[int], bool], number: int) -> None:
    command = [foreseal_command(), "dev", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: reached(process.pid), 30, "such a moment")
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")


def test_long_command_ends_at_sigterm_and_its_blocks_stay(tmp_path: Path) -> None:
    options = ("--datadir", str(tmp_path / "chain"))
    with live_node(*options) as node, ThreadPoolExecutor() as pool, contextlib.closing(Rpc(node.url)) as caller:
        mined = pool.submit(caller.envelope, "hardhat_mine", hex(100_000))
        wait_for(lambda: int(node.rpc("eth_blockNumber"), 16) > 500, 30, "blocks")
        assert node.stop() == 0
        assert mined.result()["error"]["code"] == -32002
    with live_node(*options) as node:
        assert int(node.rpc("eth_blockNumber"), 16) > 500


def test_long_command_ends_with_its_caller() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"hardhat_mine","params":["0x186a0"]}'
    lines = ("POST / HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", f"Content-Length: {len(body)}")
    with live_node() as node:
        with socket.create_connection(("127.0.0.1", int(node.url.rpartition(":")[2]))) as caller:
            caller.sendall("\r\n".join((*lines, "", "")).encode() + body)
            wait_for(lambda: int(node.rpc("eth_blockNumber"), 16) > 500, 30, "blocks")
            # A caller that only ends its side may still read the answer, so this one resets the connection.
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Another command waits for the one that runs.
        node.rpc("evm_mine")
        assert int(node.rpc("eth_blockNumber"), 16) < 100_000
