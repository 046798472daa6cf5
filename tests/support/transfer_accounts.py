"""Funded accounts of a test chain, and their transfers, signed in batches ahead of their use."""

from collections import deque

import orjson

from foreseal._core import derive_accounts
from foreseal.bench.chain_content import MNEMONIC, BenchAccount, SignedTransaction, TransferOrder, accounts
from foreseal.cli.genesis import build_genesis
from foreseal.server.settings.model import WEI

CHAIN_ID = 31337
ACCOUNTS = 400
_FUNDS = 10**6 * WEI
_RECIPIENT = b"\xee" * 20
_BATCH = 32
# Floor of EIP-7623 for a byte that is not zero, and the cost of a transfer.
_GAS, _GAS_A_BYTE = 21_000, 40


class TransferAccount:
    """An account whose transfers have the nonces 0, 1, 2 and so on."""

    def __init__(self, account: BenchAccount, calldata: bytes = b"") -> None:
        self._account = account
        self._order: TransferOrder = (_RECIPIENT, 1, _GAS + _GAS_A_BYTE * len(calldata), calldata)
        self._signed: deque[SignedTransaction] = deque()

    def sign(self, count: int) -> None:
        """Sign transfers until this many are ready."""
        missing = count - len(self._signed)
        if missing > 0:
            self._signed += self._account.sign(CHAIN_ID, [self._order] * missing)

    def peek(self) -> SignedTransaction:
        """Return the transfer with the next nonce."""
        if not self._signed:
            self.sign(_BATCH)
        return self._signed[0]

    def pop(self) -> SignedTransaction:
        """Return the transfer with the next nonce, and continue with the one after it."""
        self.peek()
        return self._signed.popleft()


def transfer_accounts(count: int = ACCOUNTS, calldata: bytes = b"") -> list[TransferAccount]:
    """Return the first accounts of the mnemonic, with nonce 0."""
    return [TransferAccount(account, calldata) for account in accounts(count)]


def funded_balances(count: int = ACCOUNTS) -> list[tuple[str, int]]:
    """Return addresses and balances in wei of the first accounts of the mnemonic in a genesis."""
    return [(address, _FUNDS) for address, _ in derive_accounts(MNEMONIC, count)]


def funded_genesis(count: int = ACCOUNTS) -> bytes:
    """Return a genesis that funds the first accounts of the mnemonic."""
    return orjson.dumps(build_genesis(CHAIN_ID, funded_balances(count)))
