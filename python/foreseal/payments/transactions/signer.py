"""Signers of EIP-1559 transactions: a key in this process, or a service over HTTP that has the key."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, Protocol

from eth_account.signers.local import LocalAccount

from foreseal._core import sign_transactions
from foreseal.payments.transactions.fees import FeeQuote


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """Fields of an EIP-1559 transaction that transfers no ether and has an empty access list."""

    nonce: int
    target: str
    data: bytes
    gas: int
    """Gas limit."""
    quote: FeeQuote


class RawTransaction(NamedTuple):
    """A transaction that can be sent."""

    raw: bytes
    hash: bytes


class TransactionSigner(Protocol):
    """Signer for one account."""

    @property
    def address(self) -> str:
        """Address of the account, with its EIP-55 checksum."""
        ...

    def sign(self, chain_id: int, transactions: Sequence[UnsignedTransaction]) -> list[RawTransaction]:
        """Sign transactions. Raises `SignerUnavailable`; then none of them may be used."""
        ...


@dataclass(frozen=True, slots=True)
class LocalSigner:
    """Signer with a key in this process."""

    account: LocalAccount

    @property
    def address(self) -> str:
        """Address of the account."""
        return str(self.account.address)

    def sign(self, chain_id: int, transactions: Sequence[UnsignedTransaction]) -> list[RawTransaction]:
        """Sign transactions. Raises nothing."""
        raw_transactions: list[RawTransaction] = []
        # The core signs a run of transactions with the same fees and consecutive nonces.
        numbered = list(enumerate(transactions))
        for (quote, _), run in groupby(numbered, key=lambda item: (item[1].quote, item[1].nonce - item[0])):
            batch = [transaction for _, transaction in run]
            specs = [(bytes.fromhex(each.target[2:]), 0, each.gas, each.data) for each in batch]
            fees = (quote.fee, quote.priority_fee)
            signed = sign_transactions(bytes(self.account.key), chain_id, fees, batch[0].nonce, specs)
            raw_transactions += [RawTransaction(raw, hash) for raw, hash in signed]
        return raw_transactions
