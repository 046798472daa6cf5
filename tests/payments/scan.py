"""What is on the fake chain, read from its blocks and not through the library."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address

from payments.fake.blocks import FakeChain
from payments.fake.contracts import TOKEN, topic
from payments.shop import SHOP

_TRANSFER = topic("Transfer(address,address,uint256)")
_USED = topic("AuthorizationUsed(address,bytes32)")
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
        """As `Shop.rows` has it."""
        return (
            self.hash,
            self.position,
            self.block_hash,
            self.number,
            self.log_index,
            to_checksum_address(self.sender),
            self.amount,
        )


def movements(chain: FakeChain) -> Iterator[Movement]:
    """All transfers on the chain, the pre-confirmed ones too."""
    for block in (*chain.blocks, chain.pending):
        index = 0
        for landed in block.landed:
            for position, (address, topics, data) in enumerate(landed.events):
                if (address, topics[0]) == (TOKEN, _TRANSFER):
                    before = landed.events[position - 1] if position else (None, (None,), None)
                    nonce = before[1][2] if before[1][0] == _USED else None
                    sender, recipient = ("0x" + topics[at][12:].hex() for at in (1, 2))
                    yield Movement(
                        landed.transaction.hash,
                        position,
                        block.hash,
                        block.number,
                        index + position,
                        sender,
                        recipient,
                        int.from_bytes(data, "big"),
                        nonce,
                    )
            index += len(landed.events)


def received(chain: FakeChain) -> list[Movement]:
    return [each for each in movements(chain) if each.recipient == SHOP.address.lower()]


def paid(chain: FakeChain) -> list[Movement]:
    return [each for each in movements(chain) if each.sender == SHOP.address.lower()]


def canceled(chain: FakeChain) -> set[tuple[str, bytes]]:
    """Payers and nonces of authorizations that were canceled."""
    return {
        ("0x" + topics[1][12:].hex(), topics[2])
        for block in (*chain.blocks, chain.pending)
        for landed in block.landed
        for _, topics, _ in landed.events
        if topics[0] == _CANCELED
    }
