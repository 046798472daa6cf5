"""Load of a test chain: deposits of every outcome, and transactions of funded accounts."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from eth_hash.auto import keccak
from eth_utils.hexadecimal import decode_hex, encode_hex

from foreseal._core import derive_accounts
from foreseal.bench.chain_content import MNEMONIC, TransferOrder, accounts, native
from live.polling import CONNECTION_ERRORS, STARTING
from live.rpc import Rpc, RpcFailure
from live.sending import CHAIN_ID
from optimism.deposits import deposit
from optimism.genesis import Fork, op_genesis
from optimism.l1 import L1Attributes
from optimism.model.transactions import DepositTransaction
from optimism.predeploys import MESSAGE_PASSER

ACCOUNTS = 200
_ETHER = 10**18
_FUNDS = 10**6 * _ETHER

LOG_CONTRACT = "0x00000000000000000000000000000000000c0de1"
# NUMBER, PUSH 0, MSTORE; LOG0 of that word; RETURN of that word.
_LOG_CODE = bytes.fromhex("4360005260206000a060206000f3")
REVERTING_CONTRACT = "0x00000000000000000000000000000000000c0de2"
_REVERT_CODE = bytes.fromhex("5f5ffd")
# Copies the code that follows to memory and returns it.
_CREATE = b"\x61%b\x80\x60\x0a\x5f\x39\x5f\xf3"
_INVALID_CODE = b"\xfe"
# Less than the intrinsic gas of any transaction.
_LOW_GAS = 20_000

_LOG_GAS, _TIMEOUT = 60_000, 10.0
# Seconds between two attempts to reach a node that is down.
_RETRY = 0.05
# Seconds by which the load may be late and catch up.
_MAX_DELAY = 0.1


def workload_genesis(fork: Fork = Fork.JOVIAN) -> dict[str, Any]:
    """Return a genesis with funded accounts and the contracts that deposits and transactions call."""
    funded = [(address, _FUNDS) for address, _ in derive_accounts(MNEMONIC, ACCOUNTS)]
    genesis = op_genesis(fork, funded)
    for address, code in ((LOG_CONTRACT, _LOG_CODE), (REVERTING_CONTRACT, _REVERT_CODE)):
        genesis["alloc"][address] = {"balance": "0x0", "code": encode_hex(code)}
    return genesis


def mixed_deposits(attributes: L1Attributes) -> Sequence[DepositTransaction]:
    """Return up to six deposits in the first block of each L1 block: a function of the attributes.

    Some mint, some create a contract, and some fail: they revert, halt, lack funds, or cannot begin.
    """
    if attributes.sequence_number > 0:
        return ()
    rng = random.Random(attributes.block.hash)
    return [_deposit(attributes, index, rng) for index in range(rng.randrange(7))]


def _deposit(attributes: L1Attributes, index: int, rng: random.Random) -> DepositTransaction:
    sender, other = (keccak(b"depositor %d" % rng.randrange(20))[12:] for _ in range(2))
    log, reverting = decode_hex(LOG_CONTRACT), decode_hex(REVERTING_CONTRACT)
    creation = _CREATE % len(_LOG_CODE).to_bytes(2) + _LOG_CODE
    mint = rng.randrange(1, _ETHER)
    outcomes: list[dict[str, Any]] = [
        {"to": other, "mint": mint, "value": rng.randrange(mint)},
        {"to": log, "mint": mint},
        {"to": log},
        {"to": MESSAGE_PASSER, "mint": mint, "value": 1},
        {"to": None, "mint": mint, "gas": 500_000, "data": creation},
        # These fail: the last one cannot begin.
        {"to": reverting, "mint": mint, "value": mint},
        {"to": None, "gas": 200_000, "data": _INVALID_CODE},
        {"to": other, "value": _FUNDS, "mint": mint},
        {"to": other, "gas": _LOW_GAS, "mint": mint},
    ]
    return deposit(attributes.block, index, sender, **rng.choice(outcomes))


class TransactionLoad:
    """A thread that sends transfers and calls of funded accounts at a steady rate, to several processes in rotation."""

    def __init__(self, urls: Sequence[str], rate: float, seed: int) -> None:
        """`rate` is the number of transactions a second."""
        self.accepted: dict[str, str] = {}
        """Sender's address by hash of each accepted transaction."""
        self.rejected: Counter[str] = Counter()
        """Rejected submissions by message."""
        self.failed = 0
        """Submissions without an answer."""
        self._rpcs = [Rpc(url, _TIMEOUT) for url in urls]
        self._interval = 1 / rate
        self._rng = random.Random(seed)
        self._accounts = accounts(ACCOUNTS)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop sending."""
        self._stopped.set()
        self._thread.join(2 * _TIMEOUT)
        for rpc in self._rpcs:
            rpc.close()

    def _run(self) -> None:
        due = time.monotonic()
        # An account always uses one process, so that its transactions arrive in nonce order.
        for index in itertools.cycle(range(ACCOUNTS)):
            if self._stopped.wait(max(due - time.monotonic(), 0)):
                return
            # After a stall it does not catch up: the rate is a maximum.
            due = max(due + self._interval, time.monotonic() - _MAX_DELAY)
            self._send(index)

    def _send(self, index: int) -> None:
        account, rpc = self._accounts[index], self._rpcs[index % len(self._rpcs)]
        [signed] = account.sign(CHAIN_ID, [self._order()])
        try:
            rpc("eth_sendRawTransaction", signed.raw)
        except RpcFailure as error:
            self.rejected[error.message] += 1
        except CONNECTION_ERRORS:
            self.failed += 1
        else:
            self.accepted[signed.hash] = encode_hex(account.address)
            return
        self._read_nonce(index)

    def _order(self) -> TransferOrder:
        if self._rng.randrange(4) == 0:
            return decode_hex(LOG_CONTRACT), 0, _LOG_GAS, b""
        return native(keccak(b"recipient %d" % self._rng.randrange(1000))[12:])

    def _read_nonce(self, index: int) -> None:
        """Continue with the nonce that the node expects, when it answers."""
        account, rpc = self._accounts[index], self._rpcs[index % len(self._rpcs)]
        while not self._stopped.wait(_RETRY):
            try:
                account.nonce = int(rpc("eth_getTransactionCount", encode_hex(account.address), "pending"), 16)
            except CONNECTION_ERRORS:
                continue
            except RpcFailure as error:
                if error.code != STARTING:
                    raise
                continue
            return
