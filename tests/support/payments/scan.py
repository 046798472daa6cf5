"""Contents of a chain, read from its blocks and not through the library."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address

from payments.fake.contracts import TOKEN, topic
from payments.people import BATCH_CAPTURE
from payments.shop import SHOP, AnyChain

_TRANSFER = topic("Transfer(address,address,uint256)")
_USED = topic("AuthorizationUsed(address,bytes32)")
_PAID = topic("PaymentCaptured(bytes32,address,uint256,uint256)")
_CANCELED = topic("AuthorizationCanceled(address,bytes32)")


@dataclass(frozen=True)
class Movement:
    """A transfer of the token."""

    hash: str
    position: int
    block_hash: str
    number: int
    log_index: int
    sender: str
    recipient: str
    amount: int
    nonce: bytes | None

    def row(self) -> tuple[Any, ...]:
        """Return the tuple that `Shop.rows` uses."""
        return (
            self.hash,
            self.position,
            self.block_hash,
            self.number,
            self.log_index,
            to_checksum_address(self.sender),
            self.amount,
        )


def movements(chain: AnyChain) -> Iterator[Movement]:
    """Yield all transfers on the chain, including pre-confirmed ones."""
    logs = chain.logs()
    first: dict[str, int] = {}
    for place, log in enumerate(logs):
        hash, index = log["transactionHash"], number(log["logIndex"])
        position = index - first.setdefault(hash, index)
        topics = [bytes.fromhex(each[2:]) for each in log["topics"]]
        if (log["address"], topics[0]) != (TOKEN, _TRANSFER):
            continue
        before = logs[place - 1]["topics"] if position else [""]
        after = logs[place + 1]["topics"] if place + 1 < len(logs) else [""]
        nonce = bytes.fromhex(before[2][2:]) if before[0] == "0x" + _USED.hex() else None
        if after[0] == "0x" + _PAID.hex() and logs[place + 1]["transactionHash"] == hash:
            nonce = bytes.fromhex(after[1][2:])
        sender, recipient = ("0x" + topics[at][12:].hex() for at in (1, 2))
        block = log["blockHash"], number(log["blockNumber"])
        yield Movement(hash, position, *block, index, sender, recipient, number(log["data"]), nonce)


def number(text: str) -> int:
    return int(text, 16)


def received(chain: AnyChain) -> list[Movement]:
    return [each for each in movements(chain) if each.recipient == SHOP.address.lower()]


def incoming(chain: AnyChain) -> list[Movement]:
    """Return the transfers to the shop or its batch capture contract, sweeps included, without forwarded sums.

    Without transfers of 0 as well, which no service stores: they need no balance.
    """
    shop, contract = SHOP.address.lower(), BATCH_CAPTURE.lower()
    transfers = [each for each in movements(chain) if each.recipient in (shop, contract) and each.amount > 0]
    batches = {each.hash for each in transfers if each.recipient == contract}
    return [each for each in transfers if each.sender != contract or each.hash not in batches]


def is_sweep(movement: Movement) -> bool:
    return movement.sender == BATCH_CAPTURE.lower()


def captured_by_contract(chain: AnyChain) -> list[Movement]:
    """Return the transfers to the batch capture contract."""
    return [each for each in movements(chain) if each.recipient == BATCH_CAPTURE.lower()]


def paid(chain: AnyChain) -> list[Movement]:
    return [each for each in movements(chain) if each.sender == SHOP.address.lower()]


def canceled(chain: AnyChain) -> set[tuple[str, bytes]]:
    """Return payers and nonces of canceled authorizations."""
    return {
        ("0x" + log["topics"][1][26:], bytes.fromhex(log["topics"][2][2:]))
        for log in chain.logs()
        if log["topics"][0] == "0x" + _CANCELED.hex()
    }
