"""The three chains that run the same tests: one chain per session, rolled back after every test."""

import contextlib
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import pytest
from web3 import Web3
from web3.contract import Contract

MNEMONIC = "test test test test test test test test test test test junk"
ACCOUNTS = 10
BALANCE = 10_000 * 10**18
"""Balance of each account in wei."""
START_TIME = 30.0
"""Seconds until anvil must listen."""

Deploy = Callable[..., Contract]
"""Deploys a contract by its name from the first account."""


def wait(w3: Web3, sent: Any, status: int = 1) -> Any:
    """Return the receipt of a transaction, which must have this status. anvil seals a moment after its response."""
    receipt = w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.001)
    assert receipt["status"] == status
    return receipt


def send(w3: Web3, call: Any, sender: Any, value: int = 0) -> Any:
    """Send a contract call and return the receipt."""
    return wait(w3, call.transact({"from": sender, "value": value}))


class Chain(ABC):
    """A chain that seals a block per transaction, with test helpers that web3.py lacks."""

    w3: Web3
    accounts: list[Any]
    """Addresses of the funded accounts, requested once."""

    @abstractmethod
    def mine(self, blocks: int = 1) -> None:
        """Seal this many blocks."""

    @abstractmethod
    def advance(self, seconds: int) -> None:
        """Make the next block at least this many seconds later than the newest."""

    @abstractmethod
    def rollback(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that reverts everything done in it at its end."""


class ForesealChain(Chain):
    """The fixtures of foreseal.testing, used according to its documentation."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self.w3 = request.getfixturevalue("foreseal_w3")
        chain = request.getfixturevalue("foreseal")
        self.accounts = [account.address for account in chain.accounts]
        self.mine, self.advance = chain.mine, chain.advance

    def mine(self, blocks: int = 1) -> None: ...

    def advance(self, seconds: int) -> None: ...

    @contextlib.contextmanager
    def rollback(self) -> Iterator[None]:
        # The fixture does the rollback.
        yield


class EthTesterChain(Chain):
    """eth-tester on py-evm, in this process."""

    def __init__(self) -> None:
        from eth_tester import EthereumTester, PyEVMBackend

        balance = {"balance": BALANCE}
        backend = PyEVMBackend.from_mnemonic(MNEMONIC, num_accounts=ACCOUNTS, genesis_state_overrides=balance)
        self.tester = EthereumTester(backend)
        self.w3 = Web3(Web3.EthereumTesterProvider(self.tester))
        self.accounts = list(self.w3.eth.accounts)

    def mine(self, blocks: int = 1) -> None:
        self.tester.mine_blocks(blocks)

    def advance(self, seconds: int) -> None:
        self.tester.time_travel(self.tester.get_block_by_number("latest")["timestamp"] + seconds)

    @contextlib.contextmanager
    def rollback(self) -> Iterator[None]:
        snapshot = self.tester.take_snapshot()
        yield
        self.tester.revert_to_snapshot(snapshot)


class AnvilChain(Chain):
    """A separate process over HTTP; it prints nothing, which is faster."""

    def __init__(self, command: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["--port", str(port), "--accounts", str(ACCOUNTS), "--mnemonic", MNEMONIC, "--silent"]
        self.process = subprocess.Popen([command, *options])
        self.w3 = Web3(Web3.HTTPProvider(f"http://127.0.0.1:{port}"))
        end = monotonic() + START_TIME
        while not self.w3.is_connected():
            assert monotonic() < end, "anvil does not answer"
            sleep(0.002)
        self.accounts = list(self.w3.eth.accounts)

    def mine(self, blocks: int = 1) -> None:
        self._call("anvil_mine", hex(blocks))

    def advance(self, seconds: int) -> None:
        self._call("evm_increaseTime", hex(seconds))

    @contextlib.contextmanager
    def rollback(self) -> Iterator[None]:
        snapshot = self._call("evm_snapshot")
        yield
        assert self._call("evm_revert", snapshot)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    def _call(self, method: str, *params: Any) -> Any:
        answer: Any = self.w3.provider.make_request(method, params)  # type: ignore[arg-type]
        return answer["result"]
