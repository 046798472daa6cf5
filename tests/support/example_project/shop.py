"""A shop that accepts payments with a till contract: the code under test, independent of the tests."""

import json
from pathlib import Path
from typing import Any

from eth_typing import ChecksumAddress
from hexbytes import HexBytes
from web3 import Web3
from web3.contract import Contract
from web3.types import BlockIdentifier, TxReceipt, Wei

_ARTIFACT = json.loads((Path(__file__).parent / "contracts" / "Till.json").read_text())

DAY = 86_400


class Shop:
    """Orders of one merchant."""

    def __init__(self, w3: Web3, till: Contract) -> None:
        self.w3 = w3
        self.till = till

    @classmethod
    def open(cls, w3: Web3, merchant: ChecksumAddress) -> "Shop":
        """Deploy the merchant's till."""
        factory = w3.eth.contract(abi=_ARTIFACT["abi"], bytecode=_ARTIFACT["bytecode"])
        receipt = w3.eth.wait_for_transaction_receipt(factory.constructor(merchant).transact())
        till = w3.eth.contract(receipt["contractAddress"], abi=_ARTIFACT["abi"])
        assert isinstance(till, Contract)
        return cls(w3, till)

    def pay(self, order: str, amount: int, buyer: ChecksumAddress) -> TxReceipt:
        """Pay an order; the payment can be refunded after a day."""
        return self._wait(self.till.functions.pay(self._id(order), DAY).transact({"from": buyer, "value": Wei(amount)}))

    def confirm(self, order: str, buyer: ChecksumAddress) -> TxReceipt:
        """Release the money to the merchant."""
        return self._wait(self.till.functions.confirm(self._id(order)).transact({"from": buyer}))

    def refund(self, order: str) -> TxReceipt:
        """Return the money to the buyer."""
        return self._wait(self.till.functions.refund(self._id(order)).transact())

    def paid(self, order: str, block: BlockIdentifier = "latest") -> int:
        """Return the balance of an order."""
        return int(self.till.functions.orders(self._id(order)).call(block_identifier=block)[1])

    def payments(self) -> list[dict[str, Any]]:
        """Return every payment ever made."""
        return [dict(event["args"]) for event in self.till.events.Paid().get_logs(from_block=0)]

    def _wait(self, sent: HexBytes) -> TxReceipt:
        return self.w3.eth.wait_for_transaction_receipt(sent)

    @staticmethod
    def _id(order: str) -> bytes:
        return Web3.keccak(text=order)
