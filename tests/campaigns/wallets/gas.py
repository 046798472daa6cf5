"""Gas that the merchant and the facilitator paid for an operation, and the maximum that their settings allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foreseal.payments.chain.batch_capture import CAPTURE, CAPTURE_FROM_WALLETS, max_batch_gas
from foreseal.payments.transactions import FeeSettings
from foreseal.payments.transactions.ordinary_gas import ordinary_gas
from payments.real.chain import RealChain
from wallets.people import GAS_PAYERS

_PLAIN_GAS = 100_000
"""Maximum of a transaction in which no code of a payer runs: a refund or an empty transfer."""
_BATCHES = (CAPTURE, CAPTURE_FROM_WALLETS)
_SHARE = 60_000
"""Gas of another order in a batch, rounded down."""


@dataclass(frozen=True, slots=True)
class SentTransaction:
    """A transaction of an account that pays gas."""

    sender: str
    data: bytes
    gas_used: int
    succeeded: bool

    def concerns(self, address: str) -> bool:
        """Return True if the call data name this account."""
        return bytes.fromhex(address.removeprefix("0x")) in self.data

    @property
    def orders(self) -> int:
        """Orders of a batch; 1 for another call."""
        if self.data[:4] == CAPTURE:
            return int.from_bytes(self.data[36:68])
        return int.from_bytes(self.data[68:100]) if self.data[:4] == CAPTURE_FROM_WALLETS else 1

    def max_gas(self, fees: FeeSettings) -> int:
        """Return the most gas that the settings allow."""
        if self.data[:4] in _BATCHES:
            return max_batch_gas(self.data)
        ordinary = ordinary_gas(self.data)
        return _PLAIN_GAS if ordinary is None else ordinary + fees.payer_code_gas


@dataclass(frozen=True, slots=True)
class GasPaid:
    """Gas for one sale."""

    gas: int = 0
    maximum: int = 0
    transactions: int = 0
    reverted: int = 0


def sent_since(chain: RealChain, block: int) -> list[SentTransaction]:
    """Return the transactions of the accounts that pay gas, from this block on, pre-confirmed ones included."""
    payers = {each.lower() for each in GAS_PAYERS}
    transactions = []
    for number in range(block, chain.pending.number + 1):
        name = "pending" if number == chain.pending.number else hex(number)
        mined: dict[str, Any] = chain.rpc("eth_getBlockByNumber", name, True)
        for each in mined["transactions"]:
            if each["from"].lower() in payers:
                receipt = chain.rpc("eth_getTransactionReceipt", each["hash"])
                gas, succeeded = int(receipt["gasUsed"], 16), receipt["status"] == "0x1"
                transactions.append(
                    SentTransaction(each["from"].lower(), bytes.fromhex(each["input"][2:]), gas, succeeded)
                )
    return transactions


def gas_of(sent: Sequence[SentTransaction], payer: str, fees: FeeSettings) -> GasPaid:
    """Return the gas of the transactions that name a payer.

    Each function may be paid for once: a repetition counts against the same maximum.
    """
    mine = [each for each in sent if each.concerns(payer)]
    allowed: dict[bytes, int] = {}
    for each in mine:
        selector = each.data[:4]
        allowed[selector] = max(allowed.get(selector, 0), each.max_gas(fees))
    gas = sum(each.gas_used - (each.orders - 1) * _SHARE for each in mine)
    return GasPaid(gas, sum(allowed.values()), len(mine), sum(not each.succeeded for each in mine))
