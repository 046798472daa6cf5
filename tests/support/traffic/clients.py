"""Clients of a node that will be killed: some send, some read, and reads are recorded."""

import http.client
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from live import DEV_ACCOUNTS, Rpc, RpcFailure
from live.contracts import contract
from traffic.record import Position, Record
from traffic.wallet import Wallet

# Errors of a connection whose server process was killed.
GONE = (OSError, http.client.HTTPException)

SENDERS = 3
ACCOUNTS_OF_EACH = 4
# Maximum transactions in flight; a kill removes pooled transactions, which then never get a receipt.
AWAITED = 64

_BOARD_GAS = 2_000_000


class Deployed:
    """Address of the contract that the senders call: the same on every chain whose first transaction creates it."""

    def __init__(self, rpc: Rpc) -> None:
        """Deploy it and wait for the receipt."""
        wallet = Wallet(DEV_ACCOUNTS[-1])
        code = bytes.fromhex(contract("Board").bytecode.removeprefix("0x")) + encode(["uint256"], [7])
        signed = wallet.sign(0, b"", code, gas=_BOARD_GAS)
        rpc("eth_sendRawTransaction", signed.raw)
        receipt = None
        while receipt is None:
            time.sleep(0.02)
            receipt = rpc("eth_getTransactionReceipt", signed.hash)
        assert receipt["status"] == "0x1"
        self.board = bytes.fromhex(receipt["contractAddress"][2:])


class Clients:
    """Threads that use a node during one run."""

    def __init__(self, url: str, board: bytes, record: Record, seed: int) -> None:
        self._url = url
        self._board = board
        self._record = record
        self._stop = threading.Event()
        self._awaited: deque[str] = deque(maxlen=AWAITED)
        self.sent = 0
        work: list[Callable[[Rpc], None]] = [self._read_steps, self._read_steps, self._read_alone, self._read_receipts]
        work += [self._sender(index, random.Random(seed * SENDERS + index)) for index in range(SENDERS)]
        self._threads = [threading.Thread(target=self._run, args=(each,)) for each in work]
        for thread in self._threads:
            thread.start()

    def expect_the_end(self) -> None:
        """Allow connection failures from now on."""
        self._stop.set()

    def join(self) -> None:
        """Wait for all threads; the node must be dead."""
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[Rpc], None]) -> None:
        rpc = Rpc(self._url)
        try:
            while not self._stop.is_set():
                work(rpc)
        except GONE as error:
            if not self._stop.is_set():
                self._record.fault("refused", f"a connection broke before the kill: {error!r}")
        except Exception as error:
            self._record.fault("refused", f"{getattr(work, '__name__', work)}: {error!r}")
        finally:
            rpc.close()

    def _read_steps(self, rpc: Rpc) -> None:
        block = ("eth_getBlockByNumber", "pending", False)
        self._record.saw_step(*rpc.batch(("foreseal_status",), block, ("eth_getBlockReceipts", "pending")))
        self._stop.wait(0.01)

    def _read_alone(self, rpc: Rpc) -> None:
        body = b'{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["pending",false]}'
        answer = rpc.post(body)
        self._record.saw_answer(position_in(answer.headers["x-foreseal-view"]), answer.json()["result"])
        self._stop.wait(0.005)

    def _read_receipts(self, rpc: Rpc) -> None:
        names = [self._awaited.popleft() for _ in range(len(self._awaited))]
        if names:
            receipts = rpc.batch(*(("eth_getTransactionReceipt", name) for name in names))
            for name, receipt in zip(names, receipts, strict=True):
                if receipt is None:
                    self._awaited.append(name)
                else:
                    self._record.saw_receipt(receipt)
        self._stop.wait(0.02)

    def _sender(self, index: int, rng: random.Random) -> Callable[[Rpc], None]:
        """Return a function that sends a few transactions at a time from one of its own accounts."""
        first = index * ACCOUNTS_OF_EACH
        wallets = [Wallet(account) for account in DEV_ACCOUNTS[first : first + ACCOUNTS_OF_EACH]]
        nonces: dict[str, int] = {}

        def send(rpc: Rpc) -> None:
            wallet = rng.choice(wallets)
            if wallet.address not in nonces:
                nonces[wallet.address] = int(rpc("eth_getTransactionCount", wallet.address, "pending"), 16)
            for _ in range(rng.randint(1, 4)):
                to, data = any_call(rng, wallets, self._board)
                signed = wallet.sign(nonces[wallet.address], to, data, value=0 if data else rng.randrange(1000))
                try:
                    rpc("eth_sendRawTransaction", signed.raw)
                except RpcFailure as error:
                    self._record.fault("refused", f"submission of nonce {nonces[wallet.address]}: {error}")
                    del nonces[wallet.address]
                    return
                nonces[wallet.address] += 1
                self.sent += 1
                self._awaited.append(signed.hash)
            self._stop.wait(rng.random() * 0.08)

        return send


def any_call(rng: random.Random, wallets: list[Wallet], board: bytes) -> tuple[bytes, bytes]:
    """Return a transfer, a call that writes and logs, one that reverts, or a creation."""
    kind = rng.randrange(10)
    if kind < 5:
        return bytes.fromhex(rng.choice(wallets).address[2:]), b""
    if kind < 8:
        return board, _call("set(uint256,string)", rng.getrandbits(200), "note" * rng.randrange(20))
    if kind < 9:
        return board, _call("failWithCustomError(uint256)", rng.getrandbits(64))
    # Returns one byte of code that stops.
    return b"", bytes.fromhex("60015ff3")


def position_in(header: str) -> Position:
    """Return block and step index in a value of X-Foreseal-View."""
    block, _, index = header.partition(";")[0].partition(".")
    return int(block), int(index)


def _call(signature: str, *arguments: Any) -> bytes:
    kinds = signature.partition("(")[2].removesuffix(")").split(",")
    return keccak(text=signature)[:4] + encode(kinds, arguments)
