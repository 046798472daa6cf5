"""A generator: a transaction that leaves or uses the most of one resource."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eth_hash.auto import keccak

from hostile.signing import CHAIN_ID, Account, Fees, Transaction

TRANSACTION_GAS = 1 << 24
"""The most gas of one transaction since Osaka (EIP-7825)."""
BLOCK_GAS = 400_000_000
"""Default gas limit of a block."""
FAIR = Fees(10**11, 10**9)


@dataclass(frozen=True, slots=True)
class Content:
    """Fields of one transaction that a generator decides."""

    data: bytes = b""
    access_list: tuple[Any, ...] = ()
    authorizations: tuple[Any, ...] = ()


Made = Callable[[random.Random], Content]
"""Content of the next transaction; the source of randomness decides which accounts and slots are new."""
Signed = Callable[[Account, int, Fees], Transaction]


@dataclass(frozen=True)
class Generator:
    """A kind of transaction, and the contract in the genesis that it calls."""

    name: str
    resource: str
    """The resource that it uses: the name of the module that defines it."""
    description: str
    code: bytes = b""
    """Runtime code; empty if the transaction calls no contract."""
    gas: int = TRANSACTION_GAS
    content: Made | None = None
    signed: Signed | None = None
    """Signs transactions of another form."""
    is_creation: bool = False
    slots: int = 0
    """Slots of the contract that are set in the genesis."""
    logs: int = 0
    """Least number of logs in its receipt."""
    least_gas: float = 0.9
    """Least part of its gas that it uses."""
    succeeds: bool = True
    most_in_block: int = BLOCK_GAS
    """Most transactions of a block by its size (EIP-7934) or its blobs."""

    @property
    def address(self) -> bytes:
        """Address of the contract."""
        return keccak(b"chain data " + self.name.encode())[12:]

    @property
    def in_block(self) -> int:
        """Number of its transactions that fill a block."""
        return min(BLOCK_GAS // self.gas, self.most_in_block)

    def sign(self, account: Account, nonce: int, draw: random.Random, fees: Fees = FAIR) -> Transaction:
        """Return the next transaction of an account."""
        if self.signed is not None:
            return self.signed(account, nonce, fees)
        content = self.content(draw) if self.content else Content()
        target = b"" if self.is_creation else self.address
        fields: list[Any] = [CHAIN_ID, nonce, fees.tip, fees.max_fee, self.gas, target, 0, content.data]
        fields.append([list(item) for item in content.access_list])
        if content.authorizations:
            return account.sign_typed(4, [*fields, [list(each) for each in content.authorizations]])
        return account.sign_typed(2, fields)

    def block(self, accounts: list[Account], nonces: list[int], draw: random.Random) -> list[Transaction]:
        """Return transactions that fill a block; each account sends in turn, and its nonce is advanced."""
        made = []
        for number in range(self.in_block):
            turn = number % len(accounts)
            made.append(self.sign(accounts[turn], nonces[turn], draw))
            nonces[turn] += 1
        return made

    def genesis_account(self, balance: int) -> dict[str, Any]:
        """Return the contract's entry of the genesis."""
        account: dict[str, Any] = {"balance": hex(balance), "code": "0x" + self.code.hex()}
        if self.slots:
            account["storage"] = {f"0x{slot:064x}": f"0x{1:064x}" for slot in range(self.slots)}
        return account
